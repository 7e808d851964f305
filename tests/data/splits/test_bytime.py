"""Splits by time: nothing of the future in training, and negatives of their time."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from torch_geometric.data import Data

from mgae.core.errors import ConfigError, GraphError
from mgae.core.graph import MessageGraph
from mgae.data import checked
from mgae.data.inspection import inspect_graph
from mgae.data.io.options import InputSettings
from mgae.data.opening import read_graph
from mgae.data.splits.bytime import TimeCuts, split_by_time
from mgae.data.store import save_graph, stored_graph
from mgae.runs.config import RunConfig
from mgae.runs.pipeline import Observer, run
from mgae.runs.rundirectory import RunDirectory
from tests.conftest import toy_edges

Triples = set[tuple[str, str, float]]


def timed(text: str, tmp_path: Path, **settings: object) -> Data:
    path = tmp_path / "edges.csv"
    path.write_text(text)
    given = {"time_column": "time", "header": "yes", "bipartite": "no", **settings}
    return read_graph(path, InputSettings(**given))  # type: ignore[arg-type]


def edges_with(graph: Data, values: torch.Tensor) -> Triples:
    rows = zip(graph.edge_index.t().tolist(), values.tolist(), strict=True)
    return {(graph.node_ids[u], graph.node_ids[v], value) for (u, v), value in rows}


def test_the_last_of_equal_edges_gives_the_time_and_their_number_the_weight(tmp_path: Path) -> None:
    text = "a,b,time\nx,y,2\ny,x,5\ny,z,3\n"
    graph = timed(text, tmp_path)
    assert edges_with(graph, graph.edge_time) == {
        ("x", "y", 5.0), ("y", "x", 5.0), ("y", "z", 3.0), ("z", "y", 3.0),
    }  # fmt: skip
    assert ("x", "y", 2.0) in edges_with(graph, graph.edge_weight)
    assert timed(text, tmp_path, repeated="last").edge_weight is None
    directed = timed(text, tmp_path, directed=True)
    assert edges_with(directed, directed.edge_time) == {("x", "y", 2.0), ("y", "x", 5.0), ("y", "z", 3.0)}  # fmt: skip # noqa: E501


def test_an_edge_loses_half_its_weight_in_a_half_life(tmp_path: Path) -> None:
    graph = timed("a,b,time\nx,y,2\nx,y,5\ny,z,3\n", tmp_path, half_life=1)
    assert ("x", "y", 1.125) in edges_with(graph, graph.edge_weight)  # 1 + 1/8
    assert ("y", "z", 0.25) in edges_with(graph, graph.edge_weight)
    last = timed("a,b,time\nx,y,2\nx,y,5\ny,z,3\n", tmp_path, half_life=1, repeated="last")
    assert ("x", "y", 1.0) in edges_with(last, last.edge_weight)


def test_dates_are_read_kept_and_shown_as_dates(tmp_path: Path) -> None:
    text = "a,b,time\nx,y,1970-01-03\ny,z,1970-01-01T12:00:00\nz,w,1970-01-11\n"
    graph = timed(text, tmp_path)
    assert sorted(graph.edge_time.tolist()) == [0.5, 0.5, 2.0, 2.0, 10.0, 10.0]
    save_graph(graph, tmp_path / "graph")
    times = inspect_graph(stored_graph(tmp_path / "graph"))["times"]
    assert (times["first"], times["last"]) == ("1970-01-01T12:00:00", "1970-01-11")
    assert times["edges"][0] == "█" and times["edges"][1] == " "


@pytest.mark.parametrize(
    ("times", "note"),
    [
        (["3.1.1970", "1.1.1970", "11.1.1970"], "times are read as day.month.year"),
        (["1/3/70", "1/1/70", "1/31/70"], "times are read as month/day/year"),
        (["1/3/1970", "1/1/1970", "1/11/1970"], "and might be meant otherwise: 2024-12-31 is"),
        (["19700103", "19700101", "19700111"], "times such as 20241231 are read as dates"),
    ],
)
def test_dates_of_a_spreadsheet_are_read_and_the_way_is_said(
    tmp_path: Path, times: list[str], note: str
) -> None:
    ends = zip(("x,y", "y,z", "z,w"), times, strict=True)
    graph = timed("a,b,time\n" + "".join(f"{pair},{time}\n" for pair, time in ends), tmp_path)
    days = {"might": [0.0, 59.0, 304.0], "month/day": [0.0, 2.0, 30.0]}
    expected = next((values for key, values in days.items() if key in note), [0.0, 2.0, 10.0])
    assert sorted(set(graph.edge_time.tolist())) == expected and graph.dated
    assert any(note in text for text in graph.notes)


def test_numbers_that_are_no_dates_stay_numbers_and_merging_is_explained(tmp_path: Path) -> None:
    graph = timed("a,b,time\nx,y,20241301\nx,y,20241201\ny,z,20240101\n", tmp_path)
    assert not graph.dated and graph.edge_time.max() == 20241301
    assert any(
        "1 duplicate edge merged: the time of the last, their number" in n for n in graph.notes
    )


def test_weights_and_features_of_edges_have_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("a;b;amount;km\nx;y;1.200,50;2,5\ny;z;3,5;1\n", encoding="utf-8")
    graph = read_graph(path, InputSettings(weight_column="amount", edge_features=("km",)))
    assert sorted(set(graph.edge_weight.tolist())) == [3.5, 1200.5]
    assert sorted(set(graph.edge_attr.flatten().tolist())) == [-1.0, 1.0]
    path.write_text("a;b;amount\nx;y;1,5\ny;z;many\n", encoding="utf-8")
    with pytest.raises(
        GraphError, match="line 3: the weight must be a finite number ≥ 0, got 'many'"
    ):
        read_graph(path, InputSettings(weight_column="amount"))


@pytest.mark.parametrize("wrong", ["soon", "", "inf"])
def test_a_wrong_time_is_named_with_its_line(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(GraphError, match=r"line 3.*the time must be a number or a date"):
        timed(f"a,b,time\nx,y,1\ny,z,{wrong}\n", tmp_path)


def test_settings_of_time_need_a_column_and_a_split_by_time_needs_times(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("a,b\nb,c\nc,d\n")
    with pytest.raises(ConfigError, match=r"input\.half_life needs input\.time_column"):
        read_graph(path, InputSettings(half_life=2))
    with pytest.raises(ConfigError, match=r"split\.by is 'time', and the edges have none"):
        run(RunConfig(split={"by": "time"}, train={"epochs": 1}))


def test_cuts_fall_between_times_as_near_to_the_ratios_as_they_can() -> None:
    years = torch.tensor([2015.0] * 50 + [2016.0] * 30 + [2017.0] * 12 + [2018.0] * 8)
    assert TimeCuts.of(years, 0.1, 0.1) == TimeCuts(2017.0, 2018.0)
    assert TimeCuts.of(years, 0.0, 0.25) == TimeCuts(2017.0, 2017.0)
    with pytest.raises(GraphError, match="into 3 parts needs as many times, and the edges have 1"):
        TimeCuts.of(torch.ones(50), 0.1, 0.1)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**16), st.integers(3, 12), st.booleans())
def test_no_part_is_younger_than_the_next_and_negatives_lived_by_then(
    seed: int, span: int, directed: bool
) -> None:
    generator = torch.Generator().manual_seed(seed)
    pairs = toy_edges(14, 50, seed)
    time = torch.randint(span, (50,), generator=generator).double()
    time[:3] = torch.tensor([0.0, 1.0, 2.0])
    both = pairs if directed else torch.cat([pairs, pairs.flip(0)], dim=1)
    data = checked(
        Data(edge_index=both, num_nodes=14, edge_time=time if directed else time.repeat(2))
    )
    graph = MessageGraph.of(data)
    when = {
        frozenset(edge): value
        for edge, value in zip(data.edge_index.t().tolist(), data.edge_time.tolist(), strict=True)
    }
    split = split_by_time(graph, data.edge_time, 0.1, 0.2, generator)
    parts = [split.message.edge_index, split.val, split.test]
    times = [[when[frozenset(edge)] for edge in part.t().tolist()] for part in parts]
    assert max(times[0]) < min(times[1]) and max(times[1]) < min(times[2])
    assert sum(len({frozenset(e) for e in part.t().tolist()}) for part in parts) == 50
    first = {n: min(value for edge, value in when.items() if n in edge) for n in range(14) if any(n in e for e in when)}  # fmt: skip # noqa: E501
    drawn = [split.val_negatives, split.test_negatives]
    for negatives, own in zip(drawn, times[1:], strict=True):
        for u, v in negatives.t().tolist():
            assert frozenset((u, v)) not in when and u != v
            assert max(first[u], first[v]) <= max(own)
    keys = [frozenset(edge) for part in drawn for edge in part.t().tolist()]
    assert len(set(keys)) == len(keys)


class Notes(Observer):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def on_note(self, text: str) -> None:
        self.texts.append(text)


def test_citations_of_arxiv_by_year_beside_a_random_split(
    tmp_path: Path, shared_data: Path
) -> None:
    folder = shared_data / "partial/ogbn_arxiv"
    with np.load(folder / "adj_full.npz") as stored:
        adjacency = sparse.csr_array((stored["data"], stored["indices"], stored["indptr"]))
    with gzip.open(folder / "raw/node_year.csv.gz", "rt") as stream:
        year = np.loadtxt(stream, dtype=np.int64)
    citing, cited = adjacency.nonzero()
    some = citing % 4 == 0  # a quarter is enough
    table = {"citing": citing[some], "cited": cited[some], "year": year[citing[some]]}
    pq.write_table(pa.table(table), tmp_path / "arxiv.parquet")
    config = RunConfig(
        graph=str(tmp_path / "arxiv.parquet"),
        input={"time_column": "year"},
        method="preferential-attachment",
        split={"both": True},
        evaluation={"heuristics": [], "hard_negatives": 0},
    )
    observer = Notes()
    run(config, out=tmp_path / "run", observer=observer)
    home = RunDirectory.open(tmp_path / "run").run()
    graph = home.graph()
    split = home.split(graph, MessageGraph.of(graph))
    years = {
        int(key): int(value)
        for key, value in zip(MessageGraph.of(graph).edge_keys, graph.edge_time, strict=True)
    }
    newest, oldest = (
        function(years[int(v * graph.num_nodes + u)] for u, v in edges.t().tolist())
        for function, edges in ((max, split.message.edge_index), (min, split.test))
    )
    assert newest < oldest
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    by_time, random = (metrics[key]["auc"]["mean"] for key in ("test", "other_split"))
    assert f"AUC {by_time:.2f} if the last edges are held out, {random:.2f}" in observer.texts[-1]
    assert random > by_time + 5
    assert any(note.startswith("split by time: validation from 20") for note in observer.texts)
