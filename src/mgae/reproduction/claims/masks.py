"""What the paper observes about the mask: its share of the edges (Figure 2) and its kind."""

from __future__ import annotations

from collections.abc import Callable

from mgae.reproduction.claims.claim import claim
from mgae.reproduction.claims.evidence import (
    PLANETOID,
    Finding,
    Results,
    Verdict,
    curve_gaps,
    curve_of,
    gap_between,
    on_each,
)

_CURVES = ("pubmed", "ogbl-ddi")


@claim("figure", "MGAE improves up to ω = 0.7 and drops behind it")
def peak_at_seventy(results: Results) -> Verdict:
    """MGAE's curve has its highest point at ω = 0.7."""

    def look(dataset: str) -> Finding:
        curve = curve_of(results, dataset, "MGAE-GCN")
        if not curve:
            return None
        best = max(curve, key=lambda ratio: curve[ratio])
        ends = ", ".join(f"{curve[ratio]:.2f} at {ratio}" for ratio in (min(curve), max(curve)))
        return best == 0.7, f"best at ω = {best} ({curve[best]:.2f}; {ends})"

    return on_each(_CURVES, look)


@claim("figure", "MGAE is stable for ω from 0.5 to 0.7")
def stable_around_the_middle(results: Results) -> Verdict:
    """From ω = 0.5 to 0.7 MGAE's curve moves by less than a third of what it does over all."""

    def look(dataset: str) -> Finding:
        curve = curve_of(results, dataset, "MGAE-GCN")
        middle = [value for ratio, value in curve.items() if 0.5 <= ratio <= 0.7]
        if not curve:
            return None
        inner, whole = (max(part) - min(part) for part in (middle, curve.values()))
        return inner < whole / 3, f"moves by {inner:.2f} there, {whole:.2f} over all"

    return on_each(_CURVES, look)


@claim("figure", "MGAE is better than SelfTask-GNN at every ω, but below 0.2 on PubMed")
def above_selftask_everywhere(results: Results) -> Verdict:
    """MGAE above SelfTask-GNN at each ω, but below 0.2 on PubMed."""

    def look(dataset: str) -> Finding:
        gaps = curve_gaps(results, dataset)
        if not gaps:
            return None
        kept = [gap for ratio, gap in gaps.items() if ratio >= 0.2 or dataset != "pubmed"]
        listed = ", ".join(f"{ratio}: {gap:+.2f}" for ratio, gap in gaps.items())
        return all(gap > 0 for gap in kept), listed

    return on_each(_CURVES, look)


@claim("figure", "The lead over SelfTask-GNN is largest around ω = 0.5 to 0.7")
def widest_around_the_middle(results: Results) -> Verdict:
    """The lead over SelfTask-GNN is largest between ω = 0.5 and 0.7."""

    def look(dataset: str) -> Finding:
        gaps = curve_gaps(results, dataset)
        if not gaps:
            return None
        widest = max(gaps, key=lambda ratio: gaps[ratio])
        return 0.5 <= widest <= 0.7, f"widest at ω = {widest} ({gaps[widest]:+.2f})"

    return on_each(_CURVES, look)


@claim("figure", "Many edges are redundant: 30% of them suffice for the encoder")
def few_edges_suffice(results: Results) -> Verdict:
    """At ω = 0.7 MGAE's curve is not below where it begins."""

    def look(dataset: str) -> Finding:
        curve = curve_of(results, dataset, "MGAE-GCN")
        if 0.7 not in curve:
            return None
        first = min(curve)
        return curve[0.7] >= curve[first], f"{curve[0.7]:.2f} at 0.7, {curve[first]:.2f} at {first}"

    return on_each(_CURVES, look)


def _directed_is_better(results: Results, wanted: Callable[[str], bool]) -> Verdict:
    def look(dataset: str) -> Finding:
        gap = gap_between(results, "mask-kind", dataset, "directed", "undirected")
        if gap is None:
            return None
        return (gap > 0) == wanted(dataset), f"directed less undirected {gap:+.2f}"

    return on_each((*PLANETOID, "ogbl-ddi"), look)


@claim("masks", "Sparse graphs want directed masking, dense ones undirected")
def sparse_wants_directed(results: Results) -> Verdict:
    """Directed masks are better on the sparse Planetoid graphs, undirected ones on ddi."""
    return _directed_is_better(results, lambda dataset: dataset in PLANETOID)


@claim("masks", "In its experiments undirected was better on Planetoid, directed on OGB")
def defaults_are_right(results: Results) -> Verdict:
    """Undirected masks are better on the Planetoid graphs, directed ones on ddi."""
    return _directed_is_better(results, lambda dataset: dataset not in PLANETOID)
