"""Columns of numbers, and of vectors of numbers.

Scalers are fitted by scikit-learn; a few numbers of theirs are kept and applied by a line of numpy,
since nothing is ever unpickled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mgae.data.columns.base import BadCellError, ColumnEncoder
from mgae.data.columns.parsing import numbers_of
from mgae.data.ids import decoded

_FAR = 6.0  # robust deviations: a value beyond makes a tail heavy, and is cut off in new nodes
_QUANTILES = 200
_EVEN = float(np.sqrt(12.0))  # a uniform distribution of this width has variance 1
_WORDS = {
    "none": "a number, as it is",
    "standard": "a number, less its mean and divided by its standard deviation",
    "robust": "a number, less its median and divided by its spread",
    "quantile": "a number with a heavy tail, by its quantile",
    "sparse": "a number that is mostly 0: 0 stays, others by their logarithm",
}


@dataclass(frozen=True, eq=False)
class Number(ColumnEncoder):
    """A number, scaled.

    Attributes:
        scale: none, standard, robust, quantile or sparse.
        center, spread: what is taken away, and what it is divided by.
        fill: what replaces a missing number.
        indicator: 1 if a second column says whether the number is missing.
        quantiles: [q], or [0] for another scale.
        comma: 1 if texts have a decimal comma.
    """

    kind = "number"

    scale: str
    center: float
    spread: float
    fill: float
    indicator: int
    quantiles: np.ndarray
    comma: int = 0

    @property
    def reads_text(self) -> bool:
        """Return whether 1.500 is no fraction."""
        return bool(self.comma)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the column's own name, and that of the indicator."""
        return (self.name, f"{self.name} (missing)")[: 1 + self.indicator]

    def values(self, column: pa.ChunkedArray) -> np.ndarray:
        """Return the scaled numbers, and 1 where one is missing."""
        numbers = self._finite(numbers_of(column, bool(self.comma)), column)
        missing = np.isnan(numbers)
        with np.errstate(over="ignore"):
            scaled = self.scaled(np.where(missing, self.fill, numbers)).astype(np.float32)
        if not np.isfinite(scaled).all():
            row = int(np.argmax(~np.isfinite(scaled)))
            raise BadCellError(row, f"must hold numbers below 3.4e38 in size, got {numbers[row]}")
        return np.stack([scaled, missing.astype(np.float32)][: 1 + self.indicator], axis=1)

    def scaled(self, numbers: np.ndarray) -> np.ndarray:
        """Return numbers [n] on the scale of the training."""
        if self.scale == "quantile":
            share = np.linspace(0, 1, len(self.quantiles))
            # From both sides, so that equal numbers get the middle of their quantiles.
            up = np.interp(numbers, self.quantiles, share)
            down = -np.interp(-numbers, -self.quantiles[::-1], -share[::-1])
            result: np.ndarray = (0.5 * (up + down) - 0.5) * _EVEN
            return result
        if self.scale == "sparse":
            sizes = np.log2(1 + np.abs(numbers) / self.spread)
            return np.asarray(np.sign(numbers) * sizes)
        result = (numbers - self.center) / self.spread
        return np.clip(result, -_FAR, _FAR) if self.scale == "robust" else result

    def _finite(self, numbers: np.ndarray, column: pa.ChunkedArray) -> np.ndarray:
        """Return the numbers if NaN stands for missing ones alone."""
        there = decoded(column).is_valid().to_numpy()
        wrong = there & ~np.isfinite(numbers)
        if wrong.any() and not pa.types.is_string(decoded(column).type):
            row = int(np.argmax(wrong))
            raise BadCellError(
                row,
                f"must hold finite numbers, got {numbers[row]} "
                "(leave a cell empty where there is none)",
            )
        return numbers


def fit_number(
    name: str, numbers: np.ndarray, scale: str, note: str = "", comma: bool = False
) -> Number:
    """Return an encoder for numbers [rows], NaN where one is missing; ``scale`` may be auto."""
    given = numbers[np.isfinite(numbers)]
    scale = usual_scale(given) if scale == "auto" else scale
    center, spread, quantiles = _fitted(given[:, None], scale)
    missing = int(np.isnan(numbers).sum())
    middle = float(np.median(given)) if scale != "none" else float(given.mean())
    what = "zeros and ones, as they are" if is_binary(given) and scale == "none" else _WORDS[scale]
    if missing:
        what += f"; {missing:,} missing, set to the {'mean' if scale == 'none' else 'median'}"
        what += " and marked in a column of their own"
    what += "; with a decimal comma" if comma else ""
    return Number(
        name, what + note, scale, center, spread, middle, int(missing > 0), quantiles, int(comma)
    )


def usual_scale(numbers: np.ndarray) -> str:
    """Return the scale that fits finite numbers [n]."""
    if is_binary(numbers):
        return "none"
    if np.mean(numbers == 0) > 0.5:
        return "sparse"
    low, middle, high = np.quantile(numbers, (0.25, 0.5, 0.75))
    deviation = (high - low) / 1.349  # of a normal distribution
    if not np.isfinite(deviation):
        return "quantile"
    far = np.abs(numbers - middle).max() > _FAR * deviation
    return "quantile" if deviation == 0 or far else "robust"


def is_binary(numbers: np.ndarray) -> bool:
    """Return whether all numbers are 0 or 1."""
    return bool(((numbers == 0) | (numbers == 1)).all())


def _fitted(given: np.ndarray, scale: str) -> tuple[float, float, np.ndarray]:
    """Return center, spread and quantiles of finite numbers [n, 1]."""
    from sklearn import preprocessing  # noqa: PLC0415 - slow to load

    none = np.empty(0)
    if scale == "standard":
        scaler = preprocessing.StandardScaler().fit(given)
        return float(scaler.mean_[0]), float(scaler.scale_[0]), none
    if scale == "robust":
        scaler = preprocessing.RobustScaler(unit_variance=True).fit(given)
        return float(scaler.center_[0]), float(scaler.scale_[0]), none
    if scale == "quantile":
        count = min(_QUANTILES, len(given))
        quantile = preprocessing.QuantileTransformer(n_quantiles=count, random_state=0).fit(given)
        return 0.0, 1.0, quantile.quantiles_[:, 0]
    if scale == "sparse":
        sizes = np.abs(given[given != 0])
        return 0.0, float(np.median(sizes)) if sizes.size else 1.0, none
    return 0.0, 1.0, none


@dataclass(frozen=True, eq=False)
class Vector(ColumnEncoder):
    """A vector of one length in each cell, such as an embedding, divided by one number."""

    kind = "vector"

    width: int
    spread: float

    @property
    def names(self) -> tuple[str, ...]:
        """Return ``column[0]``, ``column[1]``, …"""
        return tuple(f"{self.name}[{entry}]" for entry in range(self.width))

    def values(self, column: pa.ChunkedArray) -> np.ndarray:
        """Return the entries."""
        entries = vectors_of(column)
        if entries.shape[1] != self.width:
            raise ValueError(f"has vectors of {entries.shape[1]}, and had {self.width} in training")
        return (entries / self.spread).astype(np.float32)


def vectors_of(column: pa.ChunkedArray) -> np.ndarray:
    """Return the vectors in the cells as doubles [rows, width], all finite."""
    if not pa.types.is_fixed_size_list(column.type):
        raise ValueError(f"holds {column.type}, and had vectors of one length in training")
    if column.null_count:
        raise BadCellError(pc.index(column.is_null(), True).as_py(), "has no vector")
    width = column.type.list_size
    entries = np.concatenate([numbers_of(pa.chunked_array([c.flatten()])) for c in column.chunks])
    wrong = ~np.isfinite(entries.astype(np.float32))
    if wrong.any():
        entry = int(np.argmax(wrong))
        raise BadCellError(entry // width, f"must hold finite numbers, got {entries[entry]}")
    return entries.reshape(-1, width)


def fit_vector(name: str, column: pa.ChunkedArray, scale: str) -> Vector:
    """Return an encoder whose vectors vary as much in all as one scaled number does."""
    entries = vectors_of(column)
    variance = float(entries.var(axis=0).sum())
    spread = 1.0 if scale == "none" or variance == 0 else float(np.sqrt(variance))
    how = "as they are" if spread == 1.0 else "divided by their common spread"
    return Vector(name, f"vectors of {entries.shape[1]:,} numbers, {how}", entries.shape[1], spread)
