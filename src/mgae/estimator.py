"""MGAE with scikit-learn's manners: ``fit`` a graph, ``transform`` it, ``score`` links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from torch import Tensor
from torch_geometric.data import Data

from mgae.core.errors import ConfigError, GraphError, MGAEError, hint
from mgae.core.graph import MessageGraph
from mgae.core.negatives import NegativeSampler
from mgae.core.seeding import Generators
from mgae.core.training.device import Device
from mgae.core.training.state import EpochRecord
from mgae.data.opening import open_graph
from mgae.data.splits.links import joined
from mgae.evaluation.metrics import auc
from mgae.runs.bars import Progress
from mgae.runs.config import RunConfig
from mgae.runs.featureuse import message_graph
from mgae.runs.fitted import FittedRun
from mgae.runs.layering import flat, merge
from mgae.runs.observer import LogObserver, Observer, Observers
from mgae.runs.reference import all_settings
from mgae.runs.results import RunResult
from mgae.runs.texttables import html_table
from mgae.serving.frames import pairs_of
from mgae.serving.newcomers import require_inductive, require_same_features
from mgae.serving.nodeindex import NodeIndex
from mgae.serving.predictor import Predictor

Callback = Observer | Callable[[EpochRecord], object]

_SECTIONS = (
    "method", "encoder", "mask", "decoder", "loss", "input", "features", "split", "train",
    "evaluation",
)  # fmt: skip
_FEWEST_OTHERS = 1000  # pairs against which links are scored


class UnfittedError(MGAEError, NotFittedError):  # type: ignore[misc]
    """An `MGAE` is asked before it has learned from a graph."""


class MGAE(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc, call-arg]
    """A masked graph autoencoder for one's own graph, as a scikit-learn transformer.

    ``X`` is a graph, in any form that `open_graph` takes: a PyG ``Data``, a networkx graph, a scipy
    sparse adjacency, a data frame of edges (pandas, polars, pyarrow), a list of pairs, a path.
    `transform` gives a row for each node.

    The parameters are the settings of `RunConfig`: a section as a whole (``train={"epochs": 50}``),
    a part by its name (``encoder="sage"``), or a single setting by its path, with two underscores
    (``encoder__hidden_channels=64``, ``split__val_ratio=0.1``, ``train__device="cuda"``): it wins
    over its section. What is left out has the default for one's own graph.

    Args:
        method: which one, or its section; ``encoder``, ``mask``, ``decoder``, ``loss``, ``input``,
            ``features``, ``split``, ``train`` and ``evaluation`` likewise.
        seed: of the training, and of the split.
        verbose: draw a bar, in a terminal or a notebook.
        callbacks: observers, and functions that are called with the `EpochRecord` of each epoch.
        settings: single settings by their paths.

    Attributes:
        config_: the configuration, fitted to the graph.
        data_: the graph, checked; its ``node_ids`` are in the order of the rows.
        result_: figures of the validation edges; of test edges too if ``split__test_ratio`` is set.
        history_, best_epoch_: the epochs, and which of them was the best.
        method_, split_: the trained module, and which edges were held out.

    >>> edges = [("ann", "bob"), ("bob", "cat"), ("cat", "ann"), ("cat", "dan"), ("dan", "eve")]
    >>> model = MGAE(method="mgae", encoder__hidden_channels=8, train__epochs=2)
    >>> model.fit_transform(edges).shape
    (5, 16)
    >>> model.predictor().recommend("ann", k=1)[0].node in {"dan", "eve"}
    True
    """

    def __init__(
        self,
        method: str | dict[str, Any] | None = None,
        encoder: str | dict[str, Any] | None = None,
        mask: str | dict[str, Any] | None = None,
        decoder: str | dict[str, Any] | None = None,
        loss: str | dict[str, Any] | None = None,
        input: dict[str, Any] | None = None,
        features: dict[str, Any] | None = None,
        split: dict[str, Any] | None = None,
        train: dict[str, Any] | None = None,
        evaluation: dict[str, Any] | None = None,
        seed: int = 0,
        verbose: bool = False,
        callbacks: Sequence[Callback] | None = None,
        **settings: Any,
    ) -> None:
        self.method = method
        self.encoder = encoder
        self.mask = mask
        self.decoder = decoder
        self.loss = loss
        self.input = input
        self.features = features
        self.split = split
        self.train = train
        self.evaluation = evaluation
        self.seed = seed
        self.verbose = verbose
        self.callbacks = callbacks
        _require_known(settings)
        for name, value in settings.items():
            setattr(self, name, value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters as they were given; ``deep``: with every setting by its path."""
        given = {name: getattr(self, name) for name in (*_arguments(), *self._single)}
        if not deep:
            return given
        try:
            whole = flat(self.config.model_dump(include=set(_SECTIONS)))
        except MGAEError:  # what is wrong is said by fit
            return given
        return {path.replace(".", "__"): value for path, value in whole.items()} | given

    def set_params(self, **params: Any) -> Self:
        """Set parameters, by the names that the constructor takes.

        Raises:
            ConfigError: if there is none of a name.
        """
        _require_known({name: value for name, value in params.items() if name not in _arguments()})
        for name, value in params.items():
            setattr(self, name, value)
        return self

    @property
    def config(self) -> RunConfig:
        """What `fit` would run.

        Raises:
            ConfigError: if a setting has a wrong value.
        """
        sections = {name: getattr(self, name) for name in _SECTIONS}
        split = {"val_ratio": 0.05, "test_ratio": 0.0, "seed": self.seed}
        given = [{"split": split}, sections, *map(self._nested, self._single)]
        return RunConfig(graph="data", seed=self.seed, **merge(*given))

    @property
    def _single(self) -> list[str]:
        """The settings that were given by their paths."""
        return [name for name in vars(self) if "__" in name and not name.startswith("_")]

    def _nested(self, name: str) -> dict[str, Any]:
        value = getattr(self, name)
        for key in reversed(name.split("__")):
            value = {key: value}
        return dict(value)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the edges of a graph; ``y`` is not read."""
        observer = Progress() if self.verbose else LogObserver()
        watched = Observers([observer, *(self.callbacks or ())])
        config = self.config
        graph = open_graph(X, config.input, preparing=config.features)
        return self._take(FittedRun.train(config, graph, watched))

    def _take(self, run: FittedRun) -> Self:
        self.run_, self.config_, self.data_ = run, run.config, run.graph
        self.method_, self.split_, self.graph_ = run.method, run.split, run.message
        self.history_, self.best_epoch_ = run.fit.history, run.fit.best_epoch
        self.calibrations_, self.result_ = run.calibrations, RunResult(run.config, (run.result,))
        self.encoded_ = run.asked.encode(run.message)
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float32]:
        """Return the embeddings of a graph's nodes [nodes, width]; it need not be the fitted one.

        Another graph must have the same features; a model with a node table knows only its own
        nodes, though they may have other edges.
        """
        self._fitted()
        return self.embed(X).numpy()

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> npt.NDArray[np.float32]:
        """Return the embeddings [nodes, width] of the graph that is learned from."""
        return self.fit(X, y, **fit_params).embed().numpy()

    def embed(self, X: Any = None) -> Tensor:
        """Return embeddings [nodes, width] as a tensor: of the fitted graph without ``X``."""
        known = self._fitted()
        if X is None:
            return self.run_.asked.embed(known).detach()
        preparing = self.data_.get("preparation")
        other = open_graph(X, self.config_.input, preparing=preparing)
        if other.node_ids != self.data_.node_ids:
            require_inductive(self.method_)
        require_same_features(self.data_, other)
        return self.run_.asked.embed(message_graph(self.config_, other)).detach()

    def embed_into(self, data: Data) -> Data:
        """Write the embeddings of a ``Data``'s nodes to its ``z`` [nodes, width], and return it."""
        data.z = self.embed(data)
        return data

    def score_links(self, pairs: Tensor) -> Tensor:
        """Return a logit [n] for each of ``pairs`` [2, n] of rows, given all edges of the graph."""
        graph = self._fitted()
        pairs = torch.as_tensor(pairs).long()
        if pairs.dim() != 2 or pairs.size(0) != 2:
            raise GraphError(f"pairs must have the shape [2, n], got {tuple(pairs.shape)}")
        if pairs.numel() and not 0 <= int(pairs.min()) <= int(pairs.max()) < graph.num_nodes:
            raise GraphError(f"pairs must be nodes in [0, {graph.num_nodes})")
        return self.run_.asked.score_links(self.encoded_, pairs).detach()

    def score(self, X: Any, y: Any = None) -> float:
        """Return how well links are separated from other pairs: the AUC, from 0 to 1.

        Args:
            X: edges, in any form that `fit` takes: those that the fitted graph lacks are scored
                against random pairs without an edge (if it has them all, all of them). Nodes that
                it does not have are left out. With ``y``: pairs of ids.
            y: for each of the pairs whether it is a link.

        Raises:
            GraphError: if there is nothing to score.
        """
        graph = self._fitted()
        links, others = self._held_out(X, graph) if y is None else self._labeled(X, y)
        if not links.size(1) or not others.size(1):
            raise GraphError("a score needs links and other pairs of nodes of the fitted graph")
        return auc(self.score_links(links).numpy(), self.score_links(others).numpy())

    def _held_out(self, X: Any, graph: MessageGraph) -> tuple[Tensor, Tensor]:
        other = open_graph(X, self.config_.input, preparing=self.data_.get("preparation"))
        ends = MessageGraph.of(other).pairs if other.undirected else other.edge_index
        ids = [[other.node_ids[number] for number in row] for row in ends.tolist()]
        links = self._numbers(list(zip(*ids, strict=True)))
        new = links[:, ~NegativeSampler.of(graph).is_taken(links)]
        links = new if new.size(1) else links
        free = NegativeSampler.of(joined(graph, links))
        generator = Generators(self.seed).fresh("score")
        return links, free.sample(max(_FEWEST_OTHERS, links.size(1)), generator)

    def _labeled(self, X: Any, y: Any) -> tuple[Tensor, Tensor]:
        pairs, labels = pairs_of(X), np.asarray(y).astype(bool)
        if len(pairs) != len(labels):
            raise GraphError(f"y must be labels of {len(pairs)} pairs, got {len(labels)}")
        parts = ([p for p, label in zip(pairs, labels, strict=True) if label == is_link]
                 for is_link in (True, False))  # fmt: skip
        links, others = map(self._numbers, parts)
        return links, others

    def _numbers(self, pairs: Iterable[tuple[Any, Any]]) -> Tensor:
        """Return the rows [2, n] of pairs of ids, those of unknown nodes left out."""
        index = NodeIndex(self.data_.node_ids, self.data_.get("side_prefixes") or ())
        known = [pair for pair in pairs if all(map(index.knows, pair))]
        rows = [[index.position(node) for node in pair] for pair in known]
        return torch.tensor(rows, dtype=torch.long).view(-1, 2).t()

    def predictor(self) -> Predictor:
        """Return the model with calibrated probabilities, recommendations and the user's ids."""
        self._fitted()
        predictor = Predictor(self.method_, self.config_, self.data_, self.calibrations_)
        predictor.run = self.run_
        return predictor

    def save(self, path: str | Path) -> None:
        """Write a run directory: `load` and every command of ``mgae`` read it."""
        self._fitted()
        self.run_.save(Path(path))

    @classmethod
    def load(cls, path: str | Path, run: int = 0, device: Device | None = None) -> MGAE:
        """Read a run directory, of `save` or of any training; of several runs the one of a number.

        ``device`` computes; without one that of the training, or if it is not here ``auto``.
        """
        fitted = FittedRun.load(Path(path), run, device)
        return cls(**_parameters(fitted.config))._take(fitted)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return a name for each column of `transform`."""
        width = self.embed().size(1)
        return np.array([f"mgae{column}" for column in range(width)], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "run_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # X is a graph
        tags.input_tags.sparse = True
        tags.no_validation = True
        return tags

    def _repr_html_(self) -> str:
        if not self.__sklearn_is_fitted__():
            return html_table(["parameter", "value"], self._changed(), "MGAE, not fitted")
        figures = {f"validation {name}": str(one) for name, one in self.result_.val.items()}
        figures |= {f"test {name}": str(one) for name, one in self.result_.test.items()}
        facts = {
            "trained": self.result_.name,
            "nodes": f"{self.graph_.num_nodes:,}",
            "edges": f"{self.graph_.pairs.size(1):,}",
            "best epoch": f"{self.best_epoch_} of {len(self.history_)}",
            **figures,
        }
        return html_table(["", ""], [*self._changed(), *facts.items()], "MGAE, fitted")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        # scikit-learn's own is a diagram that says nothing of a fitted model.
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _changed(self) -> list[tuple[str, Any]]:
        usual = {name: one.default for name, one in signature(type(self)).parameters.items()}
        given = self.get_params(deep=False).items()
        return [(name, value) for name, value in given if value is not usual.get(name, ...)]

    def _fitted(self) -> MessageGraph:
        if not self.__sklearn_is_fitted__():
            raise UnfittedError("this MGAE is not fitted yet: call fit(graph) first")
        graph: MessageGraph = self.graph_
        return graph


def _arguments() -> list[str]:
    """Return the constructor's arguments, single settings apart."""
    return [name for name in signature(MGAE).parameters if name != "settings"]


@cache
def _settings() -> frozenset[str]:
    """Return the paths of all settings of the sections, as parameters are called."""
    listed = (setting.name for setting in all_settings() if setting.section in _SECTIONS)
    return frozenset(name.replace(".", "__") for name in listed)


def _require_known(names: Iterable[str]) -> None:
    for name in names:
        # A table within a section, as features__columns__age, has keys of the user's own.
        section, _, rest = name.partition("__")
        if name in _settings() or f"{section}__{rest.partition('__')[0]}" in _settings():
            continue
        known = sorted(one for one in _settings() if one.startswith(f"{section}__"))
        known = known if rest and known else [*_arguments(), *sorted(_settings())]
        shown = known if rest and section in _SECTIONS else _arguments()
        own = [one for one in known if one.endswith(f"__{name}")]  # its section was left out
        meant = f" (did you mean {own[0]}?)" if own else hint(name, known)
        raise ConfigError(
            f"unknown parameter {name[:200]} of MGAE: known are {', '.join(shown)}{meant}"
        )


def _parameters(config: RunConfig) -> dict[str, Any]:
    """Return the parameters that give a configuration: what differs from the defaults."""
    kinds = {
        name: part.kind
        for name in ("method", "encoder", "mask", "decoder", "loss")
        if (part := getattr(config, name)) is not None
    }
    usual = flat(MGAE(seed=config.seed, method=kinds["method"]).config.model_dump())
    changed = {
        path.replace(".", "__"): value
        for path, value in flat(config.model_dump(include=set(_SECTIONS))).items()
        if usual.get(path) != value and not path.endswith((".kind", ".module"))
    }
    kinds = {name: kind for name, kind in kinds.items()
             if name == "method" or usual.get(f"{name}.kind") != kind}  # fmt: skip
    return {**kinds, "seed": config.seed, **changed}
