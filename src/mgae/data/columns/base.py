"""What every encoder of a column shares, and how it is stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class ColumnEncoder(ABC):
    """Turn one column into k numbers per row.

    Fields of a subclass are numbers, texts, tuples of texts or arrays: nothing else is stored.

    Attributes:
        name: the column.
        what: what becomes of it, in words.
    """

    kind: ClassVar[str]

    name: str
    what: str

    @property
    def reads_text(self) -> bool:
        """Return whether the cells of a file must stay texts, such as 0102 and 1.500."""
        return False

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Return the names of the k columns."""

    @abstractmethod
    def values(self, column: pa.ChunkedArray) -> np.ndarray:
        """Return the column as single floats [rows, k], all finite.

        Raises:
            ValueError: if the column is of another kind than in training, with the reason.
        """

    def unknown(self, column: pa.ChunkedArray, values: np.ndarray) -> str:
        """Return how many of the given values mean nothing to this encoder, and which; or ""."""
        return ""


class BadCellError(ValueError):
    """A cell that cannot be encoded: its row, and the reason."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(reason)
        self.row = row


def to_plain(encoder: ColumnEncoder) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return an encoder's facts, fit for JSON, and its arrays."""
    facts: dict[str, Any] = {"kind": encoder.kind}
    arrays = {}
    for field in fields(encoder):
        value = getattr(encoder, field.name)
        if isinstance(value, np.ndarray):
            arrays[field.name] = torch.from_numpy(np.ascontiguousarray(value))
        else:
            facts[field.name] = value
    return facts, arrays


def from_plain(
    kinds: dict[str, type[ColumnEncoder]], facts: dict[str, Any], arrays: dict[str, Tensor]
) -> ColumnEncoder:
    """Return the encoder that `to_plain` took apart."""
    lists = {key: tuple(value) for key, value in facts.items() if isinstance(value, list)}
    plain: dict[str, Any] = {**facts, **lists}
    build = kinds[plain.pop("kind")]
    plain |= {name: tensor.numpy() for name, tensor in arrays.items()}
    return build(**plain)
