"""MGAE with scikit-learn's manners: ``fit``, then ``embed`` and ``score_links``."""

from __future__ import annotations

from typing import Any

import torch
from sklearn.base import BaseEstimator
from torch import Tensor
from torch_geometric.data import Data

from mgae.core.errors import GraphError
from mgae.core.graph import MessageGraph
from mgae.data.checks import checked
from mgae.data.opening import as_graph
from mgae.runs.config import RunConfig
from mgae.runs.trial import Trial
from mgae.serving.newcomers import require_inductive, require_same_features
from mgae.serving.predictor import Predictor


class MGAE(BaseEstimator):  # type: ignore[misc]
    """A masked graph autoencoder for a graph in memory.

    The parameters are those of `RunConfig`: ``method``, ``mask``, ``encoder``, ``decoder`` and
    ``loss`` are a part's name or a section of its settings, and without one the default for one's
    own graph; ``train`` is a section. ``val_ratio`` of the edges is kept from training to choose
    the epoch and to weigh the network against the evidence of links. ``device`` is as in
    ``train.device``: "auto", "cpu", "cuda", "cuda:1" or "mps".

    >>> data = Data(edge_index=torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]]), num_nodes=6)
    >>> small = {"kind": "sage", "hidden_channels": 8}
    >>> model = MGAE(method="mgae", encoder=small, train={"epochs": 2})
    >>> model.fit(data).embed().shape
    torch.Size([6, 16])
    >>> model.score_links(torch.tensor([[0, 1], [3, 4]])).shape
    torch.Size([2])
    """

    def __init__(
        self,
        encoder: str | dict[str, Any] | None = None,
        mask: str | dict[str, Any] | None = None,
        decoder: str | dict[str, Any] | None = None,
        loss: str | dict[str, Any] | None = None,
        train: dict[str, Any] | None = None,
        val_ratio: float = 0.05,
        seed: int = 0,
        method: str | dict[str, Any] | None = None,
        device: str | None = None,
    ) -> None:
        self.method = method
        self.encoder = encoder
        self.mask = mask
        self.decoder = decoder
        self.loss = loss
        self.train = train
        self.val_ratio = val_ratio
        self.seed = seed
        self.device = device

    def fit(self, data: Data, y: None = None) -> MGAE:
        """Learn from the edges of ``data``; labels are not used."""
        config = RunConfig(
            graph="data",
            method=self.method,
            encoder=self.encoder,
            mask=self.mask,
            decoder=self.decoder,
            loss=self.loss,
            train=self.train
            if self.device is None
            else {**(self.train or {}), "device": self.device},
            seed=self.seed,
            split={"val_ratio": self.val_ratio, "test_ratio": 0.0, "seed": self.seed},
        )
        graph = as_graph(data)
        trial = Trial(config, graph, MessageGraph.of(graph))
        fit = trial.fit()
        self.data_, self.split_ = trial.graph, trial.split
        self.config_, self.method_, self.graph_ = config, trial.method, trial.message
        self.history_, self.best_epoch_ = fit.history, fit.best_epoch
        measured = trial.calibrating()
        if trial.fits_again:
            trial.fit_again(fit)
        self.calibrations_ = trial.calibrations(measured)
        self.asked_ = trial.asked
        self.encoded_ = trial.asked.encode(self.graph_)
        return self

    def embed(self, data: Data | None = None) -> Tensor:
        """Return all layers side by side, [nodes, K·d], of the fitted graph or of another one.

        Another graph must have the same features; a model with a node table knows only its own
        nodes, though they may have other edges.
        """
        known = self._fitted()
        if data is None:
            return self.asked_.embed(known)
        other = checked(data)
        if other.node_ids != self.data_.node_ids:
            require_inductive(self.method_)
        require_same_features(self.data_, other)
        return self.asked_.embed(MessageGraph.of(other))

    def score_links(self, pairs: Tensor) -> Tensor:
        """Return a logit [n] for each of ``pairs`` [2, n], given all edges of the fitted graph."""
        graph = self._fitted()
        pairs = torch.as_tensor(pairs).long()
        if pairs.dim() != 2 or pairs.size(0) != 2:
            raise GraphError(f"pairs must have the shape [2, n], got {tuple(pairs.shape)}")
        if pairs.numel() and not 0 <= int(pairs.min()) <= int(pairs.max()) < graph.num_nodes:
            raise GraphError(f"pairs must be nodes in [0, {graph.num_nodes})")
        return self.asked_.score_links(self.encoded_, pairs)

    def predictor(self) -> Predictor:
        """Return the model with calibrated probabilities, recommendations and the user's ids."""
        self._fitted()
        return Predictor(self.method_, self.config_, self.data_, self.calibrations_)

    def _fitted(self) -> MessageGraph:
        if not hasattr(self, "graph_"):
            raise GraphError("this MGAE is not fitted yet: call fit(data) first")
        graph: MessageGraph = self.graph_
        return graph
