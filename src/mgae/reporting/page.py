"""The page of a run: one file that needs nothing else."""

from __future__ import annotations

import shlex
from html import escape
from importlib import resources
from typing import Any

from mgae.data.datasets.catalogue import statistics
from mgae.data.ids import counted
from mgae.evaluation import metrics
from mgae.evaluation.monitors import LOSS
from mgae.reporting import charts, tables
from mgae.reporting.evidence import Evidence
from mgae.serving.maps import palette
from mgae.version import __version__

_TASKS = {"links": "link prediction", "nodes": "node classification"}
_COLORS = {"community": "the Louvain community", "cluster": "the k-means cluster"}


def page(evidence: Evidence) -> str:
    """The whole HTML text; everything of the user's is escaped."""
    config = evidence.result.config
    css = palette() + (resources.files("mgae.reporting") / "report.css").read_text(encoding="utf-8")
    sections = (_header, _figures, _trained, _training, _held_out, _map, _links, _footer)
    body = "\n".join(part for part in (section(evidence) for section in sections) if part)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escape(config.graph)} · mgae</title>\n<style>\n{css}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _header(evidence: Evidence) -> str:
    result = evidence.result
    config = result.config
    facts = (_TASKS[config.task], result.name, f"protocol {config.protocol}")
    lead = " · ".join([*facts, counted(config.runs, "run")])
    return (
        f'<header>\n<p class="eyebrow">mgae report</p>\n<h1>{escape(config.graph)}</h1>\n'
        f'<p class="lead">{escape(lead)}</p>\n</header>\n'
        f'<div class="tiles">{"".join(tables.tiles(evidence))}</div>'
    )


def _figures(evidence: Evidence) -> str:
    about = (
        "Test figures in percent. The heuristics learn nothing and are measured on the same split: "
        "a result is worth what it stands above them."
    )
    return _section("Figures", about, f'<div class="card scroll">{tables.figures(evidence)}</div>')


def _trained(evidence: Evidence) -> str:
    result, environment = evidence.result, evidence.environment
    config, versions = result.config, evidence.environment["versions"]
    spent = f"{sum(seed.seconds for seed in result.seeds):.1f} s on {environment['processor']}"
    facts = {
        "graph": ", ".join(f"{n:,} {what}" for what, n in statistics(evidence.graph).items() if n),
        "method": tables.parts(config),
        "seeds": ", ".join(str(seed.seed) for seed in result.seeds),
        "epochs": ", ".join(f"{s.epochs} (best: {s.best_epoch})" for s in result.seeds if s.epochs),
        "time": ", ".join([spent, *(counted(environment[f"{w}s"], w) for w in ("core", "thread"))]),
        "versions": ", ".join(f"{name} {number}" for name, number in versions.items() if number),
        "commit": environment.get("commit"),
    }
    rows = (f"<dt>{k}</dt><dd>{escape(str(v))}</dd>" for k, v in facts.items() if v)
    # By the path as it was given: the graph's file may stand beside it.
    repeat = f"mgae train --config {shlex.quote(f'{result.directory}/config.toml')} --out again"
    return _section(
        "What was trained",
        "",
        f'<div class="card"><dl>{"".join(rows)}</dl>'
        f"<h3>The same again, to the same figures</h3><pre>{escape(repeat)}</pre>"
        f"<details><summary>config.toml</summary><pre>{escape(config.to_toml())}</pre></details>"
        "</div>",
    )


def _training(evidence: Evidence) -> str:
    result, histories = evidence.result, evidence.histories
    if not all(histories):
        return ""
    best = [seed.best_epoch for seed in result.seeds]
    monitor = result.config.train.monitor
    faint = " The other seeds are drawn faint." if len(histories) > 1 else ""
    figures, judge = [_figure("Loss", charts.loss_chart(histories, best))], "by its loss"
    if monitor != LOSS:
        judge = "on validation edges"
        chart = charts.validation_chart(histories, best, monitor)
        figures.append(_figure("Validation", chart))
    return _section(
        "Training",
        f"The mark is the epoch that was best {judge}; its weights are kept.{faint}",
        _grid(*figures),
    )


def _held_out(evidence: Evidence) -> str:
    scored = evidence.scored
    if scored is None:
        return ""
    name = {"test": "test", "val": "validation"}[evidence.part]
    edges, others = (
        f"{scored.positive.size:,} {name} edges",
        f"{scored.negative.size:,} other pairs",
    )
    first = " Drawn for the first seed." if len(evidence.result.seeds) > 1 else ""
    auc, ap = (
        100 * metric(scored.positive, scored.negative)
        for metric in (metrics.auc, metrics.average_precision)
    )
    figures = [
        _figure("ROC", charts.roc_chart(scored, auc), "Dashed: guessing."),
        _figure(
            "Precision and recall",
            charts.precision_recall_chart(scored, ap),
            "Dashed: guessing.",
        ),
        *_calibrated(evidence),
        _figure(
            "Scores",
            charts.histogram_chart(scored),
            "",
            _key([("edge", f"{name} edges"), ("other", "pairs that are no edge")]),
        ),
    ]
    return _section(
        "Held-out edges", f"{edges} and {others}, unseen in training.{first}", _grid(*figures)
    )


def _calibrated(evidence: Evidence) -> list[str]:
    if evidence.calibration is None or evidence.scored is None:
        return []
    chart = charts.calibration_chart(evidence.scored, evidence.calibration)
    text = (
        "Probabilities fitted on the validation pairs; a mark is about a tenth of the pairs. "
        "They hold where edges and other pairs are equally many."
    )
    return [_figure("Calibration", chart, text)]


def _map(evidence: Evidence) -> str:
    found, graph = evidence.node_map, evidence.graph
    if found is None:
        return ""
    total = int(graph.num_nodes or 0)
    sampled = "" if len(found.nodes) == total else f", evenly taken from {total:,}"
    colored = _COLORS.get(found.grouping, "the class")
    about = (
        f"{len(found.nodes):,} nodes{sampled}, placed by {found.projection.upper()} of their "
        f"embeddings; the color is {colored}. At most {charts.MOST_EDGES:,} edges are drawn."
    )
    keys = [(f"g{n}", name) for n, name in enumerate(found.names)]
    if (found.groups < 0).any():
        keys.append(("g9", "other"))
    picture = charts.map_chart(found, evidence)
    return _section(
        "Map", "", f'<figure class="card">{picture}{_key(keys)}{_caption(about)}</figure>'
    )


def _links(evidence: Evidence) -> str:
    strong = evidence.links
    if not strong.links:
        return ""
    scored = (
        f"All {strong.num_scored:,} such pairs were scored"
        if strong.num_scored == strong.num_candidates
        else f"The {strong.num_scored:,} pairs with the rarest common neighbors were scored"
    )
    total = int(evidence.graph.num_nodes or 0)
    sample = f" from {strong.num_heads:,} of the nodes" if strong.num_heads < total else ""
    about = (
        "Pairs that are no edge of the graph and have a neighbor in common, by the model's score. "
        f"{scored}{sample}; a node stands in at most two of these links."
    )
    table = tables.links(strong.links, bool(evidence.graph.undirected))
    return _section("Strongest recommended links", about, f'<div class="card scroll">{table}</div>')


def _footer(evidence: Evidence) -> str:
    return (
        "<footer>Look around in it with <code>mgae serve</code>, take links from it with "
        f"<code>mgae recommend</code>. Written by mgae {escape(__version__)}.</footer>"
    )


def _section(title: str, about: str, content: str) -> str:
    lead = f'<p class="soft">{escape(about)}</p>' if about else "<p></p>"
    return f"<section>\n<h2>{escape(title)}</h2>\n{lead}\n{content}\n</section>"


def _grid(*cards: str) -> str:
    return f'<div class="grid">{"".join(cards)}</div>'


def _figure(title: str, picture: str, caption: str = "", key: str = "") -> str:
    text = _caption(caption) if caption else ""
    return f'<figure class="card"><h3>{escape(title)}</h3>{picture}{key}{text}</figure>'


def _caption(text: str) -> str:
    return f"<figcaption>{escape(text)}</figcaption>"


def _key(entries: list[tuple[str, Any]]) -> str:
    items = (
        f'<li><i style="background:var(--{color})"></i>{escape(str(name))}</li>'
        for color, name in entries
    )
    return f'<ul class="key">{"".join(items)}</ul>'
