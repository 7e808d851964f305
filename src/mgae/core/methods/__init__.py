"""The parts put together: each file is a family of methods behind the one interface."""

from mgae.core.methods import (
    adversarial,
    autoencoders,
    features,
    heuristics,
    infomax,
    masked,
    pagerank,
)
from mgae.core.methods.base import Encoded, Method, build_method

__all__ = [
    "Encoded",
    "Method",
    "adversarial",
    "autoencoders",
    "build_method",
    "features",
    "heuristics",
    "infomax",
    "masked",
    "pagerank",
]
