"""The weights of an evidence model that was trained on other graphs; `make pretrain` writes them.

One set serves graphs with features and without: the columns of features are the last ones, and a
column that is not known counts for nothing.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from safetensors import safe_open
from torch import Tensor

FILE = Path(__file__).with_name("shipped.safetensors")
_BY_COLUMN = ("mean", "scale", "linear.weight", "hidden.weight")  # the last dimension is columns


@cache
def read_weights(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the weights of a file and its metadata."""
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata())  # noqa: SIM118


def shipped_weights(names: tuple[str, ...], path: Path | None = None) -> dict[str, Tensor]:
    """Return the weights for evidence of these columns: all of the file's, or its first ones."""
    weights, about = read_weights(path or FILE)
    known = tuple(json.loads(about["columns"]))
    assert known[: len(names)] == names, "the columns have changed: run `make pretrain`"
    return {
        key: value[..., : len(names)] if key.endswith(_BY_COLUMN) else value
        for key, value in weights.items()
    }
