"""Run ten random stored runs again, and compare every figure with the one in ``results/``.

python -m scripts.sample [--draws 10] [--minutes 3] [--seed N]

Drawn among the runs that took at most ``--minutes`` when they were stored and whose data is here. A
run is *equal* if each of its figures is, to the last bit, and *near* if each is within ``NEAR``
points. Other processors round otherwise, and a rounding may move the epoch that is picked: such a
run is *within the spread* if each figure is within two standard deviations of its cell. Anything
else *differs*, and makes the exit code 1. ``results/sample.json`` has what came out, and on what.
"""

from __future__ import annotations

import argparse
import random
import secrets
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from mgae.core.errors import MGAEError
from mgae.data.atomic import write_json
from mgae.data.opening import open_graph
from mgae.paper.document import Measured, TableDocument, documents
from mgae.paper.plan import table
from mgae.runs.config import RunConfig
from mgae.runs.environment import environment
from mgae.runs.observer import Observer
from mgae.runs.pipeline import run_opened
from mgae.runs.results import Figures

NEAR = 0.01
VERDICTS = ("equal", "near", "within the spread", "differs")


@dataclass(frozen=True)
class Draw:
    """One run of a cell, the ``index``-th."""

    stem: str
    row: str
    dataset: str
    config: RunConfig
    cell: Measured
    index: int

    @property
    def seed(self) -> int:
        """The seed of this run."""
        return self.cell.seeds[self.index]

    def stored(self, part: str) -> Figures:
        """The stored figures of this run."""
        return {name: one.values[self.index] for name, one in getattr(self.cell, part).items()}

    def allowed(self, part: str, name: str) -> float:
        """Two standard deviations of the cell's runs."""
        return 2 * float(getattr(self.cell, part)[name].std)


def runs_in(out: Path, longest: float) -> Iterator[Draw]:
    """Yield every stored run that took at most so many seconds."""
    for stem, doc in documents(out).items():
        if not isinstance(doc, TableDocument) or doc.changed:
            continue
        configs = {
            (c.row.name, c.dataset): c.config for c in table(doc.name, doc.protocol).cells({})
        }
        for row, dataset, cell in doc.cells():
            if not isinstance(cell, Measured) or row.trained_as is not None:
                continue
            config = configs[row.name, dataset]
            for index, seconds in enumerate(cell.seconds):
                if seconds <= longest:
                    yield Draw(stem, row.name, dataset, config, cell, index)


def again(draw: Draw) -> dict[str, Any]:
    """Run it again with as many threads; return what came out."""
    torch.set_num_threads(draw.cell.environment.threads or 1)
    config = draw.config.model_copy(update={"seed": draw.seed, "runs": 1})
    (result,) = run_opened(config, open_graph(draw.dataset), None, Observer()).seeds
    off = {
        (part, name): (abs(getattr(result, part)[name] - value), draw.allowed(part, name))
        for part in ("test", "val")
        for name, value in draw.stored(part).items()
        if name in getattr(result, part)
    }
    stored = draw.cell.environment.model_dump(exclude_unset=True)
    return {
        "table": draw.stem,
        "row": draw.row,
        "dataset": draw.dataset,
        "seed": draw.seed,
        "verdict": verdict(list(off.values())),
        "figures": len(off),
        "largest_difference": max((diff for diff, _ in off.values()), default=0.0),
        "best_epoch": result.best_epoch,
        "stored_best_epoch": (draw.cell.best_epochs or [None] * draw.cell.runs)[draw.index],
        "seconds": round(result.seconds, 3),
        "stored_by": {key: stored.get(key) for key in ("commit", "code", "platform", "bfloat16")},
    }


def verdict(off: list[tuple[float, float]]) -> str:
    """Judge by differences and what the spread allows of each."""
    if all(diff == 0 for diff, _ in off):
        return VERDICTS[0]
    if all(diff <= NEAR for diff, _ in off):
        return VERDICTS[1]
    return VERDICTS[2] if all(diff <= most for diff, most in off) else VERDICTS[3]


def main(arguments: list[str]) -> int:
    """Return the exit code: 1 if a run differs by more than its spread."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=None, help="draws the same again")
    parser.add_argument("--out", type=Path, default=Path("results"))
    given = parser.parse_args(arguments)
    seed = secrets.randbelow(2**31) if given.seed is None else given.seed
    pool = list(runs_in(given.out, 60 * given.minutes))
    chance, made = random.Random(seed), []
    print(f"seed of the draws: {seed}; {len(pool)} runs to draw from", flush=True)
    for draw in chance.sample(pool, len(pool)):
        if len(made) == given.draws:
            break
        try:
            made.append(again(draw))
        except MGAEError as error:
            print(f"  {draw.row} on {draw.dataset}: left out, {error}", flush=True)
            continue
        one = made[-1]
        print(
            f"  {one['table']}: {one['row']} on {one['dataset']}, seed {one['seed']}: "
            f"{one['verdict']} ({one['figures']} figures, at most "
            f"{one['largest_difference']:.3g} points off)",
            flush=True,
        )
        write_json(
            given.out / "sample.json",
            {
                "seed": seed,
                "longest_seconds": 60 * given.minutes,
                "runs": len(pool),
                "environment": environment([], []),
                "draws": made,
            },
        )
    counts = {word: sum(one["verdict"] == word for one in made) for word in VERDICTS}
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    return int(counts["differs"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
