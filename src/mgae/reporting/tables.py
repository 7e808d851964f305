"""The tables of a run's page."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import Any

from mgae.registry import PARTS
from mgae.reporting.evidence import Evidence
from mgae.reporting.links import StrongLink
from mgae.runs.config import RunConfig
from mgae.runs.results import Summary, heading

_TILES = 3


def tiles(evidence: Evidence) -> list[str]:
    """The first figures, large, each with what it is to be held against."""
    result = evidence.result
    return [
        _tile(heading(name), result.test[name], _beside(evidence, name))
        for name in result.shown[:_TILES]
    ]


def _tile(name: str, summary: Summary, beside: list[str]) -> str:
    spread = f" <small>± {summary.std:.2f}</small>" if len(summary.values) > 1 else ""
    items = "".join(f"<li>{escape(text)}</li>" for text in beside)
    return (
        f'<div class="card tile"><div class="name">{escape(name)}</div>'
        f'<div class="value">{summary.mean:.2f}{spread}</div><ul>{items}</ul></div>'
    )


def _beside(evidence: Evidence, metric: str) -> list[str]:
    lines = []
    if evidence.paper is not None and metric in evidence.paper.figures:
        lines.append(f"paper: {evidence.paper.text(metric)} ({evidence.paper.source})")
    if heuristics := evidence.result.heuristics:
        best = max(heuristics, key=lambda name: heuristics[name][metric].mean)
        lines.append(f"best heuristic: {heuristics[best][metric].mean:.2f} ({best})")
    return lines


def figures(evidence: Evidence) -> str:
    """Ours, the paper's and the heuristics', a column per metric."""
    result, paper = evidence.result, evidence.paper
    columns = list(result.test)
    head = _row(["method", *map(heading, columns)], "th")
    rows = [_row([result.name, *(str(result.test[name]) for name in columns)], "td", "ours")]
    if paper is not None:
        rows.append(_row([f"paper, {paper.source}", *map(paper.text, columns)]))
    for number, (heuristic, summaries) in enumerate(result.heuristics.items()):
        style = "heuristic first-heuristic" if number == 0 else "heuristic"
        rows.append(_row([heuristic, *(str(summaries[name]) for name in columns)], "td", style))
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def _row(cells: Iterable[str], tag: str = "td", style: str = "") -> str:
    first, *numbers = (escape(cell) for cell in cells)
    inside = f"<{tag}>{first}</{tag}>" + "".join(
        f'<{tag} class="number">{number}</{tag}>' for number in numbers
    )
    return f'<tr class="{style}">{inside}</tr>' if style else f"<tr>{inside}</tr>"


def links(strong: list[StrongLink], undirected: bool) -> str:
    """A row per link with its common neighbors."""
    known = not math.isnan(strong[0].probability)
    arrow = "–" if undirected else "→"
    names = ["score", *(["probability"] if known else [])]
    numbers = "".join(f'<th class="number">{name}</th>' for name in names)
    head = f"<th>link</th>{numbers}<th>common neighbors</th>"
    rows = "".join(f"<tr>{_link(link, arrow, known)}</tr>" for link in strong)
    return f'<table class="stack"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _link(link: StrongLink, arrow: str, known: bool) -> str:
    ends = f"<b>{_text(link.source)}</b> {arrow} <b>{_text(link.target)}</b>"
    chips = "".join(f'<span class="chip">{_text(node)}</span>' for node in link.shared)
    more = link.num_shared - len(link.shared)
    rest = f' <span class="soft">and {more:,} more</span>' if more else ""
    return (
        f'<td class="id">{ends}</td>'
        f'<td class="number" data-name="score">{link.score:.2f}</td>'
        f"{_probability(link.probability) if known else ''}<td>{chips}{rest}</td>"
    )


def _probability(value: float) -> str:
    return f'<td class="number" data-name="probability">{percent(value)}</td>'


def percent(share: float) -> str:
    """Never rounded up to certainty.

    >>> percent(0.874), percent(0.99971)
    ('87.4%', '> 99.9%')
    """
    return "> 99.9%" if share > 0.999 else f"{100 * share:.1f}%"


def parts(config: RunConfig) -> str:
    """The method and the kind of each of its parts."""
    chosen = {name: getattr(config, name) for name in PARTS}
    kinds = (f"{name} {part.kind}" for name, part in chosen.items() if part is not None)
    return ", ".join([config.method.kind, *kinds])


def _text(node: Any) -> str:
    return escape(str(node))
