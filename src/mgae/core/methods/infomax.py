"""Mutual information: tell a node of the graph from one whose features were shuffled."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, softplus

from mgae.core.encoders import Encoder
from mgae.core.graph import MessageGraph
from mgae.core.methods.embedding import EmbeddingMethod
from mgae.core.ops.backend import bring
from mgae.core.ops.rows import AlteredRows, MultipliedOnce
from mgae.core.seeding import Generators

_TINY = 1e-30


class Discriminator(nn.Module):
    """hᵀ W s + b: whether a node belongs to a summary."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, width))
        self.bias = nn.Parameter(torch.empty(1))
        self.reset_parameters()

    def forward(self, h: Tensor, summary: Tensor) -> Tensor:
        """Return logits [n] for nodes [n, d] and a summary [d]."""
        return h @ (self.weight @ summary) + self.bias

    def reset_parameters(self) -> None:
        """Draw the parameters as the original code does for a bilinear layer with one output."""
        nn.init.xavier_uniform_(self.weight.data.unsqueeze(0))
        nn.init.zeros_(self.bias)


class DeepGraphInfomax(EmbeddingMethod):
    """Deep graph infomax: one summary for all nodes, the sigmoid of their mean."""

    def __init__(self, encoder: Encoder, cosine: bool = True) -> None:
        super().__init__(encoder, cosine)
        self.discriminator = Discriminator(encoder.hidden_channels)

    def losses(self, graph: MessageGraph, generators: Generators) -> Iterator[tuple[Tensor, str]]:
        """Yield one loss: the nodes as they are against those with shuffled features."""
        shuffled = torch.randperm(graph.num_nodes, generator=generators["negatives"])
        shuffled = bring(shuffled, graph.edge_index.device)
        chance = generators["dropout"]
        x = MultipliedOnce(self.encoder.inputs(graph, chance))
        real = self.encoder.propagate(x, graph, chance)[-1]
        fake = self.encoder.propagate(AlteredRows(x, shuffled), graph, chance)[-1]
        yield self.loss(real, fake), "model"

    def loss(self, real: Tensor, fake: Tensor) -> Tensor:
        """Return how badly real nodes [n, d] are distinguished from fake ones [n, d]."""
        summary = torch.sigmoid(real.mean(dim=0))
        return cross_entropy(self.discriminator(real, summary), self.discriminator(fake, summary))


class GraphInfoClust(DeepGraphInfomax):
    """Besides the whole graph each node has its clusters, mixed as it belongs to them.

    Args:
        encoder: gives the layers.
        num_nodes: of the graph to train on.
        cosine: whether a link is scored by unit vectors.
        alpha: share of the graph's summary in the loss.
        clusters: K, at most as many as nodes.
        beta: inverse temperature of the soft assignment.
        iterations: k-means steps before the differentiable one.
    """

    start: Tensor

    def __init__(
        self,
        encoder: Encoder,
        num_nodes: int,
        cosine: bool = True,
        alpha: float = 0.5,
        clusters: int = 128,
        beta: float = 100.0,
        iterations: int = 10,
    ) -> None:
        super().__init__(encoder, cosine)
        self.alpha, self.beta, self.iterations = alpha, beta, iterations
        shape = min(clusters, num_nodes), encoder.hidden_channels
        self.register_buffer("start", torch.rand(shape))

    def reset_parameters(self) -> None:
        """Draw every parameter anew, and the first centers."""
        super().reset_parameters()
        self.start.uniform_()

    def loss(self, real: Tensor, fake: Tensor) -> Tensor:
        """Return α times the graph's loss plus 1 − α times the clusters'."""
        summary = torch.sigmoid(self.summaries(real))
        clusters = cross_entropy((real * summary).sum(dim=1), (fake * summary).sum(dim=1))
        return self.alpha * super().loss(real, fake) + (1 - self.alpha) * clusters

    def summaries(self, h: Tensor) -> Tensor:
        """Return each node's mixture of cluster centers: [n, d].

        The centers are computed without gradients; the last step carries them, as in the original.
        """
        unit, centers = normalize(h), self.start
        with torch.no_grad():
            for _ in range(self.iterations):
                centers, _ = soft_means(unit, centers, self.beta)
        centers, shares = soft_means(unit, centers, self.beta)
        return shares @ centers


def soft_means(unit: Tensor, centers: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    """Take one step of soft k-means on unit vectors [n, d]: centers [k, d] and shares [n, k].

    >>> points = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> soft_means(points, 3 * points, beta=100.0)[0].round()
    tensor([[1., 0.],
            [0., 1.]])
    """
    shares = torch.softmax(beta * unit @ normalize(centers).t(), dim=1)
    # A center that nobody is near has a share of about 0, and stays where it counts for nothing.
    return (shares.t() @ unit) / shares.sum(dim=0).clamp(min=_TINY).unsqueeze(1), shares


def cross_entropy(real: Tensor, fake: Tensor) -> Tensor:
    """Return the mean binary cross-entropy of logits [n] of real and [n] of fake nodes."""
    return (softplus(-real).mean() + softplus(fake).mean()) / 2
