"""A verdict on a claim, put together from what is found on each graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mgae.paper.claims.gap import Gap
from mgae.paper.rendering import display


@dataclass(frozen=True)
class Finding:
    """One comparison: whether it goes as claimed, its numbers, and whether by more than chance.

    It is ``clear`` where the runs' spread is too small to turn it.
    """

    holds: bool
    text: str
    clear: bool = True

    @classmethod
    def of(cls, gap: Gap, holds: bool, label: str) -> Finding:
        """A difference under its label."""
        return cls(holds, f"{label} {gap}", gap.is_clear_of())


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds here, None where too little is measured, and the numbers of each graph.

    ``lacking`` are graphs of which the claim speaks as well, and that are not measured. It is
    not ``clear`` where findings within the spread decide it.
    """

    holds: bool | None
    numbers: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    clear: bool = True

    def __str__(self) -> str:
        if self.holds is None:
            return "**not measured here**"
        notes = [] if self.clear else ["within the spread or of one run"]
        if self.lacking:
            notes.append(f"without {', '.join(map(display, self.lacking))}")
        told = f" ({'; '.join(notes)})" if notes else ""
        return f"**{'holds' if self.holds else 'does not hold'}**{told}"


def never(findings: int) -> int:
    """No exception is allowed."""
    return 0


def rarely(findings: int) -> int:
    """One exception in six, for "almost all": the paper, which says so, has one in twelve."""
    return findings // 6


def less_than_half(findings: int) -> int:
    """For what is said of most."""
    return (findings - 1) // 2


def on_each(
    datasets: Iterable[str],
    look: Callable[[str], list[Finding]],
    exceptions: Callable[[int], int] = never,
) -> Verdict:
    """A verdict on all graphs that ``look`` finds something on, with so many exceptions."""
    found = {dataset: look(dataset) for dataset in datasets}
    every = [finding for findings in found.values() for finding in findings]
    if not every:
        return Verdict(None)
    allowed = exceptions(len(every))
    failed = sum(not finding.holds for finding in every)
    for_certain = sum(finding.clear and not finding.holds for finding in every)
    at_worst = sum(not (finding.clear and finding.holds) for finding in every)
    texts = tuple(
        f"{display(dataset)}: {', '.join(finding.text for finding in findings)}"
        for dataset, findings in found.items()
        if findings
    )
    lacking = tuple(dataset for dataset, findings in found.items() if not findings)
    clear = (for_certain <= allowed) == (at_worst <= allowed)
    return Verdict(failed <= allowed, texts, lacking, clear)
