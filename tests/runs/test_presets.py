from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from mgae.paper.plan import names, table
from mgae.registry import DATASETS, METHODS
from mgae.runs.config import RunConfig
from mgae.runs.layering import merge
from mgae.runs.presets import paper_config, published, recipe_config

FOLDER = Path(str(resources.files("mgae.runs.presets"))) / "experiments"
FILES = sorted(FOLDER.glob("*.toml"))


def config_of(file: Path, experiment: dict[str, Any], graph: str) -> RunConfig:
    about = {"graph": graph, "method": experiment["method"], "task": experiment["task"]}
    return recipe_config(file.stem.rpartition("-")[0], {**about, "protocol": "paper"})


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_experiment_file_is_a_valid_configuration(file: Path) -> None:
    experiment = tomllib.loads(file.read_text())
    assert experiment["method"] in METHODS
    tables = (table(name) for name in names())
    recipes = {f"{row.recipe}-{t.task}" for t in tables for row in t.rows if row.recipe}
    assert file.stem in {f"{experiment['method']}-{experiment['task']}", *recipes}
    for graph in experiment["datasets"]:
        config = config_of(file, experiment, graph)
        assert config.method.kind == experiment["method"]
        if file.stem.startswith("mgae-") and file.stem not in recipes:
            assert config.mask.ratio == (0.4 if graph == "ogbl-ppa" else 0.7)
            assert graph in experiment["published"] or not DATASETS[graph].extras["on_paper"]
    for note in experiment.get("notes", []):
        assert set(note["graphs"]) <= experiment["datasets"].keys()
    for graph, row in experiment.get("published", {}).items():
        assert graph in experiment["datasets"]
        assert row["source"].startswith("Table ")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_setting_of_an_experiment_file_is_taken(file: Path) -> None:
    experiment = tomllib.loads(file.read_text())
    for graph, own in experiment["datasets"].items():
        config = config_of(file, experiment, graph)
        for section, values in merge(experiment["settings"], own).items():
            for key, value in values.items():
                wanted = tuple(value) if isinstance(value, list) else value
                assert getattr(getattr(config, section), key) == wanted, (graph, section, key)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_differs_with_one_encoder_is_taken_with_that_one_alone(file: Path) -> None:
    experiment = tomllib.loads(file.read_text())
    cell = {"method": experiment["method"], "task": experiment["task"], "protocol": "paper"}
    for graph, rows in experiment.get("encoders", {}).items():
        for kind, own in rows.items():
            config = paper_config(graph=graph, encoder=kind, **cell)
            usual = merge(experiment["settings"], experiment["datasets"][graph])
            for section, values in merge(usual, own).items():
                for key, value in values.items():
                    assert getattr(getattr(config, section), key) == value, (graph, kind, key)
            changed = paper_config(
                graph=graph, encoder={"kind": kind, "feature_dropout": 0.1}, **cell
            )
            assert changed.encoder.feature_dropout == 0.1


def test_on_ddi_graphsage_alone_has_dropout_on_its_table() -> None:
    rates = {
        kind: paper_config(graph="ogbl-ddi", encoder=kind).encoder.feature_dropout
        for kind in ("gcn", "sage")
    }
    assert rates == {"gcn": 0.0, "sage": 0.5}


@pytest.mark.parametrize(
    "name",
    [
        entry.name
        for entry in METHODS
        if entry.build.trains and "encoder" in entry.extras["parts"] and entry.name != "combined"
    ],  # combined is of no paper: its settings are its own defaults
)
@pytest.mark.parametrize("task", ["links", "nodes"])
def test_every_method_that_trains_an_encoder_has_a_file_for_each_task(name: str, task: str) -> None:
    assert (FOLDER / f"{name}-{task}.toml").is_file()


PRINTED = [
    ("gae", "gcn", "links", "citeseer", {"auc": (90.52, 0.04), "ap": (91.68, 0.05)}),
    ("gae", "sage", "links", "pubmed", {"auc": (89.22, 0.87), "ap": (89.44, 0.82)}),
    ("gae", "sage", "links", "ogbl-ddi", {"hits@20": (53.90, 4.74), "hits@30": (65.80, 6.94)}),
    ("arge", "gcn", "links", "cora", {"auc": (92.40, 0.0), "ap": (93.23, 0.0)}),
    ("selftask", "gcn", "links", "cora", {"auc": (90.65, 0.50), "ap": (91.55, 0.93)}),
    ("gae", "gcn", "nodes", "pubmed", {"accuracy": (78.23, 1.63)}),
    ("argva", "gcn", "nodes", "citeseer", {"accuracy": (73.10, 0.86)}),
    ("selftask", "gcn", "nodes", "ogbn-arxiv", {"accuracy": (68.30, 0.02)}),
]


@pytest.mark.parametrize(("method", "encoder", "task", "graph", "figures"), PRINTED)
def test_the_papers_figures_of_the_baselines(
    method: str, encoder: str, task: str, graph: str, figures: dict[str, tuple[float, float]]
) -> None:
    result = published(
        paper_config(method=method, encoder=encoder, task=task, graph=graph, protocol="paper")
    )
    assert result is not None
    assert result.figures == figures


def test_the_kind_of_a_part_is_the_files_unless_another_is_given() -> None:
    assert paper_config(graph="ogbl-ddi").mask.kind == "directed"
    assert paper_config(graph="ogbl-ddi", mask="undirected").mask.kind == "undirected"
    assert paper_config(graph="ogbl-ddi", method="gae").decoder.kind == "mlp"
    assert paper_config(graph="cora", method="gae").decoder.kind == "inner-product"


def test_a_method_s_own_settings_come_from_the_file_too() -> None:
    assert paper_config(method={"kind": "maskgae", "alpha": 0.5}).method.alpha == 0.5
    links = paper_config(method="maskgae")
    assert (links.method.alpha, links.mask.walk_length) == (0.003, 2)


def test_the_papers_figures_for_cora() -> None:
    result = published(paper_config(encoder="sage"))
    assert result is not None
    assert result.figures == {"auc": (95.05, 0.76), "ap": (94.50, 0.86)}
    nodes = published(paper_config(task="nodes"))
    assert nodes is not None
    assert nodes.figures == {"accuracy": (86.15, 0.25)}


def test_there_is_nothing_to_hold_beside_another_protocol_or_graph() -> None:
    assert published(RunConfig(protocol="strict")) is None
    assert published(RunConfig(graph="mine", protocol="paper")) is None
    assert published(RunConfig(method="common-neighbors")) is None


def test_given_settings_are_above_the_papers() -> None:
    config = paper_config(mask={"ratio": 0.2}, train={"epochs": 3})
    assert (config.mask.ratio, config.train.epochs, config.train.patience) == (0.2, 3, 50)


def test_another_kind_of_part_takes_what_it_knows() -> None:
    config = paper_config(loss="softmax", decoder="inner-product")
    assert (config.loss.kind, config.decoder.kind) == ("softmax", "inner-product")


def test_strict_links_pick_the_epoch_by_what_they_rank_by() -> None:
    cells = table("links-planetoid", "strict").cells({})
    trained = [cell.config for cell in cells if cell.row.group != "heuristic"]
    assert {config.train.monitor for config in trained} == {"hard_mrr"}
    assert {cell.config.evaluation.hard_negatives for cell in cells} == {500}


def test_strict_takes_the_model_and_not_the_evaluation() -> None:
    config = paper_config(task="nodes", protocol="strict")
    assert config.evaluation.probe == "logistic"
    assert config.split.seed == 0


def test_the_epoch_is_chosen_by_the_metric_that_the_graph_is_ranked_by() -> None:
    assert paper_config(graph="cora").train.monitor == "auc"
    ddi = paper_config(graph="ogbl-ddi", mask="directed", train={"epochs": 1})
    assert (ddi.train.monitor, ddi.evaluation.hits) == ("hits@20", (20, 30))
    assert (ddi.train.step_size, ddi.encoder.hidden_channels) == (65536, 256)


@pytest.mark.parametrize(
    ("method", "auc", "hits", "accuracy"),
    [("dgi", 90.02, 13.87, 85.41), ("gic", 93.54, 10.56, 87.70)],
)
def test_the_baselines_figures_and_settings(
    method: str, auc: float, hits: float, accuracy: float
) -> None:
    for graph, task, name, mean in (
        ("cora", "links", "auc", auc),
        ("ogbl-ddi", "links", "hits@20", hits),
        ("cora", "nodes", "accuracy", accuracy),
    ):
        config = paper_config(graph=graph, task=task, method=method)
        result = published(config)
        assert result is not None
        assert result.figures[name][0] == mean
        assert (config.encoder.num_layers, config.encoder.act) == (1, "prelu")
        assert config.encoder.row_normalize
        assert config.train.learning_rate == 0.001
    paper = published(paper_config(graph="ogbl-ppa", method=method))
    assert paper is not None
    assert (paper.text("hits@10"), paper.figures) == ("OOM", {})


def test_an_experiments_settings_of_the_method_itself_are_taken_and_can_be_changed() -> None:
    config = paper_config(graph="citeseer", method="graphmae")
    assert (config.method.gamma, config.method.replace_ratio) == (1.0, 0.1)
    config = paper_config(graph="citeseer", method={"kind": "graphmae", "gamma": 2.0})
    assert (config.method.gamma, config.method.replace_ratio) == (2.0, 0.1)


def test_on_ogb_the_table_has_its_metric_though_the_loss_picks_the_epoch() -> None:
    config = paper_config(graph="ogbl-ddi", method="dgi", train={"monitor": "loss"})
    assert (config.train.monitor, config.ranked_by) == ("loss", "hits@20")
    assert paper_config(graph="cora", method="dgi").ranked_by == "auc"
