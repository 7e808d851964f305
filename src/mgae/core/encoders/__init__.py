"""ENCODE: graph neural networks that give every layer's output (Eq. 1 of the paper)."""

from mgae.core.encoders.base import (
    ACTIVATIONS,
    EmbeddingTable,
    Encoder,
    Features,
    Inputs,
    LayeredEncoder,
    NodeFeatures,
    OneHot,
    Sketches,
)
from mgae.core.encoders.gat import GAT, GATLayer
from mgae.core.encoders.gcn import GCN, GCNLayer
from mgae.core.encoders.gin import GIN, GINLayer
from mgae.core.encoders.pyg import PyGEncoder
from mgae.core.encoders.sage import SAGE, SAGELayer

__all__ = [
    "ACTIVATIONS",
    "GAT",
    "GCN",
    "GIN",
    "SAGE",
    "EmbeddingTable",
    "Encoder",
    "Features",
    "GATLayer",
    "GCNLayer",
    "GINLayer",
    "Inputs",
    "LayeredEncoder",
    "NodeFeatures",
    "OneHot",
    "PyGEncoder",
    "SAGELayer",
    "Sketches",
]
