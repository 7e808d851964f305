"""Draw a graph of the size of an OGB dataset, in OGB's raw layout, where the real one is missing.

python -m scripts.twins FOLDER ogbl-collab
MGAE_DATA=FOLDER mgae reproduce links-ogb --datasets ogbl-collab --estimate
MGAE_DATA=FOLDER mgae train ogbl-collab --set train.epochs=1

Counts of nodes, edges, parts of the split, negatives, features and classes are those of the real
one, and the degrees fall off as a power of the rank; everything else is chance, so that its figures
mean nothing. A file TWINS in the folder keeps `mgae reproduce` from filling a table with them.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from pyarrow import csv

from mgae.data.datasets.sources import TWINS
from mgae.registry import DATASETS

# By OGB: edges (ogbl-collab's with their repetitions), or nodes, of the three parts; negatives.
PARTS = {
    "ogbl-ddi": (1_067_911, 133_489, 133_489),
    "ogbl-collab": (1_179_052, 60_084, 46_329),
    "ogbl-ppa": (21_231_931, 6_062_562, 3_031_780),
    "ogbn-arxiv": (90_941, 29_799, 48_603),
    "ogbn-proteins": (86_619, 21_236, 24_679),
}
NEGATIVES = {"ogbl-ddi": 100_000, "ogbl-collab": 100_000, "ogbl-ppa": 3_000_000}
DISTINCT = {"ogbl-collab": 0.75}  # of the pairs listed; the rest are the same pairs in other years
SKEW = 1.5  # a node's chance falls as its rank to the power 1/1.5 - 1


def pairs(count: int, nodes: int, chance: np.random.Generator) -> np.ndarray:
    """Distinct undirected pairs [count, 2], no loops, hubs more often, in random order."""
    codes = np.empty(0, dtype=np.int64)
    while len(codes) < count:
        more = int(1.2 * (count - len(codes))) + 16
        ends = (chance.random((2, more)) ** SKEW * nodes).astype(np.int64)
        low, high = ends.min(axis=0), ends.max(axis=0)
        codes = np.unique(np.concatenate([codes, (low * nodes + high)[low < high]]))
    codes = chance.permutation(codes)[:count]
    both = np.stack([codes // nodes, codes % nodes], axis=1)
    return chance.permutation(nodes)[both]  # a hub's number says nothing


def write_links(name: str, folder: Path, chance: np.random.Generator) -> None:
    """Write the parts as OGB's .pt files, and the features."""
    facts = DATASETS[name].extras
    nodes, parts = facts["statistics"]["nodes"], PARTS[name]
    distinct = int(DISTINCT.get(name, 1.0) * parts[0])
    drawn = pairs(distinct + sum(parts[1:]), nodes, chance)
    train = drawn[:distinct]
    repeated = train[chance.integers(distinct, size=parts[0] - distinct)]
    held_out = np.split(drawn[distinct:], [parts[1]])
    target = folder / "split" / facts["arguments"]["split"]
    target.mkdir(parents=True)
    content = {"edge": torch.from_numpy(np.concatenate([train, repeated]))}
    if name == "ogbl-collab":
        content["weight"] = torch.ones(parts[0], dtype=torch.int64)
        content["year"] = torch.from_numpy(chance.integers(1963, 2018, size=parts[0]))
    torch.save(content, target / "train.pt")
    known = np.sort(drawn, axis=1) @ np.array([nodes, 1])
    for part, edges in zip(("valid", "test"), held_out, strict=True):
        others = _no_edges(NEGATIVES[name], nodes, known, chance)
        both = {"edge": torch.from_numpy(edges), "edge_neg": torch.from_numpy(others)}
        torch.save(both, target / f"{part}.pt")
    if facts["statistics"]["features"]:
        width = facts["statistics"]["features"]
        if name == "ogbl-ppa":
            x = np.eye(width, dtype=np.float32)[chance.integers(width, size=nodes)]
        else:
            x = chance.standard_normal((nodes, width), dtype=np.float32)
        write_table(folder / "raw/node-feat.csv.gz", x)


def _no_edges(count: int, nodes: int, known: np.ndarray, chance: np.random.Generator) -> np.ndarray:
    ends = chance.integers(nodes, size=(2 * count, 2))
    codes = np.sort(ends, axis=1) @ np.array([nodes, 1])
    fine = (ends[:, 0] != ends[:, 1]) & ~np.isin(codes, known)
    return ends[fine][:count]


def write_nodes(name: str, folder: Path, chance: np.random.Generator) -> None:
    """Write edges, features, labels and the nodes of the three parts as OGB's tables."""
    facts = DATASETS[name].extras["statistics"]
    nodes = facts["nodes"]
    edges = pairs(facts["edges"], nodes, chance)
    write_table(folder / "raw/edge.csv.gz", edges)
    if name == "ogbn-proteins":
        shares = chance.integers(1, 1000, size=(len(edges), 8)).astype(np.float32) / 1000
        write_table(folder / "raw/edge-feat.csv.gz", shares)
        y = chance.integers(2, size=(nodes, facts["classes"]))
    else:
        x = chance.standard_normal((nodes, facts["features"]), dtype=np.float32)
        write_table(folder / "raw/node-feat.csv.gz", x)
        y = chance.permutation(np.arange(nodes) % facts["classes"])[:, None]
    write_table(folder / "raw/node-label.csv.gz", y)
    split = folder / "split" / DATASETS[name].extras["arguments"]["split"]
    order, cuts = chance.permutation(nodes), np.cumsum(PARTS[name])[:2]
    for part, some in zip(("train", "valid", "test"), np.split(order, cuts), strict=True):
        write_table(split / f"{part}.csv.gz", some[:, None])


def write_table(path: Path, values: np.ndarray) -> None:
    """Write numbers without a header, packed quickly rather than tightly."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {str(index): column for index, column in enumerate(values.T)}
    options = csv.WriteOptions(include_header=False)
    with gzip.open(path, "wb", compresslevel=1) as stream:
        csv.write_csv(pa.table(columns), stream, options)


def main(arguments: list[str]) -> None:
    """Draw the graphs that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+", choices=sorted(PARTS))
    given = parser.parse_args(arguments)
    write: dict[str, Callable[[str, Path, np.random.Generator], None]]
    write = {"ogb-links": write_links, "ogb-nodes": write_nodes}
    given.folder.mkdir(parents=True, exist_ok=True)
    (given.folder / TWINS).write_text("graphs drawn by scripts/twins.py\n", encoding="utf-8")
    for name in given.names:
        kind = "ogb-links" if name.startswith("ogbl") else "ogb-nodes"
        folder = given.folder / DATASETS[name].extras["source"].folder
        (folder / "raw").mkdir(parents=True)
        nodes = DATASETS[name].extras["statistics"]["nodes"]
        write_table(folder / "raw/num-node-list.csv.gz", np.array([[nodes]]))
        write[kind](name, folder, np.random.default_rng(0))
        print(f"{name}: {folder}")


if __name__ == "__main__":
    main(sys.argv[1:])
