"""The named datasets, each with the statistics that it must have once loaded."""

from __future__ import annotations

from functools import partial
from typing import Any

from mgae.data.datasets.gnnbench import gnnbench_source, read_gnnbench
from mgae.data.datasets.ogb import ogb_source, read_links, read_nodes
from mgae.data.datasets.planetoid import planetoid_source, read_cora, read_planetoid
from mgae.registry import DATASETS

__all__ = ["DATASETS"]


def _counts(nodes: int, edges: int, features: int, classes: int) -> dict[str, int]:
    return {"nodes": nodes, "edges": edges, "features": features, "classes": classes}


# The first task is what training takes where none is named.
_BOTH = ("links", "nodes")
_PLANETOID: dict[str, Any] = {"tasks": _BOTH, "split": "official", "on_paper": True}
_SEN = "Sen et al., Collective Classification in Network Data, 2008"

DATASETS.register(
    "cora",
    summary="citations among machine-learning papers, bag-of-words features",
    paper=_SEN,
    license="Apache-2.0",
    statistics=_counts(2708, 5278, 1433, 7),
    source=None,
    **_PLANETOID,
)(read_cora)

DATASETS.register(
    "citeseer",
    summary="citations among computer-science papers, bag-of-words features",
    paper=_SEN,
    license="MIT",
    statistics=_counts(3327, 4552, 3703, 6),
    source=planetoid_source("CiteSeer"),
    **_PLANETOID,
)(partial(read_planetoid, name="CiteSeer"))

DATASETS.register(
    "pubmed",
    summary="citations among papers on diabetes, TF-IDF features",
    paper="Namata et al., Query-driven Active Surveying for Collective Classification, 2012",
    license="MIT",
    statistics=_counts(19717, 44324, 500, 3),
    source=planetoid_source("PubMed"),
    **_PLANETOID,
)(partial(read_planetoid, name="PubMed"))

_OGB: dict[str, Any] = {
    "paper": "Hu et al., Open Graph Benchmark: Datasets for Machine Learning on Graphs, 2020",
    "split": "official",
    "on_paper": True,
}

DATASETS.register(
    "ogbl-ddi",
    summary="interactions among drugs, no features",
    license="CC0 (not verified)",
    tasks=("links",),
    hits=(20, 30),
    monitor="hits@20",
    statistics=_counts(4267, 1334889, 0, 0),
    source=ogb_source("ogbl-ddi", "ddi", "target"),
    **_OGB,
)(partial(read_links, split="target"))

DATASETS.register(
    "ogbl-collab",
    summary="authors who wrote together, weighted by papers, averaged word vectors",
    license="ODC-BY",
    tasks=("links",),
    hits=(50, 100),
    monitor="hits@50",
    val_edges_at_test=True,  # OGB's rules allow that here alone
    statistics=_counts(235868, 1285465, 128, 0),
    source=ogb_source("ogbl-collab", "collab", "time", "node-feat"),
    **_OGB,
)(partial(read_links, split="time"))

DATASETS.register(
    "ogbl-ppa",
    summary="associations among proteins of 58 species, the species as features",
    license="CC0 (not verified)",
    tasks=("links",),
    hits=(10, 50, 100),
    monitor="hits@100",
    statistics=_counts(576289, 30326273, 58, 0),
    source=ogb_source("ogbl-ppa", "ppassoc", "throughput", "node-feat"),
    **_OGB,
)(partial(read_links, split="throughput"))

DATASETS.register(
    "ogbn-arxiv",
    summary="citations among computer-science papers of arXiv, averaged word vectors",
    license="ODC-BY",
    tasks=("nodes",),
    statistics=_counts(169343, 1157799, 128, 40),
    source=ogb_source("ogbn-arxiv", "arxiv", "time", "edge", "node-feat", "node-label"),
    **_OGB,
)(partial(read_nodes, split="time"))

DATASETS.register(
    "ogbn-proteins",
    summary="associations among proteins of 8 species, 112 functions as labels",
    license="CC0 (not verified)",
    tasks=("nodes",),
    statistics=_counts(132534, 39561252, 8, 112),
    source=ogb_source("ogbn-proteins", "proteins", "species", "edge", "edge-feat", "node-label"),
    **_OGB,
)(partial(read_nodes, split="species"))

for _name, _summary, _folder, _file, _statistics in (
    (
        "amazon-photo",
        "photo products bought together, bag-of-words features of their reviews",
        "Amazon/Photo",
        "amazon_electronics_photo.npz",
        _counts(7650, 119081, 745, 8),
    ),
    (
        "amazon-computers",
        "computer products bought together, bag-of-words features of their reviews",
        "Amazon/Computers",
        "amazon_electronics_computers.npz",
        _counts(13752, 245861, 767, 10),
    ),
    (
        "coauthor-cs",
        "authors in computer science who wrote together, keywords as features",
        "Coauthor/CS",
        "ms_academic_cs.npz",
        _counts(18333, 81894, 6805, 15),
    ),
    (
        "coauthor-physics",
        "authors in physics who wrote together, keywords as features",
        "Coauthor/Physics",
        "ms_academic_phy.npz",
        _counts(34493, 247962, 8415, 5),
    ),
):
    DATASETS.register(
        _name,
        summary=_summary,
        paper="Shchur et al., Pitfalls of Graph Neural Network Evaluation, 2018",
        license="MIT",
        tasks=_BOTH,
        split=None,
        on_paper=False,
        statistics=_statistics,
        source=gnnbench_source(_folder, _file),
    )(partial(read_gnnbench, file=_file))
