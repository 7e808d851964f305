"""Answers as data frames of arrow, pandas and polars; pairs of ids out of frames and lists."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from mgae.core.errors import GraphError, UnsupportedError
from mgae.data.io.tables import arrow_table
from mgae.serving.nodeindex import ends_of


class Frames:
    """What has a table of arrow, and so a data frame of pandas and of polars."""

    def to_arrow(self) -> pa.Table:
        """Return a table of pyarrow."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return a data frame of pandas, which must be installed."""
        _require("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return a data frame of polars, which must be installed."""
        return _require("polars").from_arrow(self.to_arrow())


def _require(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UnsupportedError(f"{name} is not installed: pip install {name}") from None


def pairs_of(pairs: Any) -> list[tuple[Any, Any]]:
    """Return pairs of ids: of an iterable, or of the first two columns of a data frame.

    >>> pairs_of(pa.table({"from": ["a"], "to": ["b"], "weight": [1.0]}))
    [('a', 'b')]
    """
    if hasattr(pairs, "columns") or hasattr(pairs, "__arrow_c_stream__"):
        columns = arrow_table(pairs).columns[:2]
        if len(columns) < 2:
            raise GraphError("pairs must have two columns of ids, got one")
        return list(zip(*(column.to_pylist() for column in columns), strict=True))
    listed: Iterable[Any] = pairs.tolist() if isinstance(pairs, np.ndarray) else pairs
    return [tuple(ends_of(pair, "a pair")) for pair in listed]
