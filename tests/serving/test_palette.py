"""Groups differ for everybody: by color under the two frequent deficiencies, and by shape."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest

from mgae.serving.templates import palette

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
VIEWS = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
# Björn Ottosson's OKLab: distances of 0.02 are just seen, 0.1 is the step between two names.
TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def linear(color: str) -> np.ndarray:
    shares = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    low, high = sorted(linear(color) @ [0.2126, 0.7152, 0.0722] for color in (one, other))
    return float((high + 0.05) / (low + 0.05))


def scheme(number: int) -> dict[str, str]:
    """The colors by name: 0 the light ones, 1 the dark ones."""
    parts = palette().split("@media")
    return dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", parts[number]))


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("view", VIEWS)
def test_any_two_groups_differ_in_color(number: int, view: str) -> None:
    colors = scheme(number)
    views = [np.clip(VIEWS[view] @ linear(colors[f"g{n}"]), 0, 1) for n in range(10)]
    labs = [TO_LAB @ np.cbrt(TO_LMS @ one) for one in views]
    assert min(np.linalg.norm(a - b) for a, b in combinations(labs, 2)) > 0.1


@pytest.mark.parametrize("number", [0, 1])
def test_groups_stand_out_from_the_ground_and_texts_can_be_read(number: int) -> None:
    colors = scheme(number)
    assert min(contrast(colors[f"g{n}"], colors["ground"]) for n in range(9)) > 2.2
    for ground in ("ground", "card", "tint"):
        assert min(contrast(colors[ink], colors[ground]) for ink in ("ink", "soft", "main")) > 4.5


def test_each_group_has_a_shape_of_its_own() -> None:
    shapes = re.findall(r'--s\d: "([^"]+)"', palette())
    assert len(set(shapes)) == 10
