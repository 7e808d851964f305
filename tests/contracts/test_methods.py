"""What every registered method, part and configuration keeps to, on every kind of graph.

A case is one method or one part: the graphs are gone through inside it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from mgae.core.errors import ConfigError, MGAEError
from mgae.core.methods import Method
from mgae.core.seeding import Generators, drawn_from
from mgae.core.training import EpochRecord, fit
from mgae.data import MessageGraph, checked
from mgae.registry import DATASETS, METHODS, PARTS
from mgae.runs.build import build_method
from mgae.runs.checkpoints import Checkpoints
from mgae.runs.config import RunConfig
from tests.conftest import toy_graph


def isolated() -> MessageGraph:
    """Twelve nodes, of which the last four have no edge."""
    edges = to_undirected(torch.tensor([[0, 1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7, 0]]))
    x = torch.rand(12, 5, generator=torch.Generator().manual_seed(0))
    return MessageGraph.of(checked(Data(x=x, edge_index=edges, num_nodes=12)))


def disconnected() -> MessageGraph:
    """Two rings of six that know nothing of each other."""
    ring = torch.stack([torch.arange(6), (torch.arange(6) + 1) % 6])
    edges = to_undirected(torch.cat([ring, ring + 6], dim=1))
    x = torch.rand(12, 5, generator=torch.Generator().manual_seed(1))
    return MessageGraph.of(checked(Data(x=x, edge_index=edges, num_nodes=12)))


def two_nodes() -> MessageGraph:
    edges = torch.tensor([[0, 1], [1, 0]])
    return MessageGraph.of(checked(Data(x=torch.eye(2), edge_index=edges, num_nodes=2)))


GRAPHS: dict[str, Callable[[], MessageGraph]] = {
    "undirected": toy_graph,
    "directed": lambda: toy_graph(directed=True),
    "weighted": lambda: toy_graph(weighted=True),
    "weighted directed": lambda: toy_graph(weighted=True, directed=True),
    "isolated nodes": isolated,
    "disconnected": disconnected,
    "no features": lambda: toy_graph(num_features=None),
    "two nodes": two_nodes,
}
# On these a method may refuse what it cannot do.
HARD_GRAPHS = {"two nodes", "no features"}
SMALL: dict[str, dict[str, Any]] = {
    "encoder": {"hidden_channels": 4},
    "decoder": {"hidden_channels": 8},
}
# Of a method itself.
SMALL_METHODS: dict[str, dict[str, Any]] = {
    "combined": {"evidence_epochs": 2, "folds": 3},
    "combined-relational": {"evidence_epochs": 2, "folds": 3},
    "evidence": {"folds": 3},
}
ALL_METHODS = [entry.name for entry in METHODS]
TRAINED = [entry.name for entry in METHODS if entry.build.trains]
ALL_PARTS = [(part, entry.name) for part, registry in PARTS.items() for entry in registry]

each_method = pytest.mark.parametrize("name", ALL_METHODS)
each_trained = pytest.mark.parametrize("name", TRAINED)
each_part = pytest.mark.parametrize(("part", "kind"), ALL_PARTS)


def small_settings(part: str, kind: str) -> dict[str, Any]:
    fields = PARTS[part][kind].settings.model_fields
    return {key: value for key, value in SMALL.get(part, {}).items() if key in fields}


def config_of(name: str, **sections: Any) -> RunConfig:
    has = METHODS[name].extras["parts"]
    small = {part: small_settings(part, usual["kind"]) for part, usual in has.items()}
    method = {"kind": name, **SMALL_METHODS.get(name, {})}
    return RunConfig(method=method, **{**small, **sections})


def build(config: RunConfig, graph: MessageGraph, seed: int = 0) -> Method:
    return build_method(config, graph, Generators(seed)["init"])


def trained(
    config: RunConfig, graph: MessageGraph, seed: int = 0, epochs: int = 1
) -> tuple[Method, list[float]]:
    """The method after its epochs, and their losses; an untrained method as it is."""
    method = build(config, graph, seed)
    if not method.trains:
        return method, []
    epoch = iter(range(epochs))
    result = fit(method, graph, epochs=epochs, validate=lambda: float(next(epoch)), generators=seed)
    return method, [record.loss for record in result.history]


def pairs_of(graph: MessageGraph) -> Tensor:
    """All pairs of different nodes, in both orders."""
    nodes = torch.arange(graph.num_nodes)
    pairs = torch.cartesian_prod(nodes, nodes).t()
    return pairs[:, pairs[0] != pairs[1]]


def scores_of(method: Method, graph: MessageGraph) -> Tensor:
    return method.score_links(method.encode(graph), pairs_of(graph))


def graphs_for(name: str) -> Iterator[tuple[str, MessageGraph, Method]]:
    """Every graph that the method trains on and scores, with the trained method.

    A refusal is one line that names the method, or is about two nodes.
    """
    for kind, make in GRAPHS.items():
        graph = make()
        try:
            method, losses = trained(config_of(name), graph)
            method.encode(graph)
        except MGAEError as error:
            assert kind in HARD_GRAPHS, f"{name} refuses a graph like any other: {error}"
            assert f"'{name}'" in str(error) or kind == "two nodes", str(error)
            assert "\n" not in str(error)
            continue
        assert all(math.isfinite(loss) for loss in losses), kind
        yield kind, graph, method


# Methods


@each_method
def test_a_method_scores_every_pair_alike_however_it_is_asked(name: str) -> None:
    for kind, graph, method in graphs_for(name):
        encoded, pairs = method.encode(graph), pairs_of(graph)
        scores = method.score_links(encoded, pairs)
        assert (scores.shape, scores.dtype) == ((pairs.size(1),), torch.float32), kind
        assert bool(scores.isfinite().all()), kind
        assert not scores.requires_grad, kind
        some = torch.tensor([1, 0, 1]) % pairs.size(1)
        torch.testing.assert_close(method.score_links(encoded, pairs[:, some]), scores[some])
        assert method.score_links(encoded, pairs[:, :0]).shape == (0,)
        if graph.undirected:
            torch.testing.assert_close(method.score_links(encoded, pairs.flip(0)), scores)
        heads, tails = torch.tensor([1, 0]), torch.arange(graph.num_nodes).flip(0)
        product = method.rank_links(encoded, torch.cartesian_prod(heads, tails).t())
        at_once = method.score_tails(encoded, heads, tails)
        torch.testing.assert_close(at_once.flatten(), product)
        assert method.score_tails(encoded, heads, tails[:0]).shape == (2, 0)


@each_method
def test_an_embedding_is_a_finite_vector_for_each_node(name: str) -> None:
    for kind, graph, method in graphs_for(name):
        try:
            embedding = method.embed(graph)
        except MGAEError as error:
            assert not method.trains, f"{name} trains and has no embeddings"
            assert f"'{name}'" in str(error)
            continue
        assert (embedding.dim(), embedding.size(0)) == (2, graph.num_nodes), kind
        assert bool(embedding.isfinite().all()), kind
        assert not embedding.requires_grad, kind


@each_trained
def test_every_loss_of_an_epoch_is_a_finite_scalar_of_a_known_group(name: str) -> None:
    for kind, graph, method in graphs_for(name):
        losses = list(method.train().losses(graph, Generators(0)))
        assert losses, kind
        for loss, group in losses:
            assert loss.dim() == 0
            assert bool(loss.isfinite()), kind
            assert loss.requires_grad
            assert group in method.parameter_groups()


@each_trained
def test_training_moves_every_weight_and_a_reset_forgets_it(name: str) -> None:
    graph, config = toy_graph(), config_of(name)
    before = build(config, graph).state_dict()
    method, _ = trained(config, graph, epochs=3)
    after = {key: value.clone() for key, value in method.named_parameters()}
    assert all(not torch.equal(after[key], before[key]) for key in after)
    with drawn_from(torch.Generator().manual_seed(0)):
        method.reset_parameters()
    weights = [key for key, value in after.items() if value.dim() > 1]
    reset = dict(method.named_parameters())
    assert all(not torch.equal(reset[key], after[key]) for key in weights)
    assert bool(scores_of(method, graph).isfinite().all())


@each_method
def test_the_same_seed_gives_the_same_bits_and_another_does_not(name: str) -> None:
    state = torch.random.get_rng_state()
    for graph in (toy_graph(), toy_graph(directed=True)):
        runs = [trained(config_of(name), graph, seed, epochs=2) for seed in (0, 0, 1)]
        first, again, other = (scores_of(method, graph) for method, _ in runs)
        assert runs[0][1] == runs[1][1]
        assert torch.equal(first, again)
        # The weights that are shipped are the same for every seed.
        if list(runs[0][0].parameters()) and getattr(runs[0][0], "start", "random") == "random":
            assert not torch.equal(first, other)
    assert torch.equal(torch.random.get_rng_state(), state), "the global generator was used"


@each_method
def test_a_method_knows_its_name_and_its_weights_survive_a_file(name: str, tmp_path: Path) -> None:
    for kind, graph, method in graphs_for(name):
        if kind not in ("undirected", "no features"):
            continue
        assert method.name == name
        save_file({k: v.contiguous() for k, v in method.state_dict().items()}, tmp_path / "w")
        other = build(config_of(name), graph, seed=1)
        other.load_state_dict(load_file(tmp_path / "w"))
        assert torch.equal(scores_of(other, graph), scores_of(method, graph)), kind


@each_trained
def test_a_training_broken_off_goes_on_to_the_same_bits(name: str, tmp_path: Path) -> None:
    graph = toy_graph()

    def weights(folder: str, stop_after: int | None = None) -> dict[str, Tensor]:
        generators = Generators(0)
        method = build_method(config_of(name), graph, generators["init"])

        def stop(record: EpochRecord) -> None:
            if record.epoch == stop_after:
                raise KeyboardInterrupt

        def validate() -> float:
            return float(sum(weight.detach().sum() for weight in method.parameters()))

        fit(
            method,
            graph,
            epochs=4,
            validate=validate,
            generators=generators,
            checkpoints=Checkpoints(tmp_path / folder, 0.0),
            on_epoch=stop,
        )
        return dict(method.state_dict())

    whole = weights("whole")
    with pytest.raises(KeyboardInterrupt):
        weights("broken", stop_after=3)
    resumed = weights("broken")
    assert all(torch.equal(resumed[key], value) for key, value in whole.items())


@each_trained
def test_neighborhoods_are_sampled_or_refused_by_name(name: str) -> None:
    graph, mask = toy_graph(), METHODS[name].extras["parts"].get("mask")
    layers = getattr(config_of(name).encoder, "num_layers", 2)
    config = config_of(name, train={"fanouts": [3] * layers, "step_size": 10})
    if METHODS[name].build.samplable:
        assert mask is not None
        assert len(list(build(config, graph).losses(graph, Generators(0)))) > 1
    else:
        with pytest.raises(ConfigError, match=f"'{name}' encodes the whole graph: leave train.fan"):
            build(config, graph)


def test_selftask_is_mgae_with_an_mlp_on_the_difference() -> None:
    graph = toy_graph()
    decoder = {"kind": "mlp", "combine": "absdiff", "hidden_channels": 8}
    first = build(config_of("mgae", decoder=decoder), graph)
    second = build(config_of("selftask"), graph)
    losses = [
        [float(loss.detach()) for loss, _ in method.losses(graph, Generators(0))]
        for method in (first, second)
    ]
    assert losses[0] == losses[1]


# Parts


@each_part
def test_mgae_trains_with_every_part_to_the_same_bits(part: str, kind: str) -> None:
    config = config_of("mgae", **{part: {"kind": kind, **small_settings(part, kind)}})
    for name, make in GRAPHS.items():
        if name == "two nodes":
            continue
        graph = make()
        (first, losses), (again, same_losses) = (trained(config, graph) for _ in range(2))
        assert len(losses) == 1
        assert math.isfinite(losses[0]), name
        assert losses == same_losses, name
        scores = scores_of(first, graph)
        assert bool(scores.isfinite().all()), name
        assert torch.equal(scores, scores_of(again, graph)), name


# Names, summaries, configurations


def test_every_entry_has_a_proper_name_and_a_summary() -> None:
    for registry in (METHODS, DATASETS, *PARTS.values()):
        for entry in registry:
            assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.name)
            assert len(entry.summary.split()) >= 2, entry.name
            assert "\n" not in entry.summary, entry.name
            assert not entry.summary.endswith("."), entry.name


def test_every_setting_of_a_method_and_a_part_has_its_help() -> None:
    for registry in (METHODS, *PARTS.values()):
        for entry in registry:
            fields = entry.settings.model_fields
            own = {name: field for name, field in fields.items() if name not in ("kind", "module")}
            assert all(field.description for field in own.values()), entry.name


@st.composite
def configurations(draw: st.DrawFn) -> RunConfig:
    """Any method with any of its parts, on any dataset, for any task, by any protocol."""
    method = draw(st.sampled_from(ALL_METHODS))
    parts = {
        part: draw(st.sampled_from(PARTS[part].names()))
        for part in METHODS[method].extras["parts"]
        if draw(st.booleans())
    }
    train = {"step_size": draw(st.none() | st.integers(1, 1000))}
    return RunConfig(
        graph=draw(st.sampled_from([*DATASETS.names(), "my graph"])),
        method=method,
        task=draw(st.sampled_from(["links", "nodes"])),
        protocol=draw(st.sampled_from(["paper", "strict"])),
        seed=draw(st.integers(0, 99)),
        runs=draw(st.integers(1, 9)),
        train={key: value for key, value in train.items() if value is not None},
        **parts,
    )


@settings(deadline=None, max_examples=100)
@given(config=configurations())
def test_a_configuration_survives_its_file(
    config: RunConfig, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("config") / "config.toml"
    file.write_text(config.to_toml(), encoding="utf-8")
    back = RunConfig.from_toml(file)
    assert back == config
    assert back.to_toml() == config.to_toml()


def test_a_part_is_chosen_by_its_name() -> None:
    for part, kind in ALL_PARTS:
        assert getattr(RunConfig(**{part: kind}), part).kind == kind
