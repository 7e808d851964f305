"""One seed from split to figures."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from mgae.core.errors import ConfigError, UnsupportedError
from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Method
from mgae.core.methods.ondevice import on_device
from mgae.core.seeding import Generators
from mgae.core.training import distributed
from mgae.core.training.device import choose_device
from mgae.core.training.loop import Fit, OnEpoch, fit, fit_again
from mgae.data.mapped import in_files
from mgae.data.sharing import shared_split
from mgae.data.splits.bytime import split_by_time
from mgae.data.splits.hard import too_costly, with_hard_negatives
from mgae.data.splits.known import is_known, with_known_negatives
from mgae.data.splits.links import LinkSplit, has_official_split, split_links, without
from mgae.data.splits.typed import with_types
from mgae.evaluation.calibration import Calibrating, Calibrations
from mgae.evaluation.certainty import Certainty
from mgae.evaluation.links import hard_parts, link_metrics, measure_links, validator
from mgae.evaluation.measured import Measured
from mgae.evaluation.metrics import auc
from mgae.evaluation.ranking import MOST_EDGES
from mgae.runs.build import build_method
from mgae.runs.checkpoints import Checkpoints
from mgae.runs.config import RunConfig
from mgae.runs.results import Figures, SeedResult
from mgae.runs.rundirectory import RunDirectory

if TYPE_CHECKING:
    from torch_geometric.data import Data

OnStage = Callable[[str], None]
# Of the budget, for the split: on all edges the training takes as long, and a little more.
_FIRST_SHARE = 0.45
# What is offered at once, and what the literature prints for users and items.
_USUAL_RECALL, _RECALL_OF_USERS = 10, 20
_FEWEST_EDGES = 200  # looked for by recall@10, if there are more
_ACROSS_SIDES = ("l3", "preferential-attachment")  # heuristics where no neighbor is shared


def splits_by_time(config: RunConfig, graph: Data) -> bool:
    """Return whether the last edges are held out, and not random ones.

    Raises:
        ConfigError: if that is asked for and the edges have no times.
    """
    if graph.get("edge_time") is None and config.split.by == "time":
        raise ConfigError("split.by is 'time', and the edges have none: give --time-column")
    return graph.get("edge_time") is not None and config.split.by != "random"


def split_generator(config: RunConfig) -> torch.Generator:
    """Return the generator of the one split of all runs, or of this run's own."""
    fixed = config.split.seed
    return Generators(config.seed if fixed == "run" else fixed)["split"]


def draw_split(config: RunConfig, graph: Data, message: MessageGraph) -> LinkSplit:
    """Return the split of a run, without hard negatives."""
    generator = split_generator(config)
    ratios = config.split.ratios(message.pairs.size(1))
    by_time = splits_by_time(config, graph)
    if has_official_split(graph):
        split = LinkSplit.official(graph, message, generator)
    elif by_time:
        split = split_by_time(message, graph.edge_time, *ratios, generator)
    else:
        split = split_links(message, *ratios, generator)
    known = graph.get("negatives")
    if known is not None:
        split = with_known_negatives(split, known, ratios, generator)
    if message.triples is None:
        return split
    return with_types(split, message, generator, draw=known is None and not by_time)


def recalls_of(config: RunConfig, message: MessageGraph) -> tuple[tuple[int, ...], int]:
    """Return each K of recall@K, and how many held-out edges it is measured on at most."""
    recalls, pairs = config.recalls, config.evaluation.recall_pairs
    if message.sides is not None:
        return recalls or (_RECALL_OF_USERS,), MOST_EDGES
    if recalls or not pairs:
        return recalls, MOST_EDGES
    most = min(MOST_EDGES, pairs // max(1, message.num_nodes * (1 + message.undirected)))
    return ((_USUAL_RECALL,) if most >= _FEWEST_EDGES else ()), most


def calibrating(
    method: Method, config: RunConfig, graph: Data, message: MessageGraph, split: LinkSplit
) -> Calibrating | None:
    """Measure what the scores of a method mean that has not met the validation edges."""
    visible = split.message
    if not (has_official_split(graph) or splits_by_time(config, graph)):
        # As close as can be to what is served, which reads all edges.
        visible = without(message, split.val)
    return Calibrating.of(method, split, visible)


class Trial:
    """One seed from split to figures.

    ``method`` lies on the trial's device, and ``asked`` is the same for whoever asks from the CPU.
    """

    def __init__(
        self,
        config: RunConfig,
        graph: Data,
        message: MessageGraph,
        split: LinkSplit | None = None,
        device: torch.device | None = None,
    ) -> None:
        self.config, self.graph, self.message = config, graph, message
        self.generators = Generators(config.seed)
        self.split = shared_split(
            lambda: self._with_hard_negatives(split or draw_split(config, graph, message))
        )
        if config.train.fanouts is not None and distributed.world() == 1:
            # Sampled steps read few of the edges, so these can lie in files.
            self.split = replace(self.split, message=in_files(self.split.message))
        self.method = build_method(config, self.split.message, self.generators["init"])
        self.device = device or choose_device(config.train.device)
        self.asked = on_device(self.method, self.device)
        self.started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Since the split was drawn, in this process."""
        return time.perf_counter() - self.started

    def _with_hard_negatives(self, split: LinkSplit) -> LinkSplit:
        """Add the hard negatives that the configuration asks for, unless they are too costly."""
        count = self.config.evaluation.hard_negatives
        parts = hard_parts(self.config.train.monitor)
        sizes = {part: split.pairs(part)[0].size(1) for part in parts}
        missing = [part for part, size in sizes.items() if size and split.num_hard(part) != count]
        if not (count and missing) or too_costly(self.message, sum(sizes.values()), count):
            return split
        known = self.graph.get("negatives")
        return with_hard_negatives(split, count, split_generator(self.config), missing, known)

    def fit(
        self,
        checkpoints: Checkpoints | None = None,
        on_epoch: OnEpoch = lambda record: None,
    ) -> Fit:
        """Train the method, if it is one that trains."""
        if not self.method.trains:
            return Fit((), 0, 0.0)
        train = self.config.train
        result = fit(
            self.method,
            self.split.message,
            epochs=train.epochs,
            patience=train.patience,
            budget=self._first_budget,
            eval_every=train.eval_every,
            validate=validator(
                self.asked,
                self.split,
                train.monitor,
                self.config.evaluation.hits,
                self.config.evaluation.max_users,
            ),
            generators=self.generators,
            checkpoints=checkpoints,
            on_epoch=on_epoch,
            **self._rates,
        )
        self.asked.settle(self.split.message, *self.split.asked("val", self.method.typed))
        distributed.copy_from_first(self.method)
        return result

    @property
    def _first_budget(self) -> float | None:
        budget = self.config.train.budget
        return budget and budget * (_FIRST_SHARE if self.fits_again else 1.0)

    @property
    def fits_again(self) -> bool:
        """Whether the method is to learn from all edges; an official split has no others."""
        wanted = self.config.train.final_fit and self.method.trains
        return wanted and not has_official_split(self.graph)

    def fit_again(self, before: Fit, checkpoints: Checkpoints | None = None) -> None:
        """Learn once more, from all edges; the figures of `result` are those before."""
        train = self.config.train
        fit_again(
            self.method,
            self._all_edges(),
            before,
            Generators(self.config.seed),
            checkpoints,
            budget=train.budget and max(0.0, train.budget - before.seconds),
            **self._rates,
        )

    @property
    def _rates(self) -> dict[str, Any]:
        """The settings that `fit` and `fit_again` share."""
        shared = {"learning_rate", "weight_decay", "clip", "max_steps", "average", "schedule"}
        return self.config.train.model_dump(include=shared)

    def calibrating(self) -> Calibrating | None:
        """Measure, before `fit_again`, what scores mean; None without validation edges."""
        return calibrating(self.asked, self.config, self.graph, self.message, self.split)

    def calibrations(self, measured: Calibrating | None) -> Calibrations | None:
        """Return what the scores mean that are served, after `fit_again` if there was one."""
        if measured is None:
            return None
        if not self.fits_again:
            return measured.calibrations
        return measured.after_final_fit(self.asked, self.message)

    def _all_edges(self) -> MessageGraph:
        """Return the whole graph as training reads it."""
        message, known = self.message, self.graph.get("negatives")
        if self.config.train.fanouts is not None:
            message = in_files(message)
        if known is not None:
            both = torch.cat([known, known.flip(0)], dim=1) if message.undirected else known
            message = replace(message, known_negatives=both)
        return message

    def result(self, fit: Fit, on_stage: OnStage, stored: SeedResult | None = None) -> SeedResult:
        """Measure the test figures, and those of the heuristics on the same split."""
        on_stage("evaluating")
        ours = self.measured(self.asked) if self.has_test else Measured({})
        heuristics = {}
        for name in self._heuristics() if self.has_test else ():
            on_stage(f"evaluating {name}")
            if (measured := self.heuristic(name)) is not None:
                heuristics[name] = measured
        # A heuristic that is itself what was run is no measure of it.
        others = {name: one for name, one in heuristics.items() if name != self.config.method.kind}
        return SeedResult(
            seed=self.config.seed,
            test=ours.figures,
            val=self.val_figures(self.asked) if self.split.val.size(1) else {},
            heuristics={name: one.figures for name, one in heuristics.items()},
            certainty=Certainty.of(ours, others),
            advice=stored.advice if stored else (),
            beside=stored.beside if stored else {},
            epochs=stored.epochs if stored else fit.epochs,
            best_epoch=fit.best_epoch,
            other_split=stored.other_split if stored else None,
            seconds=stored.seconds if stored else self.seconds + fit.seconds_before,
        )

    @property
    def has_test(self) -> bool:
        """Whether there is anything to measure on; split.test_ratio may be zero."""
        return self.config.task == "nodes" or self.split.test.size(1) > 0

    def test_figures(self, method: Method) -> Figures:
        """Return the figures of `measured` alone."""
        return self.measured(method).figures

    def measured(self, method: Method) -> Measured:
        """Measure link prediction on the test edges, or node classification from all edges."""
        if self.config.task == "links":
            return self._measured_links(method, "test")
        return self._measured_nodes(method)

    def _measured_nodes(self, method: Method, inner: bool = False) -> Measured:
        # scikit-learn is slow to load
        from mgae.evaluation.nodes import measure_nodes, node_vectors  # noqa: PLC0415

        config, embedding, x = self.config, method.embed(self.message), self.graph.x
        settings = config.evaluation
        # Without an encoder, as raw features, it is one vector.
        width = getattr(config.encoder, "hidden_channels", embedding.size(1))
        vectors = node_vectors(embedding, width, x, settings.unit_rows, settings.features_beside)
        chance = split_generator(config)
        about = settings.probe, settings.folds, config.seed, chance
        return measure_nodes(vectors, self.graph, *about, inner=inner)

    def val_figures(self, method: Method) -> Figures:
        """Measure link prediction on the validation edges, and nodes by inner folds if asked."""
        figures = self._measured_links(method, "val").figures
        if self.config.task == "links" or not self.config.evaluation.inner_folds:
            return figures
        nodes = self._measured_nodes(method, inner=True).figures
        return {**figures, **{f"inner_{name}": value for name, value in nodes.items()}}

    def _measured_links(self, method: Method, part: str) -> Measured:
        settings = self.config.evaluation
        recalls, most_edges = recalls_of(self.config, self.message)
        measured = measure_links(
            method,
            self.split,
            part,
            link_metrics(settings.hits),
            val_edges_as_input=settings.val_edges_as_input,
            recalls=recalls,
            max_users=settings.max_users,
            most_edges=most_edges,
        )
        return self._with_known(measured, part)

    def _with_known(self, measured: Measured, part: str) -> Measured:
        """Add the AUC against the part's negatives that the user gave, if there are any."""
        known, negatives = self.graph.get("negatives"), self.split.pairs(part)[1]
        if known is None or measured.scores is None:
            return measured
        own = is_known(negatives, known, self.message.num_nodes).numpy()
        if not own.any():
            return measured
        positive, negative = measured.scores
        figures = {**measured.figures, "known_auc": 100 * auc(positive, negative[own])}
        return replace(measured, figures=figures, known=own)

    def _heuristics(self) -> tuple[str, ...]:
        """Return the heuristics' names; those of common neighbors refuse a bipartite graph."""
        names = self.config.evaluation.heuristics
        if self.message.sides is None or not names or self.config.task != "links":
            return names
        return tuple(dict.fromkeys((*_ACROSS_SIDES, *names)))

    def heuristic(self, name: str) -> Measured | None:
        """Measure a heuristic; None if this graph lacks what it needs."""
        config = self.config.for_method(name)
        generators = Generators(config.seed)
        try:
            method = build_method(config, self.split.message, generators["init"])
            return self.measured(on_device(method, self.device))
        except UnsupportedError:
            return None

    def write_embeddings(self, home: RunDirectory) -> None:
        """Write the embeddings from all edges, by the weights that are served."""
        try:
            home.write_embeddings(self.graph, self.asked.embed(self.message))
        except UnsupportedError:
            return  # a heuristic has none
