"""What our figures say for or against a claim: differences, and duels of the best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mgae.paper.claims.gap import Gap
from mgae.paper.claims.verdict import Finding, Verdict, never, on_each
from mgae.paper.document import REFUSED, Record
from mgae.paper.rendering import summary_of
from mgae.runs.results import Summary, heading

Results = Mapping[str, Record]
PLANETOID, OGB = ("cora", "citeseer", "pubmed"), ("ogbl-ddi", "ogbl-collab", "ogbl-ppa")
# In which table a graph's figures are, by task.
LINKS = {**dict.fromkeys(PLANETOID, "links-planetoid"), **dict.fromkeys(OGB, "links-ogb")}
NODES = dict.fromkeys((*PLANETOID, "ogbn-arxiv", "ogbn-proteins"), "nodes")
OURS = ("MGAE-GCN", "MGAE-SAGE", "MGAE")
AUTOENCODERS = ("ARGE", "ARGVA", "GAE", "GCN", "SAGE", "GraphSage")
SELF_SUPERVISED = ("DGI", "GIC", "SelfTask-GNN")


@dataclass(frozen=True)
class Duel:
    """By one metric on one graph the best of ours against the best of some others."""

    dataset: str
    metric: str
    ours: tuple[Summary, str]
    others: tuple[Summary, str]

    @property
    def gap(self) -> Gap:
        """Ours less theirs."""
        return Gap.between(self.ours[0], self.others[0])

    def found(self, holds: bool, limit: float = 0.0) -> Finding:
        """Whether it goes as claimed, decided by the gap's being above or below a limit."""
        return Finding(holds, str(self), self.gap.is_clear_of(limit))

    def __str__(self) -> str:
        (ours, mine), (others, theirs) = self.ours, self.others
        sides = f"{ours.mean:.2f} ({mine}) {'>' if self.gap.value > 0 else '≤'} {others.mean:.2f}"
        return f"{heading(self.metric)} {sides} ({theirs}) by {str(self.gap).lstrip('+-')}"


def figures(results: Results, table: str, dataset: str) -> dict[str, dict[str, Summary]]:
    """What is measured on a graph, by metric and row."""
    doc = results.get(table, {"columns": {}})
    found: dict[str, dict[str, Summary]] = {}
    for metric in doc["columns"].get(dataset, ()):
        rows = ((row["name"], row["cells"].get(dataset)) for row in doc["rows"])
        summaries = ((name, summary_of(cell, metric)) for name, cell in rows if cell)
        found[metric] = {name: summary for name, summary in summaries if summary}
    return found


def duels(
    results: Results,
    dataset: str,
    table: str,
    others: tuple[str, ...],
    ours: tuple[str, ...] = OURS,
) -> list[Duel]:
    """One for each metric that all of them are measured by; who refused the graph is not there."""
    fought = []
    for metric, found in figures(results, table, dataset).items():
        mine, theirs = (
            [(found[name], name) for name in side if name in found] for side in (ours, others)
        )
        if mine and theirs and not _awaited(results[table], dataset, (*ours, *others)) - {*found}:
            best = (max(side, key=lambda one: one[0].mean) for side in (mine, theirs))
            fought.append(Duel(dataset, metric, *best))
    return fought


def _awaited(doc: Record, dataset: str, names: tuple[str, ...]) -> set[str]:
    """Who has a cell on the graph, and not refused it."""
    rows = [row for row in doc["rows"] if row["name"] in names and dataset in row["cells"]]
    return {row["name"] for row in rows if row["cells"][dataset]["status"] != REFUSED}


def is_won(duel: Duel) -> Finding:
    """Ours is ahead."""
    return duel.found(duel.gap.value > 0)


def won(
    results: Results,
    homes: Mapping[str, str],
    others: tuple[str, ...],
    judge: Callable[[Duel], Finding] = is_won,
    exceptions: Callable[[int], int] = never,
) -> Verdict:
    """Whether the duels on these graphs go as ``judge`` says, by all metrics."""

    def look(dataset: str) -> list[Finding]:
        return [judge(duel) for duel in duels(results, dataset, homes[dataset], others)]

    return on_each(homes, look, exceptions)


def gaps(results: Results, table: str, dataset: str, first: str, second: str) -> dict[str, Gap]:
    """By metric one row less another, where both are measured."""
    return {
        metric: Gap.between(found[first], found[second])
        for metric, found in figures(results, table, dataset).items()
        if {first, second} <= found.keys()
    }
