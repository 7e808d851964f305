"""A table's JSON as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from mgae.paper.document import DONE, NO_DATA, NOT_YET, REFUSED, Record
from mgae.runs.markdown import markdown_table
from mgae.runs.presets import Published
from mgae.runs.results import Summary, heading

_NAMES = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}
_RANKED = ("baseline", "ours")


def display(dataset: str) -> str:
    """A graph as the paper calls it."""
    return _NAMES.get(dataset, dataset)


def sections(doc: Record) -> list[str]:
    """Caption, and a table for each graph."""
    changed = f" Changed by hand: `{doc['changed']}`." if doc["changed"] else ""
    tables = (f"**{display(name)}**\n\n{_section(doc, name)}" for name in doc["columns"])
    return [f"{doc['caption']}{changed}", *tables]


def cells_of(doc: Record) -> list[tuple[Record, str, Record]]:
    """Each cell with its row and its graph."""
    return [(row, dataset, cell) for row in doc["rows"] for dataset, cell in row["cells"].items()]


def summary_of(cell: Record, metric: str) -> Summary | None:
    """Our figures of a metric, where there are any."""
    found = cell["test"].get(metric) if cell["status"] == DONE else None
    return None if found is None else Summary(found["values"], found["mean"], found["std"])


def figure_text(cell: Record, metric: str) -> str:
    """Our figure, or what stands in its place."""
    found = summary_of(cell, metric)
    if found is None:
        return "–" if cell["status"] == DONE else str(cell["status"])
    return str(found)


def printed(cell: Record) -> Published:
    """The paper's figures of a cell; none where it did not run that."""
    return Published.from_json(cell["published"] or {})


def printed_mean(cell: Record, metric: str) -> float | None:
    """The paper's mean, where it has one."""
    return printed(cell).figures.get(metric, (None, None))[0]


def rows_on(doc: Record, dataset: str, *groups: str) -> list[Record]:
    """The rows of these groups that have a cell on a graph."""
    return [row for row in doc["rows"] if dataset in row["cells"] and row["group"] in groups]


def _section(doc: Record, dataset: str) -> str:
    if doc["kind"] == "curve":
        return _curve(doc, dataset)
    heads = ["method"]
    for metric in doc["columns"][dataset]:
        beside = ["paper", "Δ"] if _has_published(doc, dataset, metric) else []
        heads += [heading(metric), *beside]
    lines = [_line(doc, row, dataset) for row in rows_on(doc, dataset, *_RANKED, "extra")]
    floors = [
        [f"*{text}*" if text else "" for text in _line(doc, row, dataset)]
        for row in rows_on(doc, dataset, "floor")
        # What is refused needs what the graph has not.
        if row["cells"][dataset]["status"] not in (REFUSED, NO_DATA)
    ]
    if floors:
        lines.append(["*floors: nothing is learned*", *[""] * len(heads)])
    return markdown_table([*heads, "runs"], [*lines, *floors])


def _line(doc: Record, row: Record, dataset: str) -> list[str]:
    cell, texts = row["cells"][dataset], [row["name"]]
    for metric in doc["columns"][dataset]:
        ours, paper = summary_of(cell, metric), printed_mean(cell, metric)
        ranked = row["group"] in _RANKED
        mean = None if ours is None else ours.mean
        best = ranked and mean == _best(doc, dataset, metric, ours=True)
        texts.append(_bold(figure_text(cell, metric), best and mean is not None))
        if _has_published(doc, dataset, metric):
            best = paper is not None and paper == _best(doc, dataset, metric, ours=False)
            known = None not in (mean, paper)
            texts += [_bold(printed(cell).text(metric), best)]
            texts += [f"{(mean or 0) - (paper or 0):+.2f}" if known else ""]
    return [*texts, str(len(cell.get("seeds", []))) if cell["status"] == DONE else ""]


def _best(doc: Record, dataset: str, metric: str, ours: bool) -> float | None:
    cells = [row["cells"][dataset] for row in rows_on(doc, dataset, *_RANKED)]
    if not ours:
        return max((m for m in (printed_mean(cell, metric) for cell in cells) if m), default=None)
    found = (summary_of(cell, metric) for cell in cells)
    return max((summary.mean for summary in found if summary), default=None)


def _has_published(doc: Record, dataset: str, metric: str) -> bool:
    rows = rows_on(doc, dataset, *_RANKED)
    return any(printed_mean(row["cells"][dataset], metric) is not None for row in rows)


def _bold(text: str, strong: bool) -> str:
    return f"**{text}**" if strong else text


def _curve(doc: Record, dataset: str) -> str:
    """A line for each ratio, a column for each curve, the best ratio of each marked."""
    (metric,) = doc["columns"][dataset]
    rows = rows_on(doc, dataset, *_RANKED)
    series = list(dict.fromkeys(row["series"] for row in rows))
    ratios = sorted({row["ratio"] for row in rows})
    empty = {key: {"status": NOT_YET} for key in product(series, ratios)}
    cells = empty | {(row["series"], row["ratio"]): row["cells"][dataset] for row in rows}
    found = {key: summary_of(cell, metric) for key, cell in cells.items()}
    best = {
        name: max((s.mean for (of, _), s in found.items() if of == name and s), default=None)
        for name in series
    }

    def text(key: tuple[str, float]) -> str:
        summary = found[key]
        strong = summary is not None and summary.mean == best[key[0]]
        return _bold(figure_text(cells[key], metric), strong)

    lines = [
        [
            str(ratio),
            *(text((name, ratio)) for name in series),
            _runs(cells[name, ratio] for name in series),
        ]
        for ratio in ratios
    ]
    return markdown_table(["ω", *(f"{name}, {heading(metric)}" for name in series), "runs"], lines)


def _runs(cells: Iterable[Record]) -> str:
    """How many there are; of curves that differ in that, for each."""
    counts = [len(cell.get("seeds", [])) for cell in cells]
    return ", ".join(map(str, dict.fromkeys(counts) if len(set(counts)) == 1 else counts))
