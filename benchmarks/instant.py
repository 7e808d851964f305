"""What the instant answer is worth: against the best heuristic of each figure, in hindsight.

    python -m benchmarks.instant                  # measures what is missing, then writes the table
    python -m benchmarks.instant --report         # the table alone

The hidden edges and the cells are those of `benchmarks.worth`. The graphs are those that the
shipped model was not trained on.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.worth import CELLS, MINUTES
from benchmarks.worthcells import Cell, run_cells
from benchmarks.worthfigures import EITHER
from benchmarks.worthgraphs import PLAIN, variants
from benchmarks.worthmethods import INSTANT, ROWS
from benchmarks.worthreport import read_cell
from mgae.data.atomic import write_json, write_text

GRAPHS = (*PLAIN, "chameleon", "facebook-pages", "blogcatalog")
HEURISTICS = tuple(name for name, row in ROWS.items() if row.kind == "heuristic")
METRICS = ("auc", "ap", EITHER)
PAGE, BEGIN, END = Path("docs/instant.md"), "<!-- table -->", "<!-- end of the table -->"


def cells(graphs: list[str], seeds: list[int], methods: tuple[str, ...]) -> Iterator[Cell]:
    """Return the cells, seed by seed."""
    for seed in seeds:
        for variant in variants(graphs):
            for method in methods:
                yield Cell(variant.key, method, seed, variant)


def figures(folder: Path, graph: str, method: str) -> dict[int, dict[str, float]]:
    """Return the figures of a method by seed; those without any are left out."""
    found = (read_cell(path) for path in sorted((folder / graph).glob(f"{method}-[0-9]*.json")))
    return {cell["seed"]: cell["figures"] for cell in found if cell["status"] == "ok"}


def compare(folder: Path, graph: str) -> dict[str, Any] | None:
    """Return the mean figures of ours and of the best heuristic of each, on the same seeds."""
    ours = figures(folder, graph, INSTANT)
    others = {name: figures(folder, graph, name) for name in HEURISTICS}
    others = {name: cells for name, cells in others.items() if cells}
    seeds = sorted(set(ours).intersection(*others.values())) if others else []
    if not seeds:
        return None
    rows: dict[str, Any] = {"seeds": seeds, "heuristics": sorted(others)}
    for metric in METRICS:
        means = {
            name: statistics.mean(cells[seed][metric] for seed in seeds)
            for name, cells in others.items()
        }
        best = max(means, key=lambda name: means[name])
        own = statistics.mean(ours[seed][metric] for seed in seeds)
        rows[metric] = {"instant": own, "best": means[best], "heuristic": best}
    return rows


def table(rows: dict[str, dict[str, Any]]) -> str:
    """Return the comparison in Markdown."""
    lines = [
        "| graph | seeds | instant | best heuristic | difference |",
        "| :-- | --: | :-- | :-- | :-- |",
    ]
    differences: list[list[float]] = [[] for _ in METRICS]
    for graph, row in rows.items():
        pairs = [(row[metric]["instant"], row[metric]["best"]) for metric in METRICS]
        for kept, (own, best) in zip(differences, pairs, strict=True):
            kept.append(own - best)
        own, best = (" / ".join(f"{pair[side]:.1f}" for pair in pairs) for side in (0, 1))
        gaps = " / ".join(f"{own - best:+.1f}" for own, best in pairs)
        title = graph.replace("+features", ", features")
        name = f"{best} ({row[EITHER]['heuristic']})"
        lines.append(f"| {title} | {len(row['seeds'])} | {own} | {name} | {gaps} |")
    mean = " / ".join(f"{statistics.mean(kept):+.1f}" for kept in differences)
    return "\n".join([*lines, f"| mean | | | | {mean} |"])


def write(folder: Path, graphs: list[str], out: Path, page: Path) -> None:
    """Write the comparison as JSON, and its table into the page."""
    keys = [variant.key for variant in variants(graphs)]
    rows = {key: row for key in keys if (row := compare(folder, key)) is not None}
    write_json(out / "instant.json", {"metrics": list(METRICS), "graphs": rows})
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    write_text(page, f"{before}{BEGIN}\n{table(rows)}\n{END}{after}")
    print(table(rows))


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, and write."""
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instant", description=about)
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], metavar="SEED")
    parser.add_argument("--cells", type=Path, default=CELLS, help=f"default: {CELLS}")
    parser.add_argument("--report", action="store_true", help="only write the table")
    parser.add_argument("--out", type=Path, default=Path("results"), help="default: results")
    args = parser.parse_args(arguments)
    if not args.report:
        planned = list(cells(args.graphs, args.seeds, (INSTANT, *HEURISTICS)))
        run_cells(planned, args.cells, MINUTES)
    write(args.cells, args.graphs, args.out, PAGE)


if __name__ == "__main__":
    main()
