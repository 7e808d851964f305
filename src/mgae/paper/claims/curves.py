"""The curves of Figure 2: MGAE-GCN and SelfTask-GNN by the share of masked edges."""

from __future__ import annotations

from mgae.paper.claims.evidence import Results, figures
from mgae.paper.claims.gap import Gap
from mgae.runs.results import Summary


def curve_of(results: Results, dataset: str, series: str = "MGAE-GCN") -> dict[float, Summary]:
    """A curve by ratio, where all of its points are measured."""
    rows = results.get("mask-ratio", {"rows": []})["rows"]
    own = [row for row in rows if row["series"] == series and dataset in row["cells"]]
    found = next(iter(figures(results, "mask-ratio", dataset).values()), {})
    if not all(row["name"] in found for row in own):
        return {}
    return {row["ratio"]: found[row["name"]] for row in sorted(own, key=lambda row: row["ratio"])}


def curve_gaps(results: Results, dataset: str) -> dict[float, Gap]:
    """MGAE's curve less SelfTask-GNN's."""
    ours, others = curve_of(results, dataset), curve_of(results, dataset, "SelfTask-GNN")
    return {ratio: Gap.between(ours[ratio], others[ratio]) for ratio in ours if ratio in others}
