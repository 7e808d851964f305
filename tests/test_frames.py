"""Graphs and answers in the forms of numpy, pandas, polars, arrow, PyG and notebooks; saving."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy import sparse

import mgae
from mgae.core.errors import GraphError, RunDirectoryError, UnsupportedError
from mgae.core.training.state import EpochRecord
from mgae.runs.observer import Observer
from tests.conftest import toy_data
from tests.test_sklearn import PAIRS, QUICK


@pytest.fixture(scope="module")
def fitted() -> mgae.MGAE:
    return mgae.MGAE(**QUICK).fit(toy_data())


@pytest.mark.parametrize(
    "form",
    [
        list,
        np.array,
        lambda pairs: pd.DataFrame(pairs, columns=["a", "b"]),
        lambda pairs: pl.DataFrame(pairs, schema=["a", "b"], orient="row"),
        lambda pairs: pl.DataFrame(pairs, schema=["a", "b"], orient="row").to_arrow(),
    ],
)
def test_edges_come_in_every_form(form: Callable[[Any], Any]) -> None:
    graph = mgae.open_graph(form(PAIRS))
    assert graph.node_ids == ["ann", "bob", "cat", "dan", "eve"]
    assert graph.edge_index.size(1) == 10


def test_integers_and_matrices() -> None:
    assert mgae.open_graph(np.array([[7, 9], [9, 8]])).node_ids == [7, 8, 9]
    matrix = sparse.csr_array(np.ones((3, 3)) - np.eye(3))
    assert mgae.open_graph(matrix).edge_index.size(1) == 6
    with pytest.raises(GraphError, match="csr_array"):
        mgae.open_graph(np.eye(4))


def test_answers_as_data_frames(fitted: mgae.MGAE) -> None:
    predictor = fitted.predictor()
    links = predictor.recommend(3, k=2)
    assert links == list(links) and "<table>" in links._repr_html_()
    frame, other = links.to_pandas(), links.to_polars()
    assert list(frame.columns) == other.columns == ["rank", "node", "score", "probability"]
    assert frame["node"].tolist() == other["node"].to_list() == [link.node for link in links]
    embeddings = predictor.to_pandas()
    np.testing.assert_array_equal(embeddings.to_numpy(), predictor.embed())
    assert embeddings.index.tolist() == predictor.node_ids
    assert predictor.to_polars().shape == (20, 9)
    pairs = [(0, 1), (2, 3)]
    scores = predictor.score_links(pairs).logit
    for form in (pd.DataFrame(pairs), pl.DataFrame(pairs, orient="row"), np.array(pairs)):
        np.testing.assert_array_equal(predictor.score_links(form).logit, scores)


def test_embeddings_are_written_into_a_data(fitted: mgae.MGAE) -> None:
    data = toy_data()
    assert fitted.embed_into(data) is data
    assert torch.equal(data.z, fitted.embed())
    other = fitted.predictor().embed_into(toy_data(num_nodes=9, num_edges=12))
    assert other.z.shape == (9, 8)


def test_score_is_the_auc_of_links(fitted: mgae.MGAE) -> None:
    pairs, labels = [(0, 1), (2, 3), (4, 5), (6, 7)], [1, 0, 1, 0]
    logits = fitted.predictor().score_links(pairs).logit
    ordered = [logits[a] > logits[b] for a in (0, 2) for b in (1, 3)]
    assert fitted.score(pairs, labels) == np.mean(ordered)
    assert fitted.score(toy_data()) == fitted.score(toy_data())
    with pytest.raises(GraphError, match="labels of 4 pairs"):
        fitted.score(pairs, [1])


def test_a_saved_model_answers_the_same(tmp_path: Path) -> None:
    """With a final fit, so that it has two kinds of weights."""
    model = mgae.MGAE(**QUICK, train__final_fit=True).fit(toy_data())
    model.save(tmp_path / "run")
    loaded = mgae.MGAE.load(tmp_path / "run")
    assert torch.equal(loaded.embed(), model.embed())
    assert loaded.config_ == model.config_ == loaded.config
    assert loaded.history_ == model.history_ and repr(loaded.result_) == repr(model.result_)
    predictor, links = mgae.Predictor.load(tmp_path / "run"), model.predictor().recommend(3)
    assert predictor.recommend(3) == links == loaded.predictor().recommend(3)
    measured = mgae.evaluate(tmp_path / "run", mgae.Observer())  # by the weights before that fit
    assert measured.val["auc"].mean == pytest.approx(model.result_.val["auc"].mean, abs=1e-3)
    predictor.save(tmp_path / "copy")
    assert mgae.Predictor.load(tmp_path / "copy").fingerprint == predictor.fingerprint
    with pytest.raises(RunDirectoryError, match="is there already"):
        model.save(tmp_path / "run")
    with pytest.raises(UnsupportedError, match="no run to save"):
        mgae.instant(PAIRS).save(tmp_path / "instant")


def test_callbacks_are_told_and_functions_get_each_epoch() -> None:
    class Ends(Observer):
        ended = 0

        def on_end(self) -> None:
            self.ended += 1

    epochs: list[EpochRecord] = []
    ends = Ends()
    mgae.MGAE(**QUICK, callbacks=[epochs.append, ends]).fit(toy_data())
    assert [record.epoch for record in epochs] == [1, 2] and ends.ended == 1


def test_notes_are_logged_and_doubts_are_warnings(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="mgae"):
        mgae.MGAE(**QUICK).fit([*PAIRS, ("ann", "ann")])
    assert any("1 self-loop dropped" in record.message for record in caplog.records)
    config = mgae.RunConfig(graph="pairs", method="gae", train={"epochs": 1})
    with pytest.warns(mgae.MGAEWarning, match="figures will be rough"):
        mgae.run(config, toy_data())


def test_what_is_shown_in_a_notebook(fitted: mgae.MGAE) -> None:
    assert "not fitted" in mgae.MGAE(encoder="sage")._repr_html_()
    shown = fitted._repr_html_()
    assert "validation auc" in shown and "encoder__hidden_channels" in shown
    assert "train.epochs" in fitted.config_._repr_html_()
    assert repr(fitted.predictor()).startswith("Predictor(data-links-mgae-gcn: 20 nodes, 40 edges")
