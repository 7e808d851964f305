"""Node classification: a plain classifier on frozen embeddings."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterator, Sequence
from functools import cache, partial
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
from torch.nn.functional import normalize

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
    embeddings: Tensor | Sequence[Tensor],
    graph: Data,
    probe: str,
    num_folds: int,
    seed: int,
    split_generator: torch.Generator,
    inner: bool = False,
) -> Measured:
    """Return metrics in percent of the probe that the protocol asks for.

    ``svm`` (the paper): an RBF-SVM, 5-fold cross-validation over all labeled nodes, the mean over
    the folds. ``logistic`` (strict): logistic regression on the train nodes, measured on the test
    nodes; the validation nodes choose its penalty and whether columns are standardized.

    Of several ``embeddings`` the best one is taken, anew in each fold: by inner folds over its
    training nodes, or by the validation nodes. ``inner`` measures on those instead of the test.
    """
    require_labels(graph)
    # A single column of labels, as OGB writes them, are classes and not one of many labels.
    labels = graph.y.squeeze(1) if graph.y.dim() == 2 and graph.y.size(1) == 1 else graph.y
    y = labels.numpy()
    given = [embeddings] if isinstance(embeddings, Tensor) else embeddings
    several = [one.double().numpy() for one in given]
    if probe == "svm":
        probe_seed = stream_seed(seed, "probe") % 2**32
        parts = folds(labeled_nodes(labels), num_folds, probe_seed)
        points = [_points(x) for x in several]
        by_fold = partial(_by_svm, points, y, num_folds, probe_seed, inner)
        return _joined(by_fold(train, test) for train, test in parts)
    return _logistic(several, y, node_split(graph, labels, split_generator), inner)


def _points(x: NDArray[Any]) -> Any:
    """Return mostly empty rows as a sparse matrix: an SVM reads them three times faster."""
    few = np.count_nonzero(x) < _SPARSE_BELOW * x.size
    return csr_matrix(x) if few else x


def _by_svm(
    several: Sequence[Any],
    y: NDArray[Any],
    num_folds: int,
    seed: int,
    inner: bool,
    train: Indices,
    test: Indices,
) -> Measured:
    """Measure one outer fold; the test nodes' labels decide nothing."""

    def within(x: Any) -> Measured:
        parts = folds(train, num_folds, seed)
        return _joined(_scores(_svm(y), x, y, *part) for part in parts)

    if len(several) == 1 and not inner:
        return _scores(_svm(y), several[0], y, train, test)
    results = [within(x) for x in several]
    best = int(np.argmax([next(iter(one.figures.values())) for one in results]))
    return results[best] if inner else _scores(_svm(y), several[best], y, train, test)


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


def _logistic(
    several: Sequence[NDArray[Any]], y: NDArray[Any], split: dict[str, Indices], inner: bool
) -> Measured:
    main = "accuracy" if y.ndim == 1 else "auc"

    def scores(choice: tuple[NDArray[Any], bool, float], part: str) -> Measured:
        x, scaled, penalty = choice
        probe: Any = LogisticRegression(C=penalty, max_iter=2000)
        probe = probe if y.ndim == 1 else OneVsRestClassifier(probe)
        probe = make_pipeline(StandardScaler(), probe) if scaled else probe
        return _scores(probe, x, y, split["train"], split[part])

    # Columns that the few train nodes hardly have are blown up by scales of their own; one scale
    # for all of them leaves the embeddings' length out as well.
    scaled = [x / (x[split["train"]].std() or 1.0) for x in several]
    choices = itertools.product(scaled, (True, False), _PENALTIES)
    best = max(choices, key=lambda choice: scores(choice, "val").figures[main])
    return scores(best, "val" if inner else "test")


def node_vectors(
    embedding: Tensor, width: int, x: Tensor | None, unit_rows: bool, beside: str
) -> list[Tensor]:
    """Return what may be classified: embeddings, and these with the features beside.

    ``unit_rows`` gives each layer of ``width`` columns, and the features, unit length.
    """
    if unit_rows:
        layers = (normalize(layer) for layer in embedding.split(width, dim=1))
        embedding = torch.cat(list(layers), dim=1)
    if x is None or beside == "never":
        return [embedding]
    both = torch.cat([embedding, normalize(x) if unit_rows else x], dim=1)
    return [both] if beside == "always" else [embedding, both]


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
