"""The paper's decoder (Eq. 2): every layer of one end with every layer of the other."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement

import torch
from torch import Tensor

from mgae.core.decoders.base import MLP, Decoder
from mgae.core.ops.backend import bring
from mgae.core.ops.decoding import cross_correlation, cross_perceptron


class CrossCorrelation(Decoder):
    """MLP(‖_{k,j} h_v^(k) ⊙ h_u^(j)).

    The symmetric form ties W_kj = W_jk: the products (k, j) and (j, k) are added before the MLP,
    so that K(K+1)/2 blocks remain and the order of the ends does not matter.

    Args:
        in_channels: d, the encoder's width.
        in_layers: K, the encoder's layers.
        hidden_channels: width of the `MLP`.
        num_layers: its layers.
        dropout: between them.
        precision: of its products in training, "float32" or "bfloat16".
        symmetric: whether to tie the weights.
    """

    def __init__(
        self,
        in_channels: int,
        in_layers: int = 2,
        hidden_channels: int = 256,
        num_layers: int = 2,
        dropout: float = 0.5,
        precision: str = "float32",
        symmetric: bool = False,
    ) -> None:
        super().__init__()
        self.symmetric = symmetric or in_layers == 1
        blocks = in_layers * (in_layers + 1) // 2 if self.symmetric else in_layers**2
        width = blocks * in_channels
        self.mlp = MLP(width, hidden_channels, num_layers, dropout, precision)

    def score(self, heads: Tensor, tails: Tensor, generator: torch.Generator | None) -> Tensor:
        """Apply Eq. 2 of the paper, then the MLP."""
        if not self.symmetric and len(self.mlp.hidden) == 1:
            layers, dtype = self.mlp.two_layers, self.mlp.dtype(generator)
            return cross_perceptron(heads, tails, *layers, self.mlp.dropout, generator, dtype)
        crossed = _tied(heads, tails) if self.symmetric else cross_correlation(heads, tails)
        logits: Tensor = self.mlp(crossed, generator)
        return logits

    def score_both(self, heads: Tensor, tails: Tensor) -> Tensor:
        """Return the mean of both orders for the products of one.

        With the products (k, j) and (j, k) added and subtracted instead of side by side, the order
        of the ends decides nothing but the sign of the differences.
        """
        if self.symmetric:
            return self.score(heads, tails, None)
        first, depth = self.mlp.first, heads.size(1)
        blocks = self._blocks(first.weight, depth)
        other, device = blocks.transpose(1, 2), heads.device
        k, j = torch.triu_indices(depth, depth, device=device)
        adding = (blocks + other)[:, k, j].flatten(1).t()
        even = torch.addmm(first.bias, _tied(heads, tails), adding, alpha=0.5)
        k, j = torch.triu_indices(depth, depth, offset=1, device=device)
        subtracting = (blocks - other)[:, k, j].flatten(1).t()
        odd = (heads[:, k] * tails[:, j] - heads[:, j] * tails[:, k]).flatten(1) @ subtracting / 2
        # Apart, so that either order gives the same to the last bit.
        forth, back = (self.mlp.after_first(read, None) for read in (even + odd, even - odd))
        return (forth + back) / 2

    def score_all(self, heads: Tensor, rows: Tensor, generator: torch.Generator | None) -> Tensor:
        """Fold each head into the first weights once, Σ_k diag(h_v^(k))·W_kj.

        A tail then costs K·d products with them instead of K²·d.
        """
        blocks = self._blocks(self.mlp.first.weight, heads.size(1))
        folded = torch.einsum("hkd,okjd->hjdo", heads, blocks).flatten(1, 2)
        read = self.mlp.read(rows.flatten(1), folded, generator)
        return self.mlp.after_first(read, generator)

    def against(self, head: Tensor, both: bool) -> Callable[[Tensor], Tensor]:
        """Fold the head in as W_kj's first index and as its second one, side by side."""
        first, orders = self.mlp.first, ["okjd", "ojkd"][: 2 if both and not self.symmetric else 1]
        blocks = self._blocks(first.weight, head.size(0))
        sides = [torch.einsum(f"kd,{order}->jdo", head, blocks).flatten(0, 1) for order in orders]
        folded, bias = torch.cat(sides, dim=1), first.bias.repeat(len(orders))

        def score(rows: Tensor) -> Tensor:
            read = torch.addmm(bias, rows.flatten(1), folded)
            return self.mlp.after_first(
                read.view(len(rows), len(orders), first.out_features), None
            ).mean(dim=1)

        return score

    def _blocks(self, weight: Tensor, depth: int) -> Tensor:
        """Return W_kj for all k and j: [width, K, K, d]."""
        if not self.symmetric:
            return weight.view(weight.size(0), depth, depth, -1)
        order = list(combinations_with_replacement(range(depth), 2))
        index = [order.index((min(k, j), max(k, j))) for k in range(depth) for j in range(depth)]
        chosen = bring(torch.tensor(index), weight.device)
        blocks = weight.view(weight.size(0), len(order), -1)[:, chosen]
        return blocks.view(weight.size(0), depth, depth, -1)


def _tied(heads: Tensor, tails: Tensor) -> Tensor:
    """Map two [n, K, d] to [n, K(K+1)/2·d], the blocks (k, j) and (j, k) added."""
    blocks = []
    for k, j in combinations_with_replacement(range(heads.size(1)), 2):
        block = heads[:, k] * tails[:, j]
        blocks.append(block if k == j else block + heads[:, j] * tails[:, k])
    return torch.cat(blocks, dim=1)
