"""From a configuration to the objects of `mgae.core`: the only bridge between the two storeys.

A setting becomes the argument of the same name. A part that does not take one of the arguments
that its kind is offered (a PyG model has no ``drop_outputs``) is built without it.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch

from mgae.core.encoders import EmbeddingTable, Encoder, Inputs, NodeFeatures, OneHot, Sketches
from mgae.core.errors import ConfigError
from mgae.core.graph import MessageGraph
from mgae.core.methods import Method
from mgae.core.seeding import drawn_from
from mgae.registry import DECODERS, ENCODERS, LOSSES, MASKS, METHODS, Entry
from mgae.runs.config import RunConfig
from mgae.runs.parts import EncoderSettings
from mgae.settings import PartSettings

# Settings of an encoder that say what it reads.
_OF_INPUTS = {"inputs", "feature_dropout", "row_normalize", "edge_features"}
# Dropout on features from so many first-layer weights per edge on.
_AUTO_DROPOUT = ((8, 0.8), (2, 0.5), (0, 0.2))


def build_method(config: RunConfig, graph: MessageGraph, generator: torch.Generator) -> Method:
    """Return the configured method with fresh parameters, drawn from ``generator``."""
    entry = METHODS[config.method.kind]
    if config.train.fanouts is not None and not getattr(entry.build, "samplable", False):
        raise ConfigError(f"method {entry.name!r} encodes the whole graph: leave train.fanouts out")
    with drawn_from(generator):
        method = _make(
            entry,
            {
                **_parts(config, graph, entry),
                **arguments(config.method),
                "num_nodes": graph.num_nodes,
                "num_features": graph.num_features,
                "num_types": graph.num_types,
                "step_size": config.train.step_size,
                "chunk_size": config.train.chunk_size,
                "fanouts": config.train.fanouts,
            },
        )
    assert isinstance(method, Method)
    method.name = entry.name
    return method


def _parts(config: RunConfig, graph: MessageGraph, method: Entry) -> dict[str, Any]:
    """Build the parts that the method takes; parameters are drawn encoder first."""
    parts: dict[str, Any] = {}
    if config.mask is not None:
        parts["mask"] = _make(MASKS[config.mask.kind], arguments(config.mask))
    if config.encoder is not None:
        parts["encoder"] = encoder = build_encoder(config.encoder, graph)
    if config.decoder is not None:
        one_layer = getattr(method.build, "decodes_one_layer", False)
        sizes = {
            "in_channels": encoder.hidden_channels,
            "in_layers": 1 if one_layer else encoder.num_layers,
        }
        entry = DECODERS[config.decoder.kind]
        parts["decoder"] = _make(entry, {**sizes, **arguments(config.decoder)})
    if config.loss is not None:
        parts["loss"] = _make(LOSSES[config.loss.kind], arguments(config.loss))
    return parts


def build_encoder(settings: PartSettings, graph: MessageGraph) -> Encoder:
    """Return an encoder for the graph; without features it has a learned table."""
    assert isinstance(settings, EncoderSettings), "an encoder's settings extend EncoderSettings"
    inputs = _inputs(settings, graph)
    given = {key: value for key, value in arguments(settings).items() if key not in _OF_INPUTS}
    given |= {"in_channels": inputs.channels, "inputs": inputs}
    given["edge_channels"] = graph.num_edge_features if settings.edge_features else 0
    encoder: Encoder = _make(ENCODERS[settings.kind], given)
    return encoder


def reads_edge_features(config: RunConfig) -> bool:
    """Return whether the configured encoder takes the features of edges into its messages."""
    settings = config.encoder
    if not isinstance(settings, EncoderSettings) or not settings.edge_features:
        return False
    return "edge_channels" in _parameters(ENCODERS[settings.kind].build)


def _inputs(settings: EncoderSettings, graph: MessageGraph) -> Inputs:
    dropped, source = _feature_dropout(settings, graph), settings.inputs_of(graph.x is not None)
    if source == "one-hot":
        return OneHot(graph.num_nodes, dropped)
    if source == "sketches":
        return Sketches(dropout=dropped)
    if source == "table":
        return EmbeddingTable(graph.num_nodes, settings.hidden_channels, dropped)
    if graph.x is None:
        raise ConfigError("encoder.inputs is 'features', and the graph has none: use 'table'")
    return NodeFeatures(graph.num_features, dropped, settings.row_normalize)


def _feature_dropout(settings: EncoderSettings, graph: MessageGraph) -> float:
    """Return the share of x to drop; weights that outnumber the edges would learn them by heart."""
    if settings.feature_dropout != "auto":
        return settings.feature_dropout
    wide = graph.num_features * settings.hidden_channels / max(1, graph.pairs.size(1))
    return next(share for least, share in _AUTO_DROPOUT if wide >= least)


def arguments(settings: PartSettings) -> dict[str, Any]:
    """Return the settings of a part as arguments; one that is left out keeps its default."""
    return settings.model_dump(exclude_none=True, exclude={"kind", "module"})


def _make(entry: Entry, given: Mapping[str, Any]) -> Any:
    """Call a part's class or function with those of the given arguments that it takes."""
    known = _parameters(entry.build)
    return entry.build(**{key: value for key, value in given.items() if key in known})


def _parameters(build: Any) -> set[str]:
    """Return the names of the arguments, also those that a class hands on to its bases."""
    makers = inspect.getmro(build) if inspect.isclass(build) else [build]
    names: set[str] = set()
    for maker in makers:
        parameters = inspect.signature(maker).parameters.values()
        names |= {one.name for one in parameters}
        if not any(one.kind is one.VAR_KEYWORD for one in parameters):
            break
    return names
