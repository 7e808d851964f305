"""Bring graphs in: from files, named datasets and memory, checked before anything uses them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mgae.core.graph import MessageGraph
    from mgae.data.checks import checked
    from mgae.data.datasets.loading import load_graph

__all__ = ["MessageGraph", "checked", "load_graph"]

# Imported on first use: a configuration has input settings, and must not wait for torch.
_HOMES = {
    "MessageGraph": "mgae.core.graph",
    "checked": "mgae.data.checks",
    "load_graph": "mgae.data.datasets.loading",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'mgae.data' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
