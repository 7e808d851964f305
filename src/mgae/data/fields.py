"""The fields of a graph without PyG, whose import takes longer than most commands."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor

if TYPE_CHECKING:
    from torch_geometric.data import Data


class GraphFields:
    """What is stored of a graph; it answers as PyG's ``Data`` of the same fields would.

    What runs and datasets are read into. `as_data` makes a ``Data`` of it for whoever wants more
    than its fields.

    >>> graph = GraphFields(num_nodes=3, name="path")
    >>> graph.name, graph.x, graph.get("side"), "name" in graph
    ('path', None, None, True)
    """

    num_nodes: int | None = None
    x: Any = None
    y: Any = None
    edge_index: Any = None
    edge_weight: Any = None
    edge_attr: Any = None

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        # As in a `Data`: what is None is not there.
        if value is None:
            vars(self).pop(name, None)
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the graph has no {name}")

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    def __contains__(self, name: str) -> bool:
        return name in vars(self)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field, or a default if it is not there."""
        return vars(self).get(name, default)

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return all fields by their names."""
        return vars(self).items()

    def clone(self) -> Self:
        """Return a copy with tensors of its own."""
        other = copy.copy(self)
        for name, value in self.items():
            if isinstance(value, Tensor):
                other[name] = value.clone()
        return other


def as_data(graph: Data | GraphFields) -> Data:
    """Return a graph as a ``Data``: itself if it is one."""
    if not isinstance(graph, GraphFields):
        return graph
    from torch_geometric.data import Data  # noqa: PLC0415 - slow to load

    return Data(**dict(graph.items()))


def index_to_mask(index: Tensor, size: int) -> Tensor:
    """Return a mask [size] that is true at an index [n].

    >>> index_to_mask(torch.tensor([0, 2]), 3).tolist()
    [True, False, True]
    """
    mask = index.new_zeros(size, dtype=torch.bool)
    mask[index] = True
    return mask
