"""What a cell will take, and graphs drawn to measure it on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripts import twins

from mgae.core.errors import ConfigError
from mgae.core.training import EpochRecord
from mgae.data.datasets.loading import load_graph, statistics
from mgae.paper.estimating import estimate_page, estimates, steps_of
from mgae.paper.plan import table
from mgae.paper.running import Request, reproduce
from mgae.registry import DATASETS
from mgae.runs.config import RunConfig
from mgae.runs.featureuse import message_graph
from mgae.runs.observer import Observer
from mgae.runs.pipeline import resume, run_opened
from mgae.runs.trial import Trial

ROWS = ["MGAE-GCN", "DGI", "MGAE+evidence", "adamic-adar"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twins of a few hundred nodes instead of those at true scale."""
    links = (600, 60, 50)
    for name, parts in (("ogbl-collab", links), ("ogbl-ddi", links), ("ogbn-arxiv", (90, 30, 30))):
        monkeypatch.setitem(twins.PARTS, name, parts)
        entry = DATASETS[name]
        features = 0 if name == "ogbl-ddi" else 5
        counts = {**entry.extras["statistics"], "nodes": 150, "edges": 710, "features": features}
        source = entry.extras["source"]
        source = replace(source, files=dict.fromkeys(source.files))  # no checksums of real files
        smaller = replace(entry, extras={**entry.extras, "statistics": counts, "source": source})
        monkeypatch.setitem(DATASETS._entries, name, smaller)
        monkeypatch.setitem(twins.NEGATIVES, name, 120)


def test_by_hand_the_steps_of_an_epoch() -> None:
    def steps(**given: Any) -> int:
        config = RunConfig(graph="cora", **given)
        graph = load_graph("cora")
        return steps_of(config, Trial(config, graph, message_graph(config, graph)))

    # Of 5,278 edges 85% are there to be masked: 4,487; 70% of these are 3,141.
    assert steps() == 1
    assert steps(train={"step_size": 1000}) == 4
    assert steps(train={"step_size": 1000}, mask="directed") == 7
    assert steps(train={"step_size": 1000, "max_steps": 2}) == 2


def test_a_cell_of_each_kind_has_hours_and_memory_and_nothing_is_stored(tmp_path: Path) -> None:
    request = Request("links-planetoid", datasets=["cora"], methods=ROWS, runs=1, out=tmp_path)
    made = list(estimates(request, lambda cell: None))
    names = ["DGI", "MGAE-GCN", "MGAE+evidence", "adamic-adar"]
    assert [one.cell.row.name for one in made] == names
    assert all(one.hours and one.cpu_hours and one.gib is not None and one.gib >= 0 for one in made)
    assert "| MGAE-GCN | Cora | 1 |" in estimate_page(made)
    assert not (tmp_path / "links-planetoid.json").exists()


def test_a_twin_has_the_counts_of_its_graph_and_fills_no_table(
    tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    twins.main([str(tmp_path), "ogbl-collab", "ogbn-arxiv"])
    monkeypatch.setenv("MGAE_DATA", str(tmp_path))
    for name in ("ogbl-collab", "ogbn-arxiv"):
        graph = load_graph(name)  # refuses other counts than the catalogue's
        assert statistics(graph)["nodes"] == 150
    with pytest.raises(ConfigError, match="drawn twins, whose figures mean nothing"):
        reproduce(Request("links-ogb", out=tmp_path / "results"))


def test_the_row_for_ddi_goes_on_after_a_break_to_the_same_figures(
    tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    twins.main([str(tmp_path), "ogbl-ddi"])
    monkeypatch.setenv("MGAE_DATA", str(tmp_path))
    graph = load_graph("ogbl-ddi")
    cells = {(c.row.name, c.dataset): c.config for c in table("links-ogb").cells({})}
    row = cells["MGAE+", "ogbl-ddi"]
    assert (row.train.average, row.train.monitor) == (0.999, "hits@20+50+100")
    narrow = {"hidden_channels": 4}
    config = row.changed(
        runs=1,
        encoder={**row.encoder.model_dump(), **narrow},
        decoder={**row.decoder.model_dump(), **narrow},
        train={**row.train.model_dump(exclude_none=True), "epochs": 4, "step_size": 300},
    )

    class Stopped(Observer):
        def on_epoch(self, record: EpochRecord) -> None:
            if record.epoch == 3:
                raise KeyboardInterrupt

    whole = run_opened(config, graph, tmp_path / "whole", Observer())
    with pytest.raises(KeyboardInterrupt):
        run_opened(config, graph, tmp_path / "broken", Stopped())
    assert resume(tmp_path / "broken").metrics() == whole.metrics()
    assert {"hits@20", "hits@50", "hits@100"} <= whole.test.keys()


def test_drawn_pairs_are_distinct_without_loops_and_have_hubs() -> None:
    result = twins.pairs(5000, 1000, np.random.default_rng(0))
    assert len(np.unique(np.sort(result, axis=1), axis=0)) == 5000
    assert (result[:, 0] != result[:, 1]).all()
    degree = np.bincount(result.flatten(), minlength=1000)
    assert degree.max() > 5 * np.median(degree)
