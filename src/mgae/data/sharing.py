"""Arrays that the ranks of one machine share: the first of them writes files, all map these.

With a single rank nothing is written.
"""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, TypeVar

from torch import Tensor

from mgae.core.errors import GraphError
from mgae.core.training import distributed
from mgae.data.atomic import read_tensors, write_json, write_tensors
from mgae.data.datasets.sources import cache_folder
from mgae.data.mapped import mapped_graph, write_mapped
from mgae.data.splits.links import LinkSplit
from mgae.data.store import graph_in_files, save_graph

if TYPE_CHECKING:
    from torch_geometric.data import Data

_T = TypeVar("_T")


def shared_graph(make: Callable[[], Data]) -> Data:
    """Return a graph that is read once on each machine; its tensors are mapped from files."""
    if distributed.world() == 1:
        return make()
    made: list[Data] = []

    def write(folder: Path) -> None:
        made.append(make())
        whole = copy.copy(made[0])
        whole.checksum = None  # lest only its name be stored
        save_graph(whole, folder)
        write_json(folder / "undirected.json", bool(whole.undirected))

    def read(folder: Path) -> Data:
        graph = graph_in_files(folder)
        graph.undirected = json.loads((folder / "undirected.json").read_text(encoding="utf-8"))
        if not made:
            return graph
        for key, value in graph.items():
            if isinstance(value, Tensor):
                made[0][key] = value
        return made[0]

    return _shared(write, read)


def shared_split(make: Callable[[], LinkSplit]) -> LinkSplit:
    """Return a split that is drawn once on each machine, its training graph mapped from files."""
    if distributed.world() == 1:
        return make()

    def write(folder: Path) -> None:
        split = make()
        write_mapped(split.message, folder)
        write_tensors(folder / "split.safetensors", split.tensors())

    def read(folder: Path) -> LinkSplit:
        return LinkSplit(mapped_graph(folder), **read_tensors(folder / "split.safetensors"))

    return _shared(write, read)


def _shared(write: Callable[[Path], None], read: Callable[[Path], _T]) -> _T:
    """Let the first rank of each machine write a folder, and all its ranks read it."""

    def written() -> str:
        try:
            cache_folder().mkdir(parents=True, exist_ok=True)
            folder = mkdtemp(prefix="ranks-", dir=cache_folder())
            write(Path(folder))
        except OSError as error:
            raise GraphError(
                f"cannot write to {cache_folder()}, where ranks share a graph: "
                f"{error.strerror or error}: let MGAE_CACHE name another folder"
            ) from None
        return folder

    folder = Path(distributed.once_per_machine(written))
    try:
        return read(folder)
    finally:
        distributed.gathered(None)  # all have mapped them, and mapped files may be removed
        shutil.rmtree(folder, ignore_errors=True)
