"""What our figures say for or against a claim: means, duels, gaps and curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from mgae.reproduction.document import DONE, Record
from mgae.reproduction.rendering import display, summary_of

Results = Mapping[str, Record]
Finding = tuple[bool, str] | None  # on one graph; None where it is not measured
PLANETOID, OGB = ("cora", "citeseer", "pubmed"), ("ogbl-ddi", "ogbl-collab", "ogbl-ppa")
# In which table a graph's figures are, by task.
LINKS = {**dict.fromkeys(PLANETOID, "links-planetoid"), **dict.fromkeys(OGB, "links-ogb")}
NODES = dict.fromkeys((*PLANETOID, "ogbn-arxiv", "ogbn-proteins"), "nodes")
OURS = ("MGAE-GCN", "MGAE-SAGE", "MGAE")
AUTOENCODERS = ("ARGE", "ARGVA", "GAE", "GCN", "SAGE", "GraphSage")
SELF_SUPERVISED = ("DGI", "GIC", "SelfTask-GNN")


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds here, None where too little is measured, and the numbers.

    ``lacking`` are graphs of which the claim speaks as well, and that are not measured.
    """

    holds: bool | None
    numbers: str = ""
    lacking: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = {None: "not measured yet", True: "holds", False: "does not hold"}[self.holds]
        if self.holds is None:
            return f"**{said}**"
        rest = f" (without {', '.join(map(display, self.lacking))})" if self.lacking else ""
        return f"**{said}**{rest}: {self.numbers}"


@dataclass(frozen=True)
class Duel:
    """On one graph the best of ours against the best of some others."""

    dataset: str
    ours: tuple[float, str]
    others: tuple[float, str]

    @property
    def gap(self) -> float:
        """Ours less theirs."""
        return self.ours[0] - self.others[0]

    def __str__(self) -> str:
        (ours, mine), (others, theirs) = self.ours, self.others
        sign = ">" if self.gap > 0 else "≤"
        return f"{ours:.2f} ({mine}) {sign} {others:.2f} ({theirs})"


def means(results: Results, table: str, dataset: str) -> dict[str, float]:
    """The mean of the first metric, by row or by point of a curve."""
    doc = results.get(table)
    if doc is None or dataset not in doc["columns"]:
        return {}
    metric = doc["columns"][dataset][0]
    rows = ((row["name"], row["cells"].get(dataset)) for row in doc["rows"])
    found = {name: summary_of(cell, metric) for name, cell in rows if cell}
    return {name: summary.mean for name, summary in found.items() if summary}


def duel(results: Results, dataset: str, table: str, others: tuple[str, ...]) -> Duel | None:
    """Ours against others on a graph where all of them are measured."""
    found = means(results, table, dataset)
    listed = [row["name"] for row in results.get(table, {"rows": []})["rows"]]
    if any(name in listed and name not in found for name in (*OURS, *others)):
        return None
    mine, theirs = (
        [(found[name], name) for name in side if name in found] for side in (OURS, others)
    )
    return Duel(dataset, max(mine), max(theirs)) if mine and theirs else None


def duels(results: Results, homes: Mapping[str, str], others: tuple[str, ...]) -> list[Duel]:
    """One for each graph where there can be one."""
    fought = (duel(results, dataset, table, others) for dataset, table in homes.items())
    return [one for one in fought if one is not None]


def won(
    results: Results,
    homes: Mapping[str, str],
    others: tuple[str, ...],
    holds: Callable[[Duel], bool] = lambda duel: duel.gap > 0,
    almost: bool = False,
) -> Verdict:
    """Whether the duels go as ``holds`` says: all of them, or ``almost`` all, one in four less."""

    def look(dataset: str) -> Finding:
        fought = duel(results, dataset, homes[dataset], others)
        return None if fought is None else (holds(fought), str(fought))

    return on_each(homes, look, almost)


def on_each(
    datasets: Iterable[str], look: Callable[[str], Finding], almost: bool = False
) -> Verdict:
    """A verdict on all graphs that ``look`` finds something on, or ``almost`` all."""
    found = {dataset: look(dataset) for dataset in datasets}
    seen = {dataset: finding for dataset, finding in found.items() if finding is not None}
    failed = sum(not holds for holds, _ in seen.values())
    texts = [f"{display(dataset)} {text}" for dataset, (_, text) in seen.items()]
    holds = failed <= (len(seen) // 4 if almost else 0) if seen else None
    return Verdict(holds, "; ".join(texts), tuple(name for name in found if name not in seen))


def gap_between(
    results: Results, table: str, dataset: str, first: str, second: str
) -> float | None:
    """The mean of one row less that of another, where both are measured."""
    found = means(results, table, dataset)
    return found[first] - found[second] if {first, second} <= found.keys() else None


def curve_of(results: Results, dataset: str, series: str) -> dict[float, float]:
    """A curve by ratio, where all of its points are measured."""
    found = means(results, "mask-ratio", dataset)
    rows = results.get("mask-ratio", {"rows": []})["rows"]
    own = [row for row in rows if row["series"] == series and dataset in row["cells"]]
    if not all(row["name"] in found for row in own):
        return {}
    return {row["ratio"]: found[row["name"]] for row in own}


def curve_gaps(results: Results, dataset: str) -> dict[float, float]:
    """MGAE's curve less SelfTask-GNN's."""
    ours, others = (curve_of(results, dataset, name) for name in ("MGAE-GCN", "SelfTask-GNN"))
    return {ratio: ours[ratio] - others[ratio] for ratio in ours if ratio in others}


def epoch_ms(results: Results, dataset: str, name: str) -> float | None:
    """Milliseconds of a run, evaluation included, for each of its epochs."""
    rows = results.get("links-planetoid", {"rows": []})["rows"]
    cells = [row["cells"].get(dataset) for row in rows if row["name"] == name]
    for cell in cells:
        if cell and cell["status"] == DONE and sum(cell["epochs"]):
            return 1000 * float(sum(cell["seconds"])) / float(sum(cell["epochs"]))
    return None
