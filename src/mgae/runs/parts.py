"""The names and settings of masks, encoders, decoders and losses.

A setting has the name of the argument that it becomes in `mgae.core`; its limits and its help
stand here.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from mgae.core.errors import ConfigError
from mgae.registry import DECODERS, ENCODERS, LOSSES, MASKS
from mgae.settings import PartSettings


class MaskSettings(PartSettings):
    """How many edges are hidden, and what counts as one."""

    section: ClassVar[str] = "mask"

    ratio: float = Field(0.7, ge=0, lt=1, description="share ω of the edges that is hidden")


class PathSettings(MaskSettings):
    """How far a walk goes."""

    walk_length: int = Field(3, ge=1, description="edges of a walk; 1: edges on their own")


MASKS.add(
    "undirected",
    "mgae.core:Undirected",
    settings=MaskSettings,
    summary="hides both directions of an edge together",
)
MASKS.add(
    "directed",
    "mgae.core:Directed",
    settings=MaskSettings,
    summary="hides each direction of an edge on its own",
)
MASKS.add(
    "path",
    "mgae.core:Path",
    settings=PathSettings,
    summary="hides both directions of the edges along random walks",
    paper="Li et al., What's Behind the Mask: Understanding Masked Graph Modeling, 2023",
)


class EncoderSettings(PartSettings):
    """Depth, width and regularization; PyG's names where it has one."""

    section: ClassVar[str] = "encoder"

    num_layers: int = Field(2, ge=1, le=100, description="K, the layers that the decoder crosses")
    hidden_channels: int = Field(128, ge=1, le=65536, description="d, the width of every layer")
    dropout: float = Field(0.5, ge=0, lt=1, description="dropout between layers")
    feature_dropout: Annotated[float, Field(ge=0, lt=1)] | Literal["auto"] = Field(
        0.0,
        description="dropout on the node features; auto: the more, the wider they are beside the "
        "number of edges",
    )
    drop_outputs: bool = Field(
        False, description="the decoder too reads a layer after its dropout, not the next one alone"
    )
    act: Literal["relu", "elu", "prelu", "tanh", "none"] = Field(
        "relu", description="activation after a layer"
    )
    act_last: bool = Field(True, description="activation after the last layer too")
    norm: Literal["none", "batch", "layer"] = Field("none", description="norm after a layer")
    inputs: Literal["auto", "inductive", "features", "table", "sketches", "one-hot"] = Field(
        "auto",
        description="where x comes from; auto: features, or a learned table without them; "
        "inductive: features, or sketches of the visible edges without them",
    )
    row_normalize: bool = Field(
        False, description="divide each node's features by the sum of their magnitudes"
    )
    edge_features: bool = Field(True, description="messages read the edges' features, if any")

    def inputs_of(self, has_features: bool) -> str:
        """Return where x comes from on a graph with or without features."""
        otherwise = {"auto": "table", "inductive": "sketches"}
        if self.inputs not in otherwise:
            return self.inputs
        return "features" if has_features else otherwise[self.inputs]


class GATSettings(EncoderSettings):
    """Every head has its share of the layer's width."""

    heads: int = Field(4, ge=1, description="attention heads, side by side in hidden_channels")

    @model_validator(mode="after")
    def _whole_heads(self) -> Self:
        if self.hidden_channels % self.heads:
            raise ConfigError(
                f"encoder.hidden_channels must be a multiple of encoder.heads {self.heads}, "
                f"got {self.hidden_channels}: change one of them"
            )
        return self


ENCODERS.add(
    "gat",
    "mgae.core:GAT",
    settings=GATSettings,
    summary="graph attention network, its heads side by side",
    paper="Velickovic et al., Graph Attention Networks, 2018",
)
ENCODERS.add(
    "gcn",
    "mgae.core:GCN",
    settings=EncoderSettings,
    summary="graph convolution, symmetrically normalized",
    paper="Kipf and Welling, Semi-Supervised Classification with GCNs, 2017",
)
ENCODERS.add(
    "gin",
    "mgae.core:GIN",
    settings=EncoderSettings,
    summary="graph isomorphism network: a sum of the neighbors, then an MLP",
    paper="Xu et al., How Powerful are Graph Neural Networks?, 2019",
)
ENCODERS.add(
    "sage",
    "mgae.core:SAGE",
    settings=EncoderSettings,
    summary="GraphSAGE with the mean aggregator",
    paper="Hamilton et al., Inductive Representation Learning on Large Graphs, 2017",
)


class DecoderSettings(PartSettings):
    """A decoder without settings of its own."""

    section: ClassVar[str] = "decoder"


class MLPSettings(DecoderSettings):
    """The multilayer perceptron that reads a pair's representation."""

    num_layers: int = Field(2, ge=1, le=100, description="linear layers of the MLP")
    hidden_channels: int = Field(
        256, ge=1, le=65536, description="D, the width of its hidden layers"
    )
    dropout: float = Field(0.5, ge=0, lt=1, description="dropout on its hidden layers")
    precision: Literal["float32", "bfloat16", "auto"] = Field(
        "float32",
        description="what its first layer multiplies in while it trains; bfloat16 and auto: that "
        "where the device has instructions for it, else float32",
    )


class CrossCorrelationSettings(MLPSettings):
    """Settings of the paper's decoder."""

    symmetric: bool = Field(False, description="score(u, v) = score(v, u): W_kj = W_jk")


class PairMLPSettings(MLPSettings):
    """Settings of a decoder that sees the last layer only."""

    combine: Literal["hadamard", "concat", "absdiff"] = Field(
        "hadamard", description="how the two ends become one vector"
    )


DECODERS.add(
    "cross-correlation",
    "mgae.core:CrossCorrelation",
    settings=CrossCorrelationSettings,
    summary="every layer of one end times every layer of the other, then an MLP",
    paper="MGAE, Eq. 2",
)
DECODERS.add(
    "inner-product",
    "mgae.core:InnerProduct",
    settings=DecoderSettings,
    summary="the inner product of the two ends' last layers",
    paper="Kipf and Welling, Variational Graph Auto-Encoders, 2016",
)
DECODERS.add(
    "mlp",
    "mgae.core:PairMLP",
    settings=PairMLPSettings,
    summary="an MLP on the two ends' last layers",
)


class LossSettings(PartSettings):
    """A loss without settings of its own."""

    section: ClassVar[str] = "loss"


class SampledLossSettings(LossSettings):
    """A loss that looks at some pairs that are no edges."""

    num_negatives: int = Field(1, ge=1, description="m, the negatives drawn per masked edge")


class SampledSoftmaxSettings(SampledLossSettings):
    """A softmax is only as sharp as its competitors are many."""

    num_negatives: int = Field(32, ge=1, description="m, the tails drawn per masked edge")


class FullSoftmaxSettings(LossSettings):
    """The exact loss, as long as it can be afforded."""

    max_pairs: int = Field(
        100_000_000, ge=1, description="refuse a step that would decode more pairs than this"
    )


LOSSES.add(
    "bce",
    "mgae.core:BCE",
    settings=SampledLossSettings,
    summary="binary cross-entropy against random pairs; what the authors' code does",
)
LOSSES.add(
    "sampled-softmax",
    "mgae.core:SampledSoftmax",
    settings=SampledSoftmaxSettings,
    summary="Eq. 3 with the sum over m random tails of the same head",
)
LOSSES.add(
    "bpr",
    "mgae.core:BPR",
    settings=SampledLossSettings,
    summary="an edge's logit against those of random tails of the same head, two at a time",
    paper="Rendle et al., BPR: Bayesian Personalized Ranking from Implicit Feedback, 2009",
)
LOSSES.add(
    "softmax",
    "mgae.core:FullSoftmax",
    settings=FullSoftmaxSettings,
    summary="Eq. 3 exactly: the sum runs over every node",
    paper="MGAE, Eq. 3",
)
