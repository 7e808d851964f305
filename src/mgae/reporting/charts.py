"""Draw the pictures of a run's page."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from markupsafe import Markup
from torch_geometric.data import Data

from mgae.core.training.state import EpochRecord
from mgae.evaluation.calibration import Calibration
from mgae.reporting import svg
from mgae.reporting.scorecurves import Curve, Scored, histogram, precision_recall, reliability, roc
from mgae.reporting.svg import Plot
from mgae.runs.results import heading
from mgae.serving.maps import MOST_GROUPS, NodeMap, spread

MAP_WIDTH, MAP_HEIGHT = 900, 540
_MAP_MARGIN = 12
MOST_EDGES = 3000
_MOST_EPOCHS = 400

Histories = list[list[EpochRecord]]


def loss_chart(histories: Histories, best_epochs: list[int]) -> Markup:
    """Draw the loss of every epoch, a line per seed."""
    lines = [[(r.epoch, r.loss) for r in history] for history in histories]
    return _by_epoch(lines, best_epochs, "training loss", "loss")


def validation_chart(histories: Histories, best_epochs: list[int], metric: str) -> Markup:
    """Draw the validation metric of every epoch, the best one marked."""
    lines = [[(r.epoch, r.score) for r in history if r.score is not None] for history in histories]
    name = f"validation {heading(metric)}"
    return _by_epoch(lines, best_epochs, name, f"{heading(metric)}, percent")


def _by_epoch(
    lines: list[list[tuple[int, float]]], best_epochs: list[int], name: str, title: str
) -> Markup:
    values = [value for line in lines for _, value in line]
    last = max(epoch for line in lines for epoch, _ in line)
    margin = 0.04 * (max(values) - min(values)) or 1.0
    plot = Plot((0, last), (min(values) - margin, max(values) + margin), "epoch", title)
    for number, line in enumerate(lines):
        kept = [line[n] for n in spread(len(line), _MOST_EPOCHS)]
        epochs, heights = [epoch for epoch, _ in kept], [value for _, value in kept]
        plot.line(epochs, heights, "main" if number == 0 else "faint")
    if best := [point for point in lines[0] if point[0] == best_epochs[0]]:
        epoch, value = best[0]
        plot.dot(epoch, value, "main", f"epoch {epoch}, whose weights are kept: {value:.4g}")
    return plot.render(f"{name} by epoch")


def roc_chart(scored: Scored, auc: float) -> Markup:
    """Draw the ROC curve above the diagonal."""
    plot = Plot((0, 1), (0, 1), "false positive rate", "true positive rate")
    plot.line([0, 1], [0, 1], "rule")
    _draw(plot, roc(scored))
    plot.note(0.97, 0.06, f"AUC {auc:.2f}", "end")
    return plot.render(f"ROC curve, AUC {auc:.2f} percent")


def precision_recall_chart(scored: Scored, ap: float) -> Markup:
    """Draw precision by recall, above what guessing gives."""
    share = scored.positive.size / scored.labels.size
    plot = Plot((0, 1), (0, 1), "recall", "precision")
    plot.line([0, 1], [share, share], "rule")
    _draw(plot, precision_recall(scored))
    plot.note(0.97, 0.06, f"AP {ap:.2f}", "end")
    return plot.render(f"precision–recall curve, average precision {ap:.2f} percent")


def calibration_chart(scored: Scored, calibration: Calibration) -> Markup:
    """Draw how often a pair of each probability is an edge."""
    curve = reliability(calibration.probability(scored.scores), scored.labels)
    plot = Plot((0, 1), (0, 1), "predicted probability", "share that are edges")
    plot.line([0, 1], [0, 1], "rule")
    _draw(plot, curve)
    for x, y in zip(curve.x, curve.y, strict=True):
        plot.dot(x, y, "main", f"predicted {x:.2f}, measured {y:.2f}")
    return plot.render("calibration: the share of edges by predicted probability")


def histogram_chart(scored: Scored) -> Markup:
    """Draw how the scores of edges and of other pairs are spread."""
    borders, edges, others = histogram(scored)
    top = 105 * max(edges.max(), others.max())
    plot = Plot((borders[0], borders[-1]), (0, top), "score (logit)", "percent of the pairs")
    plot.bars(borders.tolist(), (100 * others).tolist(), "other")
    plot.bars(borders.tolist(), (100 * edges).tolist(), "edge")
    return plot.render("histogram of the scores of edges and of pairs that are none")


def map_chart(node_map: NodeMap, graph: Data) -> Markup:
    """Draw the nodes as dots in their group's color above some of the edges."""
    width, height = MAP_WIDTH - 2 * _MAP_MARGIN, MAP_HEIGHT - 2 * _MAP_MARGIN
    points = [(_MAP_MARGIN + x * width, _MAP_MARGIN + (1 - y) * height) for x, y in node_map.xy]
    radius = min(6.0, max(2.0, 120 / len(points) ** 0.5))
    order = np.argsort(node_map.groups, kind="stable")
    titles = _titles(node_map, graph)
    shapes = [svg.shapes(radius), _edges(node_map, points, graph)]
    for group, nodes in groupby(order.tolist(), key=lambda n: int(node_map.groups[n])):
        members = list(nodes)
        of = [points[n] for n in members], [titles[n] for n in members]
        shapes.append(svg.marks(*of, group % (MOST_GROUPS + 1)))
    name = f"map of {len(points)} nodes by {node_map.projection.upper()} of their embeddings"
    element = Markup('<svg class="map" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>')
    return element.format(MAP_WIDTH, MAP_HEIGHT, name, Markup("").join(shapes))


def _titles(node_map: NodeMap, graph: Data) -> list[str]:
    """Return what is said of each node: its title or id, its group and its attributes."""
    texts, said = graph.get("texts"), []
    for number, group in zip(node_map.nodes.tolist(), node_map.groups.tolist(), strict=True):
        title = None if texts is None or texts.titles is None else texts.titles[number].as_py()
        parts = [title or str(graph.node_ids[number])]
        parts += [node_map.names[group]] if group >= 0 else []
        parts += [] if texts is None else list(texts.of_node(number).values())
        said.append(" · ".join(dict.fromkeys(parts)))
    return said


def _edges(node_map: NodeMap, points: list[tuple[float, float]], graph: Data) -> Markup:
    """Draw edges between nodes that are shown, evenly taken from all of them."""
    row = np.full(int(graph.num_nodes or 0), -1)
    row[node_map.nodes] = np.arange(len(points))
    ends = row[graph.edge_index.numpy()]
    ends = np.sort(ends[:, (ends.min(axis=0) >= 0) & (ends[0] != ends[1])], axis=0)
    # Both directions of an edge are one line.
    low, high = np.divmod(np.unique(ends[0] * len(points) + ends[1]), len(points))
    kept = [(int(low[n]), int(high[n])) for n in spread(low.size, MOST_EDGES)]
    return svg.segments([(*points[u], *points[v]) for u, v in kept])


def _draw(plot: Plot, curve: Curve) -> None:
    plot.line(curve.x.tolist(), curve.y.tolist(), "main")
