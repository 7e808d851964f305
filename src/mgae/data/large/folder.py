"""Open a prepared folder: its arrays and ids stay in the files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from mgae.core.errors import GraphError
from mgae.data.damage import DAMAGE, reason
from mgae.data.fields import GraphFields, as_data
from mgae.data.mapped import mapped_graph

if TYPE_CHECKING:
    from torch_geometric.data import Data

FACTS, IDS = "graph.json", "nodes.arrow"


class StoredIds(Sequence[Any]):
    """Sorted ids in a file, integers or texts: a look-up reads a few of them.

    >>> StoredIds(pa.array(["ann", "bob"])).number_of("bob")
    1
    """

    def __init__(self, column: pa.Array) -> None:
        self.column = column

    def __len__(self) -> int:
        return len(self.column)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self.column.take(pa.array(range(len(self))[index], pa.int64())).to_pylist()
        return self.column[range(len(self))[index]].as_py()

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), 1 << 16):
            yield from self.column.slice(start, 1 << 16).to_pylist()

    def number_of(self, node: Any) -> int | None:
        """Return the number of an id, by bisection; None if it is none of them."""
        kind = str if pa.types.is_string(self.column.type) else int
        if type(node) is not kind:
            return None
        # As bytes texts are ordered as pyarrow orders them.
        key: Any = node.encode("utf-8", "surrogatepass") if isinstance(node, str) else node
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            value = self.column[middle].as_py()
            if (value.encode() if kind is str else value) < key:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self.column[low].as_py() == node else None


def is_prepared(path: Path) -> bool:
    """Return whether a folder is one that `prepare` has written."""
    # os.path: a name that is too long for a file is none.
    return all(os.path.isfile(path / name) for name in (FACTS, IDS))  # noqa: PTH113


def prepared_graph(folder: Path) -> Data:
    """Return the graph in a prepared folder as a ``Data``; the rest is as of `prepared_fields`."""
    return as_data(prepared_fields(folder))


def prepared_fields(folder: Path) -> GraphFields:
    """Return the graph in a prepared folder; it keeps the contract of `checked`.

    Raises:
        GraphError: if the folder is damaged.
    """
    message = mapped_graph(folder)
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        with pa.memory_map(str(folder / IDS)) as source:
            column = pa.ipc.open_file(source).read_all()["node_id"]
        ids = StoredIds(column.chunk(0) if column.num_chunks == 1 else column.combine_chunks())
        if len(ids) != message.num_nodes or message.edge_index.size(1) != 2 * facts["num_edges"]:
            raise ValueError("nodes and edges are not as many as graph.json says")
        return GraphFields(
            edge_index=message.edge_index,
            edge_weight=message.edge_weight,
            num_nodes=message.num_nodes,
            side=message.side,
            side_names=facts["side_names"],
            node_ids=ids,
            undirected=True,
            name=str(facts["name"]),
            notes=list(facts["notes"]),
            mapped=message,
            prepared={"folder": str(folder.absolute()), "digest": str(facts["digest"])},
        )
    except DAMAGE as error:
        raise GraphError(
            f"the prepared graph in {folder} is damaged: {reason(error)}; prepare it again"
        ) from None
