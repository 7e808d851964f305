"""What the paper observes of the share of masked edges (Figure 2) and of the kind of mask."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from mgae.paper.claims.evidence import (
    LINKS,
    PLANETOID,
    Finding,
    Gap,
    Judge,
    Results,
    Verdict,
    claim,
    figures,
    gaps,
    on_each,
)
from mgae.runs.results import Summary, heading

_CURVES = ("pubmed", "ogbl-ddi")
Curve = dict[float, Summary]


def _curve_of(results: Results, dataset: str, series: str = "MGAE-GCN") -> Curve:
    """Return a curve by ratio, if all of its points are measured."""
    doc = results.get("mask-ratio")
    rows = doc.rows if doc else []
    own = {
        row.ratio: row.name
        for row in rows
        if row.series == series and row.ratio is not None and dataset in row.cells
    }
    measured = next(iter(figures(results, "mask-ratio", dataset).values()), {})
    if not all(name in measured for name in own.values()):
        return {}
    return {ratio: measured[name] for ratio, name in sorted(own.items())}


def _leads_over_selftask(results: Results, dataset: str) -> dict[float, Gap]:
    """Return MGAE's curve less SelfTask-GNN's."""
    ours, others = _curve_of(results, dataset), _curve_of(results, dataset, "SelfTask-GNN")
    return {ratio: Gap.between(ours[ratio], others[ratio]) for ratio in ours if ratio in others}


def _on_curves(find: Callable[[Curve], list[Finding]], datasets: Iterable[str] = _CURVES) -> Judge:
    """Return a judge of MGAE's curve on each graph that has it."""

    def judge(results: Results) -> Verdict:
        def findings_on(dataset: str) -> list[Finding]:
            curve = _curve_of(results, dataset)
            return find(curve) if curve else []

        return on_each(datasets, findings_on)

    return judge


def _rises_and_falls(curve: Curve) -> list[Finding]:
    """Find whether each step up to ω = 0.7 goes up, and each one beyond goes down."""
    steps = {(a, b): Gap.between(curve[b], curve[a]) for a, b in pairwise(curve)}
    return [
        Finding.of(gap, gap.value > 0 if after <= 0.7 else gap.value < 0, f"{before} to {after}:")
        for (before, after), gap in steps.items()
    ]


def _is_stable(curve: Curve) -> list[Finding]:
    """Find whether it moves by less from 0.5 to 0.7 than by a third of what it moves over all."""
    points = sorted(curve.values(), key=lambda point: point.mean)
    middle = [point.mean for ratio, point in curve.items() if 0.5 <= ratio <= 0.7]
    inner, whole = max(middle) - min(middle), Gap.between(points[-1], points[0])
    text = f"moves by {inner:.2f} there, {str(whole).lstrip('+')} over all"
    return [Finding(inner < whole.value / 3, text, whole.is_clear_of())]


def _is_not_below_its_start(curve: Curve) -> list[Finding]:
    """Find whether the curve at ω = 0.7 is not below where it begins."""
    if 0.7 not in curve:
        return []
    first = min(curve)
    gap = Gap.between(curve[0.7], curve[first])
    return [Finding.of(gap, gap.value >= 0, f"0.7 less {first}:")]


peak_at_seventy = claim("figure", "MGAE improves up to ω = 0.7 and drops behind it")(
    _on_curves(_rises_and_falls)
)

similar_elsewhere = claim(
    "figure", '"Similar curves are observed on other datasets": they rise and fall likewise'
)(_on_curves(_rises_and_falls, [dataset for dataset in LINKS if dataset not in _CURVES]))

stable_around_the_middle = claim("figure", "MGAE is stable for ω from 0.5 to 0.7")(
    _on_curves(_is_stable)
)


@claim(
    "figure",
    "MGAE is better than SelfTask-GNN at every ω, but below 0.2 on PubMed, where it is behind",
)
def above_selftask_everywhere(results: Results) -> Verdict:
    """Judge whether MGAE is above SelfTask-GNN at each ω, and below it under 0.2 on PubMed."""

    def findings_on(dataset: str) -> list[Finding]:
        return [
            Finding.of(
                gap,
                gap.value < 0 if ratio < 0.2 and dataset == "pubmed" else gap.value > 0,
                f"{ratio}:",
            )
            for ratio, gap in _leads_over_selftask(results, dataset).items()
        ]

    return on_each(_CURVES, findings_on)


@claim("figure", "The lead over SelfTask-GNN is largest around ω = 0.5 to 0.7")
def widest_around_the_middle(results: Results) -> Verdict:
    """Judge whether the lead over SelfTask-GNN is largest between ω = 0.5 and 0.7."""

    def findings_on(dataset: str) -> list[Finding]:
        leads = _leads_over_selftask(results, dataset)
        if not leads:
            return []
        ranked = sorted(leads, key=lambda ratio: leads[ratio].value, reverse=True)
        inside = next(ratio for ratio in ranked if 0.5 <= ratio <= 0.7)
        outside = next(ratio for ratio in ranked if not 0.5 <= ratio <= 0.7)
        more = leads[inside] - leads[outside]
        text = f"{leads[inside]} at {inside}, {leads[outside]} at {outside}"
        return [Finding(more.value > 0, text, more.is_clear_of())]

    return on_each(_CURVES, findings_on)


few_edges_suffice = claim(
    "figure", "Many edges are redundant: 30% of them suffice for the encoder"
)(_on_curves(_is_not_below_its_start))


def _directed_is_better(datasets: Iterable[str], on: Callable[[str], bool]) -> Judge:
    """Return a judge of directed masks: better on some of the graphs, worse on the others."""

    def judge(results: Results) -> Verdict:
        def findings_on(dataset: str) -> list[Finding]:
            by_metric = gaps(results, "mask-kind", dataset, "directed", "undirected")
            return [
                Finding.of(
                    gap,
                    (gap.value > 0) == on(dataset),
                    f"{heading(metric)} directed less undirected",
                )
                for metric, gap in by_metric.items()
            ]

        return on_each(datasets, findings_on)

    return judge


sparse_wants_directed = claim(
    "masks", "Sparse graphs want directed masking, dense ones undirected"
)(_directed_is_better((*PLANETOID, "ogbl-ddi"), lambda dataset: dataset in PLANETOID))

defaults_are_right = claim(
    "masks", "In its experiments undirected was better on Planetoid, directed on OGB"
)(_directed_is_better(LINKS, lambda dataset: dataset not in PLANETOID))
