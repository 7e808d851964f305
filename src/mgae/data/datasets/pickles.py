"""Read pickles and torch files of published datasets without running anything that they name.

Own code: a pickle may name any function of any module, to be called while it is read. The readers
here admit the few names that arrays need and refuse the file at the first other one.
"""

from __future__ import annotations

import codecs
import collections
import pickle
import re
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor
from torch.serialization import safe_globals

from mgae.core.errors import GraphError

# numpy's own rebuilding function, wherever this version keeps it.
_REBUILD: Any = np.empty(0).__reduce__()[0]
_REBUILD_NAMES = ("numpy.core.multiarray", "numpy._core.multiarray")
_DTYPES = [type(np.dtype(kind)) for kind in ("bool", "int32", "int64", "float32", "float64")]


class _CsrState:
    """Stands in for scipy's class, so that only checked arrays ever get into scipy."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.state = state

    def matrix(self) -> csr_matrix:
        arrays = (self.state["data"], self.state["indices"], self.state["indptr"])
        return checked_csr(*arrays, self.state["_shape"])


_ADMITTED: dict[tuple[str, str], Any] = {
    **{(module, "_reconstruct"): _REBUILD for module in _REBUILD_NAMES},
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("scipy.sparse.csr", "csr_matrix"): _CsrState,
    ("scipy.sparse._csr", "csr_matrix"): _CsrState,
    ("collections", "defaultdict"): collections.defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
    ("_codecs", "encode"): codecs.encode,  # how Python 3 writes bytes for Python 2
}


class _ArrayUnpickler(pickle.Unpickler):
    """Unpickler of arrays and containers alone."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream, encoding="latin1")  # Planetoid's were written by Python 2

    def find_class(self, module: str, name: str) -> Any:
        """Return what a name stands for, if it is admitted."""
        if (module, name) not in _ADMITTED:
            raise GraphError(f"it names {module}.{name}, and only arrays and lists are admitted")
        return _ADMITTED[module, name]


def read_pickle(path: Path) -> Any:
    """Return an array, sparse matrix or container from a pickle.

    Raises:
        GraphError: if the file has anything else, or is damaged.
    """
    try:
        with path.open("rb") as stream:
            value = _ArrayUnpickler(stream).load()
        return value.matrix() if isinstance(value, _CsrState) else value
    except Exception as error:  # a damaged pickle can raise anything
        raise GraphError(f"cannot read {path}: {_one_line(error)}") from None


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Return the arrays of a dictionary that ``torch.save`` wrote, as tensors.

    Raises:
        GraphError: if the file has anything else, or is damaged.
    """
    rebuild = [(_REBUILD, f"{module}._reconstruct") for module in _REBUILD_NAMES]
    try:
        with safe_globals([*rebuild, np.ndarray, np.dtype, *_DTYPES]):
            arrays = torch.load(path, map_location="cpu", weights_only=True)
        return {str(name): torch.as_tensor(array) for name, array in arrays.items()}
    except Exception as error:  # as above
        raise GraphError(f"cannot read {path}: {_refusal(error)}") from None


def checked_csr(data: Any, indices: Any, indptr: Any, shape: Any) -> csr_matrix:
    """Return a sparse matrix after checking its indices, which scipy's products do not."""
    matrix = csr_matrix((data, indices, indptr), shape=tuple(shape))
    matrix.check_format(full_check=True)
    return matrix


def _refusal(error: Exception) -> str:
    """Return a message without torch's advice to switch the protection off."""
    if not isinstance(error, pickle.UnpicklingError):
        return _one_line(error)
    named = re.search(r"GLOBAL ([\w.]+)", str(error))
    what = f"it names {named[1]}" if named else "it is damaged or holds more than arrays"
    return f"{what}, and only arrays are admitted"


def _one_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
