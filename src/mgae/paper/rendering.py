"""A table's JSON as Markdown, with the notes below it, and as CSV."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mgae.core.training.loop import FIRST_EPOCHS
from mgae.paper.document import (
    NO_DATA,
    NOT_YET,
    REFUSED,
    DocumentRow,
    Measured,
    Outcome,
    Refused,
    TableDocument,
    Unmeasured,
    display,
)
from mgae.runs.presets import note
from mgae.runs.results import heading
from mgae.runs.texttables import csv_text, markdown_table

RANKED = ("baseline", "ours")
PLUS = "plus"  # ours, and none of the paper's rows
# A mean misses the paper's if it is below by more than this and by more than the paper's spread.
_MARGIN = 0.3


def table_body(doc: TableDocument) -> str:
    """Return the caption, a table for each graph, and the notes."""
    changed = f" Changed by hand: `{doc.changed}`." if doc.changed else ""
    section = _curve if doc.kind == "curve" else _section
    tables = (f"**{display(name)}**\n\n{section(doc, name)}" for name in doc.columns)
    return "\n\n".join([f"{doc.caption}{changed}", *tables, *_notes(doc)])


def _section(doc: TableDocument, dataset: str) -> str:
    heads = ["method"]
    for metric in doc.columns[dataset]:
        heads += [heading(metric), *(["paper", "Δ"] * _has_published(doc, dataset, metric))]
    lines = [_line(doc, row, dataset) for row in doc.rows_on(dataset, *RANKED, PLUS, "extra")]
    heuristics = [
        [f"*{text}*" if text else "" for text in _line(doc, row, dataset)]
        for row in doc.rows_on(dataset, "heuristic")
        # A refused one needs something that the graph does not have.
        if row.cells[dataset].status not in (REFUSED, NO_DATA)
    ]
    if heuristics:
        lines.append(["*heuristics: nothing is learned*", *[""] * len(heads)])
    return markdown_table([*heads, "runs"], [*lines, *heuristics])


def _line(doc: TableDocument, row: DocumentRow, dataset: str) -> list[str]:
    cell, texts = row.cells[dataset], [row.name]
    # The best of the paper's rows stays in bold beside one of ours that is better.
    rivals = (*RANKED, PLUS) if row.group == PLUS else RANKED
    others = [other.cells[dataset] for other in doc.rows_on(dataset, *rivals)]
    for metric in doc.columns[dataset]:
        mean, paper = cell.mean(metric), cell.paper_mean(metric)
        best = _best(other.mean(metric) for other in others)
        texts.append(_bold(cell.text(metric), mean if row.group in rivals else None, best))
        if _has_published(doc, dataset, metric):
            best = _best(other.paper_mean(metric) for other in others)
            text = cell.published.text(metric) if cell.published else "–"
            texts.append(_bold(text, paper, best))
            texts.append("" if mean is None or paper is None else f"{mean - paper:+.2f}")
    return [*texts, str(cell.runs or "")]


def _best(means: Iterable[float | None]) -> float | None:
    return max((mean for mean in means if mean is not None), default=None)


def _has_published(doc: TableDocument, dataset: str, metric: str) -> bool:
    cells = (row.cells[dataset] for row in doc.rows_on(dataset, *RANKED))
    return any(cell.paper_mean(metric) is not None for cell in cells)


def _bold(text: str, mean: float | None, best: float | None) -> str:
    return f"**{text}**" if mean is not None and mean == best else text


def _curve(doc: TableDocument, dataset: str) -> str:
    """Return a line for each ratio, a column for each curve, with the best of each in bold."""
    (metric,) = doc.columns[dataset]
    rows = doc.rows_on(dataset, *RANKED)
    series = list(dict.fromkeys(row.series for row in rows))
    cells: dict[tuple[Any, Any], Outcome] = {
        (row.series, row.ratio): row.cells[dataset] for row in rows
    }
    best = {
        name: _best(cell.mean(metric) for (of, _), cell in cells.items() if of == name)
        for name in series
    }
    lines = []
    for ratio in sorted({row.ratio for row in rows if row.ratio is not None}):
        here = {name: cells.get((name, ratio), Unmeasured(status=NOT_YET)) for name in series}
        texts = [
            _bold(cell.text(metric), cell.mean(metric), best[name]) for name, cell in here.items()
        ]
        lines.append([str(ratio), *texts, _run_counts(here.values())])
    return markdown_table(["ω", *(f"{name}, {heading(metric)}" for name in series), "runs"], lines)


def _run_counts(cells: Iterable[Outcome]) -> str:
    """Return how many runs there are; if the curves differ in that, for each."""
    counts = [cell.runs for cell in cells]
    return ", ".join(map(str, dict.fromkeys(counts) if len(set(counts)) == 1 else counts))


def _notes(doc: TableDocument) -> list[str]:
    """Return who misses the paper, who refused, what to know of settings, and what it ran on."""
    lines = []
    if not doc.changed:  # with settings changed by hand it is not the paper's experiment
        for describe in (_missed, _untrained):
            lines += [line for cell in doc.cells() for line in describe(*cell)]
        lines += _settings_notes(doc)
    lines += [
        refused_note(f"{row.name} on {display(dataset)}", cell.reason)
        for row, dataset, cell in doc.cells()
        if isinstance(cell, Refused)
    ]
    lines += no_data_note(name for _, name, cell in doc.cells() if cell.status == NO_DATA)
    # A model that is measured in two ways was trained once.
    trained = (cell for row, _, cell in doc.cells() if row.trained_as is None)
    measured = [cell for cell in trained if isinstance(cell, Measured)]
    plus = any(row.group == PLUS for row in doc.rows)
    beside = " among the paper's rows, and what of ours is above it" if plus else ""
    paragraphs = ["\n".join(lines)] if lines else []
    return paragraphs + _environment_note(measured, beside)


def refused_note(name: str, reason: str) -> str:
    """Return a line on what could not be used, and why."""
    return f"- {name} refused: {' '.join(reason.split())}"


def no_data_note(datasets: Iterable[str]) -> list[str]:
    """Return a line on the graphs whose data is missing, if there are any."""
    names = ", ".join(dict.fromkeys(map(display, datasets)))
    where = "`mgae inspect NAME` says which files go where"
    return [f"- Data not available where this was run: {names} ({where})."] if names else []


def _missed(row: DocumentRow, dataset: str, cell: Outcome) -> list[str]:
    """Return a line on the figures that are below the paper's by more than its spread."""
    missed = [
        f"{heading(metric)} by {mean - ours:.2f}"
        for metric, (mean, std) in (cell.published.figures.items() if cell.published else ())
        if (ours := cell.mean(metric)) is not None and ours < mean - max(std, _MARGIN)
    ]
    why = f": {cell.remark}" if cell.remark else "."
    name = f"{row.name} on {display(dataset)}"
    return [f"- {name} misses the paper's {' and '.join(missed)}{why}"] if missed else []


def _untrained(row: DocumentRow, dataset: str, cell: Outcome) -> list[str]:
    """Return a line if validation prefers a model that has hardly been trained."""
    latest = max(cell.best_epochs, default=0) if isinstance(cell, Measured) else 0
    if not 0 < latest <= FIRST_EPOCHS:
        return []
    name = f"{row.name} on {display(dataset)}"
    return [
        f"- {name}: validation picks epoch {latest} at the latest, in every run; what is "
        "measured is close to its encoder as it starts."
    ]


def _settings_notes(doc: TableDocument) -> list[str]:
    """Return what the experiment files say of settings, if methods are compared here."""
    if doc.kind != "table" or all(row.group != "baseline" for row in doc.rows):
        return []
    about: dict[str, list[tuple[str, str]]] = {}
    for row, dataset, cell in doc.cells():
        shown = row.group == PLUS or (row.group in RANKED and doc.protocol == "paper")
        if shown and isinstance(cell, Measured):
            method = (cell.settings or {}).get("method", {}).get("kind", "")
            if text := note(row.recipe or method, doc.task or "", dataset):
                about.setdefault(text, []).append((row.name, display(dataset)))
    return [
        f"- {_listed(row for row, _ in cells)} on {_listed(name for _, name in cells)}: {text}"
        for text, cells in about.items()
    ]


def _listed(names: Iterable[str]) -> str:
    *others, last = dict.fromkeys(names)
    return f"{', '.join(others)} and {last}" if others else last


def _environment_note(cells: list[Measured], beside: str = "") -> list[str]:
    if not cells:
        return []
    minutes = sum(sum(cell.seconds) for cell in cells) / 60
    time = f"{minutes / 60:.1f} hours" if minutes >= 6 else f"{minutes:.1f} minutes"
    machines = dict.fromkeys(
        about.text for cell in cells for about in (cell.environment, *cell.other_environments)
    )
    return [
        f"Mean ± standard deviation over the runs, in percent; the best in bold{beside}. Measured "
        f"with {' and '.join(machines)}, {time} of runs in all."
    ]


def table_csv(doc: TableDocument) -> str:
    """Return a line for each row, graph and metric."""
    columns = ["method", "group", "ratio", "dataset", "metric", "mean", "std", "runs"]
    columns += ["paper_mean", "paper_std", "difference", "status", "config_hash"]
    lines = (
        {"dataset": dataset, "metric": metric, **_csv_line(row, cell, metric)}
        for row, dataset, cell in doc.cells()
        for metric in doc.columns[dataset]
    )
    return csv_text(columns, lines)


def _csv_line(row: DocumentRow, cell: Outcome, metric: str) -> dict[str, Any]:
    ours, paper = cell.summary(metric), cell.published
    mean, std = paper.figures.get(metric, (None, None)) if paper else (None, None)
    return {
        "method": row.series or row.name,
        "group": row.group,
        "ratio": row.ratio,
        "mean": ours.mean if ours else None,
        "std": ours.std if ours else None,
        "runs": len(ours.values) if ours else 0,
        "paper_mean": paper.instead if paper and mean is None else mean,
        "paper_std": std,
        "difference": ours.mean - mean if ours and mean is not None else None,
        "status": cell.status,
        "config_hash": cell.config_hash if isinstance(cell, Measured) else None,
    }
