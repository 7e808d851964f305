"""Tiny files that claim or expand to more than memory are refused before any is taken."""

from __future__ import annotations

import gzip
import io
import json
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from scipy import sparse
from torch_geometric.data import Data

from mgae.core.errors import GraphError
from mgae.data.opening import as_graph, open_graph

MEGABYTE = 2**20
# Opens each file with 3 GB of memory above what the libraries take, and 20 seconds.
CHILD = """
import json, resource, signal, sys, time
from mgae.core.errors import MGAEError
from mgae.data.opening import open_graph
import psutil
taken = psutil.Process().memory_info().vms
resource.setrlimit(resource.RLIMIT_AS, (taken + 3 * 2**30,) * 2)
outcomes = {}
for path in sys.argv[1:]:
    signal.alarm(60)
    started = time.process_time()
    try:
        open_graph(path)
        outcomes[path] = "opened"
    except MGAEError as error:
        outcomes[path] = str(error)
    assert time.process_time() - started < 20, path
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([outcomes, peak]))
"""


def bombs(folder: Path) -> list[Path]:
    """Write files of a few kilobytes, each of which once took gigabytes or minutes."""

    def packed(name: str, head: bytes, body: bytes, times: int) -> None:
        (folder / name).write_bytes(gzip.compress(head) + gzip.compress(body) * times)

    (folder / "rows.mtx").write_text(
        f"%%MatrixMarket matrix coordinate pattern general\n{2**31 - 1} {2**31 - 1} 1\n1 2\n"
    )
    claimed = sparse.coo_array((np.ones(1), ([0], [1])), shape=(2**31 - 1, 2**31 - 1))
    sparse.save_npz(folder / "claimed.npz", claimed)
    with zipfile.ZipFile(folder / "zeros.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f8", "fortran_order": False, "shape": (2**24,)}
        )
        with archive.open("data.npy", "w") as member:
            member.write(header.getvalue())
            for _ in range(128):
                member.write(bytes(MEGABYTE))
    packed("endless.csv.gz", b"source,target\n", b"a" * MEGABYTE, 400)
    packed("edges.csv.gz", b"", b"1,2\n" * (MEGABYTE // 4), 1000)
    packed("quote.csv.gz", b'a,b\n"', b"a,b\n" * (MEGABYTE // 4), 400)
    packed("nodes.gml.gz", b"graph [\n", b"node [ id 1 ]\n" * (MEGABYTE // 14), 300)
    packed("blanks.graphml.gz", b"<graphml>", b" " * MEGABYTE, 1500)
    packed(
        "head.mtx.gz", b"%%MatrixMarket matrix coordinate pattern general\n", b"%" * MEGABYTE, 400
    )
    many = pa.table({"source": pa.array([1]).take(pa.array(np.zeros(30_000_000, np.int64)))})
    pq.write_table(many.append_column("target", many["source"]), folder / "rows.parquet")
    return sorted(folder.iterdir())


def test_tiny_files_take_neither_memory_nor_time(tmp_path: Path) -> None:
    files = [str(path) for path in bombs(tmp_path)]
    assert max(Path(path).stat().st_size for path in files) < 3 * MEGABYTE
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    outcomes, peak = json.loads(done.stdout)
    assert peak < 1500 * MEGABYTE
    for path, outcome in outcomes.items():
        assert outcome.startswith(path), (path, outcome)
        assert "\n" not in outcome


def test_a_field_of_many_megabytes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_bytes(b"a,b\nc," + b"d" * 80 * MEGABYTE + b"\ne,f\n")
    with pytest.raises(GraphError, match="longer than 33,554,432 bytes"):
        open_graph(tmp_path / "edges.csv")


def test_a_megabyte_of_comments_hides_no_rows(tmp_path: Path) -> None:
    file = tmp_path / "edges.csv"
    file.write_text("# a comment\n" * 200_000 + "\nsource,target\n1,2\n2,3\n3,\n")
    with pytest.raises(GraphError, match="line 200005: an id is missing"):
        open_graph(file)
    file.write_text("# a comment\n" * 200_000 + "source,target\n1,2\n2,3\n")
    assert open_graph(file).node_ids == [1, 2, 3]
    file.write_text("# a comment\n" * 200_000)
    with pytest.raises(GraphError, match="is empty but for comments"):
        open_graph(file)


def test_tables_of_zeros_may_be_packed_tightly(tmp_path: Path) -> None:
    """A bag of words as CSV shrinks to a hundredth and is nobody's bomb."""
    edges, features = tmp_path / "edges.csv", tmp_path / "features.csv.gz"
    edges.write_text("".join(f"n{k},n{k + 1}\n" for k in range(600)))
    draw = random.Random(0)
    rows = []
    for node in range(601):
        words = set(draw.sample(range(2000), 12))
        rows.append(",".join([f"n{node}", *("01"[word in words] for word in range(2000))]))
    with gzip.open(features, "wt") as stream:
        stream.writelines(f"{row}\n" for row in rows)
    from mgae.data.io.options import InputSettings

    assert open_graph(edges, InputSettings(features=str(features))).x.size(0) == 601


def ring(**given: object) -> Data:
    edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
    return Data(edge_index=edges, **{"num_nodes": 3, **given})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"num_nodes": 10**12}, "1,000,000,000,000 nodes for 3 edges"),
        ({"y": [0, 1, 0]}, "y must be a tensor, got a list"),
        ({"x": torch.ones(3, 2, dtype=torch.complex64)}, "x must be real"),
        ({"x": [[1.0], [2.0], [3.0]]}, "x must be a tensor, got a list"),
        ({"node_ids": ["a", "b", "c" * 1001]}, "node_ids may have 1,000 characters each"),
    ],
)
def test_odd_objects_are_refused_in_one_line(given: dict[str, object], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        as_graph(ring(**given))


def test_large_features_come_with_a_note() -> None:
    assert "make scores meaningless" in as_graph(ring(x=torch.full((3, 2), 1e30))).notes[0]
    assert as_graph(ring(x=torch.ones(3, 2))).notes == []


def test_odd_names_and_tables_are_refused_in_one_line(tmp_path: Path) -> None:
    class Frame:
        columns = ("source", "target")

        def to_dict(self, orient: str) -> dict[str, list[int]]:
            return {"source": [2**70, 1], "target": [1, 2]}

    for graph in ("n" * 5000, "dir/" * 2000, Frame()):
        with pytest.raises(Exception, match=r"unknown dataset|no file|cannot be read") as caught:
            open_graph(graph)
        assert len(str(caught.value)) < 1500
    (tmp_path / "edges.csv").write_text(f"a,b\nb,{'c' * 1001}\n")
    with pytest.raises(GraphError, match="an id may have 1,000 characters, got 1,001"):
        open_graph(tmp_path / "edges.csv")
