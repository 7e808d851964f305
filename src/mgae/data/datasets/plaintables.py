"""Read a graph from three plain tables: edges, features and labels, by text ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from pyarrow import csv, parquet

from mgae.core.errors import GraphError
from mgae.data.fields import GraphFields


def read_tables(folder: Path) -> GraphFields:
    """Return an undirected graph, its nodes in the order of the features' rows.

    ``edges.csv.gz`` lists each edge once, ``features.parquet`` has the ids in its first column and
    ``labels.csv`` whole numbers.

    Raises:
        GraphError: if a file is damaged or does not fit the others.
    """
    try:
        ids, *columns = parquet.read_table(folder / "features.parquet").columns
        ids = ids.combine_chunks().cast(pa.string())
        edges = [_numbers(column, ids) for column in csv.read_csv(folder / "edges.csv.gz").columns]
        named, values = csv.read_csv(folder / "labels.csv").columns
        x = np.stack([column.to_numpy() for column in columns], axis=1)
        _, codes = np.unique(values.to_numpy(), return_inverse=True)
        y = np.full(len(ids), -1)
        y[_numbers(named, ids)] = codes
    except (OSError, ValueError, TypeError, pa.ArrowException) as error:
        raise GraphError(f"cannot read {folder}: {str(error).partition(chr(10))[0]}") from None
    edge_index = torch.from_numpy(np.stack(edges))
    return GraphFields(
        x=torch.from_numpy(x.astype(np.float32)),
        edge_index=torch.cat([edge_index, edge_index.flip(0)], dim=1),
        y=torch.from_numpy(y),
        node_ids=ids.to_pylist(),
        num_nodes=len(ids),
    )


def _numbers(column: pa.ChunkedArray, ids: pa.Array) -> np.ndarray:
    """Return the rows in which these ids stand."""
    index = pc.index_in(column.cast(pa.string()), value_set=ids)
    if index.null_count:
        raise ValueError("an id has no features")
    return np.asarray(index.to_numpy(), dtype=np.int64)
