"""What row 1 is: names of columns, an edge, or something to ask about."""

from __future__ import annotations

from pathlib import Path

import pytest

from mgae.data.io.options import InputSettings
from mgae.data.opening import read_graph

TEXT = ["ann{0}bob", "bob{0}carl", "carl{0}dora", "dora{0}ann"]
CODES = ["u1{0}i7", "u2{0}i7", "u2{0}i8", "u3{0}i9"]
NUMBERS = ["1{0}20", "2{0}20", "2{0}30", "3{0}40"]

# (row 1, the rows below, the delimiter, what row 1 is)
CASES = {
    "user and item": ("user{0}item", TEXT, ",", "likely"),
    "user and item over codes": ("user{0}item", CODES, "\t", "likely"),
    "user and item over numbers": ("user{0}item", NUMBERS, ",", "header"),
    "follower and followee": ("follower{0}followee", TEXT, ",", "likely"),
    "customer_id and product_id": ("customer_id{0}product_id", TEXT, ";", "likely"),
    "customer_id over codes": ("customer_id{0}product_id", CODES, ",", "likely"),
    "gene_a and gene_b": ("gene_a{0}gene_b", TEXT, "\t", "likely"),
    "protein1 and protein2 over names": ("protein1{0}protein2", TEXT, ",", "likely"),
    "paper and cites": ("paper{0}cites", TEXT, ",", "likely"),
    "a and b": ("a{0}b", TEXT, ",", "likely"),
    "a and b, which other rows have too": (
        "a{0}b", ["b{0}c", "c{0}a"], ",", "edge"),
    "a and b among single letters": ("a{0}b", ["c{0}d", "d{0}e", "e{0}c"], ",", "asked"),
    "source and target": ("source{0}target", TEXT, ",", "header"),
    "Source and Target": ("Source{0}Target", TEXT, "|", "header"),
    "from and to": ("from{0}to", TEXT, "\t", "header"),
    "head and tail": ("head{0}tail", TEXT, " ", "header"),
    "u and v": ("u{0}v", TEXT, ",", "header"),
    "node1 and node2": ("node1{0}node2", TEXT, ";", "header"),
    "id1 and id2": ("id1{0}id2", CODES, ",", "header"),
    "citing and cited": ("citing{0}cited", CODES, " ", "header"),
    "fromNodeId and toNodeId": ("FromNodeId{0}ToNodeId", NUMBERS, "\t", "header"),
    "userId and movieId": ("userId{0}movieId", TEXT, ",", "likely"),
    "User ID and Item ID": ("User ID{0}Item ID", TEXT, ",", "likely"),
    "buyer and seller, quoted": ('"buyer"{0}"seller"', TEXT, ",", "likely"),
    "unknown words over codes": ("kunde{0}ware", CODES, ",", "likely"),
    "unknown words over names": ("kunde{0}ware", TEXT, ",", "asked"),
    "two people": ("ann{0}carl", TEXT, ",", "edge"),
    "a noun that is a node too": ("user{0}item", [*TEXT, "user{0}ann"], ",", "edge"),
    "numbers": ("7{0}8", NUMBERS, ",", "edge"),
    "codes": ("u9{0}i1", CODES, "\t", "edge"),
    "p1 and p2 among p3, p4": ("p1{0}p2", ["p3{0}p4", "p4{0}p5"], ",", "edge"),
    "words in a graph of words": ("king{0}queen", TEXT, " ", "asked"),
    "a comment above a header": ("# made today\nuser,item", ["ann,bob", "bob,cy"], ",", "likely"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_row_one_is_understood_or_asked_about(tmp_path: Path, case: str) -> None:
    first, rows, delimiter, meaning = CASES[case]
    lines = [line.format(delimiter) for line in (first, *rows)]
    (tmp_path / "edges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    graph = read_graph(tmp_path / "edges.txt")
    ends = first.replace('"', "").splitlines()[-1].format("\0").split("\0")
    in_graph = any(end in map(str, graph.node_ids) for end in ends if "," not in end)
    likely = any("taken as the names of the columns" in note for note in graph.notes)
    asked = any("taken as an edge, though" in note for note in graph.notes)
    expected = {
        "header": (False, False, False),
        "likely": (False, True, False),
        "asked": (True, False, True),
        "edge": (True, False, False),
    }
    assert (in_graph, likely, asked) == expected[meaning]


def test_what_is_likely_can_be_denied(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("user,item\nann,bob\nbob,cy\n", encoding="utf-8")
    graph = read_graph(tmp_path / "edges.csv", InputSettings(header="no"))
    assert "user" in graph.node_ids and graph.notes == []


def test_a_header_of_nodes_without_a_known_name(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("ann,bob\nbob,cy\n", encoding="utf-8")
    about = tmp_path / "about.csv"
    about.write_text("customer,town\nann,Ulm\nbob,Ulm\ncy,Rom\n", encoding="utf-8")
    graph = read_graph(tmp_path / "edges.csv", InputSettings(features=str(about)))
    assert graph.node_ids == ["ann", "bob", "cy"]
    assert graph.feature_names == ["town=Rom", "town=Ulm"]


def test_rows_of_head_type_and_tail_are_asked_about_and_read(tmp_path: Path) -> None:
    rows = [f"p{n}\t{kind}\t{kind}{n % 7}\n" for n in range(30) for kind in ("likes", "owns")]
    (tmp_path / "facts.tsv").write_text("".join(rows), encoding="utf-8")
    (asked,) = [n for n in read_graph(tmp_path / "facts.tsv").notes if "--type-column 2" in n]
    assert "column 2 has 2 values only" in asked
    graph = read_graph(tmp_path / "facts.tsv", InputSettings(type_column="2"))
    assert graph.type_names == ["likes", "owns"] and graph.num_nodes == 30 + 14
    assert not [note for note in graph.notes if "--type-column" in note]
    # Of a weighted list of users and items nothing is asked.
    rows = [f"u{n} i{n % 3} {n / 2}\n" for n in range(40)]
    (tmp_path / "weighted.txt").write_text("".join(rows), encoding="utf-8")
    notes = read_graph(tmp_path / "weighted.txt").notes
    assert not [note for note in notes if "--type-column" in note and "header" not in note]
