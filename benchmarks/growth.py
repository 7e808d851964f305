"""(d) Growth with the graph, from 10⁵ edges to ogbl-ppa: encoding, a step and bytes."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.steps import OurTraining
from mgae.data import MessageGraph
from mgae.data.mapped import mapped_graph, write_mapped
from mgae.runs.presets import paper_config

# ogbl-ppa: 576,289 nodes, 30,326,273 edges, 58 features. Graphs densify as they grow, edges are
# about nodes^a with a from 1.1 to 1.7 (Leskovec et al., 2005). With ppa's mean degree at every size
# (a = 1) the rows of 10⁶ edges, 19 MB, would lie in the cache of many machines, and the exponents
# would tell of that; with a = 1.5 they take 60 MB.
PPA_NODES, PPA_EDGES, FEATURES, DENSIFICATION = 576_289, 30_326_273, 58, 1.5
SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, PPA_EDGES)
FITTED_FROM = 1_000_000
_CODE = "from benchmarks.growth import {call}; {call}({edges}, {folder!r})"


def skewed_graph(num_edges: int) -> MessageGraph:
    """Edges whose ends are drawn with a chance that falls with the node's number."""
    num_nodes = round(PPA_NODES * (num_edges / PPA_EDGES) ** (1 / DENSIFICATION))
    chance = torch.Generator().manual_seed(0)
    keys = torch.empty(0, dtype=torch.long)
    while keys.numel() < num_edges:
        drawn = torch.rand(2, int(1.2 * num_edges), generator=chance) ** 1.5 * num_nodes
        low, high = drawn.long().sort(dim=0).values
        keys = torch.unique(torch.cat([keys, (low * num_nodes + high)[low < high]]))
    keys = keys[torch.randperm(keys.numel(), generator=chance)[:num_edges]]
    turned = keys % num_nodes * num_nodes + keys // num_nodes
    both = torch.cat([keys, turned]).sort().values
    edge_index = torch.stack([both % num_nodes, both // num_nodes])
    return MessageGraph(edge_index, num_nodes, torch.rand(num_nodes, FEATURES, generator=chance))


class Peak:
    """The largest anonymous memory while it watches; mapped pages do not count."""

    def __enter__(self) -> Peak:
        self.before = self.most = _anonymous()
        self.over = threading.Event()
        self.watcher = threading.Thread(target=self._watch)
        self.watcher.start()
        return self

    def _watch(self) -> None:
        while not self.over.wait(0.005):
            self.most = max(self.most, _anonymous())

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.watcher.join()


def _anonymous() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (line,) = (line for line in lines if line.startswith("RssAnon"))
    return int(line.split()[1]) * 1024


def _seconds(call: Callable[[], object], repeats: int) -> float:
    call()
    measured = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        measured.append(time.perf_counter() - start)
    return sorted(measured)[len(measured) // 2]


def full(edges: int, folder: str) -> None:
    """Encode forward and backward, gather the same rows, take a step; print seconds and bytes.

    Leaves the graph in ``folder``, mapped.
    """
    graph = skewed_graph(edges)
    write_mapped(graph, Path(folder))
    config = paper_config(graph="ogbl-ppa", mask={"ratio": 0.7})
    training = OurTraining(config, graph)
    training.method.train()
    visible = training.method.mask(graph, training.generators["mask"]).visible
    table = torch.rand(graph.num_nodes, config.encoder.hidden_channels)
    with Peak() as encoding:
        encode = _seconds(lambda: _encode(training, visible), 3)
    gather = _seconds(lambda: _gather(table, visible.edge_index[0]), 3)
    with Peak() as stepping:
        step = _seconds(training.step, 3 if edges < 3_000_000 else 1)
    figures = {
        "edges": edges,
        "encode_s": encode,
        "gather_s": 4 * gather,  # two layers, forward and backward
        "step_s": step,
        "encode_gb": (encoding.most - encoding.before) / 1e9,
        "step_gb": stepping.most / 1e9,
    }
    print(json.dumps(figures))


def _encode(training: OurTraining, visible: MessageGraph) -> None:
    layers = training.method.encoder(visible, training.generators["dropout"])
    sum(layer.sum() for layer in layers).backward()


def _gather(table: torch.Tensor, rows: torch.Tensor) -> None:
    """Read a row for each edge and keep nothing: what the memory alone takes."""
    out = torch.empty(4096, table.size(1))
    for part in rows.split(4096):
        torch.index_select(table, 0, part, out=out[: part.numel()])


def sampled(edges: int, folder: str) -> None:
    """A step on neighborhoods of the mapped graph; print seconds and bytes."""
    train = {"fanouts": (15, 15), "step_size": 4096}
    config = paper_config(graph="ogbl-ppa", mask={"ratio": 0.7}, train=train)
    with Peak() as stepping:
        training = OurTraining(config, mapped_graph(Path(folder)))
        step = _seconds(training.step, 3)
    print(json.dumps({"step_s": step, "step_gb": stepping.most / 1e9}))


def _apart(call: str, edges: int, folder: str) -> dict[str, float]:
    """In a process of its own, so that its memory is its own."""
    command = [sys.executable, "-c", _CODE.format(call=call, edges=edges, folder=folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def measure_all() -> dict[str, Any]:
    """Every size, the exponents from 10⁶ edges up, and the largest in sampled mode."""
    measured: dict[str, Any] = {}
    for edges in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            measured[f"{edges:,} edges"] = figures = _apart("full", edges, folder)
            print(f"  {edges:,} edges: {figures}", flush=True)
            if edges == PPA_EDGES:
                measured["ppa-shaped, sampled"] = _apart("sampled", edges, folder)
    points = [value for value in measured.values() if value.get("edges", 0) >= FITTED_FROM]
    names = ("encode_s", "gather_s", "step_s", "encode_gb", "step_gb")
    measured["exponents"] = {name: exponent(points, name) for name in names}
    return measured


def exponent(points: list[dict[str, float]], name: str) -> float:
    """The slope of log value over log edges, by least squares.

    >>> exponent([{"edges": 10, "s": 2.0}, {"edges": 100, "s": 20.0}], "s")
    1.0
    """
    x = [math.log(point["edges"]) for point in points]
    y = [math.log(point[name]) for point in points]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x)
    return round(sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread, 6)
