"""What may help where a model is not worth its training: settings, by what training has shown.

Nothing here looks at a test figure. What can be tried on the same validation edges is tried, as far
as the time budget allows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from mgae.core.errors import MGAEError
from mgae.core.graph import MessageGraph, edge_matrix
from mgae.core.methods.featuresignal import FeatureSignal
from mgae.core.seeding import Generators
from mgae.core.training.loop import Fit
from mgae.data.ids import counted
from mgae.runs.config import RunConfig
from mgae.runs.featureuse import message_graph
from mgae.runs.results import Advice, Figures
from mgae.runs.trial import Trial

_DEFAULT, _WITH_TYPES, _EVIDENCE = "combined", "combined-relational", "evidence"
_FEW_TO_CHOOSE = 50  # validation edges
_FEW_TO_TELL = 200  # test edges
_WIDER_VALIDATION = 0.15
_RISE = 0.5  # points in the last third of the epochs
_SHORTEST = 1.0  # seconds that a trial is worth


@dataclass(frozen=True)
class Idea:
    """An advice, and the configuration that it leads to if that can be tried on the same edges."""

    advice: Advice
    config: RunConfig | None = None


def ideas_for(trial: Trial, fit: Fit) -> list[Idea]:
    """Return what may help, the most likely first; no figure of the test is looked at."""
    if trial.config.task != "links" or not trial.method.trains:
        return []
    return [*_of_the_method(trial, fit), *_of_the_graph(trial)]


def tried(
    ideas: list[Idea], trial: Trial, val: Figures, on_stage: Callable[[str], None]
) -> tuple[Advice, ...]:
    """Return the advice, with validation figures of what the rest of the budget could try."""
    budget, advice = trial.config.train.budget, [idea.advice for idea in ideas]
    metric = next((name for name in val if name.startswith("recall@")), trial.config.ranked_by)
    if budget is None or metric not in val:
        return tuple(advice)
    waiting = [number for number, idea in enumerate(ideas) if idea.config is not None]
    while waiting:
        share = (trial.started + budget - time.perf_counter()) / len(waiting)
        number = waiting.pop(0)
        config = ideas[number].config
        if config is None or share < _SHORTEST:
            continue
        on_stage(f"trying {advice[number].setting}")
        if (figure := _validated(config, trial, metric, share)) is not None:
            advice[number] = replace(
                advice[number], metric=metric, before=val[metric], tried=figure
            )
    return tuple(advice)


def _validated(config: RunConfig, trial: Trial, metric: str, seconds: float) -> float | None:
    """Return the validation figure of a training of so many seconds; None if it cannot be run."""
    train = {**config.train.model_dump(exclude_none=True), "budget": seconds, "final_fit": False}
    evaluation = {**config.evaluation.model_dump(), "heuristics": (), "hard_negatives": 0}
    try:
        config = config.changed(train=train, evaluation=evaluation)
        other = Trial(config, trial.graph, message_graph(config, trial.graph))
        other.fit()
        return other.val_figures(other.asked).get(metric)
    except MGAEError:
        return None


def _of_the_method(trial: Trial, fit: Fit) -> Iterator[Idea]:
    """Yield what can be tried on the same validation edges."""
    config, method = trial.config, trial.method
    known = (_DEFAULT, _WITH_TYPES, _EVIDENCE)
    if config.is_own and config.method.kind not in known:
        text = "the default for one's own graph counts neighbors and paths beside the network"
        usual = _DEFAULT if trial.message.triples is None else _WITH_TYPES
        yield Idea(Advice(text, f"--method {usual}"), config.with_defaults(usual))
    yield from _of_features(trial)
    epochs = config.train.epochs
    if _is_rising(fit, epochs):
        train = {**config.train.model_dump(exclude_none=True), "epochs": 2 * epochs}
        text = f"the validation score was still rising after {epochs} epochs"
        yield Idea(Advice(text, f"--epochs {2 * epochs}"), config.changed(train=train))
    if config.train.budget is not None and fit.planned < epochs:
        text = f"the time ran out after {fit.epochs} of {epochs} epochs"
        yield Idea(Advice(text, f"--budget {2 * config.train.budget:.0f}s"))
    choice: dict[str, dict[str, float]] = getattr(method, "choice", {})
    if choice and not any("network" in weights for weights in choice.values()):
        text = "the network adds nothing on validation edges: the evidence alone is quicker"
        yield Idea(Advice(text, f"--method {_EVIDENCE}"))


def _of_features(trial: Trial) -> Iterator[Idea]:
    """Yield whether to read the features, by what they tell of hidden training edges."""
    config, message = trial.config, trial.split.message
    if trial.graph.x is None:
        return
    if config.features.use == "never":
        text = "the features are left out; columns that say more about the edges may help"
        yield Idea(Advice(text, "--features FILE"))
        return
    if FeatureSignal.of(message, Generators(config.seed).fresh("features")).helps:
        return
    features = {**config.features.model_dump(exclude_none=True), "use": "never"}
    text = "the features say nothing about hidden training edges that the other edges do not"
    advice = Advice(text, "--set features.use=never")
    yield Idea(advice, config.changed(features=features))


def _of_the_graph(trial: Trial) -> Iterator[Idea]:
    """Yield what to change in how the graph is read and divided."""
    config, split, message = trial.config, trial.split, trial.message
    if _looks_bipartite(message):
        text = "no edge joins two nodes of one side, as in a bipartite graph"
        yield Idea(Advice(text, "--bipartite"))
    if not message.undirected:
        text = "much of what predicts edges is counted without their direction"
        yield Idea(Advice(text, "--set input.directed=false"))
    validated, tested = split.val.size(1), split.test.size(1)
    if validated < _FEW_TO_CHOOSE and config.split.val_ratio < _WIDER_VALIDATION:
        text = f"only {counted(validated, 'validation edge')} to choose epoch and weights by"
        yield Idea(Advice(text, f"--set split.val_ratio={_WIDER_VALIDATION}"))
    if tested < _FEW_TO_TELL and config.split.seed != "run":
        text = f"only {counted(tested, 'test edge')} to compare methods by: use several splits"
        yield Idea(Advice(text, "--runs 5 --set split.seed=run"))
    edges, nodes = message.pairs.size(1), message.num_nodes
    if edges < nodes:
        text = f"{edges:,} edges of {nodes:,} nodes say little about any of them; more would help"
        yield Idea(Advice(text))


def _is_rising(fit: Fit, epochs: int) -> bool:
    """Return whether the last third of all epochs has gained more than a little."""
    scored = [(one.epoch, one.score) for one in fit.history if one.score is not None]
    early = [score for epoch, score in scored if epoch <= 2 * epochs / 3]
    late = [score for epoch, score in scored if epoch > 0.9 * epochs]
    return bool(early and late) and max(late) > max(early) + _RISE


def _looks_bipartite(graph: MessageGraph) -> bool:
    """Return whether nodes fall into two sides without an edge within one; forests always do."""
    edges = edge_matrix(graph)
    if graph.sides is not None or not graph.undirected or graph.pairs.size(1) < graph.num_nodes:
        return False
    # Every component of the double cover is joined to its mirror by an odd cycle, and only so.
    both = sp.block_array([[None, edges], [edges, None]], format="csr")
    count, _ = connected_components(edges, directed=False)
    return bool(connected_components(both, directed=False)[0] == 2 * count)
