"""Node classification: a plain classifier on frozen embeddings."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from torch import Tensor

from mgae.core.errors import GraphError, UnsupportedError
from mgae.core.seeding import stream_seed
from mgae.data.splits.nodes import Indices, folds, labeled_nodes, node_split
from mgae.evaluation import metrics
from mgae.evaluation.measured import Measured

if TYPE_CHECKING:
    from torch_geometric.data import Data

# scikit-learn's usual one first: it wins a tie.
_SPARSE_BELOW = 0.2
_PENALTIES = (1.0, 0.1, 10.0, 0.01)


def measure_nodes(
    embeddings: Tensor,
    graph: Data,
    probe: str,
    num_folds: int,
    seed: int,
    split_generator: torch.Generator,
) -> Measured:
    """Return metrics in percent of the probe that the protocol asks for.

    ``svm`` (the paper): an RBF-SVM, 5-fold cross-validation over all labeled nodes, the mean over
    the folds. ``logistic`` (strict): logistic regression on the train nodes, measured on the test
    nodes; the validation nodes choose its penalty and whether columns are standardized.
    """
    require_labels(graph)
    # A single column of labels, as OGB writes them, are classes and not one of many labels.
    labels = graph.y.squeeze(1) if graph.y.dim() == 2 and graph.y.size(1) == 1 else graph.y
    x, y = embeddings.double().numpy(), labels.numpy()
    if probe == "svm":
        parts = folds(labeled_nodes(labels), num_folds, stream_seed(seed, "probe") % 2**32)
        # Raw features are mostly zeros, and an SVM reads them three times faster that way.
        few = np.count_nonzero(x) < _SPARSE_BELOW * x.size
        points = csr_matrix(x) if few else x
        return _joined(_scores(_svm(y), points, y, train, test) for train, test in parts)
    return _logistic(x, y, node_split(graph, labels, split_generator))


def require_labels(graph: Data) -> None:
    """Refuse a graph that cannot be classified, before anything is trained for it."""
    if graph.y is None:
        raise UnsupportedError(
            "node classification needs labels, and the graph has none: give --labels FILE "
            "(input.labels), or task links"
        )
    if graph.y.dim() == 1 and graph.y[graph.y >= 0].unique().numel() < 2:
        raise GraphError("node classification needs labels of at least two classes")


def _svm(y: NDArray[Any]) -> Any:
    # scikit-learn's defaults (C=1, gamma="scale"), as in the authors' code.
    return fastest_svc()() if y.ndim == 1 else OneVsRestClassifier(fastest_svc()())


@cache
def fastest_svc() -> Any:
    """Return scikit-learn-intelex's SVC (extra ``fast``) if installed, else scikit-learn's."""
    try:
        return importlib.import_module("sklearnex.svm").SVC
    except ImportError:
        return SVC


def _logistic(x: NDArray[Any], y: NDArray[Any], split: dict[str, Indices]) -> Measured:
    main = "accuracy" if y.ndim == 1 else "auc"

    def scores(choice: tuple[bool, float], part: str) -> Measured:
        scaled, penalty = choice
        probe: Any = LogisticRegression(C=penalty, max_iter=2000)
        probe = probe if y.ndim == 1 else OneVsRestClassifier(probe)
        probe = make_pipeline(StandardScaler(), probe) if scaled else probe
        return _scores(probe, x, y, split["train"], split[part])

    # Columns that the few train nodes hardly have are blown up by scales of their own; one scale
    # for all of them leaves the embeddings' length out as well.
    x = x / (x[split["train"]].std() or 1.0)
    choices = itertools.product((True, False), _PENALTIES)
    return scores(max(choices, key=lambda choice: scores(choice, "val").figures[main]), "test")


def _scores(probe: Any, x: Any, y: NDArray[Any], train: Indices, test: Indices) -> Measured:
    if y.ndim == 1 and np.unique(y[train]).size < 2:
        raise GraphError("the nodes to learn from have labels of one class only")
    probe.fit(x[train], y[train])
    if y.ndim == 1:
        predicted = probe.predict(x[test])
        scores = metrics.classification(y[test], predicted)
        right = (predicted == y[test]).astype(float)
        macro = metrics.macro_f1_influence(y[test], predicted)
        values = {"accuracy": right, "macro_f1": macro, "micro_f1": right}
        largest = float(np.unique(y[test], return_counts=True)[1].max() / len(test))
        chance = {"accuracy": largest, "micro_f1": largest}
    else:
        # Scores, not hard labels: those would give balanced accuracy under the name of ROC-AUC.
        decided = probe.decision_function(x[test])
        scores = {"auc": metrics.multilabel_auc(y[test], decided)}
        values = {"auc": metrics.multilabel_auc_influence(y[test], decided)}
        chance = {"auc": 0.5}
    return Measured(
        {name: 100 * value for name, value in scores.items()},
        {name: 100 * one for name, one in values.items()},
        chance={name: 100 * value for name, value in chance.items()},
    )


def _joined(folds: Iterator[Measured]) -> Measured:
    """Return the mean of the folds' figures, and the values of all nodes."""
    results = list(folds)
    first = results[0]

    def mean(of: str) -> dict[str, float]:
        return {
            name: float(np.mean([getattr(result, of)[name] for result in results]))
            for name in getattr(first, of)
        }

    values = {name: np.concatenate([one.values[name] for one in results]) for name in first.values}
    return Measured(mean("figures"), values, chance=mean("chance"))
