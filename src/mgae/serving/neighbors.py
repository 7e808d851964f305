"""Who is joined to whom already."""

from __future__ import annotations

import torch
from torch import Tensor

from mgae.core.graph import MessageGraph
from mgae.core.ops.sparse import row_pointers


class Neighbors:
    """The nodes that each node has an edge to; of a directed edge, its target."""

    def __init__(self, graph: MessageGraph) -> None:
        source, target = graph.edge_index
        order = torch.argsort(source, stable=True)
        self._targets: Tensor = target[order]
        self._ends = row_pointers(source[order], graph.num_nodes)

    def of(self, node: int) -> Tensor:
        """In the order of their numbers: [degree]."""
        begin, end = self._ends[node : node + 2].tolist()
        return self._targets[begin:end]
