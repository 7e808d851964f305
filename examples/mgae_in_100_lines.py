"""MGAE (Tan et al., 2022) in 100 lines: Algorithm 1 as one would first write it down with PyG.

As a script it trains on Cora and prints the AUC. `mgae.core` computes the same, and faster.
"""

import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.utils import negative_sampling, to_undirected


class Encoder(nn.Module):
    """Two layers of which each output is kept (Eq. 1), of features or of learned vectors."""

    def __init__(self, graph: Data, channels: int, dropout: float) -> None:
        super().__init__()
        self.x = None if graph.x is not None else nn.Embedding(graph.num_nodes, channels).weight
        self.first = GCNConv(channels if graph.x is None else graph.x.size(1), channels)
        self.second, self.dropout = GCNConv(channels, channels), nn.Dropout(dropout)

    def forward(self, x: Tensor | None, edge_index: Tensor) -> list[Tensor]:
        """Return both layers [num_nodes, channels]."""
        first = self.first(self.x if x is None else x, edge_index).relu()
        return [first, self.second(self.dropout(first), edge_index).relu()]


class Decoder(nn.Module):
    """Reads the products of every layer of one end with every layer of the other (Eq. 2)."""

    def __init__(self, in_channels: int, channels: int, dropout: float) -> None:
        super().__init__()
        first, last = nn.Linear(4 * in_channels, channels), nn.Linear(channels, 1)
        self.mlp = nn.Sequential(first, nn.ReLU(), nn.Dropout(dropout), last)

    def forward(self, layers: list[Tensor], pairs: Tensor) -> Tensor:
        """Return logits [n] of ``pairs`` [2, n]."""
        crossed = torch.cat([h[pairs[0]] * g[pairs[1]] for h in layers for g in layers], dim=1)
        return self.mlp(crossed).squeeze(1)


class PlainMGAE(nn.Module):
    """Algorithm 1: mask, encode what is visible, decode what is masked, compare, step."""

    def __init__(self, graph: Data, channels: int = 128, width: int = 256, dropout: float = 0.5):
        super().__init__()
        encoder, decoder = Encoder(graph, channels, dropout), Decoder(channels, width, dropout)
        self.graph, self.encoder, self.decoder = graph, encoder, decoder
        self.optimizer = torch.optim.Adam(self.parameters(), lr=0.01)

    def mask(self, edges: Tensor, ratio: float = 0.7) -> tuple[Tensor, Tensor]:
        """Divide ``edges`` [2, E], each listed once, at random: visible ones, and masked ones."""
        order = torch.randperm(edges.size(1))
        masked, visible = edges[:, order].tensor_split([round(ratio * order.numel())], dim=1)
        return to_undirected(visible, num_nodes=self.graph.num_nodes), masked

    def step(self, visible: Tensor, masked: Tensor, negatives: Tensor) -> float:
        """Take one step on the masked edges, and return the loss (Eq. 3, sampled)."""
        self.train()
        layers = self.encoder(self.graph.x, visible)
        positive, negative = self.decoder(layers, masked), self.decoder(layers, negatives)
        loss = F.softplus(-positive).mean() + F.softplus(negative).mean()
        self.optimizer.zero_grad()
        loss.backward()
        for part in (self.encoder, self.decoder):
            nn.utils.clip_grad_norm_(part.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def auc(self, edges: Tensor, others: Tensor) -> float:
        """Return how well ``edges`` are told from other pairs, with all of the graph visible."""
        layers = self.eval().encoder(self.graph.x, self.graph.edge_index)
        labels = torch.cat([torch.ones(edges.size(1)), torch.zeros(others.size(1))])
        return roc_auc_score(labels, self.decoder(layers, torch.cat([edges, others], dim=1)))


def main(graph: Data, epochs: int = 100) -> float:
    """Train on 90% of the edges, and return the AUC on the others."""
    edges = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]
    edges = edges[:, torch.randperm(edges.size(1))]
    turned = torch.rand(edges.size(1)) < 0.5  # or "u < v" would tell an edge
    edges = torch.where(turned, edges.flip(0), edges)
    test, train = edges.tensor_split([edges.size(1) // 10], dim=1)
    model = PlainMGAE(Data(graph.x, to_undirected(train), num_nodes=graph.num_nodes))
    for _ in range(epochs):
        visible, masked = model.mask(train)
        negatives = negative_sampling(model.graph.edge_index, graph.num_nodes, masked.size(1))
        model.step(visible, masked, negatives)
    return model.auc(test, negative_sampling(graph.edge_index, graph.num_nodes, test.size(1)))


if __name__ == "__main__":
    from mgae import open_graph  # for the data alone

    torch.manual_seed(0)
    print(f"test AUC on Cora: {100 * main(open_graph('cora')):.1f}")
