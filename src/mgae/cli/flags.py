"""Declare the options that several commands share; those of a graph are in graphoptions.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from mgae.core.errors import ConfigError


def at_least_one(option: str) -> Callable[[str], int]:
    """Return a parser of counts; typer's own does not say what it got.

    >>> at_least_one("--runs")("2")
    2
    """

    def read(text: str) -> int:
        try:
            count = int(text)
        except ValueError:
            count = 0
        if count < 1:
            raise ConfigError(f"{option} must be an integer ≥ 1, got {text}")
        return count

    return read


Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress: only the result, and notes.")
]

# What to train, and how.
Task = Annotated[
    str | None, typer.Option(help="links or nodes: what to evaluate. \\[default: links]")
]
Runs = Annotated[int | None, typer.Option(help="Runs; run k has seed + k. \\[default: 1]")]
Seed = Annotated[int | None, typer.Option(help="Seed of the first run. \\[default: 0]")]
Protocol = Annotated[
    str | None, typer.Option(help="paper or strict. \\[default: paper for the paper's datasets]")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any setting, as train.epochs=50; repeat."),
]
Config = Annotated[Path | None, typer.Option(help="A TOML file with settings.")]
Jobs = Annotated[
    int,
    typer.Option(
        parser=at_least_one("--jobs"),
        metavar="N",
        help="Runs, methods, trials or cells that are computed at the same time.",
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What computes: auto, cpu, cuda, cuda:N or mps. \\[default: cuda if it is there]",
    ),
]
DeviceAgain = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="NAME",
        help="What computes: auto, cpu, cuda, cuda:N or mps. \\[default: as in training]",
    ),
]

# A finished run, and what it answers.
Run = Annotated[Path, typer.Argument(metavar="RUN", help="A finished run's directory.")]
RunOrGraph = Annotated[
    Path,
    typer.Argument(
        metavar="RUN|GRAPH",
        help="A finished run's directory; or a graph, answered at once and without training.",
    ),
]
RunNumber = Annotated[int, typer.Option("--run", help="Which of its runs; the first is 0.")]
Count = Annotated[int, typer.Option("-k", parser=at_least_one("-k"), metavar="N", help="How many.")]
RowsOut = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="A .parquet or .csv file; -: standard output, as CSV."),
]
SafeCsv = Annotated[
    bool,
    typer.Option(
        "--safe-csv", help="In a .csv file, put ' before texts that a spreadsheet would compute."
    ),
]
