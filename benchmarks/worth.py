"""Is the training worth it? Hidden edges of real graphs: ours, every heuristic and every peer.

    python -m benchmarks.worth                                            # everything: hours
    python -m benchmarks.worth --graphs power yeast --methods ours katz --seeds 0
    python -m benchmarks.worth --official                                 # Gowalla and MovieLens
    python -m benchmarks.worth --report                                   # the tables alone

Of each graph and seed a tenth of the edges is hidden, never a node's last one, and everything sees
the remaining 90% alone. A trained method cuts its own validation and test parts from these, with
the defaults for a user's own graph; in the end it scores with all of them as input. A cell is one
graph, method and seed: it is written as soon as it is there, and the next run skips it. Each cell
has a process of its own, with a limit of time and memory.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks.worthcells import Cell, run_cells
from benchmarks.worthgraphs import NAMES, variants
from benchmarks.worthmethods import ROWS
from benchmarks.worthofficial import OFFICIAL
from benchmarks.worthreport import read_cell, restore, with_headline, write_report
from mgae.data.atomic import write_text

CELLS, RESULTS, README = Path("build/worth"), Path("results"), Path("README.md")
MINUTES, OFFICIAL_MINUTES = 30.0, 150.0


def planned(args: argparse.Namespace) -> Iterator[Cell]:
    """Return the cells that were asked for: graph by graph, and seed by seed."""
    if args.official:
        for graph in OFFICIAL:
            if graph.removesuffix("-official") in args.graphs:
                yield from (Cell(graph, name, seed) for seed in args.seeds for name in args.methods)
        return
    for variant in variants(args.graphs, args.features):
        for seed in args.seeds:
            yield from (Cell(variant.key, name, seed, variant) for name in args.methods)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worth", description=about)
    parser.add_argument("--graphs", nargs="+", choices=NAMES, default=list(NAMES), metavar="GRAPH")
    parser.add_argument("--methods", nargs="+", choices=ROWS, default=list(ROWS), metavar="METHOD")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], metavar="SEED")
    parser.add_argument("--features", choices=("with", "without", "both"), default="both")
    parser.add_argument("--official", action="store_true", help="the official splits, recall@20")
    parser.add_argument("--cells", type=Path, default=CELLS, help=f"default: {CELLS}")
    parser.add_argument("--minutes", type=float, help="the limit of a cell; 30, official 150")
    parser.add_argument("--again", action="store_true", help="run failed cells again")
    parser.add_argument("--fresh", action="store_true", help="do not go on from the last report")
    parser.add_argument("--report", action="store_true", help="only write the tables")
    parser.add_argument("--out", type=Path, default=RESULTS, help="default: results")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    args = parse(arguments)
    if not args.fresh and (count := restore(args.out / "worth.json", args.cells)):
        print(f"{count} cells are taken from {args.out / 'worth.json'}")
    if not args.report:
        usual = OFFICIAL_MINUTES if args.official else MINUTES
        run_cells(list(planned(args)), args.cells, args.minutes or usual, args.again)
    written = write_report(args.cells, args.out)
    if args.out == RESULTS:
        page = with_headline(README.read_text(encoding="utf-8"), read_cell(written[0])["summary"])
        write_text(README, page)
        written.append(README)
    for path in written:
        print(f"written: {path}")


if __name__ == "__main__":
    main()
