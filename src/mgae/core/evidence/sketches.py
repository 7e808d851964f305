"""Low-rank views of large sparse matrices, by random projection; the same for every run."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from mgae.core.seeding import Generators

Floats = NDArray[np.float32]
Indices = NDArray[np.int64]
_EXTRA = 16  # columns beside those that are wanted, for accuracy


def unit_rows(x: Floats) -> Floats:
    """Scale rows to unit length; rows of zeros stay."""
    unit: Floats = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    return unit


def leading_eigenvectors(
    matrix: sp.csr_array, rank: int, rounds: int = 12
) -> tuple[Floats, Floats]:
    """Return the eigenvalues [r] and vectors [n, r] of largest magnitude of a symmetric matrix."""
    size = matrix.shape[0]
    basis = np.linalg.qr(_normal(size, min(size, rank + _EXTRA)))[0]
    for _ in range(rounds):
        basis = np.linalg.qr(matrix @ (matrix @ basis))[0]
    values, turn = np.linalg.eigh(basis.T @ (matrix @ basis))
    best = np.argsort(-np.abs(values), kind="stable")[: min(rank, size)]
    return values[best].astype(np.float32), (basis @ turn[:, best]).astype(np.float32)


def leading_directions(x: sp.csr_array, width: int, rounds: int = 3) -> Floats:
    """Return the leading directions X V [n, width] of a sparse matrix X [n, F]."""
    basis = np.linalg.qr(_normal(x.shape[1], width + _EXTRA))[0]
    for _ in range(rounds):
        basis = np.linalg.qr(x.T @ np.linalg.qr(x @ basis)[0])[0]
    small = x @ basis
    _, turn = np.linalg.eigh(small.T @ small)
    return np.ascontiguousarray(small @ turn[:, ::-1][:, :width])


def random_projections(walk: sp.csr_array, width: int, hops: int) -> list[Floats]:
    """Return unit rows [n, width] of S R, S² R, … for a random R (FastRP)."""
    now, result = _normal(walk.shape[0], width), []
    for _ in range(hops):
        now = walk @ now
        result.append(unit_rows(now))
    return result


def _normal(rows: int, columns: int) -> Floats:
    drawn = torch.randn(rows, columns, generator=Generators(0)["init"])
    return drawn.numpy()
