"""``python -m benchmarks.plus [GRAPH …]``: an epoch of MGAE+'s recipe, ours against plain PyG code.

Both mask the same share anew, encode with batch norm, ELU and dropout on the features, decode each
masked edge and eight random tails of its head by Eq. 2, and take one step of Adam with weight
decay. Calls alternate in one process; each graph has a ratio as the recipe is, with bfloat16 where
the processor has it, and one with float32 on both sides. Other work on the machine hits both
alike, but a quiet moment is better.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from examples.mgae_in_100_lines import Decoder
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.utils import to_undirected

from benchmarks.__main__ import print_figures
from benchmarks.steps import OurTraining
from benchmarks.timing import alternating
from mgae.core.seeding import Generators
from mgae.data import MessageGraph, load_graph
from mgae.data.splits import split_links
from mgae.runs.config import RunConfig
from mgae.runs.presets import recipe_config

REPEATS = {"cora": 10, "citeseer": 10, "pubmed": 3}


class PlainEncoder(nn.Module):
    """Two layers with batch norm and ELU, of which each output is kept."""

    def __init__(self, features: int, channels: int, dropout: float, on_features: float) -> None:
        super().__init__()
        self.first, self.second = GCNConv(features, channels), GCNConv(channels, channels)
        self.norms = nn.ModuleList(nn.BatchNorm1d(channels) for _ in range(2))
        self.dropout, self.on_features = nn.Dropout(dropout), nn.Dropout(on_features)

    def forward(self, x: Tensor, edge_index: Tensor) -> list[Tensor]:
        """Both layers [num_nodes, channels]."""
        first = F.elu(self.norms[0](self.first(self.on_features(x), edge_index)))
        second = F.elu(self.norms[1](self.second(self.dropout(first), edge_index)))
        return [first, second]


class PlainPlus(nn.Module):
    """The recipe as one would write it down with PyG."""

    def __init__(self, graph: Data, config: RunConfig) -> None:
        super().__init__()
        assert config.encoder and config.decoder and config.mask and config.loss
        encoder, decoder = config.encoder, config.decoder
        self.graph, self.ratio = graph, config.mask.ratio
        self.tails, self.clip = config.loss.num_negatives, config.train.clip
        width = encoder.hidden_channels
        self.encoder = PlainEncoder(
            graph.num_features, width, encoder.dropout, encoder.feature_dropout
        )
        self.decoder = Decoder(width, decoder.hidden_channels, decoder.dropout)
        self.edges = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]
        train = config.train
        self.optimizer = torch.optim.Adam(
            self.parameters(), lr=train.learning_rate, weight_decay=train.weight_decay
        )

    def epoch(self) -> float:
        """Mask, encode, decode, step."""
        self.train()
        nodes = self.graph.num_nodes
        edges = self.edges[:, torch.randperm(self.edges.size(1))]
        masked, visible = edges.tensor_split([round(self.ratio * edges.size(1))], dim=1)
        layers = self.encoder(self.graph.x, to_undirected(visible, num_nodes=nodes))
        turned = torch.rand(masked.size(1)) < 0.5
        head, tail = torch.where(turned, masked.flip(0), masked)
        tails = torch.cat([tail[:, None], torch.randint(nodes, (len(tail), self.tails))], dim=1)
        pairs = torch.stack([head[:, None].expand_as(tails), tails]).flatten(1)
        logits = self.decoder(layers, pairs).view_as(tails)
        loss = F.cross_entropy(logits, torch.zeros(len(tails), dtype=torch.long))
        self.optimizer.zero_grad()
        loss.backward()
        for part in (self.encoder, self.decoder):
            nn.utils.clip_grad_norm_(part.parameters(), self.clip)
        self.optimizer.step()
        return loss.item()


def config_of(name: str, precision: str) -> RunConfig:
    """MGAE+'s settings on a graph, all masked edges in one step on both sides."""
    given = {"graph": name, "method": "mgae", "protocol": "paper"}
    plus = recipe_config("mgae-plus", {**given, "decoder": {"precision": precision}})
    return plus.changed(train={**plus.train.model_dump(exclude_none=True), "step_size": None})


def measure(name: str, repeats: int | None = None) -> dict[str, float]:
    """Milliseconds of an epoch, and ratios."""
    graph, config = load_graph(name), config_of(name, "float32")
    whole = MessageGraph.of(graph)
    chance = Generators(0)["split"]
    split = split_links(whole, config.split.val_ratio, config.split.test_ratio, chance)
    visible = Data(x=graph.x, edge_index=split.message.edge_index, num_nodes=graph.num_nodes)
    plain = PlainPlus(visible, config)
    calls: dict[str, Any] = {
        "plain": plain.epoch,
        "ours": OurTraining(config_of(name, "bfloat16"), split.message).step,
        "ours_float32": OurTraining(config, split.message).step,
    }
    figures = alternating(calls, repeats or REPEATS[name])
    result = {f"{key}_ms": 1000 * value for key, value in figures.items()}
    result["plain_over_ours"] = figures["plain"] / figures["ours"]
    result["plain_over_ours_float32"] = figures["plain"] / figures["ours_float32"]
    return result


def main(names: list[str]) -> None:
    """Measure the graphs that are named, or all."""
    print_figures({"MGAE+": lambda: {name: measure(name) for name in names or REPEATS}})


if __name__ == "__main__":
    main(sys.argv[1:])
