"""Describe a graph before anything is trained on it."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from mgae.data.atomic import write_atomically
from mgae.data.datasets.loading import statistics

if TYPE_CHECKING:
    from torch_geometric.data import Data

# From here on a graph counts as dense: Planetoid's have a mean degree of 3 to 5, ogbl-ddi of 500.
_DENSE_DEGREE = 20
_LAYERS = 2  # the paper's K
_MOST_TYPES = 12
_BINS, _BARS = 24, " ▁▂▃▄▅▆▇█"


def inspect_graph(graph: Data) -> dict[str, Any]:
    """Return counts, degrees, components, sizes of the official split, and what to start with."""
    degree = degrees(graph)
    return {
        **statistics(graph),
        "directed": not graph.undirected,
        "weighted": graph.edge_weight is not None,
        "sides": _sides(graph),
        "edge_features": None if graph.get("edge_attr") is None else graph.edge_attr.size(1),
        "edge_types": _counts(graph, "type_names", "triples"),
        "node_types": _counts(graph, "node_type_names", "node_type"),
        "isolated": int((degree == 0).sum()),
        **_components(graph),
        "degree": {
            "min": int(degree.min()),
            "median": float(degree.float().median()),
            "mean": round(float(degree.float().mean()), 2),
            "max": int(degree.max()),
        },
        "degree_histogram": degree_histogram(degree),
        "times": _times(graph),
        "titles": _titles(graph),
        "unlabeled": None if graph.y is None else _unlabeled(graph.y),
        "split": _split_sizes(graph),
        "suggestion": suggestion(graph),
    }


def _titles(graph: Data) -> dict[str, Any] | None:
    """Return how many nodes have a title, and the attributes that are shown."""
    texts = graph.get("texts")
    if texts is None:
        return None
    titled = 0 if texts.titles is None else len(texts.titles) - texts.titles.null_count
    return {"nodes": titled, "attributes": ", ".join(texts.attributes) or "none"}


def degrees(graph: Data) -> Tensor:
    """Count the neighbors of each node; in a directed graph the edges into it and out of it."""
    num_nodes = int(graph.num_nodes or 0)
    into = torch.bincount(graph.edge_index[1], minlength=num_nodes)
    if graph.undirected:
        return into
    return into + torch.bincount(graph.edge_index[0], minlength=num_nodes)


def degree_histogram(degree: Tensor) -> dict[str, int]:
    """Count nodes by degree: 0, 1, 2–3, 4–7, … up to the largest.

    >>> degree_histogram(torch.tensor([1, 1, 2, 3, 9]))
    {'0': 0, '1': 2, '2–3': 2, '4–7': 0, '8–15': 1}
    """
    bucket = torch.log2(degree.clamp(min=0.5)).floor().long() + 1
    counts = torch.bincount(bucket).tolist()
    ends = [(2 ** (number - 1), 2**number - 1) for number in range(1, len(counts))]
    names = ["0", *(f"{low}–{high}" if low < high else str(low) for low, high in ends)]
    return dict(zip(names, counts, strict=True))


def suggestion(graph: Data) -> dict[str, Any]:
    """Return settings to start with: the paper's rule for the mask, and its depth."""
    mean_degree = float(degrees(graph).float().mean())
    dense = mean_degree >= _DENSE_DEGREE
    return {
        "mask": "undirected" if dense else "directed",
        "reason": f"mean degree {mean_degree:.1f}; the paper finds "
        f"{'undirected' if dense else 'directed'} better on {'dense' if dense else 'sparse'} "
        "graphs, and took undirected on Planetoid",
        "num_layers": _LAYERS,
    }


def plot_degrees(graph: Data, path: Path) -> None:
    """Draw how many nodes have each degree, on logarithmic axes, and edges over time if any."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load, and rarely wanted

    degree, count = np.unique(degrees(graph).numpy(), return_counts=True)
    timed = graph.get("edge_time") is not None
    figure = Figure(figsize=(12 if timed else 6, 4), layout="constrained")
    axes = figure.add_subplot(1, 1 + timed, 1)
    if timed:
        _plot_times(graph, figure.add_subplot(1, 2, 2))
    axes.loglog(degree[degree > 0], count[degree > 0], "o", markersize=4, color="#2a6fbb")
    axes.set(xlabel="degree", ylabel="nodes", title=f"{graph.get('name') or 'graph'}: degrees")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    ending = path.suffix.removeprefix(".").lower()
    write_atomically(path, lambda partial: figure.savefig(partial, dpi=150, format=ending))


def _plot_times(graph: Data, axes: Any) -> None:
    times = listed_times(graph).numpy()
    values = times.astype("datetime64[D]") if graph.get("dated") else times
    axes.hist(values, bins=_BINS, color="#2a6fbb")
    axes.set(xlabel="time", ylabel="edges", title="edges over time")
    axes.spines[["top", "right"]].set_visible(False)


def _components(graph: Data) -> dict[str, int]:
    source, target = graph.edge_index.numpy()
    shape = (int(graph.num_nodes or 0),) * 2
    ends = np.searchsorted(target, np.arange(shape[0] + 1))
    matrix = sp.csr_array((np.ones(source.size, dtype=np.int8), source, ends), shape=shape)
    # Where every edge has its reverse, strong components are the weak ones, without a transpose.
    kind: Literal["strong", "weak"] = "strong" if graph.undirected else "weak"
    count, member = connected_components(matrix, directed=True, connection=kind)
    return {"components": int(count), "largest_component": int(np.bincount(member).max())}


def listed_times(graph: Data) -> Tensor:
    """Return the time of each edge once [n]; an undirected edge has two directions."""
    once = graph.edge_index[0] < graph.edge_index[1]
    times: Tensor = graph.edge_time[once] if graph.undirected else graph.edge_time
    return times


def readable_time(value: float, dated: bool) -> str:
    """Return a time as the user wrote it, a number or a date.

    >>> readable_time(2017.0, False), readable_time(17532.25, True)
    ('2017', '2018-01-01T06:00:00')
    """
    if not dated:
        return f"{value:.10g}"
    text = (datetime(1970, 1, 1) + timedelta(days=value)).isoformat(timespec="seconds")
    return text.removesuffix("T00:00:00")


def _times(graph: Data) -> dict[str, Any] | None:
    """Return the first and the last time, and how many edges lie between, as a line of bars."""
    if graph.get("edge_time") is None:
        return None
    times, dated = listed_times(graph), bool(graph.get("dated"))
    counts = np.histogram(times.numpy(), bins=_BINS)[0]
    heights = np.ceil((len(_BARS) - 1) * counts / counts.max()).astype(int)
    return {
        "first": readable_time(float(times.min()), dated),
        "last": readable_time(float(times.max()), dated),
        "distinct": int(times.unique().numel()),
        "edges": "".join(_BARS[height] for height in heights),
    }


def _counts(graph: Data, names: str, field: str) -> dict[str, int] | None:
    """Return how many edges or nodes each type has, the frequent ones first."""
    if graph.get(field) is None:
        return None
    kinds = graph[field][2] if field == "triples" else graph[field][graph[field] >= 0]
    counts = torch.bincount(kinds, minlength=len(graph[names])).tolist()
    ordered = sorted(zip(graph[names], counts, strict=True), key=lambda entry: -entry[1])
    shown = dict(ordered[:_MOST_TYPES])
    rest = sum(count for _, count in ordered[_MOST_TYPES:])
    return {**shown, "others": rest} if rest else shown


def _sides(graph: Data) -> dict[str, int] | None:
    """Return how many nodes are on each side of a bipartite graph."""
    if graph.get("side") is None:
        return None
    names = graph.get("side_names") or ["side 0", "side 1"]
    return {name: int((graph.side == number).sum()) for number, name in enumerate(names)}


def _unlabeled(y: Tensor) -> int:
    return int((y < 0).sum()) if y.dim() == 1 else int(torch.isnan(y.float()).any(dim=1).sum())


def _split_sizes(graph: Data) -> dict[str, int] | None:
    if graph.get("val_edges") is not None:
        train = graph.edge_index.size(1) // (2 if graph.undirected else 1)
        names = ("val_edges", "test_edges", "val_negatives", "test_negatives")
        return {"train_edges": train, **{name: graph[name].size(1) for name in names}}
    if graph.get("train_mask") is not None:
        return {
            f"{part}_nodes": int(graph[f"{part}_mask"].sum()) for part in ("train", "val", "test")
        }
    return None
