"""Read the co-purchase and co-author networks of gnn-benchmark, as PyG does."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_matrix

from mgae.core.errors import GraphError
from mgae.data.datasets.pickles import checked_csr
from mgae.data.fields import GraphFields


def read_gnnbench(folder: Path, file: str) -> GraphFields:
    """Return a network from its npz file: undirected, binary features, one class per node.

    Raises:
        GraphError: if the file is damaged or contains pickles.
    """
    try:
        # Opened here: numpy leaves a file open that turns out not to be a zip.
        with (folder / file).open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            edges, features = _sparse(arrays, "adj").tocoo(), _sparse(arrays, "attr")
            y = torch.from_numpy(arrays["labels"]).long()
    except (OSError, KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise GraphError(f"cannot read {folder / file}: {' '.join(str(error).split())}") from None
    features.sum_duplicates()
    features.data = np.where(features.data > 0, 1, features.data).astype(np.float32)
    edge_index = torch.from_numpy(np.stack([edges.row, edges.col]).astype(np.int64))
    return GraphFields(
        x=torch.from_numpy(features.toarray()),
        edge_index=torch.cat([edge_index, edge_index.flip(0)], dim=1),
        y=y,
        num_nodes=edges.shape[0],
    )


def _sparse(arrays: np.lib.npyio.NpzFile, name: str) -> csr_matrix:
    fields = (arrays[f"{name}_{field}"] for field in ("data", "indices", "indptr", "shape"))
    return checked_csr(*fields)
