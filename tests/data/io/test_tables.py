from __future__ import annotations

import datetime
import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import feather

from mgae.core.errors import ConfigError, GraphError
from mgae.data.io.headers import Hints
from mgae.data.io.options import InputSettings
from mgae.data.io.tables import ArrowTable, Table, find_column, open_table
from mgae.data.opening import read_graph

EDGES = Hints(known=frozenset({"source", "target", "weight"}), needed=2)


def opened(path: Path, hints: Hints = EDGES) -> Table:
    return open_table(path, hints, lambda stage, share: None)


def written(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(table: Table, text: bool = True) -> list[tuple[object, ...]]:
    numbers = range(len(table.names))
    columns = table.read(numbers, numbers if text else [])
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def test_other_encodings_are_read_if_named_and_utf_16_by_its_mark(tmp_path: Path) -> None:
    text, path = "Köln,Gdańsk\nBrno,Köln\n", tmp_path / "edges.csv"
    expected = {"Brno", "Gdańsk", "Köln"}
    for encoding, given_settings in (
        ("utf-16", InputSettings()),
        ("windows-1250", InputSettings(encoding="windows-1250")),
        ("utf-8", InputSettings(encoding="windows-1250")),  # which it is not
    ):
        path.write_bytes(text.encode(encoding))
        assert set(read_graph(path, given_settings).node_ids) == expected
    path.write_bytes(gzip.compress(text.encode("windows-1250")))
    with pytest.raises(GraphError, match="say what it is, as --encoding windows-1252"):
        read_graph(path)
    with pytest.raises(GraphError, match="cannot read"):
        read_graph(path, InputSettings(encoding="ascii"))
    with pytest.raises(ConfigError, match=r"input\.encoding: must be an encoding"):
        InputSettings(encoding="base64")


TWO_ROWS = [("a", "b"), ("c", "d")]
TEXTS = {
    "comma": "a,b\nc,d\n",
    "no newline at the end": "a,b\nc,d",
    "tab": "a\tb\nc\td\n",
    "semicolon": "a;b\nc;d\n",
    "pipe": "a|b\nc|d\n",
    "blank": "a b\nc d\n",
    "aligned by blanks": "  a    b \n  c \t d\n",
    "windows": "a,b\r\nc,d\r\n",
    "old macintosh": "a,b\rc,d\r",
    "byte order mark": "\ufeffa,b\nc,d\n",
    "byte order mark and quotes": '\ufeff"a","b"\n"c","d"\n',
    "quotes": '"a","b"\nc,"d"\n',
    "empty lines": "\n\na,b\n\nc,d\n\n",
    "SNAP": "# Directed graph\n# Nodes: 4 Edges: 2\n# FromNodeId\tToNodeId\na\tb\nc\td\n",
    "comments below": "a\tb\n# so far\n#\nc\td\n",
    "KONECT": "% sym unweighted\n% 2 4 4\na b\nc d\n",
    "glued comment": "#three words here\na b\nc d\n",
    "comment above a CSV": "# written today\na,b\nc,d\n",
}


@pytest.mark.parametrize("case", TEXTS)
def test_the_same_rows_in_every_kind_of_text(tmp_path: Path, case: str) -> None:
    table = opened(written(tmp_path, TEXTS[case]))
    assert rows(table) == TWO_ROWS
    assert not table.named


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(case=st.sampled_from(sorted(TEXTS)), size=st.integers(1, 40))
def test_the_same_rows_in_small_pieces(tmp_path: Path, case: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mgae.data.io.delimited._PIECE_BYTES", size)
        assert rows(opened(written(tmp_path, TEXTS[case]))) == TWO_ROWS


@pytest.mark.parametrize("case", TEXTS)
def test_the_same_rows_packed(tmp_path: Path, case: str) -> None:
    path = written(tmp_path, gzip.compress(TEXTS[case].encode()), "table.csv.gz")
    assert rows(opened(path)) == TWO_ROWS


LINES = {
    "windows": (1, 2),
    "old macintosh": (1, 2),
    "empty lines": (3, 5),
    "SNAP": (4, 5),
    "comments below": (1, 4),
    "glued comment": (2, 3),
    "comment above a CSV": (2, 3),
}


@pytest.mark.parametrize("case", LINES)
def test_a_row_is_placed_at_the_line_that_an_editor_shows(tmp_path: Path, case: str) -> None:
    path = written(tmp_path, TEXTS[case])
    table = opened(path)
    lines = tuple(f"{path}, line {line}" for line in LINES[case])
    assert (table.locate(0), table.locate(1)) == lines


@pytest.mark.parametrize("size", [1, 7, 1 << 25])
def test_a_quoted_field_holds_delimiters_quotes_and_line_ends(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mgae.data.io.delimited._PIECE_BYTES", size)
    path = written(tmp_path, 'source,target\n"a, ""b""","c\nd"\ne,f\n')
    table = opened(path)
    assert rows(table) == [('a, "b"', "c\nd"), ("e", "f")]
    assert table.locate(1) == f"{path}, line 4"


def test_a_quoted_field_keeps_its_blanks_between_blanks(tmp_path: Path) -> None:
    table = opened(written(tmp_path, '"New  York"   Boston\nBoston   Chicago\n'))
    assert rows(table) == [("New  York", "Boston"), ("Boston", "Chicago")]


def test_ids_that_begin_with_a_hash_are_no_comments(tmp_path: Path) -> None:
    tags = opened(written(tmp_path, "#cat,#dog\n#dog,bird\nbird,#cat\n"))
    assert rows(tags) == [("#cat", "#dog"), ("#dog", "bird"), ("bird", "#cat")]


def test_blanks_do_not_delimit_where_commas_do(tmp_path: Path) -> None:
    assert rows(opened(written(tmp_path, "New York,Los Angeles\nSan Jose,San Jose\n"))) == [
        ("New York", "Los Angeles"),
        ("San Jose", "San Jose"),
    ]


def test_more_comments_than_fit_into_a_block_are_skipped(tmp_path: Path) -> None:
    comments = "# nothing to see here\n" * 100_000
    assert rows(opened(written(tmp_path, f"a\tb\n{comments}c\td\n"))) == TWO_ROWS


def test_a_row_longer_than_a_block_is_read(tmp_path: Path) -> None:
    long = "x" * 3_000_000
    table = opened(written(tmp_path, f'source,target\na,b\n"{long}",d\n'))
    assert rows(table) == [("a", "b"), (long, "d")]


HEADERS = {
    "known names": ("Source,Target\na,b\n", Hints(known=EDGES.known, needed=2), True),
    "one known name of two": ("source,b\nc,d\n", EDGES, False),
    "a hash before the first": ("#source,target\na,b\n", EDGES, True),
    "numbers below": ("who,whom\n1,2\n", EDGES, True),
    "fractions below": ("who,whom,much\na,b,0.5\nc,d,-1e3\n", EDGES, True),
    "numbers everywhere": ("1,2\n3,4\n", EDGES, False),
    "texts everywhere": ("wer,wen\na,b\n", EDGES, False),
    "texts, forced": ("who,whom\na,b\n", Hints("yes"), True),
    "known names, forced": ("source,target\na,b\n", Hints("no", EDGES.known, 2), False),
    "a missing number above numbers": ("a,NA\nb,3\n", EDGES, False),
    "a wrong number above numbers": ("a,nan\nb,3\n", EDGES, False),
    "a sign before a name": ("who,%much\n1,2\n", EDGES, True),
    "a chosen name": ("who,whom\na,b\n", Hints(chosen=("whom",)), True),
    "a chosen number is no name": ("1,2\n3,4\n", Hints(chosen=("2",)), False),
    "one row": ("a,b\n", EDGES, False),
}


@pytest.mark.parametrize("case", HEADERS)
def test_row_one_is_a_header_or_not(tmp_path: Path, case: str) -> None:
    content, hints, named = HEADERS[case]
    table = opened(written(tmp_path, content), hints)
    assert table.named is named
    first = content.splitlines()[0].lstrip("#").split(",")
    assert table.names == (
        tuple(first) if named else tuple(f"column{n + 1}" for n in range(len(first)))
    )
    assert len(rows(table)) == len(content.splitlines()) - named


def test_a_header_alone_makes_an_empty_table(tmp_path: Path) -> None:
    assert rows(opened(written(tmp_path, "source,target\n"))) == []
    assert rows(opened(written(tmp_path, "source\ttarget\n# nothing\n\n"))) == []


def test_columns_become_what_they_look_like(tmp_path: Path) -> None:
    content = "id,age,size,member,word\n7,1, 0.5,true,NA\n8,NA, N/A,false, x \n"
    table = opened(written(tmp_path, content))
    assert rows(table, text=False) == [(7, 1, 0.5, True, None), (8, None, None, False, "x")]


TYPES = {
    "integers": (["1", "NA", "3"], [1, None, 3]),
    "integers, then fractions": (["1", "2", "0.5"], [1.0, 2.0, 0.5]),
    "nothing, then integers": (["", "NA", "3"], [None, None, 3]),
    "numbers, then texts": (["1", "0.5", "x"], ["1", "0.5", "x"]),
    "booleans, then numbers": (["true", "false", "1"], ["true", "false", "1"]),
    "dates, then nothing": (["2020-01-01", "", ""], [datetime.date(2020, 1, 1), None, None]),
    "days, then seconds": (
        ["2020-01-01", "2020-01-01 12:00:00"],
        [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, 12)],
    ),
    "nothing": (["", "", "NA"], [None, None, None]),
}


@pytest.mark.parametrize("size", [1, 1 << 25])
@pytest.mark.parametrize("case", TYPES)
def test_a_column_looks_the_same_in_one_piece_and_in_many(
    tmp_path: Path, case: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mgae.data.io.delimited._PIECE_BYTES", size)
    cells, expected = TYPES[case]
    content = "id,f\n" + "".join(f"{row},{cell}\n" for row, cell in enumerate(cells))
    table = opened(written(tmp_path, content), Hints("yes"))
    assert table.read([1], [])[0].to_pylist() == expected


def test_text_stays_as_it_stands_there(tmp_path: Path) -> None:
    table = opened(written(tmp_path, "007, x \nNA,\n"))
    assert rows(table) == [("007", " x "), ("NA", "")]


def test_parquet_and_feather_are_known_by_their_content(tmp_path: Path) -> None:
    columns = pa.table({"source": ["a", "c"], "target": ["b", "d"]})
    pq.write_table(columns, tmp_path / "edges", row_group_size=1)
    feather.write_feather(columns, tmp_path / "edges.bin")
    for name in ("edges", "edges.bin"):
        table = opened(tmp_path / name)
        assert rows(table) == TWO_ROWS
        assert table.names == ("source", "target")
        assert table.locate(1) == f"{tmp_path / name}, row 2"


def test_progress_goes_up_to_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mgae.data.io.delimited._PIECE_BYTES", 100)
    steps: list[tuple[str, float]] = []
    path = written(tmp_path, "a,b\n" * 100)
    table = open_table(path, EDGES, lambda stage, share: steps.append((stage, share)))
    table.read([0, 1], [0, 1])
    assert {stage for stage, _ in steps} == {"reading table.csv"}
    shares = [share for _, share in steps]
    assert shares == sorted(shares)
    assert len(shares) > 3
    assert shares[-1] == 1.0


TABLE = ArrowTable("t", pa.table({"a": [1], "Source": [2], "2": [3]}))


def test_a_column_is_found_by_name_then_by_number_then_by_known_name() -> None:
    assert find_column(TABLE, "s", "Source") == 1
    assert find_column(TABLE, "s", "2") == 2
    assert find_column(TABLE, "s", "1") == 0
    assert find_column(TABLE, "s", None, {"source"}) == 1
    assert find_column(TABLE, "s", None, {"source"}, taken={1}) is None
    assert find_column(TABLE, "s", None, {"target"}) is None


def test_a_column_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"t has no column 'sourc' \(input.x\): .*mean Source\?"):
        find_column(TABLE, "input.x", "sourc")
    with pytest.raises(GraphError, match="no column '4'"):
        find_column(TABLE, "input.x", "4")
    headless = opened(written(tmp_path, "a,b\n"))
    with pytest.raises(GraphError, match=r"columns are 1 to 2 \(no header\)"):
        find_column(headless, "input.x", "who")


def test_a_table_comes_in_pieces_too(tmp_path: Path) -> None:
    columns = {"source": ["a", "b", "c"], "target": [1, 2, 3]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=2)
    tables = [
        opened(written(tmp_path, "source,target\na,1\nb,2\nc,3\n")),
        opened(tmp_path / "t.parquet"),
        ArrowTable("t", pa.table(columns)),
    ]
    for table in tables:
        pieces = [[column.to_pylist() for column in piece] for piece in table.pieces([1, 0])]
        targets = [str(value) for piece in pieces for value in piece[0]]
        assert targets == ["1", "2", "3"]
        assert [value for piece in pieces for value in piece[1]] == ["a", "b", "c"]


def test_a_ragged_row_is_named_in_pieces_too(tmp_path: Path) -> None:
    table = opened(written(tmp_path, "source,target\na,b\nc\n"))
    with pytest.raises(GraphError, match="line 3: expected 2 fields as elsewhere, got 1"):
        list(table.pieces([0, 1]))
