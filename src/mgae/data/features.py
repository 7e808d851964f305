"""Prepare the features of every node from the rows of a table."""

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
    """Features of all nodes: ``x`` [nodes, F], the columns' names, and notes on their origin."""

    x: Tensor
    names: list[str]
    notes: list[str]


@dataclass(frozen=True)
class KnownFeatures:
    """Columns that features must come in: names [F], and the value of a missing number [F]."""

    names: tuple[str, ...]
    mean: np.ndarray


def features(
    rows: NodeRows, nodes: Nodes, missing: str, known: KnownFeatures | None = None
) -> Features:
    """Return the features of all nodes; a missing number gets the mean of its column.

    ``missing`` is what a node without a row gets: ``zero``, the ``mean``, or ``refuse``. With
    ``known`` the features come in the columns that a model was trained on.

    Raises:
        GraphError: if a number is not finite, or a node without a row is refused.
    """
    where, position = rows.table.where, rows.positions(nodes)
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
    """Return the rows' features in this order, [rows, F], the F columns' names, and notes."""
    blocks, notes, filled = [], [], []
    names: list[str] = []
    for name, column in zip(rows.names, rows.columns, strict=True):
        block = encoded(name, column, rows.table.locate)
        values, count = _fill_gaps(block.values[order])
        blocks.append(values)
        names += block.names
        notes += [f"column {name!r}: {block.note}"] if block.note else []
        filled += [f"{name} ({count:,})"] if count else []
    if filled:
        notes.append(f"missing numbers set to the mean of their column: {listed(filled)}")
    return np.concatenate(blocks, axis=1), names, notes


def _known_columns(rows: NodeRows, known: KnownFeatures) -> tuple[np.ndarray, list[str]]:
    """Return the rows' features in the known columns, [rows, F], and notes."""
    notes = []
    values = np.empty((len(rows.ids.codes[0]), len(known.names)), np.float32)
    origins = [origin(name, rows.names) for name in known.names]
    if None in origins:
        raise GraphError(
            f"{rows.table.where} has no column for {known.names[origins.index(None)]!r}, which "
            f"the model was trained on: its columns are {listed(rows.names, 20)}"
        )
    for column, name in enumerate(rows.names):
        indices = [index for index, number in enumerate(origins) if number == column]
        if not indices:
            continue
        names = [known.names[index] for index in indices]
        block = encoded_as(name, rows.columns[column], names, rows.table.locate)
        values[:, indices] = block.values
        notes += [f"column {name!r}: {block.note}"] if block.note else []
    return np.where(np.isnan(values), known.mean, values), notes


def _fill_gaps(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the values with the mean of their column in place of NaN, and how many were NaN."""
    gaps = np.isnan(values)
    if not gaps.any():
        return values, 0
    mean = np.nanmean(values, axis=0, dtype=np.float64)
    return np.where(gaps, mean, values).astype(np.float32), int(gaps.sum())


def _fill_absent(
    x: np.ndarray, position: np.ndarray, rows: NodeRows, nodes: Nodes, missing: str
) -> list[str]:
    """Fill the rows of ``x`` that no row of the table fills, and return notes."""
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
