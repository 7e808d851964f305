"""Masked graph autoencoders (Algorithm 1): mask, encode, decode, loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from mgae.core.decoders import MLP, Decoder
from mgae.core.encoders import Encoder, LayeredEncoder, NodeFeatures
from mgae.core.errors import ConfigError
from mgae.core.graph import MessageGraph
from mgae.core.losses import Loss
from mgae.core.masks import Mask, MaskedEdges
from mgae.core.methods.graphmae import scaled_cosine_error
from mgae.core.methods.linkmodel import LinkModel
from mgae.core.negatives import NegativeSampler
from mgae.core.ops.backend import bring
from mgae.core.ops.neighborhood import Neighborhood
from mgae.core.ops.rows import take_rows
from mgae.core.ops.sparse import SparseMatrix
from mgae.core.seeding import Generators


class MaskedGraphAutoencoder(LinkModel):
    """Hides edges, encodes the rest, and predicts the hidden ones.

    Args:
        mask: divides the edges into visible and masked ones.
        encoder: reads the visible edges and gives every layer.
        decoder: scores pairs of nodes from all layers of both ends.
        loss: compares masked edges with pairs that are no edges.
        step_size: masked edges per optimizer step; None: all of them.
        chunk_size: pairs that the decoder holds at once.
        fanouts: neighbors kept per node, hop by hop: a step then encodes what its own pairs can
            reach, and memory follows the step (sampled mode); None: the whole graph is encoded.
        feature_weight: weight of a second target, a node's features from its last layer, by the
            scaled cosine error; the encoder's dropout on the features is what makes it a task.
        gamma: power of that error.
        num_features: F, needed for it.

    Raises:
        ConfigError: if a part cannot be used in sampled mode, or there are no features to rebuild.
    """

    samplable = True

    def __init__(
        self,
        mask: Mask,
        encoder: Encoder,
        decoder: Decoder,
        loss: Loss,
        step_size: int | None = None,
        chunk_size: int = 8192,
        fanouts: Sequence[int] | None = None,
        feature_weight: float = 0.0,
        gamma: float = 3.0,
        num_features: int = 0,
    ) -> None:
        super().__init__(encoder, decoder, loss, step_size, chunk_size)
        self.mask, self.fanouts = mask, fanouts
        self.feature_weight, self.gamma = feature_weight, gamma
        if feature_weight:
            self._require_features(num_features)
            self.features = nn.Linear(encoder.hidden_channels, num_features)
        if fanouts is not None:
            self._require_samplable(fanouts)

    @property
    def trains_from_cpu(self) -> bool:
        """In sampled mode: the graph may be larger than the device."""
        return self.fanouts is not None

    def losses(self, graph: MessageGraph, generators: Generators) -> Iterator[tuple[Tensor, str]]:
        """Mask anew, then yield one loss for each ``step_size`` masked edges."""
        if self.fanouts is not None:
            yield from self._sampled_losses(graph, self.fanouts, generators)
            return
        edges, sampler = self.mask(graph, generators["mask"]), NegativeSampler.of(graph)
        self._require_targets(edges.masked.size(1))
        for step in edges.masked.split(self.step_size or edges.masked.size(1), dim=1):
            positives, weight = generators.share.of(step)
            negatives = self.loss.draw(positives, sampler, generators.own("negatives"))
            layers = self.encoder(edges.visible, generators["dropout"])
            extra = self.extra_loss(layers, edges, generators)
            loss = weight * self.decoded_loss(layers, positives, negatives, generators)
            yield loss if extra is None else loss + extra, "model"

    def decoded_loss(
        self, layers: list[Tensor], positives: Tensor, negatives: Tensor, generators: Generators
    ) -> Tensor:
        """Decode masked edges [2, n] and their negatives [2, n, m], and compare them."""
        chance = generators.own("dropout")
        return self.loss(self.decoder, layers, positives, negatives, chance, self.chunk_size)

    def extra_loss(
        self, layers: list[Tensor], edges: MaskedEdges, generators: Generators
    ) -> Tensor | None:
        """Return the loss of what is learned besides the masked edges: the features, if asked."""
        if not self.feature_weight:
            return None
        wanted = self.encoder.inputs.whole(edges.visible)
        dense = wanted.to_dense() if isinstance(wanted, SparseMatrix) else wanted
        error = scaled_cosine_error(self.features(layers[-1]), dense, self.gamma)
        return self.feature_weight * error

    def parameter_groups(self) -> dict[str, list[nn.Module]]:
        """Return one group; what rebuilds the features is clipped apart too."""
        rebuilt = [self.features] if self.feature_weight else []
        return {"model": [self.encoder, self.decoder, *rebuilt]}

    def _sampled_losses(
        self, graph: MessageGraph, fanouts: Sequence[int], generators: Generators
    ) -> Iterator[tuple[Tensor, str]]:
        """Do the same with a step that encodes what its own pairs can reach."""
        hidden, sampler = self.mask.hide(graph, generators["mask"]), NegativeSampler.of(graph)
        self._require_targets(hidden.count)
        neighbors, visible = hidden.neighbor_sampler(), graph
        if self.encoder.inputs.reads_edges:
            visible = hidden.visible()
        for step in hidden.steps(self.step_size, generators["mask"]):
            positives, weight = generators.share.of(step)
            negatives = self.loss.draw(positives, sampler, generators.own("negatives"))
            ends = torch.cat([positives.flatten(), negatives[negatives >= 0]])
            nodes = torch.unique(ends)
            reached = neighbors.sample(nodes, fanouts, generators.own("mask"))
            assert isinstance(self.encoder, LayeredEncoder)
            layers = encode_neighborhood(self.encoder, visible, reached, generators.own("dropout"))
            device = layers[0].device
            # The layers are those of ``nodes``; a tail of -1 is no pair, and stays none.
            local = torch.searchsorted(nodes, negatives).where(negatives >= 0, -1)
            edges = torch.searchsorted(nodes, positives)
            edges, local = bring(edges, device), bring(local, device)
            yield weight * self.decoded_loss(layers, edges, local, generators), "model"

    def _require_features(self, num_features: int) -> None:
        if not (num_features and isinstance(self.encoder.inputs, NodeFeatures)):
            raise ConfigError(
                "method.feature_weight rebuilds node features, and the encoder reads none: "
                "leave it out"
            )
        if self.fanouts is not None:
            raise ConfigError("method.feature_weight and train.fanouts do not go together")

    def _require_targets(self, count: int) -> None:
        if count == 0:
            raise ConfigError(
                f"mask.ratio {self.mask.ratio} hides no edge of this graph, "
                "so there is nothing to predict: raise it"
            )

    def _require_samplable(self, fanouts: Sequence[int]) -> None:
        if len(fanouts) != self.encoder.num_layers:
            raise ConfigError(
                "train.fanouts must have a number for each layer: it has "
                f"{len(fanouts)} and encoder.num_layers is {self.encoder.num_layers}"
            )
        if not self.loss.samplable:
            raise ConfigError(
                "loss.kind 'softmax' scores every node, and train.fanouts has only some encoded: "
                "use 'sampled-softmax', or leave train.fanouts out"
            )
        if not self.mask.samplable:
            raise ConfigError(
                "train.fanouts goes with mask.kind 'undirected' or 'directed': "
                "choose one of them, or leave train.fanouts out"
            )
        if not self.encoder.samplable:
            raise ConfigError("this encoder needs the whole graph: leave train.fanouts out")


def encode_neighborhood(
    encoder: LayeredEncoder,
    graph: MessageGraph,
    reached: Neighborhood,
    generator: torch.Generator | None,
) -> list[Tensor]:
    """Return every layer's output for the first nodes of a neighborhood: K tensors [n, d].

    A layer is formed on the nodes that later layers still need: one hop less each time. The graph
    and the neighborhood may be on the CPU and the encoder elsewhere.
    """
    device = next(encoder.layers.parameters()).device
    rows = take_rows(encoder.inputs.whole(graph), reached.nodes)
    rows = rows.to(device) if isinstance(rows, SparseMatrix) else bring(rows, device)
    h, reached = encoder.inputs.drop(rows, generator), reached.to(device)
    hops = reversed(range(len(reached.ends) - 1))
    outputs = encoder.propagate_along([reached.adjacency(hop) for hop in hops], h, generator)
    return [output[: reached.ends[0]] for output in outputs]


class MaskGAE(MaskedGraphAutoencoder):
    """Also regresses how many edges of a node are hidden (Li et al., 2023).

    Args:
        mask, encoder, decoder, loss, step_size, chunk_size: as `MaskedGraphAutoencoder` has them.
        alpha: weight of the degree loss.
        degree_channels: width of the MLP that reads a degree.
        degree_dropout: dropout in that MLP.
    """

    samplable = False

    def __init__(
        self,
        mask: Mask,
        encoder: Encoder,
        decoder: Decoder,
        loss: Loss,
        step_size: int | None = None,
        chunk_size: int = 8192,
        alpha: float = 0.003,
        degree_channels: int = 64,
        degree_dropout: float = 0.2,
    ) -> None:
        super().__init__(mask, encoder, decoder, loss, step_size, chunk_size)
        self.alpha = alpha
        self.degree = MLP(encoder.hidden_channels, degree_channels, dropout=degree_dropout)

    def extra_loss(
        self, layers: list[Tensor], edges: MaskedEdges, generators: Generators
    ) -> Tensor | None:
        """Return α times the mean squared error of the degrees."""
        hidden = torch.bincount(edges.masked.flatten(), minlength=layers[-1].size(0))
        degrees = self.degree(layers[-1], generators["dropout"])
        return self.alpha * mse_loss(degrees, hidden.to(degrees.dtype))

    def parameter_groups(self) -> dict[str, list[nn.Module]]:
        """Return one group; the degree's MLP is clipped apart too."""
        return {"model": [self.encoder, self.decoder, self.degree]}
