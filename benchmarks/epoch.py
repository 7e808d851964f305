"""A training epoch on Cora: ours against the obvious PyG code, alternating in one process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import GCNConv
from torch_geometric.utils import negative_sampling, to_undirected

from mgae.config import RunConfig
from mgae.graphs import MessageGraph, load_graph
from mgae.methods import build_method
from mgae.seeding import Generators


class PlainMGAE(nn.Module):
    """The paper as one would first write it down."""

    def __init__(self, in_channels: int, width: int = 128, decoder_width: int = 256) -> None:
        super().__init__()
        self.convs = nn.ModuleList([GCNConv(in_channels, width), GCNConv(width, width)])
        self.hidden, self.last = nn.Linear(4 * width, decoder_width), nn.Linear(decoder_width, 1)

    def decode(self, layers: list[Tensor], pairs: Tensor) -> Tensor:
        crossed = torch.cat([h[pairs[0]] * g[pairs[1]] for h in layers for g in layers], dim=1)
        return self.last(F.dropout(self.hidden(crossed).relu(), 0.5, self.training)).squeeze(1)

    def forward(self, x: Tensor, visible: Tensor, pairs: Tensor, negatives: Tensor) -> Tensor:
        first = self.convs[0](x, visible).relu()
        layers = [first, self.convs[1](F.dropout(first, 0.5, self.training), visible).relu()]
        positive, negative = self.decode(layers, pairs), self.decode(layers, negatives)
        return F.softplus(-positive).mean() + F.softplus(negative).mean()


def plain_epoch() -> Callable[[], None]:
    graph = load_graph("cora")
    pairs = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]
    model = PlainMGAE(graph.x.size(1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def epoch() -> None:
        order = torch.randperm(pairs.size(1))
        masked, visible = pairs[:, order].split([3695, pairs.size(1) - 3695], dim=1)
        negatives = negative_sampling(graph.edge_index, graph.num_nodes, masked.size(1))
        loss = model(graph.x, to_undirected(visible), masked, negatives)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return epoch


def our_epoch() -> Callable[[], None]:
    graph = MessageGraph.of(load_graph("cora"))
    generators = Generators(0)
    method = build_method(RunConfig(), graph, generators["init"])
    optimizer = torch.optim.Adam(method.parameters(), lr=0.01)

    def epoch() -> None:
        method.train()
        for loss, _ in method.losses(graph, generators):
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(method.parameters(), 1.0)
            optimizer.step()

    return epoch


def measure(repeats: int = 25) -> dict[str, float]:
    """Median milliseconds of an epoch, and the ratio."""
    epochs = {"plain": plain_epoch(), "ours": our_epoch()}
    seconds: dict[str, list[float]] = {name: [] for name in epochs}
    for _ in range(repeats):
        for name, epoch in epochs.items():
            start = time.perf_counter()
            epoch()
            seconds[name].append(time.perf_counter() - start)
    plain, ours = (1000 * statistics.median(seconds[name][3:]) for name in ("plain", "ours"))
    return {"plain_ms": plain, "ours_ms": ours, "ratio": plain / ours}
