from __future__ import annotations

import gzip
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mgae.core.errors import GraphError
from mgae.data import load_graph
from mgae.data.datasets.catalogue import dataset_state, fetch
from mgae.data.datasets.loading import statistics
from mgae.data.datasets.ogb import mean_over_edges, read_links, read_nodes, read_table
from mgae.registry import DATASETS

# Small twins in exactly OGB's layout: the same tables without headers, the same keys and types.
TRAIN = [[0, 1], [2, 1], [3, 0], [1, 2]]
COLLAB_WEIGHT = [2, 1, 4, 3]  # the pair (1, 2) in two years
NEGATIVES = [[0, 5], [1, 5]]


def write_table(path: Path, rows: Any, form: str = "%d") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as stream:
        np.savetxt(stream, np.asarray(rows), fmt=form, delimiter=",")


def write_split(path: Path, split: dict[str, Any]) -> None:
    """As OGB did: numpy arrays, in torch's format of before 1.6."""
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(
        {key: np.asarray(value) for key, value in split.items()},
        path,
        _use_new_zipfile_serialization=False,
    )


def write_links(folder: Path, split: str, num_nodes: int, extra: dict[str, Any]) -> Path:
    train: dict[str, Any] = {"edge": TRAIN}
    valid: dict[str, Any] = {"edge": [[4, 0]], "edge_neg": NEGATIVES}
    test: dict[str, Any] = {"edge": [[2, 4], [5, 3]], "edge_neg": [[4, 5]]}
    if extra:
        train |= {"weight": COLLAB_WEIGHT, "year": [2001, 2002, 2003, 2004]}
        valid |= {"weight": [7], "year": [2018]}
        test |= {"weight": [1, 1], "year": [2019, 2019]}
    for name, part in (("train", train), ("valid", valid), ("test", test)):
        write_split(folder / "split" / split / f"{name}.pt", part)
    write_table(folder / "raw/edge.csv.gz", TRAIN)
    write_table(folder / "raw/num-node-list.csv.gz", [num_nodes])
    write_table(folder / "raw/num-edge-list.csv.gz", [len(TRAIN)])
    return folder


def ddi(root: Path) -> Path:
    return write_links(root / "ogb/ogbl_ddi", "target", 6, {})


def collab(root: Path) -> Path:
    folder = write_links(root / "ogb/ogbl_collab", "time", 6, {"weight": COLLAB_WEIGHT})
    write_table(folder / "raw/node-feat.csv.gz", np.arange(12).reshape(6, 2) / 8, "%.6f")
    write_table(folder / "raw/edge_weight.csv.gz", COLLAB_WEIGHT)
    write_table(folder / "raw/edge_year.csv.gz", [2001, 2002, 2003, 2004])
    return folder


def ppa(root: Path) -> Path:
    folder = write_links(root / "ogb/ogbl_ppa", "throughput", 6, {})
    write_table(folder / "raw/node-feat.csv.gz", np.eye(58, dtype=int)[[0, 0, 1, 2, 57, 3]])
    return folder


def write_nodes(folder: Path, split: str, edges: Any, labels: Any) -> Path:
    write_table(folder / "raw/edge.csv.gz", edges)
    write_table(folder / "raw/num-node-list.csv.gz", [len(labels)])
    write_table(folder / "raw/num-edge-list.csv.gz", [len(edges)])
    write_table(folder / "raw/node-label.csv.gz", labels)
    for part, nodes in (("train", [3, 0]), ("valid", [1]), ("test", [2, 4])):
        write_table(folder / f"split/{split}/{part}.csv.gz", nodes)
    return folder


def arxiv(root: Path) -> Path:
    edges = [[0, 1], [1, 0], [2, 0], [4, 2]]  # directed; two papers cite each other
    folder = write_nodes(root / "ogb/ogbn_arxiv", "time", edges, [[39], [0], [5], [5], [1]])
    write_table(folder / "raw/node-feat.csv.gz", np.linspace(-1, 1, 10).reshape(5, 2), "%.6f")
    write_table(folder / "raw/node_year.csv.gz", [2017, 2018, 2019, 2016, 2020])
    return folder


def proteins(root: Path) -> Path:
    edges = [[0, 1], [2, 0], [1, 2]]
    labels = [[1, 0, 1], [0, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]]
    folder = write_nodes(root / "ogb/ogbn_proteins", "species", edges, labels)
    write_table(folder / "raw/edge-feat.csv.gz", [[0.5, 0], [0.25, 1], [0, 0.5]], "%.3f")
    write_table(folder / "raw/species.csv.gz", [3702] * 5)
    return folder


TWINS = {
    "ogbl-ddi": ddi,
    "ogbl-collab": collab,
    "ogbl-ppa": ppa,
    "ogbn-arxiv": arxiv,
    "ogbn-proteins": proteins,
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that MGAE_DATA names, with a twin of each dataset; the cache is empty."""
    monkeypatch.setenv("MGAE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MGAE_DATA", str(tmp_path / "data"))
    for write in TWINS.values():
        write(tmp_path / "data")
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ogbl-ddi", {"nodes": 6, "edges": 7, "features": 0, "classes": 0}),
        ("ogbl-collab", {"nodes": 6, "edges": 7, "features": 2, "classes": 0}),
        ("ogbl-ppa", {"nodes": 6, "edges": 7, "features": 58, "classes": 0}),
        ("ogbn-arxiv", {"nodes": 5, "edges": 3, "features": 2, "classes": 40}),
        ("ogbn-proteins", {"nodes": 5, "edges": 3, "features": 2, "classes": 3}),
    ],
)
def test_a_twin_is_loaded_whole(root: Path, name: str, expected: dict[str, int]) -> None:
    assert dataset_state(name) == "mirror"
    graph = load_graph(name, verify=False)
    assert statistics(graph) == expected
    assert graph.undirected
    assert graph.name == name
    assert len(graph.checksum) == 64
    assert graph.node_ids == list(range(expected["nodes"]))


@pytest.mark.parametrize("name", ["ogbl-collab", "ogbl-ppa", "ogbn-arxiv", "ogbn-proteins"])
def test_a_twin_is_not_taken_for_the_dataset(root: Path, name: str) -> None:
    with pytest.raises(GraphError, match=rf"{name} is damaged: expected .*: replace .*ogb/ogb"):
        load_graph(name)


@pytest.mark.parametrize("name", ["ogbl-ddi", "ogbl-collab", "ogbl-ppa"])
def test_links_are_those_of_the_official_split(root: Path, name: str) -> None:
    graph = load_graph(name, verify=False)
    edges = {(int(source), int(target)) for source, target in graph.edge_index.t()}
    assert edges == {(0, 1), (1, 0), (1, 2), (2, 1), (0, 3), (3, 0)}
    assert graph.val_edges.tolist() == [[4], [0]]
    assert graph.test_edges.tolist() == [[2, 5], [4, 3]]
    assert graph.val_negatives.tolist() == [[0, 1], [5, 5]]
    assert graph.test_negatives.tolist() == [[4], [5]]


def test_weights_of_several_years_are_added(root: Path) -> None:
    graph = load_graph("ogbl-collab", verify=False)
    weight = {
        (int(source), int(target)): float(value)
        for source, target, value in zip(*graph.edge_index, graph.edge_weight, strict=True)
    }
    assert weight == {(0, 1): 2, (1, 0): 2, (1, 2): 4, (2, 1): 4, (0, 3): 4, (3, 0): 4}
    assert graph.num_train_edges == 4
    assert graph.x.tolist()[1] == [0.25, 0.375]
    assert load_graph("ogbl-ppa", verify=False).edge_weight is None


def test_species_are_the_features_of_proteins_in_ppa(root: Path) -> None:
    assert load_graph("ogbl-ppa", verify=False).x.argmax(dim=1).tolist() == [0, 0, 1, 2, 57, 3]


def test_citations_lose_their_direction(root: Path) -> None:
    graph = load_graph("ogbn-arxiv", verify=False)
    assert graph.edge_index.tolist() == [[1, 2, 0, 0, 4, 2], [0, 0, 1, 2, 2, 4]]
    assert graph.y.tolist() == [39, 0, 5, 5, 1]
    assert graph.x[0].tolist() == pytest.approx([-1, -0.777778])


@pytest.mark.parametrize("name", ["ogbn-arxiv", "ogbn-proteins"])
def test_nodes_are_split_officially(root: Path, name: str) -> None:
    graph = load_graph(name, verify=False)
    masks = (graph.train_mask, graph.val_mask, graph.test_mask)
    parts = [mask.nonzero().flatten().tolist() for mask in masks]
    assert parts == [[0, 3], [1], [2, 4]]


def test_proteins_have_many_labels_and_the_mean_of_their_edges(root: Path) -> None:
    graph = load_graph("ogbn-proteins", verify=False)
    assert graph.y.tolist()[:2] == [[1, 0, 1], [0, 0, 1]]
    expected = [[0.375, 0.5], [0.25, 0.25], [0.125, 0.75], [0.0, 0.0], [0.0, 0.0]]
    assert graph.x.tolist() == expected


def test_the_mean_over_edges_equals_a_slow_one(generator: torch.Generator) -> None:
    edges = torch.randint(9, (2, 40), generator=generator)
    values = torch.rand(40, 3, generator=generator)
    result = mean_over_edges(edges, values, 10)
    for node in range(10):
        rows = [values[k] for k in range(40) for end in edges[:, k] if int(end) == node]
        expected = torch.stack(rows).mean(dim=0) if rows else torch.zeros(3)
        assert torch.allclose(result[node], expected)


@pytest.mark.parametrize("name", TWINS)
def test_whole_numbers_may_be_written_with_a_point(root: Path, name: str) -> None:
    folder = root / DATASETS[name].extras["source"].folder
    before = load_graph(name, verify=False)
    write_table(folder / "raw/num-node-list.csv.gz", [before.num_nodes], "%.1f")
    if name.startswith("ogbn"):
        write_table(folder / "raw/node-label.csv.gz", before.y.reshape(5, -1), "%.1f")
    after = load_graph(name, verify=False)
    assert after.num_nodes == before.num_nodes
    if name.startswith("ogbn"):
        assert torch.equal(after.y, before.y)


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("convert", [np.asarray, torch.as_tensor])
def test_a_split_may_be_saved_in_any_of_torchs_ways(root: Path, zipped: bool, convert: Any) -> None:
    path = root / "ogb/ogbl_ddi/split/target/valid.pt"
    split = {"edge": convert([[4, 0]]), "edge_neg": convert(NEGATIVES)}
    torch.save(split, path, _use_new_zipfile_serialization=zipped)
    assert load_graph("ogbl-ddi", verify=False).val_negatives.tolist() == [[0, 1], [5, 5]]


CROOKED_SPLITS = [
    ({"edge": [[4, 0]]}, r"valid\.pt must have 'edge_neg', got edge"),
    ({"edge": [[4, 6]], "edge_neg": NEGATIVES}, r"nodes in .*valid\.pt must be in \[0, 6\), got 6"),
    ({"edge": [[-1, 0]], "edge_neg": NEGATIVES}, r"must be in \[0, 6\), got -1"),
    ({"edge": [4, 0], "edge_neg": NEGATIVES}, r"'edge' in .* must be \[pairs, 2\], got \(2,\)"),
    ({"edge": [[4, 0, 1]], "edge_neg": NEGATIVES}, r"must be \[pairs, 2\], got \(1, 3\)"),
]


@pytest.mark.parametrize(("split", "message"), CROOKED_SPLITS)
def test_a_crooked_split_is_refused(tmp_path: Path, split: dict[str, Any], message: str) -> None:
    folder = ddi(tmp_path)
    write_split(folder / "split/target/valid.pt", split)
    with pytest.raises(GraphError, match=message):
        read_links(folder, "target")


CROOKED_TABLES = [
    ("raw/edge.csv.gz", [[0, 5]], "%d", r"nodes in .*edge\.csv\.gz must be in \[0, 5\), got 5"),
    ("raw/edge.csv.gz", [[0.5, 1]], "%.1f", r"cannot read .*edge\.csv\.gz: not all .* whole"),
    ("raw/edge.csv.gz", [[np.nan, 1], [0, 1]], "%.1f", "not all values are whole numbers"),
    ("raw/node-feat.csv.gz", [["a", "b"]], "%s", r"cannot read .*node-feat\.csv\.gz"),
    ("split/time/test.csv.gz", [7], "%d", r"nodes in .*test\.csv\.gz must be in \[0, 5\), got 7"),
]


@pytest.mark.parametrize(("file", "rows", "form", "message"), CROOKED_TABLES)
def test_a_crooked_table_is_refused(
    tmp_path: Path, file: str, rows: Any, form: str, message: str
) -> None:
    folder = arxiv(tmp_path)
    write_table(folder / file, rows, form)
    with pytest.raises(GraphError, match=message):
        read_nodes(folder, "time")


@pytest.mark.parametrize(
    "content", [b"", b"not gzip", gzip.compress(b"1,2\n" * 100, mtime=0)[:-9], None]
)
def test_a_damaged_table_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "edge.csv.gz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(GraphError, match=r"cannot read .*edge\.csv\.gz: \S"):
        read_table(path, np.int64)


@pytest.fixture
def served() -> Iterator[Callable[[Path], str]]:
    """Serve the folder of a file over HTTP; gives the address of the file."""
    servers = []

    def serve(path: Path) -> str:
        handler = partial(SimpleHTTPRequestHandler, directory=str(path.parent))
        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=servers[-1].serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_address[1]}/{path.name}"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("name", TWINS)
def test_a_twin_is_fetched_from_an_archive_as_ogb_packs_it(
    root: Path,
    name: str,
    tmp_path: Path,
    served: Callable[[Path], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = DATASETS[name]
    source = entry.extras["source"]
    archive = tmp_path / f"{source.inside}.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in (root / source.folder).rglob("*.*"):
            packed.write(path, f"{source.inside}/{path.relative_to(root / source.folder)}")
    url = served(archive)
    local = replace(source, url=url, files=dict.fromkeys(source.files))
    changed = replace(entry, extras={**entry.extras, "source": local})
    monkeypatch.setitem(DATASETS._entries, name, changed)
    expected = load_graph(name, verify=False)
    monkeypatch.delenv("MGAE_DATA")

    assert dataset_state(name) == "can be fetched"
    reports: list[tuple[str, int, int | None]] = []
    folder = fetch(name, lambda *report: reports.append(report))
    assert folder == tmp_path / "cache" / source.folder
    assert reports[-1] == (archive.name, archive.stat().st_size, archive.stat().st_size)
    assert dataset_state(name) == "cached"
    result = load_graph(name, verify=False)
    assert torch.equal(result.edge_index, expected.edge_index)
    assert result.checksum == expected.checksum


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("ogbl-ddi", "linkproppred/ddi.zip"),
        ("ogbl-collab", "linkproppred/collab.zip"),
        ("ogbl-ppa", "linkproppred/ppassoc.zip"),
        ("ogbn-arxiv", "nodeproppred/arxiv.zip"),
        ("ogbn-proteins", "nodeproppred/proteins.zip"),
    ],
)
def test_archives_are_where_ogb_publishes_them(name: str, url: str) -> None:
    source = DATASETS[name].extras["source"]
    assert source.url == f"https://snap.stanford.edu/ogb/data/{url}"
    assert source.folder == f"ogb/{name.replace('-', '_')}"


def test_the_real_ddi_is_the_published_one(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MGAE_CACHE", str(tmp_path))
    graph = load_graph("ogbl-ddi")
    num_nodes = graph.num_nodes
    assert graph.edge_index.size(1) == 2 * 1_067_911
    assert graph.val_edges.size(1) == graph.test_edges.size(1) == 133_489
    assert graph.val_negatives.size(1) == 101_882
    assert graph.test_negatives.size(1) == 95_599

    def keys(pairs: torch.Tensor) -> torch.Tensor:
        return pairs.amin(dim=0) * num_nodes + pairs.amax(dim=0)

    known = torch.cat([keys(graph.edge_index), keys(graph.val_edges), keys(graph.test_edges)])
    assert len(known.unique()) == 1_334_889
    for negatives in (graph.val_negatives, graph.test_negatives):
        assert not bool(torch.isin(keys(negatives), known).any())
    raw = read_table(shared_data / "ogb/ogbl_ddi/raw/edge.csv.gz", np.int64)
    assert torch.equal(keys(torch.from_numpy(raw).t()).unique(), keys(graph.edge_index).unique())
