"""`mgae prepare` gives the graph that reading all rows at once gives, in bounded memory."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mgae.core.errors import GraphError
from mgae.core.graph import MessageGraph
from mgae.data.io.options import InputSettings
from mgae.data.large import listing, prepare, prepared_graph, sorting
from mgae.data.mapped import without_pairs
from mgae.data.opening import open_graph

_ARRAYS = ("edge_index", "edge_keys", "pairs", "pair_of_edge", "edge_weight", "side")
_IDS = st.one_of(
    st.lists(st.integers(-3, 12), min_size=2, max_size=8, unique=True),
    st.lists(st.sampled_from(["a", "b", "B", "é", "10", "9", "09", "ab", "x y"]), min_size=2,
             max_size=8, unique=True),
)  # fmt: skip


def assert_same(folder: Path, rows: Path, **read: object) -> None:
    ours, plain = prepared_graph(folder), open_graph(rows, InputSettings(**read))
    assert list(ours.node_ids) == plain.node_ids
    left, right = MessageGraph.of(ours), MessageGraph.of(plain)
    for name in _ARRAYS:
        a, b = getattr(left, name), getattr(right, name)
        assert (a is None) == (b is None), name
        assert a is None or torch.equal(a, b), name


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_equals_reading_all_rows_at_once(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("prepare")
    ids = data.draw(_IDS)
    weighted = data.draw(st.booleans())
    end = st.sampled_from(ids)
    edges = st.lists(st.tuples(end, end, st.integers(0, 9)), min_size=1, max_size=40)
    rows = data.draw(edges.filter(lambda rows: any(u != v for u, v, _ in rows)))
    names = ("source", "target", "weight")[: 2 + weighted]
    whole = pa.table({n: [row[i] for row in rows] for i, n in enumerate(names)})
    pq.write_table(whole, folder / "all.parquet")
    cut = data.draw(st.integers(0, len(rows)))
    parts = [whole.slice(0, cut), whole.slice(cut)]
    paths = [folder / f"{n}.parquet" for n in range(2)]
    for part, path in zip(parts, paths, strict=True):
        pq.write_table(part, path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "ROWS", data.draw(st.integers(1, 9)))
        patch.setattr(sorting, "ENTRIES", data.draw(st.integers(1, 9)))
        prepare(paths, folder / "graph")
    assert_same(folder / "graph", folder / "all.parquet")


def test_reads_csv_tsv_and_gzip(tmp_path):
    (tmp_path / "a.csv").write_text("user,item\nann,book\nbob,book\n")
    with gzip.open(tmp_path / "b.tsv.gz", "wt") as stream:
        stream.write("user\titem\nann\tpen\n")
    (tmp_path / "all.csv").write_text("user,item\nann,book\nbob,book\nann,pen\n")
    prepare([tmp_path / "a.csv", tmp_path / "b.tsv.gz"], tmp_path / "graph")
    assert_same(tmp_path / "graph", tmp_path / "all.csv")
    assert prepared_graph(tmp_path / "graph").side_names == ["user", "item"]


def test_a_split_in_files_is_the_one_in_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("MGAE_CACHE", str(tmp_path / "cache"))
    chance = np.random.default_rng(0)
    rows = "\n".join(f"{u},{v}" for u, v in chance.integers(0, 40, (200, 2)))
    (tmp_path / "e.csv").write_text(rows)
    prepare([tmp_path / "e.csv"], tmp_path / "graph", InputSettings(header="no"))
    whole = MessageGraph.of(prepared_graph(tmp_path / "graph"))
    gone = torch.from_numpy(chance.random(whole.pairs.size(1)) < 0.3)
    rest, expected = without_pairs(whole, gone), whole.only(~gone[whole.pair_of_edge])
    assert rest.in_files and not expected.in_files
    for name in _ARRAYS[:4]:
        assert torch.equal(getattr(rest, name), getattr(expected, name)), name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n,c\n", "line 2: an id is missing"),
        ("source,target\na,a\n", "no edges but 1 self-loop"),
        ("source,target\n", "there are no edges"),
    ],
)
def test_refuses_what_is_no_graph_and_leaves_nothing(tmp_path, text, message):
    (tmp_path / "e.csv").write_text(text)
    with pytest.raises(GraphError, match=message):
        prepare([tmp_path / "e.csv"], tmp_path / "graph")
    assert [file.name for file in tmp_path.iterdir()] == ["e.csv"]


def _edges(path: Path, count: int, nodes: int) -> None:
    chance = np.random.default_rng(0)
    texts = [pa.array(chance.integers(0, nodes, count)).cast(pa.string()) for _ in range(2)]
    pq.write_table(pa.table({"source": texts[0], "target": texts[1]}), path)


def test_a_killed_one_leaves_no_folder_and_the_next_begins_anew(tmp_path):
    _edges(tmp_path / "e.parquet", 3_000_000, 5000)
    command = [sys.executable, "-m", "mgae", "prepare", "e.parquet", "-o", "graph"]
    process = subprocess.Popen(command, cwd=tmp_path)
    work = tmp_path / ".graph.partial"
    while process.poll() is None and not list(work.glob("spool/*")):
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert work.is_dir() and not (tmp_path / "graph").exists()
    prepare([tmp_path / "e.parquet"], tmp_path / "graph")
    assert not work.exists()
    assert_same(tmp_path / "graph", tmp_path / "e.parquet")
    with pytest.raises(GraphError, match="graph exists: give another --out"):
        prepare([tmp_path / "e.parquet"], tmp_path / "graph")


_LIMITED = """
import resource, sys
from pathlib import Path
from mgae.data import growing
from mgae.data.large import listing, prepare, sorting
listing.ROWS, sorting.ENTRIES, growing.AT_ONCE = 1 << 16, 1 << 17, 1 << 17
data = [l for l in open("/proc/self/status") if l.startswith("VmData")][0].split()[1]
limit = (int(data) + 150_000) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
prepare([Path(sys.argv[1])], Path(sys.argv[2]))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_memory_does_not_follow_the_edges(tmp_path):
    """Three million edges, 48 MB as keys of both directions alone, in 150 MB for everything."""
    chance = np.random.default_rng(0)
    schema = pa.schema([("s", "string"), ("t", "string")])
    with pq.ParquetWriter(tmp_path / "e.parquet", schema) as w:
        for _ in range(15):
            ends = [pa.array(chance.integers(0, 20_000, 200_000)).cast("string") for _ in "st"]
            w.write_batch(pa.record_batch(ends, names=["s", "t"]))
    environment = {**os.environ, "MALLOC_ARENA_MAX": "2"}
    # Pools of their own take address space ahead of need.
    environment["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    code = [sys.executable, "-c", _LIMITED, str(tmp_path / "e.parquet"), str(tmp_path / "g")]
    subprocess.run(code, env=environment, check=True)
    facts = json.loads((tmp_path / "g" / "graph.json").read_text())
    assert facts["num_nodes"] == 20_000
