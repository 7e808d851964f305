"""Write a long answer part by part, so that a killed command goes on where it stopped."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mgae.data.atomic import remove_partials, write_atomically, write_json
from mgae.serving.outfiles import write_batches

_HEADS = 4096  # of a part
_REQUEST = "request.json"
Batches = Callable[[int], Iterator[tuple[int, pa.RecordBatch]]]


def write_in_parts(
    path: Path, request: Mapping[str, Any], count: int, batches: Batches, safe: bool = False
) -> tuple[int, int]:
    """Write the rows of ``count`` heads, and return how many, and how many heads parts had.

    Finished parts lie in a folder beside ``path`` until all are there. Those of the same
    ``request`` are kept by the next call; those of another are removed.

    Args:
        path: the file, a table.
        request: what is asked for, as JSON has it: the model, the graph, the settings.
        count: how many heads there are.
        batches: called with the first head that is missing; yields the next head after a batch,
            and the batch.
        safe: as `write_batches` has it.
    """
    folder = path.with_name(f"{path.name}.parts")
    _begin(folder, request)
    done = before = _finished(folder)
    waiting: list[pa.RecordBatch] = []
    for following, batch in batches(done) if done < count else ():
        waiting.append(batch)
        if following - done >= _HEADS or following == count:
            table = pa.Table.from_batches(waiting)
            name = f"{done:012}-{following:012}.parquet"
            write_atomically(folder / name, lambda file, table=table: pq.write_table(table, file))  # type: ignore[misc]
            done, waiting = following, []
    rows = write_batches(path, _stored(folder), safe)
    shutil.rmtree(folder)
    return rows, before


def _begin(folder: Path, request: Mapping[str, Any]) -> None:
    """Keep the folder if it is of the same request, else empty it."""
    file = folder / _REQUEST
    try:
        same = json.loads(file.read_text(encoding="utf-8")) == request
    except (OSError, ValueError):
        same = False
    if not same and folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(exist_ok=True)
    remove_partials(folder)
    write_json(file, dict(request))


def _finished(folder: Path) -> int:
    """Return the first head that no part has."""
    done = 0
    for file in sorted(folder.glob("*.parquet")):
        first, end = map(int, file.stem.split("-"))
        if first != done:
            break
        done = end
    return done


def _stored(folder: Path) -> Iterator[pa.RecordBatch]:
    for file in sorted(folder.glob("*.parquet")):
        with pq.ParquetFile(file) as part:
            yield from part.iter_batches()
