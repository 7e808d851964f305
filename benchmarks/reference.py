"""The paper as one would first write it down with PyG: what our speed is measured against."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.utils import negative_sampling, to_undirected


class PlainMGAE(nn.Module):
    """GCNConv, F.dropout, torch.cat and autograd."""

    def __init__(self, graph: Data, width: int, decoder_width: int) -> None:
        super().__init__()
        self.table = (
            None if graph.x is not None else nn.Parameter(torch.empty(graph.num_nodes, width))
        )
        if self.table is not None:
            nn.init.xavier_uniform_(self.table)
        in_width = width if graph.x is None else graph.x.size(1)
        self.convs = nn.ModuleList([GCNConv(in_width, width), GCNConv(width, width)])
        self.hidden, self.last = nn.Linear(4 * width, decoder_width), nn.Linear(decoder_width, 1)

    def encode(self, x: Tensor | None, edge_index: Tensor) -> list[Tensor]:
        first = self.convs[0](self.table if x is None else x, edge_index).relu()
        return [first, self.convs[1](F.dropout(first, 0.5, self.training), edge_index).relu()]

    def decode(self, layers: list[Tensor], pairs: Tensor) -> Tensor:
        crossed = torch.cat([h[pairs[0]] * g[pairs[1]] for h in layers for g in layers], dim=1)
        return self.last(F.dropout(self.hidden(crossed).relu(), 0.5, self.training)).squeeze(1)


class PlainTraining:
    """One optimizer step for each ``step_size`` masked edges; a new mask each epoch."""

    def __init__(
        self,
        graph: Data,
        width: int,
        decoder_width: int,
        directed: bool = False,
        step_size: int | None = None,
    ) -> None:
        self.graph, self.directed, self.step_size = graph, directed, step_size
        self.model = PlainMGAE(graph, width, decoder_width)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        once = graph.edge_index[0] < graph.edge_index[1]
        self.edges = graph.edge_index if directed else graph.edge_index[:, once]
        self.waiting: list[Tensor] = []

    def next_step(self, ratio: float = 0.7) -> None:
        """The next step, of a new epoch with a new mask where the last one is over."""
        if not self.waiting:
            order = torch.randperm(self.edges.size(1))
            hidden = round(ratio * order.numel())
            masked, visible = self.edges[:, order[:hidden]], self.edges[:, order[hidden:]]
            nodes = self.graph.num_nodes
            self.visible = visible if self.directed else to_undirected(visible, num_nodes=nodes)
            self.waiting = list(masked.split(self.step_size or hidden, dim=1))
        self.step(self.visible, self.waiting.pop(0))

    def step(self, visible: Tensor, masked: Tensor) -> None:
        self.model.train()
        layers = self.model.encode(self.graph.x, visible)
        negatives = negative_sampling(self.graph.edge_index, self.graph.num_nodes, masked.size(1))
        positive, negative = self.model.decode(layers, masked), self.model.decode(layers, negatives)
        loss = F.softplus(-positive).mean() + F.softplus(negative).mean()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()

    @torch.no_grad()
    def score_in_batches(self, *parts: Tensor) -> list[Tensor]:
        """In batches of 1,024 from a data loader, as the authors' code scores.

        It tells the encoder that this is no training, and forgets to tell the decoder.
        """
        self.model.eval()
        layers = self.model.encode(self.graph.x, self.graph.edge_index)
        self.model.train()
        scores = []
        for pairs in parts:
            batches = DataLoader(range(pairs.size(1)), 1024)
            scores.append(torch.cat([self.model.decode(layers, pairs[:, b]) for b in batches]))
        return scores

    @torch.no_grad()
    def score(self, *parts: Tensor) -> list[Tensor]:
        """Logits of pairs, encoded from all edges."""
        self.model.eval()
        layers = self.model.encode(self.graph.x, self.graph.edge_index)
        return [self.model.decode(layers, pairs) for pairs in parts]
