"""One seed, many generators: each kind of chance draws from its own stream.

Because the streams are apart, drawing more negatives does not change the masks, and a run that
is resumed needs nothing but the state of each stream.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

STREAMS = ("split", "init", "mask", "negatives", "dropout", "probe")


def stream_seed(seed: int, stream: str) -> int:
    """Return the seed of one named stream: far apart for neighboring seeds and other names."""
    digest = hashlib.sha256(f"mgae/{stream}/{seed}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


class Generators(dict[str, torch.Generator]):
    """The named generators of a run.

    >>> a, b = Generators(0), Generators(0)
    >>> float(torch.rand(1, generator=a["mask"])) == float(torch.rand(1, generator=b["mask"]))
    True
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        super().__init__(
            {name: torch.Generator().manual_seed(stream_seed(seed, name)) for name in STREAMS}
        )

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
def drawn_from(generator: torch.Generator) -> Iterator[None]:
    """Let code that only knows torch's global generator (initializers) draw from ours.

    The global generator is left as it was found.
    """
    with torch.random.fork_rng(devices=[]):
        torch.random.set_rng_state(generator.get_state())
        yield
        generator.set_state(torch.random.get_rng_state())
