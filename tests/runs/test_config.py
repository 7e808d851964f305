from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from mgae.core.errors import ConfigError
from mgae.runs.config import RunConfig
from mgae.runs.layering import assignments, merge, read_toml


def test_the_default_is_the_paper_on_cora() -> None:
    config = RunConfig()
    assert (config.graph, config.protocol, config.task) == ("cora", "paper", "links")
    assert (config.split.val_ratio, config.split.test_ratio, config.split.seed) == (
        0.05,
        0.1,
        "run",
    )
    assert config.mask.model_dump(exclude_none=True) == {"kind": "undirected", "ratio": 0.7}
    assert (config.encoder.num_layers, config.encoder.hidden_channels) == (2, 128)
    assert (config.train.epochs, config.train.patience) == (200, 50)


def test_strict_has_one_split_and_logistic_regression() -> None:
    config = RunConfig(protocol="strict", task="nodes")
    assert config.split.seed == 0
    assert config.evaluation.probe == "logistic"


def test_a_graph_outside_the_paper_is_strict() -> None:
    assert RunConfig(graph="mine.csv").protocol == "strict"


def test_one_s_own_graph_has_the_combined_method_and_a_known_one_the_paper_s() -> None:
    own = RunConfig(graph="mine.csv")
    assert (own.method.kind, own.mask.ratio, own.loss.kind) == ("combined", 0.5, "sampled-softmax")
    assert (own.encoder.inputs, own.encoder.feature_dropout) == ("inductive", "auto")
    assert (own.train.epochs, own.train.schedule, own.train.eval_every) == (300, "cosine", 5)
    for other in ({"graph": "cora"}, {"graph": "ogbl-ddi"}, {"graph": "mine", "task": "nodes"}):
        assert RunConfig(**other).method.kind == "mgae"
    few = RunConfig(graph="mine.csv", method={"folds": 4}).method
    assert (few.kind, few.folds) == ("combined", 4), "a setting of the default method"
    heuristic = own.for_method("common-neighbors")
    sampled = own.changed(train={"fanouts": [3, 3]})
    assert sampled.for_method("common-neighbors").train.fanouts is None
    assert sampled.for_method("mgae").train.fanouts == (3, 3)
    assert (heuristic.encoder, heuristic.split) == (None, own.split)
    assert own.for_method("random-init").encoder == own.encoder


def test_node_classification_keeps_ten_percent_of_the_edges_and_none_for_test() -> None:
    split = RunConfig(task="nodes").split
    assert (split.val_ratio, split.test_ratio) == (0.1, 0.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mask": {"ratio": 1.2}}, "mask.ratio must be a number in [0, 1), got 1.2"),
        ({"mask": {"ratio": "much"}}, "mask.ratio must be a number in [0, 1), got 'much'"),
        ({"runs": 0}, "runs must be an integer in [1, 10000], got 0"),
        (
            {"train": {"learning_rate": 0}},
            "train.learning_rate must be a number in (0, 100]",
        ),
        ({"split": {"seed": "x"}}, "split.seed must be an integer ≥ 0 or run, got 'x'"),
        (
            {"evaluation": {"hits": [5, 0]}},
            "evaluation.hits must be a list, each an integer ≥ 1, got 0",
        ),
        ({"task": "graphs"}, "task must be one of links, nodes, got 'graphs'"),
        ({"encoder": "gnc"}, "unknown encoder 'gnc': known are"),
        (
            {"mask": {"rato": 0.5}},
            "unknown setting mask.rato: known are mask.kind, mask.module, mask.ratio",
        ),
        ({"mask": {"rato": 0.5}}, "(did you mean mask.ratio?)"),
        ({"trian": {}}, "(did you mean train?)"),
        ({"train": {"epoch": 3}}, "(did you mean train.epochs?)"),
        ({"mask": 3}, "mask must be a section or a name, got 3"),
        ({"encoder": {"kind": 3}}, "encoder.kind must be one of"),
        ({"method": "common-neighbors", "mask": "directed"}, "'common-neighbors' has no mask"),
        ({"evaluation": {"hits": [0]}}, "evaluation.hits"),
        ({"evaluation": {"heuristics": ["roof"]}}, "unknown method 'roof'"),
        ({"split": {"seed": "each"}}, "split.seed"),
        ({"split": {"val_ratio": -0.1}}, "split.val_ratio must be a number in [0, 1), got -0.1"),
        ({"split": {"test_ratio": 1.0}}, "split.test_ratio must be a number in [0, 1), got 1.0"),
        ({"mask": {"ratio": 1.0}}, "mask.ratio must be a number in [0, 1), got 1.0"),
        ({"mask": {"ratio": -0.1}}, "mask.ratio must be a number in [0, 1), got -0.1"),
        ({"train": {"fanouts": []}}, "train.fanouts: must be integers ≥ 1, one for each"),
        ({"train": {"fanouts": [0, 3]}}, "train.fanouts: must be integers ≥ 1, one for each"),
        ({"train": {"fanouts": [5, -1]}}, "train.fanouts: must be integers ≥ 1, one for each"),
        ({"method": "gae", "mask": "directed"}, "method 'gae' has no mask"),
        ({"method": "dgi", "mask": "directed"}, "method 'dgi' has no mask"),
        ({"method": "random-init", "mask": {}}, "method 'random-init' has no mask"),
        ({"method": "common-neighbors", "encoder": {}}, "'common-neighbors' has no encoder"),
        ({"method": {"kind": "gic", "alpha": 2}}, "method.alpha must be a number in [0, 1], got 2"),
        ({"method": {"kind": "dgi", "alpha": 0.5}}, "unknown setting method.alpha: known are"),
    ],
)
def test_a_wrong_value_gets_one_line_that_names_it(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RunConfig(**given)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_configuration_is_frozen() -> None:
    with pytest.raises(ValidationError):
        RunConfig().seed = 3  # type: ignore[misc]


def test_toml_gives_back_the_same_configuration(tmp_path: Path) -> None:
    config = RunConfig(
        graph="my graph",
        protocol="strict",
        seed=7,
        runs=3,
        mask={"kind": "directed", "ratio": 0.1},
        encoder={"kind": "sage", "num_layers": 3, "act": "elu", "act_last": False, "norm": "batch"},
        decoder={"kind": "mlp", "combine": "concat", "dropout": 0.25},
        loss={"kind": "sampled-softmax", "num_negatives": 5},
        train={"fanouts": [15, 10, 5], "step_size": 100, "clip": 0, "monitor": "hits@5"},
        evaluation={"hits": (5,), "heuristics": ("random-init",)},
        split={"seed": 12, "val_ratio": 0.2},
    )
    file = tmp_path / "config.toml"
    file.write_text(config.to_toml())
    assert RunConfig.from_toml(file) == config
    assert RunConfig.from_toml(file).to_toml() == config.to_toml()


def test_sampled_mode_has_a_step_size_of_its_own() -> None:
    assert RunConfig(train={"fanouts": [15, 10]}).train.step_size == 1024
    assert RunConfig(train={"fanouts": [15, 10], "step_size": None}).train.step_size == 1024
    assert RunConfig(train={"fanouts": [15, 10], "step_size": 7}).train.step_size == 7
    assert RunConfig().train.step_size is None


def test_a_method_brings_its_own_way_to_train_and_the_user_s_wins() -> None:
    usual = RunConfig(method="dgi")
    assert (usual.train.learning_rate, usual.train.monitor) == (0.001, "loss")
    assert RunConfig(method="dgi", train={"monitor": "ap"}).train.monitor == "ap"
    assert RunConfig().train.learning_rate == 0.01


def test_parts_of_another_method_are_left_out() -> None:
    config = RunConfig(encoder="sage", seed=7).for_method("random-init")
    assert (config.method.kind, config.encoder.kind, config.seed) == ("random-init", "sage", 7)
    assert config.mask is None


def test_assignments_read_toml_values_and_plain_text() -> None:
    texts = ["train.epochs=3", "mask.ratio=0.5", "mask.kind=directed", "evaluation.hits=[1,2]"]
    assert assignments(texts) == {
        "train": {"epochs": 3},
        "mask": {"ratio": 0.5, "kind": "directed"},
        "evaluation": {"hits": [1, 2]},
    }


@pytest.mark.parametrize("text", ["mask.ratio", "=3", "mask..ratio=3"])
def test_an_assignment_without_key_or_value_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--set needs"):
        assignments([text])


def test_merging_keeps_what_the_later_layer_does_not_name() -> None:
    merged = merge(
        {"encoder": {"kind": "gcn", "dropout": 0.1}}, {"encoder": "sage"}, {"seed": None}
    )
    assert merged == {"encoder": {"kind": "sage", "dropout": 0.1}}


def test_a_file_that_is_not_toml_is_named(tmp_path: Path) -> None:
    file = tmp_path / "broken.toml"
    file.write_text("mask = [")
    with pytest.raises(ConfigError, match=r"broken\.toml is not TOML"):
        read_toml(file)
    with pytest.raises(ConfigError, match="cannot read configuration"):
        read_toml(tmp_path / "absent.toml")


def test_the_choices_of_a_setting_that_may_be_absent_are_named() -> None:
    with pytest.raises(
        ConfigError, match=r"precision must be one of float32, bfloat16, auto, got 'half'"
    ):
        RunConfig(decoder={"precision": "half"})


def test_a_strange_key_stays_in_one_line() -> None:
    with pytest.raises(ConfigError, match=r"unknown setting 'in\\nput'") as caught:
        RunConfig(**{"in\nput": 1})
    assert "\n" not in str(caught.value)
