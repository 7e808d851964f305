"""Prepare the features of every node from the rows of a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from mgae.core.errors import ConfigError, GraphError, hint
from mgae.data.atomic import read_tensors, write_json, write_tensors
from mgae.data.columns.base import BadCellError, ColumnEncoder, from_plain, to_plain
from mgae.data.columns.categories import Category
from mgae.data.columns.choices import FeatureSettings
from mgae.data.columns.choosing import KINDS, Dropped, choose_encoder
from mgae.data.columns.numbers import Number, Vector
from mgae.data.columns.texts import Words
from mgae.data.ids import Nodes, counted, listed
from mgae.data.io.alike import alike_hint
from mgae.data.io.noderows import NodeRows
from mgae.data.io.tables import header_notes

PREPARATION_FILES = ("features.json", "features.safetensors")
_MOST_LISTED = 6
_UNEVEN = 1000.0


@dataclass(frozen=True, eq=False)
class Preparation:
    """How the columns of a features file become numbers, fitted on the graph that is trained on."""

    encoders: tuple[ColumnEncoder, ...]

    @classmethod
    def fit(cls, rows: NodeRows, settings: FeatureSettings) -> Preparation:
        """Look at every column, and choose an encoder for it.

        Raises:
            GraphError: if a column cannot be encoded.
            ConfigError: if ``settings`` name a column that there is not.
        """
        for name in settings.columns:
            if name not in rows.names:
                raise ConfigError(
                    f"features.columns.{name}: {rows.table.where} has no such column, its columns "
                    f"are {listed(rows.names, 20)}{hint(name, rows.names)}"
                )
        encoders = []
        for name, column in zip(rows.names, rows.columns, strict=True):
            try:
                choice = settings.columns.get(name, "auto")
                encoders.append(choose_encoder(name, column, choice, settings.scale))
            except ValueError as error:
                raise _wrong(rows, name, error) from None
        return cls(tuple(encoders))

    @classmethod
    def of_names(cls, names: Sequence[str], mean: np.ndarray) -> Preparation:
        """Return the preparation of a run before 0.3, which kept the names of its columns alone."""
        encoders: list[ColumnEncoder] = []
        number_of = {name: number for number, name in enumerate(names)}
        for (name, mark), group in groupby(names, key=_origin):
            members = [member[len(name) + 1 :] for member in group]
            if mark == "":
                fill = float(mean[number_of[name]])
                encoders.append(Number(name, "", "none", 0.0, 1.0, fill, 0, np.empty(0)))
            elif mark == "[":
                encoders.append(Vector(name, "", len(members), 1.0))
            else:
                kind = Category if mark == "=" else Words
                encoders.append(kind(name, "", tuple(members)))
        return cls(tuple(encoders))

    @property
    def names(self) -> list[str]:
        """Return the names of the numbers, in their order."""
        return [name for encoder in self.encoders for name in encoder.names]

    @property
    def read(self) -> list[str]:
        """Return the columns that are read."""
        return [one.name for one in self.encoders if not isinstance(one, Dropped)]

    @property
    def text_columns(self) -> set[str]:
        """Return the columns whose cells must not be read as numbers."""
        return {encoder.name for encoder in self.encoders if encoder.reads_text}

    def apply(self, rows: NodeRows) -> tuple[np.ndarray, list[str]]:
        """Return the rows' features [rows, F], and notes on values that the training did not have.

        Raises:
            GraphError: if a column is missing, or of another kind than it was.
        """
        blocks, notes = [np.empty((rows.num_rows, 0), np.float32)], []
        for encoder in self.encoders:
            if isinstance(encoder, Dropped):
                continue
            if encoder.name not in rows.names:
                raise GraphError(
                    f"{rows.table.where} has no column {encoder.name!r}, which the model was "
                    f"trained on: its columns are {listed(rows.names, 20)}"
                )
            column = rows.columns[rows.names.index(encoder.name)]
            block = self._block(rows, encoder, column)
            note = encoder.unknown(column, block)
            notes += [f"column {encoder.name!r}: {note}"] if note else []
            blocks.append(block)
        return np.concatenate(blocks, axis=1), notes

    def _block(self, rows: NodeRows, encoder: ColumnEncoder, column: pa.ChunkedArray) -> np.ndarray:
        if column.null_count == len(column) and isinstance(encoder, Number):
            column = pa.chunked_array([pa.nulls(len(column), pa.float64())])
        try:
            return encoder.values(column)
        except (ValueError, pa.ArrowException) as error:
            raise _wrong(rows, encoder.name, error) from None

    def described(self) -> list[dict[str, str]]:
        """Return what became of each column; neighbors that fared alike share a line."""
        lines = []
        for what, group in groupby(self.encoders, key=lambda encoder: encoder.what):
            names = [encoder.name for encoder in group]
            name = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]} ({len(names):,})"
            lines.append({"column": name, "became": what})
        return lines

    def notes(self) -> list[str]:
        """Return a line that sums up, and one for each column that is left out."""
        kept = [one for one in self.encoders if one.names]
        ways = [f"{one.name} ({getattr(one, 'scale', one.kind)})" for one in kept]
        plain = all(getattr(one, "scale", "") == "none" for one in kept)
        count = f"{counted(len(kept), 'column')} became {counted(len(self.names), 'number')}"
        notes = [] if plain else [f"{count}: {listed(ways, _MOST_LISTED)}; mgae inspect says how"]
        dropped = (one for one in self.encoders if isinstance(one, Dropped) and one.note)
        return notes + [f"column {one.name!r} {one.what}" for one in dropped]

    def save(self, folder: Path) -> None:
        """Write plain JSON, and the arrays as safetensors."""
        plain = [to_plain(encoder) for encoder in self.encoders]
        write_json(folder / PREPARATION_FILES[0], [facts for facts, _ in plain])
        arrays = {
            f"{number}.{name}": array
            for number, (_, one) in enumerate(plain)
            for name, array in one.items()
        }
        write_tensors(folder / PREPARATION_FILES[1], arrays)

    @classmethod
    def load(cls, folder: Path) -> Preparation | None:
        """Read what `save` wrote; None if there is nothing."""
        if not (folder / PREPARATION_FILES[0]).exists():
            return None
        facts = json.loads((folder / PREPARATION_FILES[0]).read_text(encoding="utf-8"))
        arrays: list[dict[str, Tensor]] = [{} for _ in facts]
        for key, tensor in read_tensors(folder / PREPARATION_FILES[1]).items():
            number, _, name = key.partition(".")
            arrays[int(number)][name] = tensor
        pairs = zip(facts, arrays, strict=True)
        return cls(tuple(from_plain(KINDS, one, tensors) for one, tensors in pairs))


@dataclass(frozen=True, eq=False)
class Features:
    """Features of all nodes: ``x`` [nodes, F], how they came about, and notes."""

    x: Tensor
    preparation: Preparation
    notes: list[str]


def features(
    rows: NodeRows,
    nodes: Nodes,
    missing: str,
    preparing: FeatureSettings | Preparation,
) -> Features:
    """Return the features of all nodes.

    ``missing`` is what a node without a row gets: ``zero``, the ``mean``, or ``refuse``.
    ``preparing`` says how columns become numbers, or is how they did in training.

    Raises:
        GraphError: if a number is not finite, or a node without a row is refused.
    """
    where, position = rows.table.where, rows.positions(nodes)
    # By node, so that what is fitted does not depend on the order of the rows.
    rows, position = rows.take(np.argsort(position)), np.sort(position)
    if isinstance(preparing, Preparation):
        preparation = preparing
        values, notes = preparation.apply(rows)
    else:
        preparation = Preparation.fit(rows, preparing)
        values, notes = preparation.apply(rows)[0], preparation.notes()
    if not preparation.names:
        raise GraphError(f"{where} has no features beside the ids: {listed(notes)}")
    x = np.zeros((len(nodes.ids), len(preparation.names)), np.float32)
    x[position] = values
    notes = [*notes, *_fill_absent(x, position, rows, nodes, missing)]
    said = [*header_notes(rows.table), *(f"{where}: {note}" for note in notes)]
    return Features(torch.from_numpy(x), preparation, said)


def _fill_absent(
    x: np.ndarray, position: np.ndarray, rows: NodeRows, nodes: Nodes, missing: str
) -> list[str]:
    """Fill the rows of ``x`` that no row of the file fills, and return notes."""
    absent = np.setdiff1d(np.arange(len(x)), position)
    if len(absent) == 0:
        return []
    names = [nodes.ids[node] for node in absent]
    if missing == "refuse":
        raise GraphError(
            f"{rows.table.where} has no features for {counted(len(absent), 'node')}: "
            f"{listed(names)}{alike_hint(map(str, names), rows.ids.texts.to_pylist())} "
            "(input.missing = zero or mean fills them)"
        )
    if missing == "mean":
        x[absent] = np.delete(x, absent, axis=0).mean(axis=0, dtype=np.float64)
    return [f"{counted(len(absent), 'node')} without features, set to {missing}: {listed(names)}"]


def uneven_note(x: Tensor) -> list[str]:
    """Return a note if the columns of features [n, F] that are taken as they are differ in size."""
    spread = x.double().std(dim=0)
    spread = spread[spread > 0]
    if spread.numel() < 2 or float(spread.max() / spread.median()) < _UNEVEN:
        return []
    return [
        f"the graph: one column of x varies {float(spread.max() / spread.median()):.0e} times as "
        "much as the median one, and drowns the others: features.scale=robust scales them"
    ]


def _wrong(rows: NodeRows, name: str, error: Exception) -> GraphError:
    row = rows.origin(error.row) if isinstance(error, BadCellError) else 0
    reason = str(error).partition("\n")[0]
    return GraphError(f"{rows.table.locate(row)}: column {name!r} {reason}")


def _origin(name: str) -> tuple[str, str]:
    """Return the column that a name of an old run comes from, and the mark behind it."""
    marks = [index for index, letter in enumerate(name) if letter in "=:["]
    return (name[: marks[0]], name[marks[0]]) if marks else (name, "")
