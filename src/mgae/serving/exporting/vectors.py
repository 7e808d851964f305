"""Write embeddings for vector stores: a FAISS index, a LanceDB table, a Parquet file.

All hold unit vectors, so that the nearest are those that `mgae similar` names, by cosine. That is
likeness, not the score of a link.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mgae.core.errors import UnsupportedError
from mgae.data.atomic import write_atomically
from mgae.serving.predictor import Predictor

TABLE = "nodes"


def node_table(predictor: Predictor) -> pa.Table:
    """Return the ids, titles and attributes of all nodes, and their unit vectors.

    Raises:
        UnsupportedError: if the method has no embeddings.
    """
    vectors = unit_vectors(predictor)
    flat = pa.array(vectors.ravel())
    column = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    return pa.table({**node_columns(predictor), "vector": column})


def node_columns(predictor: Predictor) -> dict[str, pa.Array]:
    """Return the ids of all nodes, and their titles and attributes if there are any."""
    texts = predictor.texts
    titles = None if texts is None else texts.titles
    return {
        "node_id": predictor.nodes.column,
        **({} if titles is None else {"title": titles}),
        **({} if texts is None else texts.attributes),
    }


def unit_vectors(predictor: Predictor) -> np.ndarray:
    """Return the embeddings [num_nodes, width] at length 1; rows of zeros stay."""
    if not predictor.embeds:
        raise UnsupportedError(
            f"method {predictor.config.method.kind!r} has no embeddings to export: mgae recommend "
            "--all -o FILE writes its links"
        )
    vectors = np.ascontiguousarray(predictor.embed(), np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


def export_parquet(predictor: Predictor, path: Path) -> list[Path]:
    """Write one file that most vector stores import."""
    table = node_table(predictor)
    write_atomically(path, lambda partial: pq.write_table(table, partial))
    return [path]


def export_faiss(predictor: Predictor, folder: Path) -> list[Path]:
    """Write an exact index of inner products, and which id stands in which row."""
    if importlib.util.find_spec("faiss") is None:
        raise UnsupportedError("--to faiss needs faiss-cpu: pip install 'mgae[ann]'")
    faiss = importlib.import_module("faiss")
    vectors = unit_vectors(predictor)
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    files = [folder / "index.faiss", folder / "nodes.parquet"]
    faiss.write_index(index, str(files[0]))
    rows = {"row": pa.array(range(predictor.num_nodes)), **node_columns(predictor)}
    pq.write_table(pa.table(rows), files[1])
    return files


def export_lancedb(predictor: Predictor, folder: Path) -> list[Path]:
    """Write a database with the table ``nodes``."""
    if importlib.util.find_spec("lancedb") is None:
        raise UnsupportedError("--to lancedb needs lancedb: pip install 'mgae[lancedb]'")
    lancedb = importlib.import_module("lancedb")
    lancedb.connect(folder).create_table(TABLE, node_table(predictor))
    return [folder / f"{TABLE}.lance"]
