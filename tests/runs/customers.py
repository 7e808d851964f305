"""Customers in five planted groups, with a table of the columns that people really have."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from mgae.data.io.options import InputSettings

TOWNS = ("Ulm", "Graz", "Bern", "Oslo", "Rome")
_WORDS = (
    "likes buys returns often rarely blue red green shoes books music late early online "
    "shop cash card calls mails visits"
)
WORDS = _WORDS.split()


def customers(folder: Path, seed: int, signal: bool, nodes: int = 300) -> InputSettings:
    """Write edges.csv and people.csv: age, income, city and note; with ``signal``, of the group."""
    rng = np.random.default_rng(seed)
    group = rng.integers(len(TOWNS), size=nodes)
    chance = np.where(group[:, None] == group, 0.08, 0.006)
    edges = np.argwhere(np.triu(rng.random((nodes, nodes)) < chance, 1)).tolist()
    people: list[list[Any]] = []
    for node in range(nodes):
        shown = group[node] if signal and rng.random() < 0.9 else rng.integers(len(TOWNS))
        note = " ".join(rng.choice(WORDS, 6))
        income = round(float(np.exp(rng.normal(10.3, 0.8))), 2)
        people.append([f"c{node}", rng.integers(18, 81), income, TOWNS[shown], note])
    write(
        folder / "edges.csv",
        [["customer_a", "customer_b"], *([f"c{u}", f"c{v}"] for u, v in edges)],
    )
    write(folder / "people.csv", [["customer", "age", "income", "city", "note"], *people])
    return InputSettings(features=str(folder / "people.csv"))


def write(path: Path, rows: list[list[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)
