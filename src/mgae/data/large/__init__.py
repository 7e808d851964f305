"""Graphs beyond memory: tables of edges made into sorted files, piece by piece."""

from mgae.data.large.folder import is_prepared, prepared_graph
from mgae.data.large.prepare import prepare

__all__ = ["is_prepared", "prepare", "prepared_graph"]
