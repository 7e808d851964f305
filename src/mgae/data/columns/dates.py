"""Columns of dates: the day as a number, and where it stands in the year, the week and the day."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mgae.data.columns.base import ColumnEncoder
from mgae.data.columns.numbers import Number, fit_number
from mgae.data.columns.parsing import days_of

_CYCLES = {"year": 365.2425, "week": 7.0, "day": 1.0}


@dataclass(frozen=True, eq=False)
class Date(ColumnEncoder):
    """A date.

    Attributes:
        layout: the format of dates that stand as texts.
        cycles: those that count.
        scale, center, spread, fill, indicator, quantiles: of the day, as `Number` has them.
    """

    kind = "date"

    layout: str
    cycles: tuple[str, ...]
    scale: str
    center: float
    spread: float
    fill: float
    indicator: int
    quantiles: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        """Return the day's name, and two for each cycle."""
        turns = [f"{self.name} ({turn} of the {c})" for c in self.cycles for turn in ("sin", "cos")]
        return (*self._day.names, *turns)

    def values(self, column: pa.ChunkedArray) -> np.ndarray:
        """Return the day and the cycles; a missing date stands at the middle of each."""
        days = days_of(column, self.layout)
        day = self._day.values(pa.chunked_array([pa.array(days, from_pandas=True)]))
        angles = [2 * np.pi * days / _CYCLES[cycle] for cycle in self.cycles]
        turns = [turn(angle) for angle in angles for turn in (np.sin, np.cos)]
        return np.column_stack([day, *np.nan_to_num(turns)]).astype(np.float32)

    @property
    def _day(self) -> Number:
        return Number(
            self.name, self.what, self.scale, self.center, self.spread, self.fill, self.indicator,
            self.quantiles,
        )  # fmt: skip


def fit_date(name: str, days: np.ndarray, layout: str, scale: str) -> Date:
    """Return an encoder for days since 1970 [rows], NaN where one is missing."""
    day = fit_number(name, days, scale)
    given = days[np.isfinite(days)]
    span = float(np.ptp(given))
    cycles = [cycle for cycle in ("year", "week") if span >= 2 * _CYCLES[cycle]]
    cycles += ["day"] if (given % 1 != 0).any() else []
    what = f"a date, as a number of days ({day.scale})"
    what += f", and where it stands in the {' and the '.join(cycles)}" if cycles else ""
    missing = int(np.isnan(days).sum())
    what += f"; {missing:,} missing, marked in a column of their own" if missing else ""
    return Date(
        name, what, layout, tuple(cycles), day.scale, day.center, day.spread, day.fill,
        day.indicator, day.quantiles,
    )  # fmt: skip
