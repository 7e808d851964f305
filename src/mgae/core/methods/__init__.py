"""The parts put together: each file is a family of methods behind the one interface."""

from mgae.core.methods.adversarial import (
    AdversarialAutoencoder,
    AdversarialVariationalAutoencoder,
)
from mgae.core.methods.autoencoders import GraphAutoencoder, VariationalGraphAutoencoder
from mgae.core.methods.base import Encoded, Method
from mgae.core.methods.evidencemodel import EvidenceModel
from mgae.core.methods.graphmae import GraphMAE
from mgae.core.methods.heuristics import (
    AdamicAdar,
    CommonNeighbors,
    PersonalizedPageRank,
    RandomInit,
    RawFeatures,
    ResourceAllocation,
)
from mgae.core.methods.infomax import DeepGraphInfomax, GraphInfoClust
from mgae.core.methods.masked import MaskedGraphAutoencoder, MaskGAE

__all__ = [
    "AdamicAdar",
    "AdversarialAutoencoder",
    "AdversarialVariationalAutoencoder",
    "CommonNeighbors",
    "DeepGraphInfomax",
    "Encoded",
    "EvidenceModel",
    "GraphAutoencoder",
    "GraphInfoClust",
    "GraphMAE",
    "MaskGAE",
    "MaskedGraphAutoencoder",
    "Method",
    "PersonalizedPageRank",
    "RandomInit",
    "RawFeatures",
    "ResourceAllocation",
    "VariationalGraphAutoencoder",
]
