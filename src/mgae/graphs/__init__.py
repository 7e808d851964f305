"""GRAPH IN: where a graph comes from, and what it must fulfil before anything looks at it."""

from mgae.graphs.catalogue import load_graph
from mgae.graphs.checks import checked
from mgae.graphs.message import MessageGraph

__all__ = ["MessageGraph", "checked", "load_graph"]
