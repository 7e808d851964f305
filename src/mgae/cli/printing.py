"""Print the tables at the end of a command."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from mgae.runs.comparison import Comparison
from mgae.runs.comparison.outputs import (
    MEMORY_NOTE,
    about,
    best_rows,
    heuristic_cells,
    ranked_cells,
    titles,
)
from mgae.runs.presets import Published
from mgae.runs.results import RunResult, Summary, best_cells, heading

_SHORTEST_NAME = 20  # to which a method's name may be cut
_ENDLESS = 10_000


def print_result(result: RunResult, paper: Published | None, seconds: float | None = None) -> None:
    """Print ours, the paper's below it, then the heuristics on the same split.

    ``seconds`` is what the command took, the training and all else.
    """
    console, config = Console(markup=False), result.config
    about = f"{config.graph}, {config.task}, protocol {config.protocol}"
    console.print(f"{about}: test, {_counted(config.runs, 'run')}", highlight=False)
    if result.test:
        print_table(console, result_table(result, paper))
    else:
        console.print("no test edges, so no figures: split.test_ratio is 0", highlight=False)
    for line in _remarks(result, paper, seconds):
        console.print(line, highlight=False, soft_wrap=True)
    _print_verdict(console, result)


def _print_verdict(console: Console, result: RunResult) -> None:
    """Print the verdict last, where one looks, and what to try next."""
    if (verdict := result.verdict) is None:
        return
    style = "bold red" if verdict.is_bad else "bold"
    line = Text.assemble(("verdict: ", style), (verdict.text, style))
    console.print(line, highlight=False, soft_wrap=True)
    for advice in result.advice:
        console.print(f"  try: {advice}", highlight=False, soft_wrap=True)


def print_table(console: Console, table: Table) -> None:
    """Print a table; where figures would be cut, closer, or some columns below the others."""
    if _missing(console, table) > 0:
        table = _compact(table)
    first, *others = table.columns
    while others:
        count = len(others)
        while count > 1 and _missing(console, _part(table, first, others[:count])) > 0:
            count -= 1
        console.print(_part(table, first, others[:count]))
        others = others[count:]


def _compact(table: Table) -> Table:
    """Return the same with a blank between columns, and no lines."""
    compact = copy(table)
    compact.box, compact.padding, compact.pad_edge = box.HORIZONTALS, (0, 0, 0, 0), False
    return compact


def _part(table: Table, first: Column, others: list[Column]) -> Table:
    """Return a table of some of the columns."""
    part = copy(table)
    part.columns = [replace(column, _index=n) for n, column in enumerate((first, *others))]
    for column, whole in zip(part.columns, (first, *others), strict=True):
        column._cells = whole._cells
    return part


def _missing(console: Console, table: Table) -> int:
    """Return by how many characters the terminal is too narrow; a name may be cut to some."""
    wide = console.options.update(width=_ENDLESS)
    names = max(console.measure(cell, options=wide).maximum for cell in table.columns[0].cells)
    whole = console.measure(table, options=wide).maximum
    return whole - max(0, names - _SHORTEST_NAME) - console.width


def result_table(result: RunResult, paper: Published | None) -> Table:
    """Return one row for each of ours, the paper's and the heuristics; one column per metric.

    The best figure that was measured on the split is bold in each column, whoever has it.
    """
    columns = result.shown
    rows = {result.name: (result.test, ""), **{n: (f, "") for n, f in result.beside.items()}}
    heuristics = {name: (figures, "dim") for name, figures in result.heuristics.items()}
    best = best_cells([figures for figures, _ in (*rows.values(), *heuristics.values())], columns)
    table = Table()
    table.add_column("method")
    for name in columns:
        table.add_column(heading(name), justify="right", no_wrap=True)

    def add(title: str, figures: Mapping[str, Summary], number: int, style: str = "") -> None:
        cells = [str(figures[name]) if name in figures else "–" for name in columns]
        marked = [
            _bold(cell, number == best.get(name)) for name, cell in zip(columns, cells, strict=True)
        ]
        table.add_row(title, *marked, style=style)

    add(result.name, result.test, 0)
    if (intervals := _interval_row(result, columns)) is not None:
        table.add_row("  95%", *intervals, style="dim")
    if (other := result.other_split) is not None:
        split = "by time" if result.config.split.by == "random" else "random"
        table.add_row(f"{result.name}, {split} split", *(str(other[name]) for name in columns))
    if paper is not None:
        cells = (paper.text(name) for name in columns)
        table.add_row(f"paper ({paper.source})", *cells)
    for number, (name, figures) in enumerate(result.beside.items(), start=1):
        add(f"{name} (default recipe)", figures, number)
    table.add_section()
    for number, (name, figures) in enumerate(
        result.heuristics.items(), start=1 + len(result.beside)
    ):
        add(name, figures, number, "dim")
    return table


def _interval_row(result: RunResult, columns: list[str]) -> list[str] | None:
    """Return the compact intervals of a single run; several runs have their spread."""
    if result.certainty is None or len(result.seeds) > 1 or not result.certainty.intervals:
        return None
    ends = (result.certainty.intervals.get(name) for name in columns)
    return ["" if one is None else f"{one[0]:.1f}–{one[1]:.1f}" for one in ends]


def _bold(text: str, wanted: bool) -> Text:
    # "not dim" as well: the row's own style would mute it.
    return Text(text, style="bold not dim" if wanted else "", justify="right")


def print_comparison(comparison: Comparison) -> None:
    """Print the ranked methods, the heuristics below the line, and refusals."""
    console = Console(markup=False)
    console.print(about(comparison), highlight=False)
    print_table(console, comparison_table(comparison))
    for row in comparison.refusals:
        console.print(f"{row.name} refused: {row.refused}", highlight=False, soft_wrap=True)
    console.print(MEMORY_NOTE, highlight=False, soft_wrap=True)
    console.print(f"tables and picture: {comparison.directory}", highlight=False, soft_wrap=True)


def comparison_table(comparison: Comparison) -> Table:
    """Return one row for each method, the best first."""
    table = Table(box=box.HORIZONTALS, pad_edge=False)
    for title in titles(comparison):
        justify: Literal["left", "right"] = "left" if title == "method" else "right"
        # If the terminal is narrow a name is cut: a number that is would be another one.
        table.add_column(title, justify=justify, no_wrap=title != "method")
    best = best_rows(comparison)

    def add(row: list[str], number: int, style: str = "") -> None:
        marked = (_bold(text, best.get(column) == number) for column, text in enumerate(row[1:], 1))
        table.add_row(row[0], *marked, style=style)

    ranked = ranked_cells(comparison, short=True)
    for number, row in enumerate(ranked):
        add(row, number)
    table.add_section()
    for number, row in enumerate(heuristic_cells(comparison, short=True), start=len(ranked)):
        add(row, number, "dim")
    return table


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _remarks(result: RunResult, paper: Published | None, whole: float | None) -> list[str]:
    lines = []
    if paper is not None:
        if missed := [
            f"{heading(name)} by {mean - result.test[name].mean:.2f}"
            for name, (mean, _) in paper.figures.items()
            if name in result.test and result.test[name].mean < mean
        ]:
            lines.append(f"below the paper's: {', '.join(missed)}")
        if result.config.runs < 10:
            lines.append("the paper averages 10 runs (--runs 10); a single split is off by about 1")
    seconds = sum(seed.seconds for seed in result.seeds)
    epochs = sum(seed.epochs for seed in result.seeds)
    rest = "" if whole is None else f"; the whole run took {whole:.1f} s"
    lines.append(f"{_counted(epochs, 'epoch')} in {seconds:.1f} s{rest}")
    if result.directory is not None:
        lines.append(f"run directory: {result.directory}")
        if (report := result.directory / "report.html").exists():
            lines.append(f"report: {report}")
    return lines
