"""What a claim is, and the list of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mgae.paper.claims.evidence import Results
from mgae.paper.claims.verdict import Verdict

Look = Callable[[Results], Verdict]


@dataclass(frozen=True)
class Claim:
    """What the paper says, under which heading, and the function that looks."""

    section: str
    text: str
    look: Look


CLAIMS: list[Claim] = []


def claim(section: str, text: str) -> Callable[[Look], Look]:
    """Add the function that looks whether ``text`` holds."""

    def register(look: Look) -> Look:
        CLAIMS.append(Claim(section, text, look))
        return look

    return register
