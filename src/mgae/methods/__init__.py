"""The parts put together: each file is a family of methods behind the one interface."""

from mgae.methods import (
    adversarial,
    autoencoders,
    features,
    floors,
    infomax,
    masked,
    pagerank,
)
from mgae.methods.base import Encoded, Method, build_method

__all__ = [
    "Encoded",
    "Method",
    "adversarial",
    "autoencoders",
    "build_method",
    "features",
    "floors",
    "infomax",
    "masked",
    "pagerank",
]
