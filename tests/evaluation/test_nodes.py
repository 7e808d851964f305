"""Node evaluation: probes on embeddings whose outcome is known beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from torch import Tensor
from torch_geometric.data import Data

from mgae.core.errors import GraphError, MGAEError, UnsupportedError
from mgae.evaluation import nodes
from mgae.evaluation.measured import Measured
from mgae.evaluation.nodes import measure_nodes, node_vectors

PROBES = ["svm", "logistic"]
PERFECT = {"accuracy": 100.0, "macro_f1": 100.0, "micro_f1": 100.0}


def evaluate(probe: str, x: Tensor, graph: Data, seed: int = 0, folds: int = 5) -> dict[str, float]:
    return measure_nodes(x, graph, probe, folds, seed, torch.Generator().manual_seed(seed)).figures


def separable(y: Tensor, noise: float = 0.1) -> Tensor:
    """The class as a direction, and a little noise."""
    generator = torch.Generator().manual_seed(0)
    return torch.eye(int(y.max()) + 1)[y.clamp(min=0)] + noise * torch.randn(
        len(y), int(y.max()) + 1, generator=generator
    )


def masks(num_nodes: int, **parts: Any) -> dict[str, Tensor]:
    def mask(which: Any) -> Tensor:
        chosen = torch.zeros(num_nodes, dtype=torch.bool)
        chosen[which] = True
        return chosen

    return {f"{part}_mask": mask(which) for part, which in parts.items()}


@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize("classes", [2, 3])
def test_separable_classes_are_told_apart(probe: str, classes: int) -> None:
    y = torch.arange(300) % classes
    assert evaluate(probe, separable(y), Data(y=y)) == PERFECT


@pytest.mark.parametrize("probe", PROBES)
def test_embeddings_that_say_nothing_give_the_share_of_the_classes(probe: str) -> None:
    generator = torch.Generator().manual_seed(1)
    y = torch.arange(200) % 2
    x = torch.randn(200, 4, generator=generator)
    assert 30 < evaluate(probe, x, Data(y=y))["accuracy"] < 70


def test_the_svm_is_nonlinear() -> None:
    # A ring around a disc: no line tells them apart.
    angle = torch.linspace(0, 6.28, 100)
    radius = 0.2 + 0.8 * (torch.arange(100) % 2)
    x = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)
    assert evaluate("svm", x, Data(y=torch.arange(100) % 2))["accuracy"] == 100.0


def test_the_svm_is_tested_on_every_labeled_node_once(monkeypatch: pytest.MonkeyPatch) -> None:
    folds: list[tuple[set[int], set[int]]] = []

    def scores(probe: Any, x: Any, y: Any, train: Any, test: Any) -> Measured:
        folds.append((set(train.tolist()), set(test.tolist())))
        return Measured({"accuracy": float(len(folds))})

    monkeypatch.setattr(nodes, "_scores", scores)
    y = torch.arange(23) % 2
    y[[3, 11]] = -1
    figures = evaluate("svm", torch.zeros(23, 1), Data(y=y), folds=4)
    labeled = set(range(23)) - {3, 11}
    assert all(not train & test and train | test == labeled for train, test in folds)
    assert sorted(node for _, test in folds for node in test) == sorted(labeled)
    assert figures == {"accuracy": (1 + 2 + 3 + 4) / 4}


@pytest.mark.parametrize("probe", PROBES)
def test_unlabeled_nodes_are_as_if_they_were_not_there(probe: str) -> None:
    y = torch.arange(80) % 2
    x = separable(y, noise=0.6)
    unlabeled = torch.arange(80) % 5 == 0
    with_them = evaluate(probe, x, Data(y=y.masked_fill(unlabeled, -1)))
    without = evaluate(probe, x[~unlabeled], Data(y=y[~unlabeled]))
    assert with_them == without
    assert with_them != PERFECT


def test_public_masks_say_where_to_learn_and_where_to_test() -> None:
    y = torch.arange(60) % 2
    x = separable(y)
    # The labels are turned around where nothing is learned, and where it is tested.
    y[40:] = 1 - y[40:]
    right = masks(60, train=slice(0, 20), val=slice(20, 30), test=slice(30, 40))
    wrong = masks(60, train=slice(0, 20), val=slice(20, 30), test=slice(40, 60))
    assert evaluate("logistic", x, Data(y=y, **right)) == PERFECT
    assert evaluate("logistic", x, Data(y=y, **wrong))["accuracy"] == 0.0


def test_the_svm_of_the_paper_does_not_look_at_public_masks() -> None:
    y = torch.arange(60) % 2
    public = masks(60, train=[0], val=[1], test=[2])
    x = separable(y, noise=0.7)
    assert evaluate("svm", x, Data(y=y, **public)) == evaluate("svm", x, Data(y=y))


def test_without_public_masks_ten_ten_and_eighty_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    def scores(probe: Any, x: Any, y: Any, train: Any, test: Any) -> Measured:
        assert not set(train.tolist()) & set(test.tolist())
        asked.append((len(train), len(test)))
        return Measured({"accuracy": 0.0})

    monkeypatch.setattr(nodes, "_scores", scores)
    evaluate("logistic", torch.zeros(50, 1), Data(y=torch.arange(50) % 2))
    assert set(asked[:-1]) == {(5, 5)}
    assert asked[-1] == (5, 40)


@pytest.mark.parametrize("wanted", [(True, 0.1), (False, 10.0)])
def test_penalty_and_scaling_are_chosen_on_the_validation_nodes(
    monkeypatch: pytest.MonkeyPatch, wanted: tuple[bool, float]
) -> None:
    def scores(probe: Any, x: Any, y: Any, train: Any, test: Any) -> Measured:
        scaled = isinstance(probe, Pipeline)
        choice = (scaled, probe[-1].C if scaled else probe.C)
        on_val = len(test) == 5
        return Measured({"accuracy": float(choice == wanted) if on_val else choice[1]})

    monkeypatch.setattr(nodes, "_scores", scores)
    graph = Data(y=torch.arange(50) % 2)
    assert evaluate("logistic", torch.zeros(50, 1), graph) == {"accuracy": wanted[1]}


def test_words_that_the_train_nodes_hardly_have_do_not_drown_the_others() -> None:
    # One column tells the classes; of the others a train node has one each, and no other node.
    y = torch.arange(60) % 2
    x = torch.cat([y[:, None].double(), 1e-3 * torch.eye(60, dtype=torch.double)], dim=1)
    x[:, 0] += 0.8 * torch.rand(60, generator=torch.Generator().manual_seed(0)) - 0.4
    parts = masks(60, train=slice(0, 20), val=slice(20, 40), test=slice(40, 60))
    assert evaluate("logistic", x.float(), Data(y=y, **parts)) == PERFECT


def test_the_scale_of_the_embeddings_is_nothing_to_the_logistic_probe() -> None:
    y = torch.arange(60) % 2
    x = separable(y, noise=0.8)
    assert evaluate("logistic", x, Data(y=y)) == evaluate("logistic", 1000 * x, Data(y=y))


def test_multilabel_roc_auc_comes_from_scores_by_hand() -> None:
    # Of the nodes with x = 0 a tenth has the label, with x = 1 three tenths: a hard label would
    # always be "no", and its AUC 50. By scores: of the positives 3/4 have x = 1, of the negatives
    # 7/16: AUC = 3/4·9/16 + (3/4·7/16 + 1/4·9/16)/2 = 0.65625. The other label is its opposite.
    x = torch.tensor([[0.0]] * 10 + [[1.0]] * 10)
    has = torch.tensor([1] + [0] * 9 + [1] * 3 + [0] * 7)
    y = torch.stack([has, 1 - has], dim=1)
    parts = masks(60, train=slice(0, 20), val=slice(20, 40), test=slice(40, 60))
    figures = evaluate("logistic", x.repeat(3, 1), Data(y=y.repeat(3, 1), **parts))
    assert figures == {"auc": pytest.approx(65.625)}


@pytest.mark.parametrize("probe", PROBES)
def test_separable_labels_have_an_auc_of_a_hundred(probe: str) -> None:
    y = torch.stack([torch.arange(100) % 2, torch.arange(100) // 2 % 2], dim=1)
    x = y + 0.05 * torch.randn(100, 2, generator=torch.Generator().manual_seed(0))
    assert evaluate(probe, x, Data(y=y)) == {"auc": pytest.approx(100.0)}


def test_multilabel_rows_with_nan_are_left_out() -> None:
    y = torch.stack([torch.arange(60) % 2, torch.arange(60) // 2 % 2], dim=1).float()
    x = y + 0.8 * torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    unlabeled = torch.arange(60) % 7 == 0
    y_missing = y.clone()
    y_missing[unlabeled, 0] = torch.nan
    with_them = evaluate("svm", x, Data(y=y_missing))
    assert with_them == evaluate("svm", x[~unlabeled], Data(y=y[~unlabeled]))


@pytest.mark.parametrize("probe", PROBES)
def test_the_same_seed_gives_the_same_figures(probe: str) -> None:
    y = torch.arange(100) % 2
    x = separable(y, noise=0.8)
    figures = [evaluate(probe, x, Data(y=y), seed=seed) for seed in (0, 0, 1)]
    assert figures[0] == figures[1]
    assert figures[0] != figures[2]


def test_evaluation_leaves_the_global_generators_alone() -> None:
    y = torch.arange(60) % 2
    before, numpy_before = torch.random.get_rng_state(), np.random.get_state()[1].copy()
    for probe in PROBES:
        evaluate(probe, separable(y), Data(y=y))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert np.array_equal(np.random.get_state()[1], numpy_before)


@pytest.mark.parametrize("probe", PROBES)
def test_a_graph_without_labels_is_refused(probe: str) -> None:
    with pytest.raises(UnsupportedError, match="needs labels"):
        evaluate(probe, torch.rand(10, 2), Data(num_nodes=10))


def test_fewer_labeled_nodes_than_folds_are_refused() -> None:
    with pytest.raises(GraphError, match="5 folds"):
        evaluate("svm", torch.rand(4, 2), Data(y=torch.arange(4) % 2))


def test_too_few_labeled_nodes_for_three_parts_are_refused() -> None:
    y = torch.arange(20) % 2
    y[9:] = -1
    with pytest.raises(GraphError, match="at least 10 labeled nodes, got 9"):
        evaluate("logistic", torch.rand(20, 2), Data(y=y))


def test_unlabeled_nodes_in_public_masks_are_left_out() -> None:
    y = torch.arange(60) % 2
    x = separable(y)
    unlabeled = torch.arange(60) % 5 == 0
    parts = masks(60, train=slice(0, 20), val=slice(20, 30), test=slice(30, 60))
    graph = Data(y=y.masked_fill(unlabeled, -1), **parts)
    assert evaluate("logistic", x, graph) == PERFECT


# Labels of odd kinds


@pytest.mark.parametrize("probe", PROBES)
def test_labels_of_one_class_are_refused_in_words(probe: str) -> None:
    with pytest.raises(MGAEError):
        evaluate(probe, torch.rand(50, 2), Data(y=torch.zeros(50, dtype=torch.long)))


@pytest.mark.parametrize("probe", PROBES)
def test_labels_in_one_column_are_classes(probe: str) -> None:
    y = torch.arange(60) % 2
    assert evaluate(probe, separable(y), Data(y=y.unsqueeze(1))) == PERFECT


def test_the_faster_svm_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearnex", reason="the extra 'fast' is not installed")
    y = torch.randint(4, (600,), generator=torch.Generator().manual_seed(1))
    x, graph = separable(y, noise=0.6), Data(y=y, num_nodes=600)
    fast = evaluate("svm", x, graph)["accuracy"]
    monkeypatch.setattr(nodes, "fastest_svc", lambda: SVC)
    assert 50 < fast < 95, "a task that tells them apart"
    assert evaluate("svm", x, graph)["accuracy"] == pytest.approx(fast, abs=0.1)


def noise(count: int, width: int) -> Tensor:
    return torch.randn(count, width, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("probe", PROBES)
def test_of_several_embeddings_the_one_that_training_nodes_prefer_is_measured(probe: str) -> None:
    y = torch.arange(60) % 2
    good, bad = separable(y), noise(60, 2)
    generator = torch.Generator().manual_seed(0)
    result = measure_nodes([bad, good], Data(y=y), probe, 3, 0, generator).figures
    assert result == evaluate(probe, good, Data(y=y), folds=3)


def test_inner_figures_do_not_look_at_the_test_nodes() -> None:
    y = torch.arange(60) % 2
    x = [noise(60, 3), noise(60, 2)]
    train, test = np.arange(40), np.arange(40, 60)
    changed = y.clone()
    changed[40:] = 1 - changed[40:]
    points = [one.double().numpy() for one in x]
    inner = [
        nodes._by_svm(points, labels.numpy(), 3, 0, True, train, test).figures
        for labels in (y, changed)
    ]
    assert inner[0] == inner[1]
    parts = masks(60, train=range(20), val=range(20, 40), test=range(40, 60))
    generator = torch.Generator()
    by_val = [
        measure_nodes(x, Data(y=labels, **parts), "logistic", 3, 0, generator, inner=True).figures
        for labels in (y, changed)
    ]
    assert by_val[0] == by_val[1]


def test_by_hand_layers_of_unit_length_and_the_features_beside() -> None:
    embedding, x = torch.tensor([[3.0, 4.0, 0.0, 2.0]]), torch.tensor([[5.0]])
    plain, both = node_vectors(embedding, 2, x, False, "auto")
    assert (plain.tolist(), both.tolist()) == ([[3, 4, 0, 2]], [[3, 4, 0, 2, 5]])
    (unit,) = node_vectors(embedding, 2, x, True, "always")
    assert unit[0].tolist() == pytest.approx([0.6, 0.8, 0.0, 1.0, 1.0])
    assert node_vectors(embedding, 2, None, False, "always")[0].tolist() == [[3, 4, 0, 2]]
