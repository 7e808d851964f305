"""What our figures say for or against a claim: differences, their spread, and a verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from mgae.paper.document import REFUSED, TableDocument, display
from mgae.runs.results import Summary, heading

Results = Mapping[str, TableDocument]
PLANETOID, OGB = ("cora", "citeseer", "pubmed"), ("ogbl-ddi", "ogbl-collab", "ogbl-ppa")
# The table that has a graph's figures, by task.
LINKS = {**dict.fromkeys(PLANETOID, "links-planetoid"), **dict.fromkeys(OGB, "links-ogb")}
NODES = dict.fromkeys((*PLANETOID, "ogbn-arxiv", "ogbn-proteins"), "nodes")
OURS = ("MGAE-GCN", "MGAE-SAGE", "MGAE")
AUTOENCODERS = ("ARGE", "ARGVA", "GAE", "GCN", "SAGE", "GraphSage")
SELF_SUPERVISED = ("DGI", "GIC", "SelfTask-GNN")


@dataclass(frozen=True)
class Gap:
    """A difference of means, and its standard deviation over the runs.

    The spread of a ``single`` run cannot be known.
    """

    value: float
    spread: float
    single: bool = False

    @classmethod
    def between(cls, first: Summary, second: Summary) -> Gap:
        """Return the first's mean less the second's.

        Runs of the same seed share their split: with as many runs on both sides, the spread is
        that of their differences; otherwise both spreads count.
        """
        pairs = list(zip(first.values, second.values, strict=False))
        spread = math.hypot(first.std, second.std)
        if len(first.values) == len(second.values):
            spread = Summary.of([mine - theirs for mine, theirs in pairs]).std
        return cls(first.mean - second.mean, spread, len(pairs) == 1)

    @classmethod
    def mean(cls, gaps: Sequence[Gap]) -> Gap:
        """Return the mean of some gaps, and its spread."""
        value = sum(gap.value for gap in gaps) / len(gaps)
        spread = math.hypot(*(gap.spread for gap in gaps)) / len(gaps)
        return cls(value, spread, any(gap.single for gap in gaps))

    def __sub__(self, other: Gap) -> Gap:
        spread = math.hypot(self.spread, other.spread)
        return Gap(self.value - other.value, spread, self.single or other.single)

    def is_clear_of(self, limit: float = 0.0) -> bool:
        """Return whether it is farther from a limit than its spread; False for a single run."""
        return not self.single and abs(self.value - limit) > self.spread

    def __str__(self) -> str:
        if self.single:
            return f"{self.value:+.2f} (one run)"
        if not self.is_clear_of():
            return f"{self.value:+.2f} (within ± {self.spread:.2f})"
        return f"{self.value:+.2f} ± {self.spread:.2f}"


@dataclass(frozen=True)
class Finding:
    """One comparison: whether it goes as claimed, its numbers, and whether the runs' spread is
    too small to turn it.
    """

    holds: bool
    text: str
    clear: bool = True

    @classmethod
    def of(cls, gap: Gap, holds: bool, label: str) -> Finding:
        """Return a difference under its label."""
        return cls(holds, f"{label} {gap}", gap.is_clear_of())


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds here, None if too little is measured, and the numbers of each graph.

    ``lacking`` are graphs that the claim is about as well, and that are not measured. It is not
    ``clear`` if findings within the spread decide it.
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
        behind = f" ({'; '.join(notes)})" if notes else ""
        return f"**{'holds' if self.holds else 'does not hold'}**{behind}"


Judge = Callable[[Results], Verdict]


@dataclass(frozen=True)
class Claim:
    """What the paper says, under which heading, and the function that judges it."""

    section: str
    text: str
    judge: Judge


CLAIMS: list[Claim] = []


def claim(section: str, text: str) -> Callable[[Judge], Judge]:
    """Add the function that judges whether ``text`` holds."""

    def register(judge: Judge) -> Judge:
        CLAIMS.append(Claim(section, text, judge))
        return judge

    return register


def never(findings: int) -> int:
    """Allow no exception."""
    return 0


def rarely(findings: int) -> int:
    """Allow one exception in six, for "almost all": the paper, which says so, has one in twelve."""
    return findings // 6


def less_than_half(findings: int) -> int:
    """Allow what "most" allows."""
    return (findings - 1) // 2


def on_each(
    datasets: Iterable[str],
    findings_on: Callable[[str], list[Finding]],
    exceptions: Callable[[int], int] = never,
) -> Verdict:
    """Return a verdict on all graphs that have findings, with so many exceptions allowed."""
    findings = {dataset: findings_on(dataset) for dataset in datasets}
    every = [finding for some in findings.values() for finding in some]
    if not every:
        return Verdict(None)
    allowed = exceptions(len(every))
    failed = sum(not finding.holds for finding in every)
    at_least = sum(finding.clear and not finding.holds for finding in every)
    at_most = sum(not (finding.clear and finding.holds) for finding in every)
    texts = tuple(
        f"{display(dataset)}: {', '.join(finding.text for finding in some)}"
        for dataset, some in findings.items()
        if some
    )
    lacking = tuple(dataset for dataset, some in findings.items() if not some)
    clear = (at_least <= allowed) == (at_most <= allowed)
    return Verdict(failed <= allowed, texts, lacking, clear)


def figures(results: Results, table: str, dataset: str) -> dict[str, dict[str, Summary]]:
    """Return what is measured on a graph, by metric and row."""
    if table not in results:
        return {}
    doc = results[table]
    cells = {row.name: row.cells[dataset] for row in doc.rows if dataset in row.cells}
    return {
        metric: {name: one for name, cell in cells.items() if (one := cell.summary(metric))}
        for metric in doc.columns.get(dataset, ())
    }


def gaps(results: Results, table: str, dataset: str, first: str, second: str) -> dict[str, Gap]:
    """Return by metric one row less another, if both are measured."""
    return {
        metric: Gap.between(rows[first], rows[second])
        for metric, rows in figures(results, table, dataset).items()
        if {first, second} <= rows.keys()
    }


@dataclass(frozen=True)
class Lead:
    """By one metric on one graph the best of ours beside the best of some others."""

    dataset: str
    metric: str
    ours: tuple[Summary, str]
    others: tuple[Summary, str]

    @property
    def gap(self) -> Gap:
        """Return ours less theirs."""
        return Gap.between(self.ours[0], self.others[0])

    def finding(self, holds: bool, limit: float = 0.0) -> Finding:
        """Return whether it goes as claimed, decided by the gap being above or below a limit."""
        return Finding(holds, str(self), self.gap.is_clear_of(limit))

    def __str__(self) -> str:
        (ours, mine), (others, theirs) = self.ours, self.others
        sides = f"{ours.mean:.2f} ({mine}) {'>' if self.gap.value > 0 else '≤'} {others.mean:.2f}"
        return f"{heading(self.metric)} {sides} ({theirs}) by {str(self.gap).lstrip('+-')}"


def leads(
    results: Results,
    dataset: str,
    table: str,
    others: tuple[str, ...],
    ours: tuple[str, ...] = OURS,
) -> list[Lead]:
    """Return a lead for each metric that all rows have, but for those that refused the graph."""
    compared = []
    for metric, rows in figures(results, table, dataset).items():
        mine, theirs = (
            [(rows[name], name) for name in side if name in rows] for side in (ours, others)
        )
        if mine and theirs and _expected(results[table], dataset, (*ours, *others)) <= rows.keys():
            best = (max(side, key=lambda one: one[0].mean) for side in (mine, theirs))
            compared.append(Lead(dataset, metric, *best))
    return compared


def _expected(doc: TableDocument, dataset: str, names: tuple[str, ...]) -> set[str]:
    """Return which of these rows have a cell on the graph and have not refused it."""
    rows = [row for row in doc.rows if row.name in names and dataset in row.cells]
    return {row.name for row in rows if row.cells[dataset].status != REFUSED}


def is_ahead(lead: Lead) -> Finding:
    """Return whether ours is ahead."""
    return lead.finding(lead.gap.value > 0)


def ahead_by(points: float) -> Callable[[Lead], Finding]:
    """Return a function that finds whether ours is ahead by at least so many points."""
    return lambda lead: lead.finding(lead.gap.value >= points, points)


def compared(
    tables: Mapping[str, str],
    others: tuple[str, ...],
    find: Callable[[Lead], Finding] = is_ahead,
    exceptions: Callable[[int], int] = never,
) -> Judge:
    """Return a judge of our leads over others on these graphs, by all metrics."""

    def judge(results: Results) -> Verdict:
        def findings_on(dataset: str) -> list[Finding]:
            return [find(lead) for lead in leads(results, dataset, tables[dataset], others)]

        return on_each(tables, findings_on, exceptions)

    return judge
