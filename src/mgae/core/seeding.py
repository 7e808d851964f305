"""One seed, many generators: each kind of chance draws from its own stream.

Because the streams are apart, drawing more negatives does not change the masks, and a run that
is resumed needs nothing but the state of each stream.

Of several ranks (processes that train together) all draw the same from these streams, so that each
knows the visible graph without a message. What is each rank's own, such as the negatives of its
share, comes from streams that are begun anew in every epoch: they have no state that a checkpoint
would need, and a run may go on with another number of ranks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

STREAMS = ("split", "init", "mask", "negatives", "dropout", "probe")
_FORKED = ("mask", "negatives", "dropout")  # streams of which each rank has one of its own


def stream_seed(seed: int, stream: str) -> int:
    """Return the seed of one named stream: far apart for neighboring seeds and other names."""
    digest = hashlib.sha256(f"mgae/{stream}/{seed}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


@dataclass(frozen=True)
class Share:
    """Which part of a step's items one of several ranks takes."""

    rank: int = 0
    ranks: int = 1

    def of(self, items: Tensor) -> tuple[Tensor, float]:
        """Return this rank's part of ``items`` [..., n], and the weight of its mean loss.

        The mean over all ranks of the weighted means is the mean over all items. A rank for which
        there is none takes the first one with a weight of 0: it must not stay away from a step.

        >>> [Share(rank, 2).of(torch.tensor([5, 6, 7])) for rank in range(2)]
        [(tensor([5]), 0.666...), (tensor([6, 7]), 1.333...)]
        """
        if self.ranks == 1:
            return items, 1.0
        count = items.size(-1)
        begin, end = (count * rank // self.ranks for rank in (self.rank, self.rank + 1))
        part = items[..., begin:end] if end > begin else items[..., :1]
        return part, (end - begin) * self.ranks / max(1, count)


class Generators(dict[str, torch.Generator]):
    """The named generators of a run.

    >>> a, b = Generators(0), Generators(0)
    >>> float(torch.rand(1, generator=a["mask"])) == float(torch.rand(1, generator=b["mask"]))
    True
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.share = Share()
        self._own: dict[str, torch.Generator] = {}
        super().__init__(
            {name: torch.Generator().manual_seed(stream_seed(seed, name)) for name in STREAMS}
        )

    def own(self, name: str) -> torch.Generator:
        """Return this rank's own stream; the common one if there is a single rank."""
        return self._own.get(name, self[name])

    def fork(self, share: Share) -> None:
        """Give each of several ranks new streams of its own, as every epoch begins.

        Their seed is read off the stream of masks, which goes on from epoch to epoch and is left as
        it is: masks do not depend on the number of ranks.
        """
        self.share, self._own = share, {}
        if share.ranks > 1:
            ahead = self["mask"].clone_state()
            epoch = int(torch.randint(2**62, (), generator=ahead))
            for name in _FORKED:
                seed = stream_seed(epoch, f"{name}/{share.rank}")
                self._own[name] = torch.Generator().manual_seed(seed)

    def fresh(self, name: str) -> torch.Generator:
        """Return a generator that depends on the seed and a name alone, not on earlier draws."""
        return torch.Generator().manual_seed(stream_seed(self.seed, name))

    def state(self) -> dict[str, Tensor]:
        """Return every stream's state, as byte tensors."""
        return {name: generator.get_state() for name, generator in self.items()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Take every stream back to a saved state."""
        for name, generator in self.items():
            generator.set_state(state[name])


@contextmanager
def drawn_from(generator: torch.Generator, device: torch.device | None = None) -> Iterator[None]:
    """Let code that only knows torch's global generator (initializers) draw from ours.

    The CPU's global generator is left as it was; that of another ``device``, on which the
    code draws, is seeded from ours.
    """
    if device is not None and device.type != "cpu":
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(torch.randint(2**62, (), generator=generator)))
            yield
        return
    with torch.random.fork_rng(devices=[]):
        torch.random.set_rng_state(generator.get_state())
        yield
        generator.set_state(torch.random.get_rng_state())
