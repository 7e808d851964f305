"""Real graphs with a tenth of their edges hidden: what `benchmarks.worth` measures on.

A variant is a graph with or without its features; both have the same nodes, hidden edges and
non-edges. Everything that is drawn is written into files once, so that each method gets the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.csv
import torch
from torch import Tensor
from torch_geometric.data import Data

from mgae.core.errors import ConfigError
from mgae.core.graph import MessageGraph, random_orientation
from mgae.core.negatives import NegativeSampler
from mgae.core.seeding import Generators
from mgae.data import checked, load_graph
from mgae.data.atomic import read_tensors, write_tensors
from mgae.data.datasets.sources import mirror_folder
from mgae.data.io.options import InputSettings
from mgae.data.opening import open_graph
from mgae.data.splits import hard
from mgae.data.splits.links import joined, without

PLAIN = ("netscience", "power", "yeast", "polblogs", "lastfm-asia")
WITH_FEATURES = ("chameleon", "cora", "citeseer", "pubmed", "facebook-pages", "blogcatalog")
BIPARTITE = ("movielens-1m", "gowalla")  # users and items, with a split of their own
NAMES = (*PLAIN, *WITH_FEATURES, *BIPARTITE)
_OURS = ("cora", "citeseer", "pubmed")

HIDDEN_SHARE = 0.1
HARD_NEGATIVES = 100
# Above so many hidden edges only a sample of them is ranked.
RANK_ALL_UP_TO, RANKED_SAMPLE = 3000, 2000


@dataclass(frozen=True)
class Variant:
    """A graph, with its features or without."""

    name: str
    features: bool = False

    @property
    def key(self) -> str:
        return self.name + ("+features" if self.features else "")

    @property
    def title(self) -> str:
        return self.name + (", features" if self.features else "")


def variants(names: list[str], features: str = "both") -> Iterator[Variant]:
    """Return the variants of these graphs; ``features`` is with, without or both."""
    for name in names:
        if features != "with":
            yield Variant(name)
        if features != "without" and name in WITH_FEATURES:
            yield Variant(name, features=True)


@dataclass(frozen=True, eq=False)
class HiddenEdges:
    """What a method gets, and what it is asked.

    Attributes:
        graph: the remaining edges, checked; the one thing a method gets.
        hidden: edges that were taken away [2, n], each once, in random orientation.
        negatives: pairs that are no edge of the whole graph [2, n].
        ranked: those of the hidden edges that are ranked among all nodes [2, m].
        hard: for each of these pairs that look like edges [2, m, 100]; -1: there are fewer.
        side: on a bipartite graph the side of each node [num_nodes]; otherwise None.
    """

    graph: Data
    hidden: Tensor
    negatives: Tensor
    ranked: Tensor
    hard: Tensor
    side: Tensor | None = None


def hide_edges(message: MessageGraph, generator: torch.Generator) -> Tensor:
    """Return a tenth of the edges [2, n] of an undirected graph, never a node's last one."""
    wanted = max(1, math.floor(HIDDEN_SHARE * message.pairs.size(1) + 1e-9))
    degree = torch.bincount(message.pairs.flatten(), minlength=message.num_nodes).tolist()
    order = torch.randperm(message.pairs.size(1), generator=generator)
    chosen: list[int] = []
    for index, (u, v) in zip(order.tolist(), message.pairs[:, order].t().tolist(), strict=True):
        if degree[u] > 1 and degree[v] > 1:
            degree[u] -= 1
            degree[v] -= 1
            chosen.append(index)
            if len(chosen) == wanted:
                break
    return random_orientation(message.pairs[:, chosen], generator)


def draw(graph: Data, key: str, name: str, seed: int) -> HiddenEdges:
    """Hide edges of a whole graph: by ``name`` and ``seed``, the same for both variants."""
    generators, side = Generators(seed), graph.get("side")
    whole = MessageGraph.of(graph)
    hidden = hide_edges(whole, generators.fresh(f"worth/{name}/hidden"))
    # Both kinds of negatives as the product draws them: on a bipartite graph across the sides.
    chance = generators.fresh(f"worth/{name}/negatives")
    negatives = NegativeSampler.of(whole).sample_distinct(hidden.size(1), chance)
    negatives = random_orientation(negatives, chance)
    ranked = hidden
    if hidden.size(1) > RANK_ALL_UP_TO:
        order = torch.randperm(hidden.size(1), generator=generators.fresh(f"worth/{name}/ranked"))
        ranked = hidden[:, order[:RANKED_SAMPLE]]
    message = without(whole, hidden)
    order = torch.randperm(whole.num_nodes, generator=generators.fresh(f"worth/{key}/hard"))
    known = joined(message, hidden)
    hard_pairs = hard.hard_negatives(known, message, ranked, HARD_NEGATIVES, order)
    return HiddenEdges(remaining(graph, hidden), hidden, negatives, ranked, hard_pairs, side)


def remaining(graph: Data, hidden: Tensor) -> Data:
    """Return the graph less the hidden edges, as a user would give it, with its sides."""
    message = without(MessageGraph.of(graph), hidden)
    kept = Data(x=graph.x, edge_index=message.edge_index, num_nodes=graph.num_nodes)
    if graph.get("side") is not None:
        kept.side = graph.side
    return checked(kept)


def open_inputs(variant: Variant, seed: int, folder: Path) -> HiddenEdges:
    """Return the graph and the questions from their files, or make these."""
    graph = open_whole(variant.name, folder)
    if not variant.features:
        graph.x = None
    path = folder / f"{variant.key}-{seed}.safetensors"
    if not path.exists():
        drawn = draw(graph, variant.key, variant.name, seed)
        names = ("hidden", "negatives", "ranked", "hard")
        write_tensors(path, {name: getattr(drawn, name).clone() for name in names})
        return drawn
    stored = read_tensors(path)
    return HiddenEdges(remaining(graph, stored["hidden"]), **stored, side=graph.get("side"))


def open_whole(name: str, folder: Path) -> Data:
    """Return a whole graph with its features; read from its source once."""
    path = folder / f"{name}.safetensors"
    if not path.exists():
        graph = _read(name)
        folder.mkdir(parents=True, exist_ok=True)
        kept = ((key, graph.get(key)) for key in ("edge_index", "x", "side"))
        size = {"num_nodes": torch.tensor(graph.num_nodes)}
        write_tensors(path, {key: value for key, value in kept if value is not None} | size)
    stored = read_tensors(path)
    whole = Data(
        x=stored.get("x"), edge_index=stored["edge_index"], num_nodes=int(stored["num_nodes"])
    )
    if "side" in stored:
        whole.side = stored["side"].to(torch.int8)
    return checked(whole)


def _read(name: str) -> Data:
    if name in _OURS:
        return load_graph(name)
    if name in BIPARTITE:
        parts = official_parts(name)
        return bipartite(torch.cat(list(parts.values()), dim=1))
    folder = graphs_folder() / name
    features = folder / "features.parquet"
    given = {"features": str(features)} if features.exists() else {}
    return open_graph(folder / "edges.csv.gz", InputSettings(**given))


def graphs_folder() -> Path:
    mirror = mirror_folder()
    if mirror is None or not (mirror / "graphs").is_dir():
        raise ConfigError(f"MGAE_DATA is {mirror}: set it to a folder that has graphs/")
    return mirror / "graphs"


def official_parts(name: str) -> dict[str, Tensor]:
    """Return users and items [2, n] of each part; users count from 0, and items too."""
    files = sorted((graphs_folder() / name).glob("*.csv.gz"))
    return {file.name.split(".")[0]: _numbers(file) for file in files}


def _numbers(file: Path) -> Tensor:
    table = pyarrow.csv.read_csv(file)
    columns = (table.column(name).to_pylist() for name in ("user", "item"))
    return torch.tensor([[int(text[1:]) for text in column] for column in columns])


def bipartite(edges: Tensor, sizes: tuple[int, int] | None = None) -> Data:
    """Return a graph of users, then items, from numbers [2, n] of both; ``side`` is 0 or 1."""
    users, items = sizes or tuple(int(row.max()) + 1 for row in edges)
    across = torch.stack([edges[0], edges[1] + users])
    both_ways = torch.cat([across, across.flip(0)], dim=1)
    side = (torch.arange(users + items) >= users).to(torch.int8)
    return checked(Data(edge_index=both_ways, num_nodes=users + items, side=side))
