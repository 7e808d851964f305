"""(e) What masking saves the encoder: its time and memory at several ratios ω."""

from __future__ import annotations

import torch

from benchmarks.growth import skewed_graph
from benchmarks.timing import alternating
from mgae.core.seeding import Generators
from mgae.data import MessageGraph, load_graph
from mgae.runs.build import build_method
from mgae.runs.presets import paper_config

RATIOS = (0.0, 0.3, 0.7, 0.9)


def measure(graph: MessageGraph, repeats: int, name: str) -> dict[str, dict[str, float]]:
    """Milliseconds of an encoding forward and backward, and the bytes of its visible edges."""
    config = paper_config(graph=name)
    generators = Generators(0)
    method = build_method(config, graph, generators["init"])
    visible = {}
    for ratio in RATIOS:
        chosen = torch.rand(graph.pairs.size(1), generator=generators["mask"]) >= ratio
        visible[ratio] = graph.only(chosen[graph.pair_of_edge])

    def encode(ratio: float) -> None:
        layers = method.encoder(visible[ratio], generators["dropout"])
        sum(layer.sum() for layer in layers).backward()

    calls = {str(ratio): (lambda ratio=ratio: encode(ratio)) for ratio in RATIOS}
    seconds = alternating(calls, repeats)
    return {
        f"ω = {ratio}": {
            "encode_ms": 1000 * seconds[str(ratio)],
            "edges_mb": _edge_bytes(visible[ratio]) / 1e6,
        }
        for ratio in RATIOS
    }


def _edge_bytes(graph: MessageGraph) -> int:
    """Source, target, and column and value of the matrix."""
    return graph.edge_index.size(1) * (3 * 8 + 4)


def measure_all() -> dict[str, dict[str, float]]:
    """PubMed, whose encoder is mostly features, and a denser graph: mostly edges."""
    pubmed = measure(MessageGraph.of(load_graph("pubmed")), 10, "pubmed")
    dense = measure(skewed_graph(1_000_000), 5, "ogbl-ppa")
    return {f"pubmed, {key}": value for key, value in pubmed.items()} | {
        f"10⁶ edges of ppa's shape, {key}": value for key, value in dense.items()
    }
