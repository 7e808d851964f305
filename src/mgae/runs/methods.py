"""The names, settings and default parts of the methods.

``parts`` are the parts that a method takes, each with its defaults; ``train`` are defaults of the
training that differ from those of `TrainSettings`.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from mgae.registry import METHODS
from mgae.settings import PartSettings

_MASKED: dict[str, Any] = {
    "mask": {"kind": "undirected"},
    "encoder": {"kind": "gcn"},
    "decoder": {"kind": "cross-correlation"},
    "loss": {"kind": "bce"},
}


class MGAESettings(PartSettings):
    """A second target beside the masked edges."""

    feature_weight: float = Field(
        0.0, ge=0, description="weight of the features' reconstruction from the last layer"
    )
    gamma: float = Field(3.0, ge=1, description="power of its scaled cosine error")


class MaskGAESettings(PartSettings):
    """What the nodes' degrees are worth."""

    alpha: float = Field(0.003, ge=0, description="weight of the degree loss")
    degree_channels: int = Field(64, ge=1, description="width of the MLP that reads a degree")
    degree_dropout: float = Field(0.2, ge=0, lt=1, description="dropout in that MLP")


METHODS.add(
    "mgae",
    "mgae.core:MaskedGraphAutoencoder",
    settings=MGAESettings,
    summary="masked graph autoencoder with the cross-correlation decoder",
    paper="Tan et al., MGAE: Masked Autoencoders for Self-Supervised Learning on Graphs, 2022",
    parts=_MASKED,
)
METHODS.add(
    "selftask",
    "mgae.core:MaskedGraphAutoencoder",
    summary="EdgeMask: hidden edges against random pairs, by an MLP on |h_u - h_v|",
    paper="Jin et al., Self-supervised Learning on Graphs: Deep Insights and New Direction, 2020",
    parts={**_MASKED, "decoder": {"kind": "mlp", "combine": "absdiff"}},
)
METHODS.add(
    "maskgae",
    "mgae.core:MaskGAE",
    settings=MaskGAESettings,
    summary="masked paths, a hadamard MLP, and each node's count of hidden edges",
    paper="Li et al., What's Behind the Mask: Understanding Masked Graph Modeling, 2023",
    parts={
        **_MASKED,
        "mask": {"kind": "path"},
        "decoder": {"kind": "mlp", "combine": "hadamard"},
    },
)

_AUTOENCODER: dict[str, Any] = {
    "encoder": {"kind": "gcn", "act_last": False},
    "decoder": {"kind": "inner-product"},
    "loss": {"kind": "bce"},
}


class AdversarySettings(PartSettings):
    """The discriminator, and how it learns."""

    discriminator_channels: int = Field(64, ge=1, description="width of its two hidden layers")
    discriminator_learning_rate: float = Field(
        0.001, gt=0, le=100, description="Adam's learning rate for the discriminator"
    )
    discriminator_steps: int = Field(1, ge=1, description="its steps before each of the model's")


METHODS.add(
    "gae",
    "mgae.core:GraphAutoencoder",
    summary="graph autoencoder: the observed edges against random pairs",
    paper="Kipf and Welling, Variational Graph Auto-Encoders, 2016",
    parts=_AUTOENCODER,
)
METHODS.add(
    "vgae",
    "mgae.core:VariationalGraphAutoencoder",
    summary="variational graph autoencoder: a normal distribution for each node",
    paper="Kipf and Welling, Variational Graph Auto-Encoders, 2016",
    parts=_AUTOENCODER,
)
METHODS.add(
    "arge",
    "mgae.core:AdversarialAutoencoder",
    settings=AdversarySettings,
    summary="graph autoencoder whose embeddings a discriminator takes for normal draws",
    paper="Pan et al., Adversarially Regularized Graph Autoencoder for Graph Embedding, 2018",
    parts=_AUTOENCODER,
)
METHODS.add(
    "argva",
    "mgae.core:AdversarialVariationalAutoencoder",
    settings=AdversarySettings,
    summary="variational graph autoencoder with the discriminator of arge",
    paper="Pan et al., Adversarially Regularized Graph Autoencoder for Graph Embedding, 2018",
    parts=_AUTOENCODER,
)

# The original codes: one wide layer, word counts as shares, the training loss picks the epoch.
_INFOMAX = {
    "kind": "gcn",
    "num_layers": 1,
    "hidden_channels": 512,
    "act": "prelu",
    "dropout": 0.0,
    "row_normalize": True,
}
_INFOMAX_TRAIN = {
    "learning_rate": 0.001,
    "epochs": 2000,
    "patience": 50,
    "clip": 0.0,
    "monitor": "loss",
}


class EmbeddingSettings(PartSettings):
    """How two embeddings become the score of a link."""

    cosine: bool = Field(
        True, description="score a link by the inner product of unit vectors, not of any length"
    )


class GICSettings(EmbeddingSettings):
    """The clusters, and how much they count."""

    alpha: float = Field(0.5, ge=0, le=1, description="share of the graph's summary in the loss")
    clusters: int = Field(128, ge=1, description="K, at most as many as nodes")
    beta: float = Field(100.0, gt=0, description="inverse temperature of the soft assignment")
    iterations: int = Field(10, ge=1, description="k-means steps before the differentiable one")


class GraphMAESettings(EmbeddingSettings):
    """How much is hidden, and how an error counts."""

    mask_ratio: float = Field(0.5, gt=0, le=1, description="share of the nodes that are hidden")
    replace_ratio: float = Field(
        0.05, ge=0, lt=1, description="share of the hidden nodes that get another node's features"
    )
    gamma: float = Field(3.0, ge=1, description="power of the scaled cosine error")


METHODS.add(
    "dgi",
    "mgae.core:DeepGraphInfomax",
    settings=EmbeddingSettings,
    summary="deep graph infomax: nodes against a summary of the whole graph",
    paper="Veličković et al., Deep Graph Infomax, 2019",
    parts={"encoder": _INFOMAX},
    train=_INFOMAX_TRAIN,
)
METHODS.add(
    "gic",
    "mgae.core:GraphInfoClust",
    settings=GICSettings,
    summary="graph infoclust: nodes against the graph's summary and their cluster's",
    paper="Mavromatis and Karypis, Graph InfoClust, 2021",
    parts={"encoder": {**_INFOMAX, "hidden_channels": 64}},
    train=_INFOMAX_TRAIN,
)
METHODS.add(
    "graphmae",
    "mgae.core:GraphMAE",
    settings=GraphMAESettings,
    summary="masked node features, reconstructed up to a scaled cosine error",
    paper="Hou et al., GraphMAE: Self-Supervised Masked Graph Autoencoders, 2022",
    parts={
        "encoder": {
            "kind": "gcn",
            "num_layers": 2,
            "hidden_channels": 512,
            "act": "prelu",
            "dropout": 0.2,
            "feature_dropout": 0.2,
        }
    },
    train={"learning_rate": 0.001, "epochs": 1000, "clip": 0.0, "weight_decay": 2e-4},
)


class EvidenceSettings(PartSettings):
    """The folds, and the network that reads the evidence."""

    folds: int = Field(8, ge=2, description="folds of the edges; one is hidden at a time")
    hidden_channels: int = Field(64, ge=1, description="width of the perceptron")
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout on its hidden layer")
    max_edges: int = Field(6000, ge=1, description="edges whose evidence is computed, at most")
    shortlist: int = Field(
        50, ge=1, description="tails that each of several scores proposes for a head"
    )
    start: Literal["auto", "random", "shipped"] = Field(
        "auto",
        description="random weights, or those of other graphs; auto: these where edges are few",
    )


class InstantSettings(PartSettings):
    """What is proposed, and whether the graph is asked what counts."""

    shortlist: int = Field(
        50, ge=1, description="tails that each of several scores proposes for a head"
    )
    self_check: bool = Field(
        True,
        description="hide a few of the graph's own edges to choose what counts",
    )


class CombinedSettings(EvidenceSettings):
    """The evidence model beside the network."""

    evidence_epochs: int = Field(
        125, ge=1, description="epochs of the evidence model, each of as many steps as folds"
    )


METHODS.add(
    "combined",
    "mgae.core:CombinedModel",
    settings=CombinedSettings,
    summary="masked autoencoder beside the evidence of links, weighted by validation",
    parts={
        "mask": {"kind": "undirected", "ratio": 0.5},
        "encoder": {
            "kind": "gcn",
            "act": "elu",
            "norm": "batch",
            "inputs": "inductive",
            "feature_dropout": "auto",
        },
        "decoder": {"kind": "cross-correlation", "hidden_channels": 128},
        "loss": {"kind": "sampled-softmax", "num_negatives": 8},
    },
    train={
        "epochs": 300,
        "patience": 150,
        "weight_decay": 5e-5,
        "schedule": "cosine",
        "eval_every": 5,
        "step_size": 4096,
        "max_pairs": 12_000_000,
        "final_fit": True,
    },
)
METHODS.add(
    "evidence",
    "mgae.core:EvidenceModel",
    settings=EvidenceSettings,
    summary="paths, walks, distances and features of a pair, weighed by a small network",
    parts={},
    train={
        "learning_rate": 0.005,
        "weight_decay": 5e-5,
        "epochs": 125,
        "patience": 125,
        "schedule": "cosine",
        "final_fit": True,
    },
)
METHODS.add(
    "instant",
    "mgae.core:InstantModel",
    settings=InstantSettings,
    summary="the evidence model as shipped, trained on other graphs: an answer at once",
    parts={},
)


class RelationalSettings(PartSettings):
    """The layers, what the types share, and the mask."""

    channels: int = Field(32, ge=1, description="width of a layer and of the decoder")
    num_layers: int = Field(2, ge=1, description="layers of the encoder")
    num_bases: int = Field(4, ge=1, description="matrices that all types of edges share")
    ratio: float = Field(0.5, gt=0, lt=1, description="share of the edges that is hidden")
    num_negatives: int = Field(4, ge=1, description="pairs of the same type per hidden edge")
    dropout: float = Field(0.2, ge=0, lt=1, description="dropout between layers")


METHODS.add(
    "relational",
    "mgae.core:RelationalAutoencoder",
    settings=RelationalSettings,
    summary="masked autoencoder with weights for each type of edge",
    paper="Schlichtkrull et al., Modeling Relational Data with Graph Convolutional Networks, 2018",
    parts={},
    # On a graph of three types it learned nothing in the first 50 epochs, and all of it by 120.
    train={"epochs": 300, "patience": 150},
)


class CombinedRelationalSettings(RelationalSettings):
    """The evidence model beside the relational network."""

    folds: int = Field(8, ge=2, description="folds of the edges for the evidence")
    max_edges: int = Field(6000, ge=1, description="edges whose evidence is computed, at most")
    shortlist: int = Field(
        50, ge=1, description="tails that each of several scores proposes for a head"
    )
    evidence_epochs: int = Field(
        125, ge=1, description="epochs of the evidence model, each of as many steps as folds"
    )
    start: Literal["auto", "random", "shipped"] = Field(
        "auto",
        description="weights that the evidence starts from; auto: shipped ones where edges are few",
    )


METHODS.add(
    "combined-relational",
    "mgae.core:CombinedRelationalModel",
    settings=CombinedRelationalSettings,
    summary="relational beside the evidence of links, weighted by validation",
    parts={},
    train={"epochs": 300, "patience": 150, "final_fit": True},
)


class LightGCNSettings(PartSettings):
    """The table, and how far it is smoothed."""

    channels: int = Field(64, ge=1, description="width of the learned table")
    num_hops: int = Field(3, ge=0, description="K, the steps of which the mean is taken")


METHODS.add(
    "lightgcn",
    "mgae.core:LightGCN",
    settings=LightGCNSettings,
    summary="a learned table, smoothed along the edges without weights",
    paper="He et al., LightGCN: Simplifying Graph Convolution for Recommendation, 2020",
    parts={"loss": {"kind": "bpr"}},
    # Against the original's rate / 2, decay of 1e-4 and steps of 2,048, tried together on two small
    # graphs, one split each; which of the three matters was not tried apart.
    train={"clip": 0.0, "weight_decay": 1e-5, "step_size": 1024},
)


class SpectralSettings(PartSettings):
    """Which eigenvectors, and how much each counts."""

    channels: int = Field(64, ge=1, description="eigenvectors, the leading ones")
    cosine: bool = Field(
        False, description="score a link by the inner product of unit vectors, not of any length"
    )
    restart: float = Field(0.15, gt=0, lt=1, description="PageRank's chance to start again")


class NetMFSettings(PartSettings):
    """The window, and how large a graph may be."""

    channels: int = Field(128, ge=1, description="width of the embedding")
    cosine: bool = Field(
        False, description="score a link by the inner product of unit vectors, not of any length"
    )
    window: int = Field(10, ge=1, description="longest distance of two nodes in a walk")
    negatives: float = Field(1.0, gt=0, description="negatives of the skip-gram that it replaces")
    max_nodes: int = Field(6000, ge=1, description="refuse a graph with more nodes than this")


class ProNESettings(EmbeddingSettings):
    """The filter of the propagation."""

    channels: int = Field(128, ge=1, description="width of the embedding")
    mu: float = Field(0.1, ge=0, le=2, description="center of the filter")
    theta: float = Field(0.5, gt=0, description="sharpness of the filter")
    order: int = Field(10, ge=2, description="terms of the Chebyshev series")


class DeepWalkSettings(PartSettings):
    """The walks, and how they are read."""

    channels: int = Field(128, ge=1, description="width of the embedding")
    cosine: bool = Field(
        False, description="score a link by the inner product of unit vectors, not of any length"
    )
    num_walks: int = Field(10, ge=1, description="walks from each node")
    walk_length: int = Field(40, ge=2, description="nodes of a walk")
    window: int = Field(5, ge=1, description="nodes to each side that count as near")
    negatives: int = Field(5, ge=1, description="nodes drawn as not near, for each that is")
    passes: int = Field(1, ge=1, description="how often the walks are read")


class Node2VecSettings(DeepWalkSettings):
    """Where a walk tends to."""

    p: float = Field(1.0, gt=0, description="a step back counts 1 / p")
    q: float = Field(0.5, gt=0, description="a step away from the last node's neighbors: 1 / q")


METHODS.add(
    "spectral",
    "mgae.core:Spectral",
    settings=SpectralSettings,
    summary="leading eigenvectors of the normalized edges, with PageRank's filter",
    parts={},
)
METHODS.add(
    "netmf",
    "mgae.core:NetMF",
    settings=NetMFSettings,
    summary="factors of how often two nodes meet in random walks, without walking",
    paper="Qiu et al., Network Embedding as Matrix Factorization, 2018",
    parts={},
)
METHODS.add(
    "prone",
    "mgae.core:ProNE",
    settings=ProNESettings,
    summary="a sparse factorization of the edges, then a band-pass filter along them",
    paper="Zhang et al., ProNE: Fast and Scalable Network Representation Learning, 2019",
    parts={},
)
METHODS.add(
    "deepwalk",
    "mgae.core:DeepWalk",
    settings=DeepWalkSettings,
    summary="random walks read as sentences by gensim's skip-gram",
    paper="Perozzi et al., DeepWalk: Online Learning of Social Representations, 2014",
    parts={},
)
METHODS.add(
    "node2vec",
    "mgae.core:Node2Vec",
    settings=Node2VecSettings,
    summary="the same with walks that tend back or away",
    paper="Grover and Leskovec, node2vec: Scalable Feature Learning for Networks, 2016",
    parts={},
)

METHODS.add(
    "common-neighbors",
    "mgae.core:CommonNeighbors",
    summary="how many neighbors two nodes share",
    parts={},
)
METHODS.add(
    "adamic-adar",
    "mgae.core:AdamicAdar",
    summary="shared neighbors, rare ones counting more: 1 / log degree",
    paper="Adamic and Adar, Friends and Neighbors on the Web, 2003",
    parts={},
)
METHODS.add(
    "resource-allocation",
    "mgae.core:ResourceAllocation",
    summary="shared neighbors, rare ones counting more: 1 / degree",
    paper="Zhou et al., Predicting Missing Links via Local Information, 2009",
    parts={},
)
METHODS.add(
    "personalized-pagerank",
    "mgae.core:PersonalizedPageRank",
    summary="how often a walk that restarts at one node with 0.15 is at the other",
    paper="Page et al., The PageRank Citation Ranking, 1999",
    parts={},
)
METHODS.add(
    "jaccard",
    "mgae.core:Jaccard",
    summary="the share of all their neighbors that two nodes share",
    paper="Jaccard, Étude comparative de la distribution florale, 1901",
    parts={},
)
METHODS.add(
    "preferential-attachment",
    "mgae.core:PreferentialAttachment",
    summary="the product of both degrees",
    paper="Barabási and Albert, Emergence of Scaling in Random Networks, 1999",
    parts={},
)
METHODS.add(
    "katz",
    "mgae.core:Katz",
    summary="walks of up to six steps, longer ones counting less: (0.5 / λ_max)^length",
    paper="Katz, A New Status Index Derived from Sociometric Analysis, 1953",
    parts={},
)
METHODS.add(
    "l3",
    "mgae.core:PathsOfThree",
    summary="paths of length 3, rare ones counting more: 1 / √ of the inner degrees",
    paper="Kovács et al., Network-based Prediction of Protein Interactions, 2019",
    parts={},
)
METHODS.add(
    "raw-features", "mgae.core:RawFeatures", summary="the node features as they are", parts={}
)
METHODS.add(
    "random-init",
    "mgae.core:RandomInit",
    summary="the encoder with its first random weights",
    parts={"encoder": {"kind": "gcn"}},
)
