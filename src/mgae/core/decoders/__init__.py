"""DECODE: how likely a pair is an edge, as a logit, from the layers of both ends."""

from mgae.core.decoders.base import Decoder, DecoderSettings, stacked
from mgae.core.decoders.crosscorrelation import CrossCorrelationDecoder, CrossCorrelationSettings
from mgae.core.decoders.innerproduct import InnerProductDecoder
from mgae.core.decoders.mlp import MLP, MLPSettings, PairMLPDecoder, PairMLPSettings

__all__ = [
    "MLP",
    "CrossCorrelationDecoder",
    "CrossCorrelationSettings",
    "Decoder",
    "DecoderSettings",
    "InnerProductDecoder",
    "MLPSettings",
    "PairMLPDecoder",
    "PairMLPSettings",
    "stacked",
]
