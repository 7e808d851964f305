"""What is to be said below a table: who misses the paper, who refused, and how it was measured."""

from __future__ import annotations

from collections.abc import Iterable

from mgae.core.training.loop import FIRST_EPOCHS
from mgae.paper.document import DONE, NO_DATA, REFUSED, Record
from mgae.paper.rendering import cells_of, display, printed, summary_of
from mgae.runs.results import heading

# A mean this far below the paper's misses it, or as far as the paper's own spread.
_MARGIN = 0.3


def notes(doc: Record) -> list[str]:
    """Who misses the paper, who refused, and with what it was measured."""
    cells = cells_of(doc)
    # With settings changed by hand it is not the paper's experiment.
    held = [] if doc["changed"] else cells
    lines = [text for row, dataset, cell in held for text in _misses(row, dataset, cell)]
    lines += [text for row, dataset, cell in held for text in _untrained(row, dataset, cell)]
    lines += [
        refused_note(f"{row['name']} on {display(dataset)}", cell["reason"])
        for row, dataset, cell in cells
        if cell["status"] == REFUSED
    ]
    lines += lacking_note(dataset for _, dataset, cell in cells if cell["status"] == NO_DATA)
    # A model that is measured in two ways was trained once.
    measured = _measured(cell for row, _, cell in cells if row.get("trained_as") is None)
    return ["\n".join(lines)] * bool(lines) + measured


def refused_note(name: str, reason: str) -> str:
    """A line on what could not be used, and why."""
    return f"- {name} refused: {' '.join(reason.split())}"


def lacking_note(datasets: Iterable[str]) -> list[str]:
    """A line on the graphs that could not be had."""
    names = ", ".join(dict.fromkeys(map(display, datasets)))
    where = "`mgae inspect NAME` says which files go where"
    return [f"- Data not available where this was run: {names} ({where})."] if names else []


def _misses(row: Record, dataset: str, cell: Record) -> list[str]:
    """A line on the figures that are below the paper's by more than its spread."""
    missed = [
        f"{heading(metric)} by {mean - ours.mean:.2f}"
        for metric, (mean, std) in printed(cell).figures.items()
        if (ours := summary_of(cell, metric)) and ours.mean < mean - max(std, _MARGIN)
    ]
    told = f": {cell['remark']}" if cell["remark"] else "."
    name = f"{row['name']} on {display(dataset)}"
    return [f"- {name} misses the paper's {' and '.join(missed)}{told}"] if missed else []


def _untrained(row: Record, dataset: str, cell: Record) -> list[str]:
    """A line where validation prefers a model that has hardly been trained."""
    latest = max(cell.get("best_epochs") or [0])
    if not 0 < latest <= FIRST_EPOCHS:
        return []
    name = f"{row['name']} on {display(dataset)}"
    return [
        f"- {name}: validation picks epoch {latest} at the latest, in every run; what is "
        "measured is close to its encoder as it starts."
    ]


def _measured(cells: Iterable[Record]) -> list[str]:
    done = [cell for cell in cells if cell["status"] == DONE]
    if not done:
        return []
    hours = sum(sum(cell["seconds"]) for cell in done) / 3600
    places = dict.fromkeys(
        f"torch {about['versions']['torch']} on {about['cores']} cores"
        for cell in done
        for about in (cell["environment"], *cell.get("other_environments", []))
    )
    return [
        "Mean ± standard deviation over the runs, in percent; the best in bold. Measured with "
        f"{' and '.join(places)}, {hours:.1f} hours of runs in all."
    ]
