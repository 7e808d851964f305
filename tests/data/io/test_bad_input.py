"""Whatever a file holds, the user gets a graph, or one line that says what to do."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mgae.core.errors import MGAEError
from mgae.data.io.options import InputSettings
from mgae.data.opening import read_graph

Content = str | bytes | Callable[[Path], object]
FINE = "source,target\na,b\nb,c\n"


@dataclass(frozen=True)
class Case:
    """Files, what to read them with, and the message; {name} stands for the path of a file."""

    message: str
    edges: Content = FINE
    features: Content | None = None
    labels: Content | None = None
    options: dict[str, object] = field(default_factory=dict)
    name: str = "edges.csv"


def parquet(**columns: list[object]) -> Callable[[Path], object]:
    return lambda path: pq.write_table(pa.table(columns), path)


REFUSED = {
    "a missing column": Case(
        "{edges} has no column 'form' (input.source_column): "
        "columns are from, to (did you mean from?)",
        edges="from,to\na,b\n",
        options={"source_column": "form"},
    ),
    "a missing column by number": Case(
        "{edges} has no column '3' (input.weight_column): columns are 1 to 2 (no header)",
        edges="a,b\n",
        options={"weight_column": "3"},
    ),
    "JSON": Case(
        "{edges} is JSON: save the edges as CSV, a pair of ids in each row",
        edges='{"edges": [["a", "b"]]}\n',
    ),
    "an adjacency matrix": Case(
        "{edges} is an adjacency matrix of 4 nodes: write it as Matrix Market (.mtx) or a scipy "
        ".npz, or as a table with a pair of ids in each row",
        edges="0,1,0,1\n1,0,1,0\n0,1,0,0\n1,0,0,0\n",
    ),
    "an adjacency matrix with names": Case(
        "{edges} is an adjacency matrix of 3 nodes: write it as Matrix Market (.mtx) or a scipy "
        ".npz, or as a table with a pair of ids in each row",
        edges=",a,b,c\na,0,1,0\nb,1,0,1\nc,0,1,0\n",
    ),
    "a missing id column": Case(
        "{features} has no column 'key' (input.id_column): columns are id, f",
        features="id,f\na,1\n",
        options={"id_column": "key"},
    ),
    "one column twice": Case(
        "{edges}: source, target and weight must be different columns, got source, source",
        options={"target_column": "source"},
    ),
    "a single column": Case("{edges} needs two columns with ids, got column1", edges="a\nb\nc\n"),
    "a ragged row": Case(
        "{edges}, line 4: expected 2 fields as elsewhere, got 3", edges=f"{FINE[:-4]}b,c\nc,d,e\n"
    ),
    "a short row far below": Case(
        "{edges}, line 300002: expected 2 fields as elsewhere, got 1",
        edges="source,target\n" + "a,b\n" * 300_000 + "c\n",
    ),
    "a ragged row among comments": Case(
        "{edges}, line 5: expected 2 fields as elsewhere, got 3",
        edges="# one\n1 2\n# two\n\n3 4 5\n6 7\n",
    ),
    "a ragged header": Case(
        "{edges}, line 1: expected 3 fields as elsewhere, got 2", edges="from,to\n1,2,3\n4,5,6\n"
    ),
    "a ragged row of features": Case(
        "{features}, line 3: expected 2 fields as elsewhere, got 3",
        features="id,f\na,1\nb,2,3\nc,3\n",
    ),
    "an edge id without features": Case(
        "{features} has no features for 1 node: c (input.missing = zero or mean fills them)",
        features="id,f\na,1\nb,2\n",
    ),
    "a NaN among features": Case(
        "{features}, line 3: column 'f' must hold finite numbers, got nan "
        "(leave a cell empty where there is none)",
        features="id,f\na,1\nb,nan\nc,2\n",
    ),
    "an infinite feature": Case(
        "{features}, line 4: column 'g' must hold finite numbers, got -inf "
        "(leave a cell empty where there is none)",
        features="id,f,g\na,1,1\nb,1,2\nc,2,-inf\n",
    ),
    "a feature that is infinite": Case(
        "{features}, line 2: column 'f' must hold finite numbers, got inf "
        "(leave a cell empty where there is none)",
        features="id,f\na,1e999\nb,2\nc,3\n",
    ),
    "a NaN in Parquet": Case(
        "{features}, row 2: column 'f' must hold finite numbers, got nan "
        "(leave a cell empty where there is none)",
        features=parquet(id=["a", "b", "c"], f=[1.0, float("nan"), 2.0]),
    ),
    "features of a type that has none": Case(
        "{features}, row 1: column 'f' holds list<element: int64>: "
        "features must be numbers, booleans, dates or texts",
        features=parquet(id=["a", "b", "c"], f=[[1], [1, 2], []]),
    ),
    "no feature columns": Case(
        "{features} has no column beside 'id', the ids", features="id\na\nb\nc\n"
    ),
    "no feature values": Case(
        "{features} has no features beside the ids: column 'f' left out: it is empty",
        features="id,f\na,\nb,NA\nc,\n",
    ),
    "a duplicate feature row": Case(
        "{features}, line 4: a second row for the id a", features="id,f\na,1\nb,2\na ,3\nc,1\n"
    ),
    "a missing feature id": Case(
        "{features}, line 3: an id is missing", features="id,f\na,1\n,2\nc,1\n"
    ),
    "a duplicate label": Case(
        "{labels}, line 3: a second row for the id a", labels="id,label\na,1\na,1\n"
    ),
    "labels of other nodes": Case(
        "{labels} has no label for any node of the graph", labels="id,label\nx,1\ny,2\n"
    ),
    "no labels": Case("{labels} has no labels beside 'id', the ids", labels="id\na\nb\n"),
    "an empty file": Case("{edges} is empty", edges=b""),
    "blank lines": Case("{edges} is empty", edges="\n \n\n"),
    "a byte order mark alone": Case("{edges} is empty", edges=b"\xef\xbb\xbf\n"),
    "comments alone": Case("{edges} is empty but for comments", edges="# a\n# b\n"),
    "an empty gzip file": Case("{edges} is empty", edges=gzip.compress(b""), name="edges.csv.gz"),
    "no edges": Case("{edges} has no edges", edges="source,target\n"),
    "no edges in Parquet": Case("{edges} has no edges", edges=parquet(source=[], target=[])),
    "one node": Case("{edges} has no edges but 1 self-loop", edges="a,a\n"),
    "only self-loops": Case("{edges} has no edges but 3 self-loops", edges="a,a\nb,b\na,a\n"),
    "a missing id": Case("{edges}, line 3: an id is missing", edges="a,b\nb,c\n,d\n"),
    "a blank id": Case("{edges}, line 2: an id is missing", edges='a,b\n"  ",c\n'),
    "a missing id in Parquet": Case(
        "{edges}, row 2: an id is missing", edges=parquet(source=["a", None], target=["b", "c"])
    ),
    "wrong encoding": Case(
        "{edges}, line 2: byte 0xfc is not UTF-8 text: save the file as UTF-8, "
        "or say what it is, as --encoding windows-1252",
        edges="Köln,Bonn\nDüren,Bonn\n".encode().replace("ü".encode(), "ü".encode("latin1")),
    ),
    "wrong encoding far below": Case(
        "{edges}, line 300001: byte 0xe9 is not UTF-8 text: save the file as UTF-8, "
        "or say what it is, as --encoding windows-1252",
        edges=b"a,b\n" * 300_000 + b"caf\xe9,b\n",
    ),
    "wrong encoding of a feature": Case(
        "{features}, line 400003: byte 0xe9 is not UTF-8 text: save the file as UTF-8, "
        "or say what it is, as --encoding windows-1252",
        features=b"id,f\n"
        + b"".join(b"%d,1\n" % k for k in range(400_000))
        + b"a,1\nb,\xe9\nc,2\n",
    ),
    "a binary file": Case(
        "{edges} is a binary file of no known format: use CSV, Parquet or GraphML",
        edges=b"\x7fELF\x02\x01\x01\x00\x00\x00\n" * 9,
    ),
    "a spreadsheet": Case(
        "{edges} is a zip archive or a spreadsheet: save the table as CSV",
        edges=b"PK\x03\x04\x14\x00",
        name="edges.xlsx",
    ),
    "a directory": Case("{edges} is a directory: name a file in it", edges=Path.mkdir),
    "a directory of features": Case(
        "{features} is a directory: name a file in it", features=Path.mkdir
    ),
    "no such file": Case("cannot read {edges}: No such file or directory", edges=lambda path: 0),
    "no such labels": Case(
        "cannot read {labels}: No such file or directory", labels=lambda path: 0
    ),
    "half a Parquet file": Case(
        "{edges} is not a Parquet file: check that it was written to the end",
        edges=b"a,b\n",
        name="edges.parquet",
    ),
    "half a gzip file": Case(
        "cannot read {edges}: Compressed file ended before the end-of-stream marker was reached",
        edges=gzip.compress(FINE.encode() * 999)[:-20],
        name="edges.csv.gz",
    ),
    "columns of one name in Parquet": Case(
        "{edges} has two columns 'source': rename one of them",
        edges=lambda path: pq.write_table(
            pa.table([["a"], ["b"]], names=["source", "source"]), path
        ),
    ),
    "a number beyond int64": Case(
        "{edges}, line 3: 9223372036854775808 does not fit into 64 bits: "
        "make such numbers texts, as by a letter before them",
        edges="1,2\n2,3\n3,9223372036854775808\n",
    ),
    "a number beyond int64 in features": Case(
        "{features}, line 4: -9223372036854775809 does not fit into 64 bits: "
        "make such numbers texts, as by a letter before them",
        edges="1,2\n",
        features="id,f\n1,0\n2,0\n-9223372036854775809,0\n",
    ),
    "a negative weight": Case(
        "{edges}, line 3: the weight must be a finite number ≥ 0, got -0.5 "
        "(--weights abs or drop takes negative ones)",
        edges="source,target,weight\na,b,1\nb,c,-0.5\n",
    ),
    "a weight that is no number": Case(
        "{edges}, line 2: the weight must be a finite number ≥ 0, got 'heavy'",
        edges="source,target,weight\na,b,heavy\nb,c,1\n",
    ),
    "a missing weight": Case(
        "{edges}, line 3: the weight must be a finite number ≥ 0, got ''",
        edges="source,target,weight\na,b,1\nb,c,\n",
    ),
    "a missing weight in Parquet": Case(
        "{edges}, row 2: the weight must be a finite number ≥ 0, got nan",
        edges=parquet(source=["a", "b"], target=["b", "c"], weight=[1, None]),
    ),
    "an infinite weight": Case(
        "{edges}, line 2: the weight must be a finite number ≥ 0, got inf",
        edges="source,target,weight\na,b,inf\n",
    ),
    "a class beyond int64": Case(
        "{labels}, line 3: 9223372036854775808 does not fit into 64 bits: "
        "make such numbers texts, as by a letter before them",
        labels="id,label\nx,1\na,9223372036854775808\nb,2\n",
    ),
    "a pipe": Case("{edges} can only be read once: save it as a file", edges=os.mkfifo),
    "weights that overflow together": Case(
        "{edges}: weights of duplicate edges add up to more than 3.4e38",
        edges="source,target,weight\na,b,3e38\na,b,3e38\n",
    ),
    "weights of a wrong type": Case(
        "{edges}: a weight must be a number, got a list<element: int64>",
        edges=parquet(source=["a"], target=["b"], weight=[[1]]),
    ),
    "a label that is a fraction": Case(
        "{labels}, row 2: a label must be an integer or a text, got 0.5",
        labels=parquet(id=["a", "b"], label=[1.0, 0.5]),
    ),
    "labels of a wrong type": Case(
        "{labels}, row 1: a label must be an integer or a text, got a list<element: int64>",
        labels=parquet(id=["a", "b"], label=[[1], [2]]),
    ),
    "an empty path of features": Case(
        "input.features is empty: name a file, or leave it out", options={"features": ""}
    ),
    "an empty path of labels": Case(
        "input.labels is empty: name a file, or leave it out", options={"labels": ""}
    ),
    "an id column of no table": Case(
        "input.id_column needs input.features or input.labels or input.nodes: name a file, or "
        "leave it out",
        options={"id_column": "nosuch"},
    ),
    "a label column of no table": Case(
        "input.label_column needs input.features or input.labels: name a file, or leave it out",
        options={"label_column": "label"},
    ),
    "features that are missing without any": Case(
        "input.missing needs input.features: name a file, or leave it out",
        labels="id,label\na,1\nb,2\n",
        options={"missing": "zero"},
    ),
    "ids of a wrong type": Case(
        "{edges}, row 1: an id must be an integer or a text, got a list<element: string>",
        edges=parquet(source=[["a"]], target=[["b"]]),
    ),
}


def prepared(folder: Path, case: Case) -> tuple[dict[str, str], InputSettings]:
    paths = {"edges": folder / case.name, "features": folder / "nodes.txt"}
    paths["labels"] = folder / "labels.txt"
    for name, path in paths.items():
        content = getattr(case, name)
        if callable(content):
            content(path)
        elif content is not None:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    names = {name: str(path) for name, path in paths.items()}
    given = {name: names[name] for name in ("features", "labels") if getattr(case, name)}
    return names, InputSettings(**given, **case.options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_a_line_that_a_person_can_act_on(tmp_path: Path, name: str) -> None:
    names, options = prepared(tmp_path, REFUSED[name])
    with pytest.raises(MGAEError) as refusal:
        read_graph(names["edges"], options)
    assert str(refusal.value) == REFUSED[name].message.format(**names)
    assert refusal.value.exit_code == 2


def test_bytes_that_are_no_text_in_parquet_are_refused(tmp_path: Path) -> None:
    names = pa.array([b"caf\xe9", b"b"]).view(pa.string())  # which pyarrow writes unseen
    pq.write_table(pa.table({"source": names, "target": ["b", "c"]}), tmp_path / "edges.parquet")
    with pytest.raises(MGAEError, match=r"cannot read .*edges\.parquet: .*UTF8") as refusal:
        read_graph(tmp_path / "edges.parquet")
    assert "\n" not in str(refusal.value)


HANDLED = {
    "a byte order mark": Case("", edges=b"\xef\xbb\xbfa,b\nb,c\n"),
    "windows line ends": Case("", edges=b"a,b\r\nb,c\r\n"),
    "an unknown ending": Case("", name="edges.dat"),
    "no ending": Case("", name="edges"),
    "an id in features that no edge has": Case(
        "{features}: 1 id without an edge, kept as isolated: x",
        features="id,f\na,1\nb,0\nx,1\nc,0\n",
    ),
    "a node without features, filled": Case(
        "{features}: 1 node without features, set to zero: c",
        features="id,f\na,1\nb,0\n",
        options={"missing": "zero"},
    ),
}


@pytest.mark.parametrize("name", HANDLED)
def test_read_with_at_most_a_note(tmp_path: Path, name: str) -> None:
    names, options = prepared(tmp_path, HANDLED[name])
    graph = read_graph(names["edges"], options)
    assert graph.notes == ([HANDLED[name].message.format(**names)] if HANDLED[name].message else [])
    assert graph.node_ids[:3] == ["a", "b", "c"]


ENDINGS = [".csv", ".tsv", "", ".txt.gz", ".parquet", ".feather", ".npz", ".mtx", ".gml", ".net"]
ENDINGS += [".graphml", ".gexf"]
PROPERTY = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("random")
    yield path
    shutil.rmtree(path)


def read_or_refuse(path: Path, content: bytes, **options: object) -> None:
    """Anything but an MGAEError of one line fails the test."""
    path.write_bytes(content)
    try:
        graph = read_graph(path, InputSettings(**options))  # type: ignore[arg-type]
    except MGAEError as error:
        assert "\n" not in str(error)
        assert error.exit_code == 2
    else:
        assert graph.num_nodes == len(graph.node_ids) >= 2


MAGIC = [b"", b"PAR1", b"ARROW1\0\0", b"FEA1", b"\x1f\x8b\x08", b"PK\x03\x04", b"\xef\xbb\xbf"]
MAGIC += [b"%%MatrixMarket matrix coordinate real general\n3 3 2\n", b"*Vertices 3\n", b"graph ["]


@PROPERTY
@given(magic=st.sampled_from(MAGIC), body=st.binary(max_size=200), ending=st.sampled_from(ENDINGS))
def test_random_bytes_are_refused_in_one_line(
    folder: Path, magic: bytes, body: bytes, ending: str
) -> None:
    read_or_refuse(folder / f"edges{ending}", magic + body)
    (folder / "fine.csv").write_text(FINE, encoding="utf-8")
    path = folder / f"nodes{ending}"
    path.write_bytes(magic + body)
    read_or_refuse(folder / "fine.csv", FINE.encode(), features=str(path), missing="zero")
    read_or_refuse(folder / "fine.csv", FINE.encode(), labels=str(path))


cell = st.one_of(
    st.sampled_from(
        ["a", "b", "1", "2", "-3.5", "", "NA", "nan", "inf", "true", "2020-01-01", "#"]
    ),
    st.text(max_size=8),
    st.integers().map(str),
    st.floats().map(str),
)
row = st.lists(cell, min_size=1, max_size=4)


@st.composite
def delimited(draw: st.DrawFn) -> bytes:
    """Rows of mostly one length, in some dialect, with what goes wrong in files."""
    width = draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(cell, min_size=width, max_size=width) | row, max_size=8))
    mark, end = draw(st.sampled_from(list(",\t;| "))), draw(st.sampled_from(["\n", "\r\n", "\r"]))
    quoted = draw(st.booleans())
    lines = [mark.join('"' + c.replace('"', '""') + '"' if quoted else c for c in r) for r in rows]
    header = draw(st.sampled_from(["", "source,target,weight", "id,label", "# a comment"]))
    text = end.join([*([header.replace(",", mark)] if header else []), *lines, ""])
    content = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode(errors="replace")
    return gzip.compress(content) if draw(st.booleans()) else content


choice = st.sampled_from([None, "1", "2", "3", "source", "weight", "id", "label"])


@settings(PROPERTY, max_examples=300)
@given(
    content=delimited(),
    header=st.sampled_from(["auto", "yes", "no"]),
    columns=st.tuples(choice, choice, choice),
    directed=st.booleans(),
)
@example(b"source,target,weight\na,b,1e400\n", "auto", (None, None, None), False)
@example(b'a,"b\nc,d\n', "auto", (None, None, None), False)
def test_random_edges_are_read_or_refused_in_one_line(
    folder: Path,
    content: bytes,
    header: str,
    columns: tuple[str | None, str | None, str | None],
    directed: bool,
) -> None:
    keys = ("source_column", "target_column", "weight_column")
    chosen = dict(zip(keys, columns, strict=True))
    read_or_refuse(folder / "edges.csv", content, header=header, directed=directed, **chosen)


@settings(PROPERTY, max_examples=300)
@given(
    content=delimited(),
    id_column=choice,
    label_column=choice,
    missing=st.sampled_from(["zero", "mean"]),
)
def test_random_features_and_labels_are_read_or_refused_in_one_line(
    folder: Path, content: bytes, id_column: str | None, label_column: str | None, missing: str
) -> None:
    path = folder / "nodes.csv"
    path.write_bytes(content)
    options = {"id_column": id_column, "label_column": label_column}
    features = {"features": str(path), "missing": missing}
    read_or_refuse(folder / "edges.csv", FINE.encode(), **features, **options)
    read_or_refuse(folder / "edges.csv", FINE.encode(), labels=str(path), **options)
