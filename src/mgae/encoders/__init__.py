"""ENCODE: graph neural networks that give every layer's output (Eq. 1 of the paper)."""

from mgae.encoders.base import ACTIVATIONS, Encoder, EncoderSettings, Features, Inputs
from mgae.encoders.gat import GAT, GATLayer, GATSettings
from mgae.encoders.gcn import GCN, GCNLayer
from mgae.encoders.gin import GIN, GINLayer
from mgae.encoders.sage import SAGE, SAGELayer

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
