"""ENCODE: graph neural networks that give every layer's output (Eq. 1 of the paper)."""

from mgae.core.encoders.base import ACTIVATIONS, Encoder, EncoderSettings, Features, Inputs
from mgae.core.encoders.gat import GAT, GATLayer, GATSettings
from mgae.core.encoders.gcn import GCN, GCNLayer
from mgae.core.encoders.gin import GIN, GINLayer
from mgae.core.encoders.sage import SAGE, SAGELayer

__all__ = [
    "ACTIVATIONS",
    "GAT",
    "GCN",
    "GIN",
    "SAGE",
    "Encoder",
    "EncoderSettings",
    "Features",
    "GATLayer",
    "GATSettings",
    "GCNLayer",
    "GINLayer",
    "Inputs",
    "SAGELayer",
]
