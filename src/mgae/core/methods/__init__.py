"""The parts put together: each file is a family of methods behind the one interface."""

from mgae.core.methods.adversarial import (
    AdversarialAutoencoder,
    AdversarialVariationalAutoencoder,
)
from mgae.core.methods.autoencoders import GraphAutoencoder, VariationalGraphAutoencoder
from mgae.core.methods.base import Encoded, Likely, Method, Stage
from mgae.core.methods.combined import CombinedModel
from mgae.core.methods.combinedrelational import CombinedRelationalModel
from mgae.core.methods.evidencemodel import EvidenceModel
from mgae.core.methods.factorization import NetMF, ProNE, Spectral
from mgae.core.methods.graphmae import GraphMAE
from mgae.core.methods.heuristics import (
    AdamicAdar,
    CommonNeighbors,
    Jaccard,
    Katz,
    PathsOfThree,
    PersonalizedPageRank,
    PreferentialAttachment,
    RandomInit,
    RawFeatures,
    ResourceAllocation,
)
from mgae.core.methods.infomax import DeepGraphInfomax, GraphInfoClust
from mgae.core.methods.instantmodel import InstantModel
from mgae.core.methods.lightgcn import LightGCN
from mgae.core.methods.masked import MaskedGraphAutoencoder, MaskGAE
from mgae.core.methods.ondevice import on_device
from mgae.core.methods.relational import RelationalAutoencoder
from mgae.core.methods.walks import DeepWalk, Node2Vec

__all__ = [
    "AdamicAdar",
    "AdversarialAutoencoder",
    "AdversarialVariationalAutoencoder",
    "CombinedModel",
    "CombinedRelationalModel",
    "CommonNeighbors",
    "DeepGraphInfomax",
    "DeepWalk",
    "Encoded",
    "EvidenceModel",
    "GraphAutoencoder",
    "GraphInfoClust",
    "GraphMAE",
    "InstantModel",
    "Jaccard",
    "Katz",
    "LightGCN",
    "Likely",
    "MaskGAE",
    "MaskedGraphAutoencoder",
    "Method",
    "NetMF",
    "Node2Vec",
    "PathsOfThree",
    "PersonalizedPageRank",
    "PreferentialAttachment",
    "ProNE",
    "RandomInit",
    "RawFeatures",
    "RelationalAutoencoder",
    "ResourceAllocation",
    "Spectral",
    "Stage",
    "VariationalGraphAutoencoder",
    "on_device",
]
