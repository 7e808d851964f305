"""A decoder with one matrix between the last layers of both ends."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor, nn

from mgae.core import Decoder
from mgae.registry import DECODERS
from mgae.runs.parts import DecoderSettings


class BilinearSettings(DecoderSettings):
    """How far apart the two ends may stand."""

    rank: int = Field(4, ge=1, description="rank of the matrix")


@DECODERS.register("bilinear", settings=BilinearSettings, summary="h_v · AᵀB h_u")
class Bilinear(Decoder):
    """Score a pair by the inner product of two linear maps."""

    reads_last_only = True

    def __init__(self, in_channels: int, in_layers: int = 2, rank: int = 4) -> None:
        super().__init__()
        self.left = nn.Linear(in_channels, rank, bias=False)
        self.right = nn.Linear(in_channels, rank, bias=False)

    def score(self, heads: Tensor, tails: Tensor, generator: torch.Generator | None) -> Tensor:
        """Return logits [n] from both ends [n, K, d]."""
        return (self.left(heads[:, -1]) * self.right(tails[:, -1])).sum(dim=1)
