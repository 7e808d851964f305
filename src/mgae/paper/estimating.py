"""``mgae reproduce NAME --estimate``: hours and memory of each cell, from two of its steps here.

A cell's graph is loaded and two steps and one validation of its first run are taken; the second
step counts, since the first loads what libraries load on first use. That makes a bound from above:
the patience may end a training sooner. What it does not know is how the machine will be used by
others meanwhile.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torch_geometric.data import Data

from mgae.core.errors import MGAEError, MissingData
from mgae.core.training.loop import Stepper
from mgae.data.opening import open_graph
from mgae.evaluation.links import validator
from mgae.paper.document import NO_DATA, REFUSED, Measured, Outcomes, display
from mgae.paper.pages import TablePages
from mgae.paper.plan import Cell, table
from mgae.paper.running import Request, chooser
from mgae.runs.config import RunConfig
from mgae.runs.featureuse import message_graph
from mgae.runs.memory import GIB
from mgae.runs.peakmemory import PeakMemory
from mgae.runs.texttables import markdown_table
from mgae.runs.trial import Trial

HEADS = ["method", "data", "runs", "hours at most", "of that stored", "s a step", "GiB", "note"]


@dataclass(frozen=True)
class Estimate:
    """What a cell will take; ``hours`` are those of all its runs to their last epoch."""

    cell: Cell
    hours: float | None = None
    stored_hours: float | None = None
    step_seconds: float | None = None
    gib: float | None = None
    note: str = ""

    @property
    def line(self) -> list[str]:
        """Return the cells of its line in a table."""
        return [
            self.cell.row.name,
            display(self.cell.dataset),
            str(self.cell.config.runs),
            *(_short(value) for value in (self.hours, self.stored_hours)),
            *(_short(value) for value in (self.step_seconds, self.gib)),
            self.note,
        ]


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def estimates(request: Request, on_cell: Callable[[str], None]) -> Iterator[Estimate]:
    """Yield an estimate of each cell that is asked for; nothing is stored.

    Raises:
        UnknownName: if a table, graph or row is unknown.
    """
    spec = table(request.name, request.protocol)
    wanted = chooser(spec, request)
    cells = spec.cells(request.given, request.runs, wanted)
    known = TablePages(spec, cells, request.given, request.out).known()
    graph: tuple[str, Data] | None = None
    for cell in cells:
        if not wanted(cell.row, cell.dataset):
            continue
        on_cell(f"{cell.row.name} on {cell.dataset}")
        stored = _stored_hours(known, cell)
        try:
            if graph is None or graph[0] != cell.dataset:
                graph = None  # two large graphs would not fit
                graph = cell.dataset, open_graph(cell.dataset)
            yield measured(cell, graph[1], stored)
        except MissingData:
            way = f"python -m scripts.twins FOLDER {cell.dataset} draws one of its size"
            yield Estimate(cell, note=f"{NO_DATA}; {way}")
        except MGAEError as error:
            yield Estimate(cell, note=f"{REFUSED}: {error}")


def _stored_hours(known: Outcomes, cell: Cell) -> float | None:
    outcome = known.get((cell.row.name, cell.dataset))
    return sum(outcome.seconds) / 3600 if isinstance(outcome, Measured) else None


def measured(cell: Cell, graph: Data, stored: float | None = None) -> Estimate:
    """Take two steps and a validation of a cell's first run."""
    if cell.trained is not None:
        return Estimate(cell, 0.0, stored, note="measures the models of another row again")
    with PeakMemory() as memory:
        seconds, step = _run_seconds(cell.config, graph)
    hours = cell.config.runs * seconds / 3600
    note = "its evidence model is not counted" if cell.row.method == "combined" else ""
    return Estimate(cell, hours, stored, step, memory.peak_bytes / GIB, note)


def _run_seconds(config: RunConfig, graph: Data) -> tuple[float, float]:
    """Return the seconds of a whole run, and those of a step."""
    began = time.perf_counter()
    trial = Trial(config, graph, message_graph(config, graph))
    train, method = config.train, trial.method
    early = time.perf_counter() - began
    if not method.trains:
        began = time.perf_counter()
        trial.measured(trial.asked)
        return early + time.perf_counter() - began, 0.0
    trained = method.stages(trial.split.message, trial.generators)[-1].method
    stepper = Stepper(trained, train.learning_rate, train.weight_decay, train.clip)
    trained.train()
    steps = _timed_steps(trained.losses(trial.split.message, trial.generators), stepper)
    check = validator(
        trial.asked, trial.split, train.monitor, config.evaluation.hits, config.evaluation.max_users
    )
    began = time.perf_counter()
    if check is not None:
        check()
    validation = time.perf_counter() - began
    count = steps_of(config, trial)
    epoch = count * steps[-1] + validation / train.eval_every
    held_out = trial.split.val.size(1) or 1
    test = validation * trial.split.test.size(1) / held_out
    return early + train.epochs * epoch + test, steps[-1]


def _timed_steps(losses: Iterator[tuple[object, str]], stepper: Stepper) -> list[float]:
    """Take two steps, or the only one; return their seconds."""
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        following = next(losses, None)
        if following is None:
            break
        loss, group = following
        stepper.step(loss, group)  # type: ignore[arg-type]
        seconds.append(time.perf_counter() - began)
    return seconds


def steps_of(config: RunConfig, trial: Trial) -> int:
    """Return the optimizer steps of an epoch."""
    if config.train.step_size is None:
        return 1
    message = trial.split.message
    directed = config.mask is not None and config.mask.kind == "directed"
    edges = message.edge_index.size(1) if directed else message.pairs.size(1)
    share = getattr(config.mask, "ratio", 1.0) if config.mask is not None else 1.0
    count = math.ceil(share * edges / config.train.step_size)
    return min(count, config.train.max_steps or count)


def estimate_page(made: list[Estimate]) -> str:
    """Return the estimates as a table, and their sum."""
    hours = sum(one.hours or 0.0 for one in made)
    most = max((one.gib or 0.0 for one in made), default=0.0)
    lines = markdown_table(HEADS, [one.line for one in made])
    return f"{lines}\n\n{hours:.1f} hours at most if one after the other, {most:.1f} GiB at a time."
