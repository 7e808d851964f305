"""What the instant answer is worth, and whether a training should start from it.

    python -m benchmarks.instant                  # measures what is missing, then writes the tables
    python -m benchmarks.instant --graphs power cora --seeds 0
    python -m benchmarks.instant --report         # the tables alone

The hidden edges and the cells are those of `benchmarks.worth`. Instant answers are compared with
the best heuristic of each figure, in hindsight. The shipped model was trained on Cora, CiteSeer and
PubMed: each of these is answered by a model that was trained without it, in the same way.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.pretrain import pretrain, write
from scripts.pretraingraphs import PLANETOID, sources

from benchmarks.worth import CELLS, MINUTES
from benchmarks.worthcells import Cell, run_cells
from benchmarks.worthfigures import EITHER
from benchmarks.worthgraphs import PLAIN, WITH_FEATURES, Variant, variants
from benchmarks.worthmethods import EVIDENCE, FROM_SHIPPED, INSTANT, ROWS
from benchmarks.worthreport import read_cell
from mgae.core.evidence import shipped
from mgae.data.atomic import write_json, write_text

GRAPHS = (*PLAIN, *WITH_FEATURES)
HEURISTICS = tuple(name for name, row in ROWS.items() if row.kind == "heuristic")
METRICS = ("auc", "ap", EITHER)
PAGE = Path("docs/instant.md")
LEFT_OUT = "left-out"
WORTH, START = "<!-- {}worth -->", "<!-- {}start -->"


@dataclass(frozen=True)
class LeftOutCell(Cell):
    """A cell of a model with other weights than the shipped ones."""

    weights: Path = Path()

    def path(self, folder: Path) -> Path:
        """Return a file apart from those of the shipped weights."""
        return super().path(folder / LEFT_OUT)

    def measure(self, inputs: Path) -> dict[str, Any]:
        """Return figures, seconds and settings; the process is this cell's own."""
        shipped.FILE = self.weights
        return super().measure(inputs)


def cells(graphs: list[str], seeds: list[int], folder: Path) -> Iterator[Cell]:
    """Return the cells, seed by seed."""
    for seed in seeds:
        for variant in variants(graphs):
            for method in (INSTANT, FROM_SHIPPED):
                yield cell(variant, method, seed, folder)
            for method in (EVIDENCE, *HEURISTICS):
                yield Cell(variant.key, method, seed, variant)


def cell(variant: Variant, method: str, seed: int, folder: Path) -> Cell:
    """Return the cell of a model whose weights come from other graphs than this one."""
    if variant.name in PLANETOID:
        weights = weights_without(variant.name, folder).resolve()
        return LeftOutCell(variant.key, method, seed, variant, weights)
    return Cell(variant.key, method, seed, variant)


def weights_without(name: str, folder: Path) -> Path:
    """Return where the weights of a model that never saw this graph are kept."""
    return folder / LEFT_OUT / f"without-{name}.safetensors"


def train_without(names: list[str], folder: Path) -> None:
    """Train the weights that are missing; all use the evidence of the same graphs."""
    for name in names:
        path = weights_without(name, folder)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            graphs = sources(name)
            write(pretrain(graphs, path.parent / "evidence"), graphs, path)
            print(f"trained on {len(graphs)} graphs, without {name}", flush=True)


def figures(folder: Path, variant: Variant, method: str) -> dict[int, dict[str, float]]:
    """Return the figures of a method by seed; those without any are left out."""
    foreign = method in {INSTANT, FROM_SHIPPED} and variant.name in PLANETOID
    paths = (folder / LEFT_OUT if foreign else folder) / variant.key
    records = (read_cell(path) for path in sorted(paths.glob(f"{method}-[0-9]*.json")))
    return {one["seed"]: one["figures"] for one in records if one["status"] == "ok"}


def mean(by_seed: dict[int, dict[str, float]], metric: str, seeds: list[int]) -> float:
    """Return the mean of a figure over these seeds."""
    return statistics.mean(by_seed[seed][metric] for seed in seeds)


def against_heuristics(folder: Path, variant: Variant) -> dict[str, Any] | None:
    """Return the mean figures of ours and of the best heuristic of each, on the same seeds."""
    ours = figures(folder, variant, INSTANT)
    others = {name: figures(folder, variant, name) for name in HEURISTICS}
    others = {name: some for name, some in others.items() if some}
    seeds = sorted(set(ours).intersection(*others.values())) if others else []
    if not seeds:
        return None
    rows: dict[str, Any] = {"seeds": seeds, "heuristics": sorted(others)}
    for metric in METRICS:
        means = {name: mean(some, metric, seeds) for name, some in others.items()}
        best = max(means, key=lambda name: means[name])
        own = mean(ours, metric, seeds)
        rows[metric] = {"own": own, "other": means[best], "heuristic": best}
    return rows


def against_random_start(folder: Path, variant: Variant) -> dict[str, Any] | None:
    """Return the mean figures of trainings from the shipped weights, and from random ones."""
    ours, other = (figures(folder, variant, name) for name in (FROM_SHIPPED, EVIDENCE))
    seeds = sorted(set(ours) & set(other))
    if not seeds:
        return None
    return {"seeds": seeds} | {
        metric: {"own": mean(ours, metric, seeds), "other": mean(other, metric, seeds)}
        for metric in METRICS
    }


def table(rows: dict[str, dict[str, Any]], own: str, other: str) -> str:
    """Return the comparison in Markdown."""
    lines = [f"| graph | seeds | {own} | {other} | difference |", "| :-- | --: | :-- | :-- | :-- |"]
    differences: list[list[float]] = [[] for _ in METRICS]
    for title, row in rows.items():
        pairs = [(row[metric]["own"], row[metric]["other"]) for metric in METRICS]
        for kept, (ours, best) in zip(differences, pairs, strict=True):
            kept.append(ours - best)
        left, right = (" / ".join(f"{pair[side]:.1f}" for pair in pairs) for side in (0, 1))
        gaps = " / ".join(f"{ours - best:+.1f}" for ours, best in pairs)
        if "heuristic" in row[EITHER]:
            right += f" ({row[EITHER]['heuristic']})"
        lines.append(f"| {title} | {len(row['seeds'])} | {left} | {right} | {gaps} |")
    means = " / ".join(f"{statistics.mean(kept):+.1f}" for kept in differences if kept)
    return "\n".join([*lines, f"| mean | | | | {means} |"])


def between(page: str, mark: str, text: str) -> str:
    """Return the page with ``text`` between two marks."""
    begin, end = mark.format(""), mark.format("end of ")
    before, rest = page.split(begin)
    return f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}"


def report(folder: Path, graphs: list[str], out: Path, path: Path) -> None:
    """Write the comparisons as JSON, and their tables into the page."""
    compared: dict[str, dict[str, Any]] = {"heuristics": {}, "random start": {}}
    for variant in variants(graphs):
        left_out = ", by a model trained without it" if variant.name in PLANETOID else ""
        for kept, compare in zip(
            compared.values(), (against_heuristics, against_random_start), strict=True
        ):
            if (row := compare(folder, variant)) is not None:
                kept[variant.title + left_out] = row
    write_json(out / "instant.json", {"metrics": list(METRICS), **compared})
    tables = (
        table(compared["heuristics"], "instant", "best heuristic"),
        table(compared["random start"], "from shipped weights", "from random weights"),
    )
    page = path.read_text(encoding="utf-8")
    for mark, text in zip((WORTH, START), tables, strict=True):
        page = between(page, mark, text)
        print(text)
    write_text(path, page)


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, and write."""
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instant", description=about)
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], metavar="SEED")
    parser.add_argument("--cells", type=Path, default=CELLS, help=f"default: {CELLS}")
    parser.add_argument("--report", action="store_true", help="only write the tables")
    parser.add_argument("--out", type=Path, default=Path("results"), help="default: results")
    args = parser.parse_args(arguments)
    if not args.report:
        train_without([name for name in PLANETOID if name in args.graphs], args.cells)
        run_cells(list(cells(args.graphs, args.seeds, args.cells)), args.cells, MINUTES)
    report(args.cells, args.graphs, args.out, PAGE)


if __name__ == "__main__":
    main()
