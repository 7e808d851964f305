"""``mgae reproduce NAME --estimate``: hours and memory of each cell, from two of its steps here.

A cell's graph is loaded and two steps and one validation of its first run are taken; the second
step counts, since the first loads what libraries load on first use. That makes a bound from above:
the patience may end a training sooner. The clock's hours are those of a machine as busy as it is
now; the processor's are what the threads compute.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import psutil
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from mgae.core.errors import MGAEError, MissingData
from mgae.core.training.state import Stepper
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

Seconds = NDArray[np.float64]  # of the clock, and of the processor
HEADS = [
    "method",
    "data",
    "runs",
    "hours at most",
    "processor's",
    "stored",
    "s a step",
    "GiB",
    "note",
]


@dataclass(frozen=True)
class Estimate:
    """What a cell will take; ``hours`` are those of all its runs to their last epoch.

    ``cpu_hours`` are those of all threads together: what is left where nobody else computes.
    """

    cell: Cell
    hours: float | None = None
    cpu_hours: float | None = None
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
            *(_short(value) for value in (self.hours, self.cpu_hours, self.stored_hours)),
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
        again = "measures the models of another row again"
        return Estimate(cell, 0.0, 0.0, stored, note=again)
    loaded = psutil.Process().memory_info().rss  # libraries and the graph
    with PeakMemory() as memory:
        run, step = _run_seconds(cell.config, graph)
    hours, cpu = (cell.config.runs * seconds / 3600 for seconds in run)
    note = "its evidence model is not counted" if cell.row.method == "combined" else ""
    return Estimate(cell, hours, cpu, stored, step, (loaded + memory.peak_bytes) / GIB, note)


def _now() -> Seconds:
    return np.array([time.perf_counter(), time.process_time()])


def _run_seconds(config: RunConfig, graph: Data) -> tuple[Seconds, float]:
    """Return the seconds of a whole run, and those of a step."""
    began = _now()
    trial = Trial(config, graph, message_graph(config, graph))
    train, method = config.train, trial.method
    early = _now() - began
    if not method.trains:
        began = _now()
        trial.measured(trial.asked)
        return early + _now() - began, 0.0
    trained = method.stages(trial.split.message, trial.generators)[-1].method
    stepper = Stepper(trained, train.learning_rate, train.weight_decay, train.clip)
    trained.train()
    step = _step_seconds(trained.losses(trial.split.message, trial.generators), stepper)
    check = validator(
        trial.asked, trial.split, train.monitor, config.evaluation.hits, config.evaluation.max_users
    )
    began = _now()
    if check is not None:
        check()
    validation = _now() - began
    epoch = steps_of(config, trial) * step + validation / train.eval_every
    share = trial.split.test.size(1) / (trial.split.val.size(1) or 1)
    return early + train.epochs * epoch + share * validation, float(step[0])


def _step_seconds(losses: Iterator[tuple[Tensor, str]], stepper: Stepper) -> Seconds:
    """Take two steps, or the only one; return the seconds of the last."""
    seconds = np.zeros(2)
    for _ in range(2):
        began = _now()
        following = next(losses, None)
        if following is None:
            break
        stepper.step(*following)
        seconds = _now() - began
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
    cpu = sum(one.cpu_hours or 0.0 for one in made)
    most = max((one.gib or 0.0 for one in made), default=0.0)
    lines = markdown_table(HEADS, [one.line for one in made])
    total = f"{hours:.1f} hours at most if one after the other, {cpu:.1f} of the processor"
    return f"{lines}\n\n{total}, {most:.1f} GiB at a time."
