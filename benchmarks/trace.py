"""Which of our files one training epoch passes through, and how often it goes from one to another.

The second epoch of MGAE on Cora, without validation: what a reader has to follow. A change is a
call of a function in another file than the call before it; returns do not count. Counted in the
same way, commit 0540264 passed through 24 files with 97 changes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from types import FrameType

import mgae
from mgae.core import (
    BCE,
    GCN,
    CrossCorrelation,
    MaskedGraphAutoencoder,
    MessageGraph,
    Undirected,
)
from mgae.core.seeding import Generators
from mgae.core.training.state import FitSettings, State, Stepper
from mgae.data import load_graph

SOURCE = Path(mgae.__file__).parent


def traced(call: Callable[[], object]) -> list[str]:
    """Return the files of the package in the order of the calls into them, without repeats."""
    files: list[str] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(SOURCE):
            files.append(path.relative_to(SOURCE).as_posix())

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [file for file, _ in groupby(files)]


def trace_epoch() -> list[str]:
    """Return the files of the second epoch; the first one fills what is computed once."""
    graph = MessageGraph.of(load_graph("cora"))
    model = MaskedGraphAutoencoder(
        mask=Undirected(0.7),
        encoder=GCN(graph.num_features, 128, num_layers=2),
        decoder=CrossCorrelation(128, in_layers=2),
        loss=BCE(),
    )
    state = State(
        Stepper(model, learning_rate=0.01), Generators(0), FitSettings(epochs=2, patience=2)
    )
    state.finish_epoch(state.run_epoch(graph), None)
    return traced(lambda: state.finish_epoch(state.run_epoch(graph), None))


def measure(files: list[str] | None = None) -> dict[str, int]:
    """Count the files, and the changes from one file to another."""
    files = trace_epoch() if files is None else files
    return {"files": len(set(files)), "changes": len(files) - 1}


def main() -> None:
    files = trace_epoch()
    print(" → ".join(files))
    for name, count in measure(files).items():
        print(f"{count} {name}")


if __name__ == "__main__":
    main()
