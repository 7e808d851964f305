"""A random order of very many things that is computed and not stored."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

# With fewer, a handful of things does not come in all orders equally often.
_ROUNDS = 10
# Stays in the cache, and is too short for torch to wake its threads: three times as fast.
_CHUNK = 16384


@dataclass(frozen=True, eq=False)
class Permutation:
    """A random bijection of [0, size) whose state is a few tables of √size numbers.

    A number is a cell in a rectangle of about √size columns and rows. The rounds of a Feistel
    network move it along its row and along its column in turn, by a random shift that depends on
    the line it is in. The rectangle may have some cells too many: a number that lands there moves
    on until it is back (cycle walking).

    Attributes:
        size: how many things there are.
        sides: how many columns and rows the rectangle has.
        shifts: for each round the shift of each line.

    >>> order = Permutation.draw(5, torch.Generator().manual_seed(0))
    >>> sorted(order(torch.arange(5)).tolist())
    [0, 1, 2, 3, 4]
    >>> order.inverse(order(torch.arange(5))).tolist()
    [0, 1, 2, 3, 4]
    """

    size: int
    sides: tuple[int, int]
    shifts: tuple[Tensor, ...]

    @classmethod
    def draw(cls, size: int, generator: torch.Generator) -> Permutation:
        """Draw an order of ``size`` ≥ 1 items."""
        columns = math.isqrt(size - 1) + 1
        sides = (columns, -(-size // columns))
        shifts = (
            torch.randint(sides[turn % 2], (sides[1 - turn % 2],), generator=generator)
            for turn in range(_ROUNDS)
        )
        return cls(size, sides, tuple(shifts))

    def __call__(self, index: Tensor) -> Tensor:
        """Return the items at ``index`` [n]."""
        return self._in_chunks(index, list(enumerate(self.shifts)))

    def inverse(self, things: Tensor) -> Tensor:
        """Return the new index of each of ``things`` [n]."""
        back = [(turn, -shift) for turn, shift in enumerate(self.shifts)]
        return self._in_chunks(things, back[::-1])

    def _in_chunks(self, numbers: Tensor, rounds: list[tuple[int, Tensor]]) -> Tensor:
        return torch.cat([self._walk(chunk, rounds) for chunk in numbers.split(_CHUNK)])

    def _walk(self, numbers: Tensor, rounds: list[tuple[int, Tensor]]) -> Tensor:
        numbers = self._shifted(numbers, rounds)
        while bool((outside := numbers >= self.size).any()):
            numbers[outside] = self._shifted(numbers[outside], rounds)
        return numbers

    def _shifted(self, numbers: Tensor, rounds: list[tuple[int, Tensor]]) -> Tensor:
        cell = [numbers % self.sides[0], numbers // self.sides[0]]
        for turn, shift in rounds:
            along = turn % 2
            moved = cell[along] + shift.index_select(0, cell[1 - along])
            cell[along] = moved % self.sides[along]
        return cell[1] * self.sides[0] + cell[0]
