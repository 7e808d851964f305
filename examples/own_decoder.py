"""A decoder of your own, with a setting, beside the paper's."""

from __future__ import annotations

import networkx
import torch
from pydantic import Field
from torch import Tensor, nn

import mgae
from mgae.core import Decoder
from mgae.runs.parts import DecoderSettings


class GatedSettings(DecoderSettings):
    """``sharpness`` becomes the argument of the same name."""

    sharpness: float = Field(1.0, gt=0, description="factor on the logits")


@mgae.DECODERS.register("gated", settings=GatedSettings, summary="a weight for each channel")
class Gated(Decoder):
    """Sum the products of the last layers, each channel with a weight of its own."""

    reads_last_only = True

    def __init__(self, in_channels: int, in_layers: int = 1, sharpness: float = 1.0) -> None:
        super().__init__()
        self.gate, self.sharpness = nn.Parameter(torch.ones(in_channels)), sharpness

    def score(
        self, heads: Tensor, tails: Tensor, generator: torch.Generator | None = None
    ) -> Tensor:
        """Return a logit [n] of the layers [n, K, d] of both ends."""
        return self.sharpness * (heads[:, -1] * self.gate * tails[:, -1]).sum(dim=1)


graph = networkx.planted_partition_graph(4, 30, 0.25, 0.02, seed=0)
for decoder in ("cross-correlation", {"kind": "gated", "sharpness": 0.5}):
    config = mgae.RunConfig(graph="mine", method="mgae", decoder=decoder, train={"epochs": 40})
    result = mgae.run(config, graph)
    print(f"{result.config.decoder.kind:18} AUC {result.test['auc'].mean:.1f}")
