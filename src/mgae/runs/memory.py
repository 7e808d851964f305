"""How much memory a training takes, and what is done where that is not there."""

from __future__ import annotations

from typing import cast

import psutil

from mgae.core.encoders import Sketches
from mgae.core.errors import UnsupportedError
from mgae.core.graph import MessageGraph
from mgae.core.methods.heuristics import HEADS_AT_ONCE, OVERLAP_BYTES
from mgae.core.ops.sparse import SparseMatrix
from mgae.core.training.distributed import ranks_here
from mgae.registry import ENCODERS, LOSSES, MASKS, METHODS
from mgae.runs.config import RunConfig
from mgae.runs.parts import EncoderSettings

GIB = 2**30
_FLOAT, _INDEX, _DOUBLE = 4, 8, 8
_SMALLEST_CHUNK = 256
_FANOUT = 15
_SAMPLED_STEP = 4096


def training_bytes(config: RunConfig, graph: MessageGraph) -> int:
    """Estimate what training adds to the memory of the loaded libraries.

    >>> from mgae.data import MessageGraph, load_graph
    >>> cora = MessageGraph.of(load_graph("cora"))
    >>> 30 < training_bytes(RunConfig(), cora) / 2**20 < 300
    True
    """
    heuristics = _heuristic_bytes(graph) if config.evaluation.heuristics else 0
    evaluation = _graph_bytes(graph) + heuristics
    if config.encoder is None:
        return evaluation
    encoder = cast(EncoderSettings, config.encoder)
    nodes, depth, width = graph.num_nodes, encoder.num_layers, encoder.hidden_channels
    # A layer's product, messages, sum, activation and dropout, and the gradients of most.
    encoded = 9 * depth * nodes * width * _FLOAT
    kind = ENCODERS[encoder.kind].build
    if getattr(kind, "keeps_edge_messages", False):  # one for each edge, with its gradient
        encoded += 3 * depth * graph.edge_index.size(1) * width * _FLOAT
    computed = 0
    if encoder.inputs_of(graph.x is not None) == "sketches":  # hops, joined, kept and dropped from
        computed = 5 * nodes * Sketches().channels * _FLOAT
    if config.train.fanouts is not None:
        reached = min(nodes, 4 * (config.train.step_size or nodes) * (1 + config.train.fanouts[0]))
        encoded = encoded * reached // nodes + 2 * depth * nodes * width * _FLOAT
    learned = _weight_bytes(config, graph) + _chunk_bytes(config)
    return max(_graph_bytes(graph) + computed + encoded + learned, evaluation)


def fitted(config: RunConfig, graph: MessageGraph) -> tuple[RunConfig, str | None]:
    """Return a configuration that fits into memory, and a line that says what was changed.

    The limit is ``train.memory_limit_gb``, or what is free now, divided among the ranks here. First
    the chunk is lowered, then sampled mode is chosen.

    Raises:
        UnsupportedError: if nothing of that helps and the limit was set by the user.
    """
    asked = config.train.memory_limit_gb
    limit = int(asked * GIB) if asked else psutil.virtual_memory().available // ranks_here()
    need = training_bytes(config, graph)
    if need <= limit or config.encoder is None:
        return config, None
    for chosen, change in _smaller(config, graph):
        if training_bytes(chosen, graph) <= limit:
            why = f"training takes about {need / GIB:.1f} GiB and {limit / GIB:.1f} are allowed: "
            return chosen, why + change
    ways = [
        (training_bytes(chosen, graph), chosen, change)
        for chosen, change in _smaller(config, graph)
    ]
    least, chosen, change = min(ways, key=lambda way: way[0])
    if asked:
        raise UnsupportedError(
            f"train.memory_limit_gb is {asked}, and {least / GIB:.1f} GiB is the least that "
            "this training takes: raise it, or lower encoder.hidden_channels"
        )
    if least > _everything():
        raise UnsupportedError(
            f"this training takes at least {least / GIB:,.0f} GiB and this machine has "
            f"{_everything() / GIB:.0f}: lower encoder.hidden_channels or num_layers"
            + _without_table(config, graph)
        )
    return chosen, f"training takes about {least / GIB:.1f} GiB, more than is free: {change}"


def _without_table(config: RunConfig, graph: MessageGraph) -> str:
    """Return more advice if a learned vector for each node is what does not fit."""
    encoder = cast(EncoderSettings, config.encoder)
    if encoder.inputs_of(graph.x is not None) != "table":
        return ""
    size = 8 * _FLOAT * graph.num_nodes * encoder.hidden_channels / GIB
    return (
        f"; the learned vectors of {graph.num_nodes:,} nodes take {size:,.0f} of it, and several "
        "machines do not divide them: encoder.inputs = 'sketches' needs none"
    )


def _everything() -> int:
    """Return all memory of this machine, with what it may swap out."""
    return int(psutil.virtual_memory().total + psutil.swap_memory().total)


def _smaller(config: RunConfig, graph: MessageGraph) -> list[tuple[RunConfig, str]]:
    train = config.train.model_dump(exclude_none=True)
    ways = []
    if graph.in_files and config.evaluation.heuristics:
        config = config.changed(evaluation={**config.evaluation.model_dump(), "heuristics": ()})
        ways.append((config, "no heuristics are measured beside it"))
    chunk = config.train.chunk_size // 2
    while chunk >= _SMALLEST_CHUNK:
        lowered = config.changed(train={**train, "chunk_size": chunk})
        ways.append((lowered, f"train.chunk_size is lowered to {chunk}"))
        chunk //= 2
    if _can_sample(config) and graph.edge_attr is None:
        depth = cast(EncoderSettings, config.encoder).num_layers
        fanouts = [_FANOUT] * depth
        step = min(config.train.step_size or _SAMPLED_STEP, _SAMPLED_STEP)
        chunk = min(config.train.chunk_size, _SMALLEST_CHUNK * 4)
        settings = {**train, "fanouts": fanouts, "step_size": step, "chunk_size": chunk}
        sampled = f"neighborhoods are sampled, train.fanouts = {fanouts}"
        ways.append((config.changed(train=settings), sampled))
    return ways or [(config, "there is no smaller way")]


def _can_sample(config: RunConfig) -> bool:
    """Return whether `train.fanouts` may be chosen: by the method, its mask and its loss."""
    return (
        METHODS[config.method.kind].build.samplable
        and config.mask is not None
        and MASKS[config.mask.kind].build.samplable
        and config.loss is not None
        and LOSSES[config.loss.kind].build.samplable
        and not config.train.fanouts
    )


def _graph_bytes(graph: MessageGraph) -> int:
    """Count features, and each edge as index, key, pair, mask, visible copy and matrix."""
    features = 0
    if graph.in_files:  # which of them are held out, and a random order of the pairs
        return 3 * _INDEX * graph.edge_index.size(1) // 4
    if isinstance(graph.x, SparseMatrix):
        features = graph.x.values.numel() * 44 + graph.x.shape[0] * graph.x.shape[1] * _FLOAT
    elif graph.x is not None:
        features = graph.x.numel() * _FLOAT
    return features + 12 * _INDEX * graph.edge_index.size(1)


def _heuristic_bytes(graph: MessageGraph) -> int:
    """Count the edges' matrix with its keys, and what common neighbors or walks hold at once."""
    edges = graph.edge_index.size(1)
    overlap = min(OVERLAP_BYTES, 64 * edges * edges)
    walks = 3 * _DOUBLE * HEADS_AT_ONCE * graph.num_nodes
    return 6 * _INDEX * edges + max(overlap, walks)


def _weight_bytes(config: RunConfig, graph: MessageGraph) -> int:
    """Count weights eight times: gradient, Adam's moments, best epoch and checkpoint."""
    encoder = cast(EncoderSettings, config.encoder)
    width, depth = encoder.hidden_channels, encoder.num_layers
    source = encoder.inputs_of(graph.x is not None)
    table = graph.num_nodes * width if source == "table" else 0
    widths = {"table": width, "sketches": Sketches().channels, "one-hot": graph.num_nodes}
    inputs = widths.get(source, graph.num_features)
    maps = getattr(ENCODERS[encoder.kind].build, "maps_per_layer", 1)
    layers = maps * width * (inputs + (depth - 1) * width)
    deeper = int(getattr(config.decoder, "num_layers", 1)) - 1
    decoder = _decoder_width(config) * (depth**2 * width + deeper * _decoder_width(config))
    return 8 * _FLOAT * (table + layers + decoder)


def _chunk_bytes(config: RunConfig) -> int:
    """Count one chunk's crossed layers, hidden layers and ends, with their gradients."""
    encoder = cast(EncoderSettings, config.encoder)
    crossed = encoder.num_layers**2 * encoder.hidden_channels
    ends = 2 * encoder.num_layers * encoder.hidden_channels
    return config.train.chunk_size * _FLOAT * (3 * crossed + 6 * _decoder_width(config) + 3 * ends)


def _decoder_width(config: RunConfig) -> int:
    return int(getattr(config.decoder, "hidden_channels", 1))
