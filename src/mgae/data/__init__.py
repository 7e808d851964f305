"""GRAPH IN: where a graph comes from, and what it must fulfil before anything looks at it."""

from mgae.core.graph import MessageGraph
from mgae.data.checks import checked
from mgae.data.datasets.catalogue import load_graph

__all__ = ["MessageGraph", "checked", "load_graph"]
