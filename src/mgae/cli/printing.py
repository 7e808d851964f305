"""Print the tables at the end of a command."""

from __future__ import annotations

from typing import Any, Literal

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from mgae.runs.comparison import Comparison
from mgae.runs.comparison.outputs import MEMORY_NOTE, about, heuristic_cells, ranked_cells, titles
from mgae.runs.presets import Published
from mgae.runs.results import RunResult, heading


def print_result(result: RunResult, paper: Published | None) -> None:
    """Print ours, the paper's below it, then the heuristics on the same split."""
    console, config = Console(markup=False), result.config
    about = f"{config.graph}, {config.task}, protocol {config.protocol}"
    console.print(f"{about}: test, {_counted(config.runs, 'run')}", highlight=False)
    if result.test:
        console.print(result_table(result, paper))
    else:
        console.print("no test edges, so no figures: split.test_ratio is 0", highlight=False)
    for line in _remarks(result, paper):
        console.print(line, highlight=False, soft_wrap=True)


def result_table(result: RunResult, paper: Published | None) -> Table:
    """Return one row for each of ours, the paper's and the heuristics; one column per metric."""
    columns = result.shown
    table = Table()
    table.add_column("method")
    for name in columns:
        table.add_column(heading(name), justify="right")
    table.add_row(result.name, *(str(result.test[name]) for name in columns), style="bold")
    if (other := result.other_split) is not None:
        split = "by time" if result.config.split.by == "random" else "random"
        table.add_row(f"{result.name}, {split} split", *(str(other[name]) for name in columns))
    if paper is not None:
        cells = (paper.text(name) for name in columns)
        table.add_row(f"paper ({paper.source})", *cells)
    table.add_section()
    for heuristic, figures in result.heuristics.items():
        table.add_row(heuristic, *(str(figures[name]) for name in columns), style="dim")
    return table


def print_comparison(comparison: Comparison) -> None:
    """Print the ranked methods, the heuristics below the line, and refusals."""
    console = Console(markup=False)
    console.print(about(comparison), highlight=False)
    console.print(comparison_table(comparison))
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
    for index, row in enumerate(ranked_cells(comparison, short=True)):
        table.add_row(*row, style="" if index else "bold")
    table.add_section()
    for row in heuristic_cells(comparison, short=True):
        table.add_row(*row, style="dim")
    return table


def print_rows(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    """Print a plain table, never wrapped or cut, so that it can be searched; numbers right."""
    cells = [
        [f"{row[c]:,}" if isinstance(row[c], int) else str(row[c]) for c in columns] for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    right = [isinstance(rows[0][column], int) for column in columns]
    for line in (columns, *cells):
        padded = (
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        )
        typer.echo("  ".join(padded).rstrip())


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _remarks(result: RunResult, paper: Published | None) -> list[str]:
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
    lines.append(f"{_counted(epochs, 'epoch')} in {seconds:.1f} s")
    if result.directory is not None:
        lines.append(f"run directory: {result.directory}")
        if (report := result.directory / "report.html").exists():
            lines.append(f"to look at: {report}")
    return lines
