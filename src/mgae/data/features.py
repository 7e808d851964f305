"""Features for every node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mgae.core.errors import GraphError
from mgae.data.ids import Nodes, counted, listed
from mgae.data.io.encoding import encoded, encoded_as
from mgae.data.io.noderows import NodeRows, origin


@dataclass(frozen=True)
class Features:
    """Features of all nodes: ``x`` [nodes, F], the columns' names, and how they came about."""

    x: Tensor
    names: list[str]
    notes: list[str]


@dataclass(frozen=True)
class KnownFeatures:
    """Columns that features must come in: their names [F], and what a missing number is, [F]."""

    names: tuple[str, ...]
    mean: np.ndarray


def features(
    rows: NodeRows, nodes: Nodes, missing: str, known: KnownFeatures | None = None
) -> Features:
    """Features of all nodes; a missing number gets the mean of its column.

    ``missing`` is what a node without a row gets: ``zero``, the ``mean``, or ``refuse``. With
    ``known`` the features come in the columns that a model was trained on.

    Raises:
        GraphError: at a number that is not finite, or where a node without a row is refused.
    """
    where, position = rows.table.where, nodes.positions(rows.ids.texts)[rows.ids.codes[0]]
    # By node, so that a mean does not depend on the order of the rows.
    order = np.argsort(position)
    if known is None:
        values, names, notes = _encoded_columns(rows, order)
    else:
        values, notes = _known_columns(rows, known)
        values, names = values[order], list(known.names)
    if not names:
        raise GraphError(f"{where} has no values beside the ids")
    x = np.zeros((len(nodes.ids), len(names)), np.float32)
    x[position[order]] = values
    notes += _fill_absent(x, position, rows, nodes, missing)
    return Features(torch.from_numpy(x), names, [f"{where}: {note}" for note in notes])


def _encoded_columns(rows: NodeRows, order: np.ndarray) -> tuple[np.ndarray, list[str], list[str]]:
    """The rows' features in this order, [rows, F], the names of the F columns, and notes."""
    blocks: list[np.ndarray] = []
    names: list[str] = []
    notes, gaps = [], []
    for name, column in zip(rows.names, rows.columns, strict=True):
        block = encoded(name, column, rows.table.place)
        values, count = _filled(block.values[order])
        blocks.append(values)
        names += block.names
        notes += [f"column {name!r}: {block.note}"] if block.note else []
        gaps += [f"{name} ({count:,})"] if count else []
    if gaps:
        notes.append(f"missing numbers set to the mean of their column: {listed(gaps)}")
    return np.concatenate(blocks, axis=1), names, notes


def _known_columns(rows: NodeRows, known: KnownFeatures) -> tuple[np.ndarray, list[str]]:
    """The rows' features in the known columns, [rows, F], and notes."""
    notes = []
    found = np.empty((len(rows.ids.codes[0]), len(known.names)), np.float32)
    origin = [_origin(name, rows) for name in known.names]
    for number, name in enumerate(rows.names):
        places = [place for place, column in enumerate(origin) if column == number]
        if places:
            names = [known.names[place] for place in places]
            block = encoded_as(name, rows.columns[number], names, rows.table.place)
            found[:, places] = block.values
            notes += [f"column {name!r}: {block.note}"] if block.note else []
    return np.where(np.isnan(found), known.mean, found), notes


def _origin(known: str, rows: NodeRows) -> int:
    """The number of the column that a known one comes of."""
    place = origin(known, rows.names)
    if place is None:
        raise GraphError(
            f"{rows.table.where} has no column for {known!r}, which the model was trained on: "
            f"its columns are {listed(rows.names, 20)}"
        )
    return place


def _filled(values: np.ndarray) -> tuple[np.ndarray, int]:
    """The values with the mean of their column for NaN, and how many of these there were."""
    gaps = np.isnan(values)
    if not gaps.any():
        return values, 0
    mean = np.nanmean(values, axis=0, dtype=np.float64)
    return np.where(gaps, mean, values).astype(np.float32), int(gaps.sum())


def _fill_absent(
    x: np.ndarray, position: np.ndarray, rows: NodeRows, nodes: Nodes, missing: str
) -> list[str]:
    """Fill the rows of ``x`` that no row of the table fills."""
    absent = np.setdiff1d(np.arange(len(x)), position)
    if len(absent) == 0:
        return []
    names = listed([nodes.ids[node] for node in absent])
    if missing == "refuse":
        raise GraphError(
            f"{rows.table.where} has no features for {counted(len(absent), 'node')}: {names} "
            "(input.missing = zero or mean fills them)"
        )
    if missing == "mean":
        x[absent] = np.delete(x, absent, axis=0).mean(axis=0, dtype=np.float64)
    return [f"{counted(len(absent), 'node')} without features, set to {missing}: {names}"]
