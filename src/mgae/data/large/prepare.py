"""Make a folder of sorted arrays from tables of edges that need not fit into memory.

Pyarrow and numpy alone: to number and sort ten million edges with text ids took 18 seconds of a
processor, DuckDB 25 and Polars 57. Memory follows the distinct ids and a piece of the edges,
whichever is larger; the edges pass through files.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from filelock import FileLock, Timeout

from mgae.core.errors import GraphError
from mgae.data.atomic import write_json
from mgae.data.growing import GrowingArray
from mgae.data.ids import counted
from mgae.data.io.assembly import user_path
from mgae.data.io.delimited import OnProgress
from mgae.data.io.options import InputSettings
from mgae.data.io.twosides import FEWEST, side_names
from mgae.data.large.folder import FACTS, IDS
from mgae.data.large.listing import Listing, list_edges
from mgae.data.large.numbering import Numbering, number_ids
from mgae.data.large.pairing import write_pair_of_edge
from mgae.data.large.sorting import sorted_ranges

_USED = {"source_column", "target_column", "weight_column", "weights", "bipartite", "header"}


def prepare(
    paths: Sequence[str | Path],
    out: str | Path,
    settings: InputSettings | None = None,
    on_progress: OnProgress = lambda stage, share: None,
) -> dict[str, Any]:
    """Write an undirected graph of all edges in these tables into the new folder ``out``.

    The graph is the one that `read_graph` would give for all rows in one table. Until it is
    whole, all files are in a hidden folder beside ``out``; the next call for the same ``out``
    removes what a killed one has left there.

    Args:
        paths: tables of edges: Parquet, Feather, or text with any delimiter, also gzip.
        out: a folder that does not exist yet.
        settings: which columns are read, and how.
        on_progress: called with the stage and the share of it that is done.

    Returns:
        The facts that are written last: counts, notes and a digest of ids and edges.

    Raises:
        GraphError: if a table cannot be read, or ``out`` exists.
    """
    settings, out = settings or InputSettings(), user_path(out)
    _refuse_unused(settings)
    files = [user_path(path) for path in paths]
    if not files:
        raise GraphError("there is nothing to prepare: name at least one table of edges")
    if out.exists():
        raise GraphError(f"{out} exists: give another --out, or remove it first")
    if not out.absolute().parent.is_dir():
        raise GraphError(f"there is no folder {out.absolute().parent} for {out}: make it first")
    with _work_folder(out) as work:
        spool = work / "spool"
        spool.mkdir()
        listing = list_edges(files, settings, spool, on_progress)
        where = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
        if not listing.pieces:
            raise GraphError(f"{where}: there are no edges")
        numbering = number_ids(listing.pieces, where, on_progress)
        facts = _write(work, spool, listing, numbering, settings, where, on_progress)
        facts["name"] = out.name
        shutil.rmtree(spool)
        write_json(work / FACTS, facts)
    return facts


def _refuse_unused(settings: InputSettings) -> None:
    """Refuse settings about what is not read."""
    given = settings.model_dump(exclude_defaults=True).keys() - _USED
    if given:
        raise GraphError(
            f"input.{min(given)} goes with mgae train FILE: mgae prepare reads ids and weights "
            "of undirected edges"
        )


@contextmanager
def _work_folder(out: Path) -> Iterator[Path]:
    """Give a hidden folder that becomes ``out`` at the end, or vanishes with an error."""
    work = out.absolute().with_name(f".{out.name}.partial")
    work.mkdir(exist_ok=True)
    lock = FileLock(work / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise GraphError(f"another process is preparing {out}: wait until it has ended") from None
    try:
        for left in work.iterdir():  # by a process that was killed
            if left.name != "lock":
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        yield work
        (work / "lock").unlink(missing_ok=True)
        work.rename(out)
    except BaseException:
        with suppress(OSError):
            shutil.rmtree(work)
        raise
    finally:
        lock.release()


def _write(
    work: Path,
    spool: Path,
    listing: Listing,
    numbering: Numbering,
    settings: InputSettings,
    where: str,
    on_progress: OnProgress,
) -> dict[str, Any]:
    """Write all arrays and return the facts about them."""
    count = len(numbering.ids)
    if not numbering.degree.any():
        raise GraphError(f"{where}: there are no edges but {counted(numbering.loops, 'self-loop')}")
    side, names, notes = _sides(listing, numbering, settings, where)
    digest = _write_ids(work / IDS, numbering.ids)
    arrays = ["edge_index", "edge_keys", "pairs", "pair_of_edge"]
    edges = duplicates = twice = 0
    with (
        GrowingArray(work / "edge_index.npy", rows=2) as edge_index,
        GrowingArray(work / "edge_keys.npy") as edge_keys,
        GrowingArray(work / "pairs.npy", rows=2) as pairs,
        GrowingArray(work / "edge_weight.npy", np.float32) as weights,
    ):
        for part in sorted_ranges(
            listing.pieces, numbering.degree, listing.weighted, spool, on_progress
        ):
            source, target = part.keys % count, part.keys // count
            edge_index.append(source, target)
            edge_keys.append(part.keys)
            digest.update(part.keys.tobytes())
            down = source > target
            pairs.append(target[down], source[down])
            if part.weight is not None:
                weight = _single(part.weight, where)
                weights.append(weight)
                digest.update(weight.tobytes())
            duplicates, twice = duplicates + part.duplicates, twice + part.twice
            edges += len(part.keys)
    on_progress("numbering the edges", 0.0)
    write_pair_of_edge(work, count)
    if listing.weighted:
        arrays.append("edge_weight")
    else:
        (work / "edge_weight.npy").unlink()
    if side is not None:
        np.save(work / "side.npy", side)
        arrays.append("side")
    both = 0 if twice == edges else twice // 2
    merged = (
        (numbering.loops, "self-loop", "dropped"),
        (duplicates // 2, "duplicate edge", "merged"),
        (both, "edge", "listed both ways, counted once"),
    )
    notes += [f"{where}: {counted(number, what)} {how}" for number, what, how in merged if number]
    return {
        "num_nodes": count,
        "num_features": 0,
        "num_edges": edges // 2,
        "undirected": True,
        "arrays": arrays,
        "side_names": names,
        "notes": [*listing.notes, *notes],
        "digest": digest.hexdigest(),
    }


def _sides(
    listing: Listing, numbering: Numbering, settings: InputSettings, where: str
) -> tuple[np.ndarray | None, list[str] | None, list[str]]:
    """Return the side of each node [n] and what the sides are called, or None, and a note."""
    ends = numbering.is_source, numbering.is_target
    both, counts = int((ends[0] & ends[1]).sum()), [int(end.sum()) for end in ends]
    chosen = settings.bipartite == "yes"
    if settings.bipartite == "no" or (not chosen and (both or min(counts) < FEWEST)):
        return None, None, []
    names = list(side_names(listing.columns))
    if both:
        raise GraphError(
            f"{where}: {counted(both, 'id')} in both columns, which --bipartite would keep apart: "
            "put a prefix before the ids of one column, or leave it out"
        )
    way = "" if chosen else " (no id is in both columns; --not-bipartite if that is by chance)"
    text = f"bipartite, {counts[0]:,} {names[0]} ids and {counts[1]:,} {names[1]} ids{way}"
    return numbering.is_target.astype(np.int8), names, [f"{where}: {text}"]


def _write_ids(path: Path, ids: pa.Array) -> Any:
    """Write the ids, and return a digest that has taken them in."""
    table = pa.table({"node_id": ids})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    digest = hashlib.blake2b(digest_size=16)
    for buffer in ids.buffers():
        if buffer is not None:
            digest.update(buffer)
    return digest


def _single(weight: np.ndarray, where: str) -> np.ndarray:
    with np.errstate(over="ignore"):
        single = weight.astype(np.float32)
    if not np.isfinite(single).all():
        raise GraphError(f"{where}: weights of duplicate edges add up to more than 3.4e38")
    return single
