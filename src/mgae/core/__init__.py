"""The method as a plain PyTorch library: parts to compose, and the loop that trains them.

>>> import torch
>>> from torch_geometric.data import Data
>>> from mgae.core import BCE, GCN, CrossCorrelation, MaskedGraphAutoencoder, Undirected, fit
>>> edges = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]])
>>> graph = Data(x=torch.eye(5), edge_index=torch.cat([edges, edges.flip(0)], dim=1))
>>> model = MaskedGraphAutoencoder(
...     mask=Undirected(0.7),
...     encoder=GCN(5, 8, num_layers=2),
...     decoder=CrossCorrelation(8, num_layers=2),
...     loss=BCE(),
... )
>>> fit(model, graph, epochs=3).epochs
3
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mgae.core.decoders import (
        MLP,
        CrossCorrelation,
        Decoder,
        InnerProduct,
        PairMLP,
    )
    from mgae.core.encoders import (
        GAT,
        GCN,
        GIN,
        SAGE,
        EmbeddingTable,
        Encoder,
        Inputs,
        LayeredEncoder,
        NodeFeatures,
        OneHot,
        PyGEncoder,
        Sketches,
    )
    from mgae.core.graph import MessageGraph
    from mgae.core.losses import (
        BCE,
        BPR,
        FullSoftmax,
        Loss,
        SameHeadLoss,
        SampledLoss,
        SampledSoftmax,
    )
    from mgae.core.masks import (
        Directed,
        Mask,
        MaskedEdges,
        Path,
        Undirected,
    )
    from mgae.core.methods import (
        AdamicAdar,
        AdversarialAutoencoder,
        AdversarialVariationalAutoencoder,
        CombinedModel,
        CombinedRelationalModel,
        CommonNeighbors,
        DeepGraphInfomax,
        DeepWalk,
        Encoded,
        EvidenceModel,
        GraphAutoencoder,
        GraphInfoClust,
        GraphMAE,
        InstantModel,
        Jaccard,
        Katz,
        LightGCN,
        MaskedGraphAutoencoder,
        MaskGAE,
        Method,
        NetMF,
        Node2Vec,
        PathsOfThree,
        PersonalizedPageRank,
        PreferentialAttachment,
        ProNE,
        RandomInit,
        RawFeatures,
        RelationalAutoencoder,
        ResourceAllocation,
        Spectral,
        VariationalGraphAutoencoder,
        on_device,
    )
    from mgae.core.negatives import NegativeSampler
    from mgae.core.seeding import Generators, drawn_from
    from mgae.core.training import Fit, fit

__all__ = [
    "BCE",
    "BPR",
    "GAT",
    "GCN",
    "GIN",
    "MLP",
    "SAGE",
    "AdamicAdar",
    "AdversarialAutoencoder",
    "AdversarialVariationalAutoencoder",
    "CombinedModel",
    "CombinedRelationalModel",
    "CommonNeighbors",
    "CrossCorrelation",
    "Decoder",
    "DeepGraphInfomax",
    "DeepWalk",
    "Directed",
    "EmbeddingTable",
    "Encoded",
    "Encoder",
    "EvidenceModel",
    "Fit",
    "FullSoftmax",
    "Generators",
    "GraphAutoencoder",
    "GraphInfoClust",
    "GraphMAE",
    "InnerProduct",
    "Inputs",
    "InstantModel",
    "Jaccard",
    "Katz",
    "LayeredEncoder",
    "LightGCN",
    "Loss",
    "Mask",
    "MaskGAE",
    "MaskedEdges",
    "MaskedGraphAutoencoder",
    "MessageGraph",
    "Method",
    "NegativeSampler",
    "NetMF",
    "Node2Vec",
    "NodeFeatures",
    "OneHot",
    "PairMLP",
    "Path",
    "PathsOfThree",
    "PersonalizedPageRank",
    "PreferentialAttachment",
    "ProNE",
    "PyGEncoder",
    "RandomInit",
    "RawFeatures",
    "RelationalAutoencoder",
    "ResourceAllocation",
    "SameHeadLoss",
    "SampledLoss",
    "SampledSoftmax",
    "Sketches",
    "Spectral",
    "Undirected",
    "VariationalGraphAutoencoder",
    "drawn_from",
    "fit",
    "on_device",
]


# Imported when first asked for: who needs an error class must not wait for torch.
_HOMES = (
    "decoders",
    "encoders",
    "graph",
    "losses",
    "masks",
    "methods",
    "negatives",
    "seeding",
    "training",
)


def __getattr__(name: str) -> Any:
    if name in __all__:
        for home in _HOMES:
            module = importlib.import_module(f"mgae.core.{home}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module 'mgae.core' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
