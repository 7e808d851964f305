"""DECODE: how likely a pair is an edge, as a logit, from the layers of both ends."""

from mgae.core.decoders.base import MLP, Decoder, stacked
from mgae.core.decoders.crosscorrelation import CrossCorrelation
from mgae.core.decoders.lastlayer import InnerProduct, PairMLP

__all__ = ["MLP", "CrossCorrelation", "Decoder", "InnerProduct", "PairMLP", "stacked"]
