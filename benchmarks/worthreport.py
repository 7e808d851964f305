"""The stored cells as ``worth.json``, ``worth.md`` and ``worth.png``."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.worthfigures import BOTH, EITHER, METRICS, OFFICIAL_METRICS
from benchmarks.worthgraphs import NAMES, Variant, variants
from benchmarks.worthmethods import EVIDENCE, NETWORK, OURS, ROWS
from benchmarks.worthofficial import OFFICIAL, PUBLISHED
from benchmarks.worthpicture import draw
from mgae.data.atomic import write_json, write_text

COLUMNS = {
    "auc": "AUC",
    "ap": "AP",
    EITHER: "recall@10 either",
    BOTH: "recall@10 both",
    "hard_mrr": "hard MRR",
}
# How far ours may be below the best of all others.
MARGINS = {"auc": 0.3, "ap": 0.3, EITHER: 1.0}
_SHOWN = ("auc", EITHER)
_BEGIN, _END = "<!-- worth -->", "<!-- end of worth -->"
TARGETS: dict[str, dict[str, float]] = {
    "power": {"auc": 93.0},
    "yeast": {EITHER: 87.0},
    "lastfm-asia": {"auc": 97.8, "ap": 98.1, EITHER: 54.0},
    "cora+features": {"auc": 97.0, EITHER: 60.0, "hard_mrr": 19.0},
    "citeseer+features": {"auc": 98.1, EITHER: 67.0, "hard_mrr": 26.0},
    "pubmed+features": {"auc": 99.3, EITHER: 40.0, "hard_mrr": 20.0},
}


def read_cell(path: Path) -> dict[str, Any]:
    cell: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return cell


@dataclass(frozen=True)
class Entry:
    """A method on a graph: its figures by metric and seed, its seconds, or why it has none."""

    figures: dict[str, dict[int, float]]
    seconds: list[float]
    reason: str | None = None

    @classmethod
    def of(cls, cells: list[dict[str, Any]]) -> Entry:
        good = [cell for cell in cells if cell["status"] == "ok"]
        figures: dict[str, dict[int, float]] = defaultdict(dict)
        for cell in good:
            for metric, value in cell["figures"].items():
                figures[metric][cell["seed"]] = value
        bad = [f"{cell['status']}: {cell['reason']}" for cell in cells if cell["status"] != "ok"]
        return cls(dict(figures), [_seconds(cell) for cell in good], bad[0] if bad else None)

    def mean(self, metric: str) -> float:
        return statistics.mean(self.figures[metric].values())

    def std(self, metric: str) -> float | None:
        values = list(self.figures[metric].values())
        return statistics.stdev(values) if len(values) > 1 else None

    @property
    def whole(self) -> bool:
        """Whether every seed that was run has figures: a mean of the easy ones would be unfair."""
        return bool(self.figures) and self.reason is None

    def plain(self) -> dict[str, Any]:
        per_metric = {
            metric: {"mean": self.mean(metric), "std": self.std(metric), "seeds": values}
            for metric, values in self.figures.items()
        }
        seconds = statistics.mean(self.seconds) if self.seconds else None
        return {"figures": per_metric, "seconds": seconds, "reason": self.reason}


def _seconds(cell: dict[str, Any]) -> float:
    return float(sum(cell["seconds"].values()))


Table = dict[str, Entry]  # by method


def _cell_files(folder: Path) -> list[Path]:
    """Return the files of cells; a report may have been written into a folder beside them."""
    return sorted(path for path in folder.glob("*/*.json") if path.stem != "worth")


def read_tables(folder: Path) -> dict[str, Table]:
    """Return the stored cells by graph and method, in the order of the lists."""
    cells: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for path in _cell_files(folder):
        cell = read_cell(path)
        cells[cell["graph"]][cell["method"]].append(cell)
    known = [*(variant.key for variant in variants(list(NAMES))), *OFFICIAL]
    return {
        graph: {name: Entry.of(cells[graph][name]) for name in ROWS if name in cells[graph]}
        for graph in known
        if graph in cells
    }


def others(table: Table, kinds: Iterable[str] = ("heuristic", "peer")) -> Table:
    """Return the methods of other kinds than ours that have all their figures."""
    return {
        name: entry
        for name, entry in table.items()
        if ROWS[name].kind in tuple(kinds) and entry.whole
    }


def best(table: Table, metric: str) -> tuple[str, float] | None:
    """Return the method with the highest mean, and that mean."""
    means = {name: entry.mean(metric) for name, entry in table.items()}
    return max(means.items(), key=lambda item: item[1]) if means else None


def lead(table: Table, name: str, metric: str) -> float | None:
    """Return ours less another method in the mean over the seeds that both of them have."""
    ours, theirs = table[OURS].figures[metric], table[name].figures[metric]
    shared = ours.keys() & theirs.keys()
    return statistics.mean(ours[seed] - theirs[seed] for seed in shared) if shared else None


def leads(table: Table, metric: str) -> dict[str, float]:
    """Return ours less each heuristic and peer; empty where ours has not all of its figures."""
    if OURS not in table or not table[OURS].whole:
        return {}
    by_name = {name: lead(table, name, metric) for name in others(table)}
    return {name: value for name, value in by_name.items() if value is not None}


def rank(table: Table, metric: str) -> int | None:
    """Return the rank of ours among all heuristics and peers, from 1; None: nothing to compare."""
    by_name = leads(table, metric)
    return 1 + sum(value < 0 for value in by_name.values()) if by_name else None


def write_report(cells: Path, out: Path) -> list[Path]:
    """Write all three files; return them."""
    tables = read_tables(cells)
    own = {graph: table for graph, table in tables.items() if graph not in OFFICIAL}
    official = {graph: table for graph, table in tables.items() if graph in OFFICIAL}
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / f"worth.{ending}" for ending in ("json", "md", "png")]
    graphs = {
        graph: {name: entry.plain() for name, entry in table.items()}
        for graph, table in tables.items()
    }
    stored = [_kept(read_cell(path)) for path in _cell_files(cells)]
    write_json(paths[0], {"summary": summary(own), "graphs": graphs, "cells": stored})
    write_text(paths[1], page(own, official))
    if not own:
        return paths[:2]
    draw(paths[2], {title_of(graph): _for_picture(table) for graph, table in own.items()}, COLUMNS)
    return paths


def _kept(cell: dict[str, Any]) -> dict[str, Any]:
    """Return what a report keeps of a cell: all but what its commit tells."""
    names = ("graph", "method", "seed", "status", "figures", "seconds", "reason", "commit")
    return {name: cell[name] for name in names if name in cell}


def restore(report: Path, folder: Path) -> int:
    """Write the cells of an earlier report that are not in the folder; return how many."""
    cells = read_cell(report).get("cells", []) if report.exists() else []
    count = 0
    for cell in cells:
        path = folder / cell["graph"] / f"{cell['method']}-{cell['seed']}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, cell)
            count += 1
    return count


def _for_picture(table: Table) -> dict[str, dict[str, float]]:
    """Return for each metric the figures of ours, the best heuristic and the best peer."""
    ours = {OURS: table[OURS]} if OURS in table and table[OURS].whole else {}
    groups = {"ours": ours}
    groups |= {f"best {kind}": others(table, (kind,)) for kind in ("heuristic", "peer")}
    winners = {
        metric: {group: best(some, metric) for group, some in groups.items()} for metric in COLUMNS
    }
    return {
        metric: {group: winner[1] for group, winner in row.items() if winner is not None}
        for metric, row in winners.items()
    }


def title_of(graph: str) -> str:
    name, _, features = graph.partition("+")
    return Variant(name, bool(features)).title


def summary(tables: dict[str, Table]) -> dict[str, Any]:
    """Return ours against the best of all others, the mean rank, and what the network adds."""
    against = {
        graph: {metric: _against(table, metric) for metric in MARGINS}
        for graph, table in tables.items()
        if all(leads(table, metric) for metric in MARGINS)
    }
    ranks = {
        metric: [number for table in tables.values() if (number := rank(table, metric)) is not None]
        for metric in COLUMNS
    }
    counted = [number for metric in MARGINS for number in ranks[metric]]
    return {
        "against": against,
        "mean_rank": statistics.mean(counted) if counted else None,
        "mean_rank_by_metric": {
            metric: statistics.mean(numbers) for metric, numbers in ranks.items() if numbers
        },
        "strictly_best_in_recall": sum(one[EITHER]["difference"] > 0 for one in against.values()),
        "graphs": len(against),
        "network_adds": network_adds(tables),
    }


def _against(table: Table, metric: str) -> dict[str, Any]:
    by_name = leads(table, metric)
    winner = min(by_name, key=lambda name: by_name[name])
    return {
        "ours": table[OURS].mean(metric),
        "best": winner,
        "figure": table[winner].mean(metric),
        "difference": by_name[winner],
        "within": by_name[winner] >= -MARGINS[metric],
    }


def network_adds(tables: dict[str, Table]) -> dict[str, dict[str, Any]]:
    """Return ours less evidence alone, seed by seed, in AUC and recall@10."""
    return {
        graph: {metric: _paired(table, metric) for metric in ("auc", EITHER)}
        for graph, table in tables.items()
        if all(name in table and table[name].whole for name in (OURS, EVIDENCE))
    }


def _paired(table: Table, metric: str) -> dict[str, Any]:
    ours, alone = (table[name].figures[metric] for name in (OURS, EVIDENCE))
    values = [ours[seed] - alone[seed] for seed in sorted(ours.keys() & alone.keys())]
    mean = statistics.mean(values) if values else 0.0
    std = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": mean, "std": std, "beyond": std is not None and mean > std}


def page(own: dict[str, Table], official: dict[str, Table]) -> str:
    """Return ``worth.md``."""
    lines = [
        "# Worth training",
        "",
        "A tenth of each graph's edges is hidden, never a node's last one; every method sees the",
        "remaining 90% alone. AUC and AP: the hidden edges against as many random pairs without an",
        "edge. *recall@10 either*: the share of hidden edges among the ten best of at least one of",
        "their ends; *both*: the mean over both ends. *hard MRR*: among 100 pairs that look like",
        "edges. In percent, mean ± standard deviation over the seeds; seconds of the processor for",
        "training and all scores. Of more than 3,000 hidden edges a fixed sample of 2,000 is",
        "ranked; equal scores stand in random order. Made by `make bench-worth`; all figures",
        "are in [worth.json](worth.json).",
        "",
        "![Ours, the best heuristic and the best peer](worth.png)",
        "",
        *_summary_lines(own),
    ]
    for graph, table in own.items():
        lines += ["", f"## {title_of(graph)}", "", *_table_lines(table)]
    for graph, table in official.items():
        name = graph.removesuffix("-official")
        lines += ["", f"## {name}, official split", "", *_official_lines(graph, table)]
    return "\n".join(lines) + "\n"


def _summary_lines(tables: dict[str, Table]) -> list[str]:
    result = summary(tables)
    if not result["against"]:
        return ["Ours is not measured yet."]
    lines = [
        "## Ours against the best of all others",
        "",
        "| graph | metric | ours | best other | difference | within |",
        "| :-- | :-- | --: | :-- | --: | :-- |",
    ]
    for graph, row in result["against"].items():
        for metric, one in row.items():
            allowed = f"−{MARGINS[metric]}: {'yes' if one['within'] else '**no**'}"
            lines.append(
                f"| {title_of(graph)} | {COLUMNS[metric]} | {one['ours']:.1f} | {one['best']} "
                f"{one['figure']:.1f} | {_signed(one['difference'])} | {allowed} |"
            )
    by_metric = result["mean_rank_by_metric"].items()
    each = ", ".join(f"{COLUMNS[metric]} {value:.2f}" for metric, value in by_metric)
    lines += [
        "",
        f"- Mean rank of ours over graphs and AUC, AP, recall@10 either: "
        f"{result['mean_rank']:.2f} ({each}).",
        f"- Strictly best in recall@10 either on {result['strictly_best_in_recall']} of "
        f"{result['graphs']} graphs.",
        *_target_lines(tables),
    ]
    return [*lines, *_ablation_lines(tables, result["network_adds"])]


def headline(result: dict[str, Any]) -> str:
    """Return the table of README, from a report's summary."""
    lines = [
        "| graph | AUC, ours | best other | recall@10, ours | best other |",
        "| :-- | --: | :-- | --: | :-- |",
    ]
    for graph, row in result["against"].items():
        cells = (f"{row[m]['ours']:.1f} | {row[m]['figure']:.1f} {row[m]['best']}" for m in _SHOWN)
        lines.append(f"| {title_of(graph)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def with_headline(page: str, result: dict[str, Any]) -> str:
    """Return the page with the table between its two marks."""
    before, rest = page.split(_BEGIN)
    return f"{before}{_BEGIN}\n{headline(result)}\n{_END}{rest.split(_END)[1]}"


def _target_lines(tables: dict[str, Table]) -> list[str]:
    lines = []
    for graph, wanted in TARGETS.items():
        table = tables.get(graph, {})
        if OURS not in table or not table[OURS].whole:
            continue
        parts = [
            f"{COLUMNS[metric]} {table[OURS].mean(metric):.1f} (goal {goal:.1f}: "
            f"{'yes' if table[OURS].mean(metric) >= goal else '**no**'})"
            for metric, goal in wanted.items()
        ]
        lines.append(f"- {title_of(graph)}: {', '.join(parts)}.")
    return lines


def _ablation_lines(tables: dict[str, Table], adds: dict[str, dict[str, Any]]) -> list[str]:
    """Return network alone, evidence alone and both, and what the network adds."""
    if not adds:
        return []
    lines = [
        "",
        "## What the network adds",
        "",
        "AUC / recall@10 either. The difference is taken seed by seed; bold: above its",
        "standard deviation.",
        "",
        "| graph | network alone | evidence alone | both | both − evidence: AUC | recall@10 |",
        "| :-- | :-- | :-- | :-- | --: | --: |",
    ]
    for graph, row in adds.items():
        shown = " | ".join(_both_figures(tables[graph], name) for name in (NETWORK, EVIDENCE, OURS))
        gains = " | ".join(_gain(row[metric]) for metric in ("auc", EITHER))
        lines.append(f"| {title_of(graph)} | {shown} | {gains} |")
    earned = sum(any(one["beyond"] for one in row.values()) for row in adds.values())
    return [*lines, "", f"Beyond the spread in one of both on {earned} of {len(adds)} graphs."]


def _both_figures(table: Table, name: str) -> str:
    if name not in table or not table[name].whole:
        return "–"
    return f"{table[name].mean('auc'):.1f} / {table[name].mean(EITHER):.1f}"


def _gain(one: dict[str, Any]) -> str:
    spread = "" if one["std"] is None else f" ± {one['std']:.1f}"
    text = f"{_signed(one['mean'])}{spread}"
    return f"**{text}**" if one["beyond"] else text


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


def _table_lines(table: Table) -> list[str]:
    """Return one graph's table; of each metric the best is bold."""
    whole = {name: entry for name, entry in table.items() if entry.whole}
    highest = {metric: best(whole, metric) for metric in METRICS}
    lines = [
        f"| method | {' | '.join(COLUMNS[metric] for metric in METRICS)} | CPU s |",
        f"| :-- | {' | '.join('--:' for _ in METRICS)} | --: |",
    ]
    for name, entry in table.items():
        if not entry.whole:
            lines.append(f"| {ROWS[name].title} | {entry.reason} |{' |' * len(METRICS)}")
            continue
        figures = (
            _figure(entry, metric, (winner := highest[metric]) and entry.mean(metric) >= winner[1])
            for metric in METRICS
        )
        seconds = statistics.mean(entry.seconds)
        lines.append(f"| {ROWS[name].title} | {' | '.join(figures)} | {seconds:.1f} |")
    return lines


def _figure(entry: Entry, metric: str, is_best: object) -> str:
    std = entry.std(metric)
    text = f"{entry.mean(metric):.1f}" + ("" if std is None else f" ± {std:.1f}")
    return f"**{text}**" if is_best else text


def _official_lines(graph: str, table: Table) -> list[str]:
    lines = [
        "Each user's items that are not in training are all ranked; mean over users.",
        "",
        f"| method | {' | '.join(OFFICIAL_METRICS)} | CPU s |",
        "| :-- | --: | --: | --: |",
    ]
    if graph in PUBLISHED:
        values = " | ".join(f"{PUBLISHED[graph][metric]:.4f}" for metric in OFFICIAL_METRICS)
        lines.append(f"| *LightGCN, published* | {values} | |")
    for name, entry in table.items():
        if not entry.whole:
            lines.append(f"| {ROWS[name].title} | {entry.reason} | | |")
            continue
        values = " | ".join(f"{entry.mean(metric):.4f}" for metric in OFFICIAL_METRICS)
        lines.append(f"| {ROWS[name].title} | {values} | {statistics.mean(entry.seconds):.0f} |")
    return lines
