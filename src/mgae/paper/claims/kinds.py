"""What the paper observes about undirected and directed masking."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mgae.paper.claims.claim import claim
from mgae.paper.claims.evidence import LINKS, PLANETOID, Results, gaps
from mgae.paper.claims.verdict import Finding, Verdict, on_each
from mgae.runs.results import heading


def _directed_is_better(
    results: Results, datasets: Iterable[str], wanted: Callable[[str], bool]
) -> Verdict:
    def look(dataset: str) -> list[Finding]:
        found = gaps(results, "mask-kind", dataset, "directed", "undirected")
        return [
            Finding.of(
                gap,
                (gap.value > 0) == wanted(dataset),
                f"{heading(metric)} directed less undirected",
            )
            for metric, gap in found.items()
        ]

    return on_each(datasets, look)


@claim("masks", "Sparse graphs want directed masking, dense ones undirected")
def sparse_wants_directed(results: Results) -> Verdict:
    """Directed masks are better on the sparse Planetoid graphs, undirected ones on ddi."""
    graphs = (*PLANETOID, "ogbl-ddi")
    return _directed_is_better(results, graphs, lambda dataset: dataset in PLANETOID)


@claim("masks", "In its experiments undirected was better on Planetoid, directed on OGB")
def defaults_are_right(results: Results) -> Verdict:
    """Undirected masks are better on the Planetoid graphs, directed ones on OGB's."""
    return _directed_is_better(results, LINKS, lambda dataset: dataset not in PLANETOID)
