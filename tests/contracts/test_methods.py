"""What every registered method, part and configuration keeps to, on every kind of graph."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from mgae.core.errors import MGAEError
from mgae.core.methods import Method, build_method
from mgae.core.seeding import Generators, drawn_from
from mgae.core.training import Checkpoints, EpochRecord, train
from mgae.data import MessageGraph, checked
from mgae.registry import DATASETS, METHODS, PARTS, Registry
from mgae.runs.config import RunConfig
from tests.conftest import toy_graph

Graph = Callable[[], MessageGraph]


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


GRAPHS: dict[str, Graph] = {
    "undirected": toy_graph,
    "directed": lambda: toy_graph(directed=True),
    "weighted": lambda: toy_graph(weighted=True),
    "weighted directed": lambda: toy_graph(weighted=True, directed=True),
    "isolated nodes": isolated,
    "disconnected": disconnected,
    "no features": lambda: toy_graph(num_features=None),
    "two nodes": two_nodes,
}
SMALL: dict[str, dict[str, Any]] = {
    "encoder": {"hidden_channels": 4},
    "decoder": {"hidden_channels": 8},
}
ALL_METHODS = [entry.name for entry in METHODS]
TRAINED = [entry.name for entry in METHODS if getattr(entry.build, "trains", True)]
UNTRAINED = [name for name in ALL_METHODS if name not in TRAINED]
ALL_PARTS = [(part, entry.name) for part, registry in PARTS.items() for entry in registry]

each_method = pytest.mark.parametrize("name", ALL_METHODS)
each_graph = pytest.mark.parametrize("kind", GRAPHS)
each_part = pytest.mark.parametrize(("part", "kind"), ALL_PARTS)


def config_of(name: str, **sections: Any) -> RunConfig:
    has = METHODS[name].extras["parts"]
    small = {part: _small_settings(part, usual["kind"]) for part, usual in has.items()}
    return RunConfig(method=name, **{"train": {"epochs": 1}, **small, **sections})


def build(config: RunConfig, graph: MessageGraph, seed: int = 0) -> Method:
    return build_method(config, graph, Generators(seed)["init"])


def trained(config: RunConfig, graph: MessageGraph, seed: int = 0) -> tuple[Method, list[float]]:
    """The method after its epochs, and their losses; an untrained method as it is."""
    method = build(config, graph, seed)
    if not method.trains:
        return method, []
    epoch = iter(range(config.train.epochs))
    fit = train(method, graph, config.train, Generators(seed), lambda: float(next(epoch)))
    return method, [record.loss for record in fit.history]


def pairs_of(graph: MessageGraph) -> Tensor:
    """All pairs of different nodes, in both orders."""
    nodes = torch.arange(graph.num_nodes)
    pairs = torch.cartesian_prod(nodes, nodes).t()
    return pairs[:, pairs[0] != pairs[1]]


def scores_of(method: Method, graph: MessageGraph) -> Tensor:
    return method.score_links(method.encode(graph), pairs_of(graph))


class Refused(Exception):  # noqa: N818 - no error, but a way out
    """A method may refuse what it cannot do, if it says so in its own name."""


def unless_refused(name: str, kind: str, call: Callable[[], Any]) -> Any:
    """What ``call`` gives; a refusal must name the method, or be about two nodes."""
    try:
        return call()
    except MGAEError as error:
        assert f"'{name}'" in str(error) or kind == "two nodes", str(error)
        assert "\n" not in str(error)
        raise Refused from error


# Methods


@each_method
@each_graph
def test_one_head_against_many_tails_scores_as_its_pairs(name: str, kind: str) -> None:
    graph = GRAPHS[kind]()
    try:
        method = unless_refused(name, kind, lambda: build(config_of(name), graph))
        encoded = unless_refused(name, kind, lambda: method.encode(graph))
    except Refused:
        return
    heads, tails = torch.tensor([1, 0]), torch.arange(graph.num_nodes).flip(0)
    pairs = torch.cartesian_prod(heads, tails).t()
    found = method.score_tails(encoded, heads, tails)
    torch.testing.assert_close(found.flatten(), method.score_links(encoded, pairs))
    assert method.score_tails(encoded, heads, tails[:0]).shape == (2, 0)


@each_method
@each_graph
def test_a_method_trains_scores_and_embeds_or_says_that_it_cannot(name: str, kind: str) -> None:
    graph = GRAPHS[kind]()
    try:
        method, losses = unless_refused(name, kind, lambda: trained(config_of(name), graph))
        assert len(losses) == (1 if method.trains else 0)
        assert all(math.isfinite(loss) for loss in losses)
        scores = unless_refused(name, kind, lambda: scores_of(method, graph))
    except Refused:
        assert kind in ("two nodes", "no features"), f"{name} refuses a graph like any other"
        return
    assert scores.shape == (pairs_of(graph).size(1),)
    assert scores.dtype == torch.float32
    assert bool(scores.isfinite().all())
    assert not scores.requires_grad


@each_method
@each_graph
def test_an_embedding_is_a_finite_vector_for_each_node(name: str, kind: str) -> None:
    graph = GRAPHS[kind]()
    method = build(config_of(name), graph)
    try:
        embedding = unless_refused(name, kind, lambda: method.embed(graph))
    except Refused:
        assert not method.trains, f"{name} trains and has no embeddings"
        return
    assert embedding.dim() == 2
    assert embedding.size(0) == graph.num_nodes
    assert bool(embedding.isfinite().all())
    assert not embedding.requires_grad


@pytest.mark.parametrize("name", TRAINED)
@each_graph
def test_every_loss_of_an_epoch_is_a_finite_scalar_of_a_known_group(name: str, kind: str) -> None:
    graph = GRAPHS[kind]()
    method = build(config_of(name), graph)
    try:
        losses = unless_refused(name, kind, lambda: list(method.losses(graph, Generators(0))))
    except Refused:
        assert kind in ("two nodes", "no features")
        return
    assert losses
    for loss, group in losses:
        assert loss.dim() == 0
        assert bool(loss.isfinite())
        assert loss.requires_grad
        assert group in method.parameter_groups()


@pytest.mark.parametrize("name", UNTRAINED)
def test_what_does_not_train_refuses_to(name: str) -> None:
    graph = toy_graph()
    method = build(config_of(name), graph)
    with pytest.raises(MGAEError, match=f"'{name}'"):
        next(iter(method.losses(graph, Generators(0))))


@pytest.mark.parametrize("name", TRAINED)
def test_training_moves_every_weight_of_its_groups(name: str) -> None:
    graph = toy_graph()
    config = config_of(name, train={"epochs": 3})
    before = build(config, graph).state_dict()
    method, _ = trained(config, graph)
    after = dict(method.named_parameters())
    assert all(not torch.equal(after[key], before[key]) for key in after)


@each_method
@pytest.mark.parametrize("kind", ["undirected", "directed"])
def test_the_same_seed_gives_the_same_bits_and_another_does_not(name: str, kind: str) -> None:
    graph = GRAPHS[kind]()
    config = config_of(name, train={"epochs": 2})
    runs = [trained(config, graph, seed) for seed in (0, 0, 1)]
    first, again, other = (scores_of(method, graph) for method, _ in runs)
    assert runs[0][1] == runs[1][1]
    assert torch.equal(first, again)
    if list(runs[0][0].parameters()):
        assert not torch.equal(first, other)


@each_method
def test_nothing_touches_the_global_generator(name: str) -> None:
    graph = toy_graph()
    before = torch.random.get_rng_state()
    method, _ = trained(config_of(name), graph)
    scores_of(method, graph)
    assert torch.equal(torch.random.get_rng_state(), before)


@each_method
def test_an_undirected_pair_has_one_score(name: str) -> None:
    graph = toy_graph()
    method, _ = trained(config_of(name), graph)
    encoded, pairs = method.encode(graph), pairs_of(graph)
    forth, back = method.score_links(encoded, pairs), method.score_links(encoded, pairs.flip(0))
    torch.testing.assert_close(forth, back)


@each_method
def test_scores_are_each_pair_s_own(name: str) -> None:
    graph = toy_graph()
    method, _ = trained(config_of(name), graph)
    encoded, pairs = method.encode(graph), pairs_of(graph)
    whole = method.score_links(encoded, pairs)
    some = torch.tensor([5, 0, 5, 17])
    torch.testing.assert_close(method.score_links(encoded, pairs[:, some]), whole[some])
    assert method.score_links(encoded, pairs[:, :0]).shape == (0,)


@each_method
@pytest.mark.parametrize("kind", ["undirected", "no features"])
def test_weights_survive_safetensors(name: str, kind: str, tmp_path: Path) -> None:
    graph = GRAPHS[kind]()
    try:
        method, _ = unless_refused(name, kind, lambda: trained(config_of(name), graph))
        expected = unless_refused(name, kind, lambda: scores_of(method, graph))
    except Refused:
        assert kind == "no features"
        return
    save_file({k: v.contiguous() for k, v in method.state_dict().items()}, tmp_path / "w")
    other = build(config_of(name), graph, seed=1)
    other.load_state_dict(load_file(tmp_path / "w"))
    assert torch.equal(scores_of(other, graph), expected)


@pytest.mark.parametrize("name", TRAINED)
def test_a_training_broken_off_goes_on_to_the_same_bits(name: str, tmp_path: Path) -> None:
    graph = toy_graph()
    config = config_of(name, train={"epochs": 4, "checkpoint_seconds": 0.0})

    def fit(folder: str, stop_after: int | None = None) -> Method:
        generators = Generators(0)
        method = build_method(config, graph, generators["init"])

        def stop(record: EpochRecord) -> None:
            if record.epoch == stop_after:
                raise KeyboardInterrupt

        def validate() -> float:
            return float(sum(weight.detach().sum() for weight in method.parameters()))

        folders = Checkpoints(tmp_path / folder)
        train(method, graph, config.train, generators, validate, folders, stop)
        return method

    whole = fit("whole").state_dict()
    with pytest.raises(KeyboardInterrupt):
        fit("broken", stop_after=3)
    resumed = fit("broken").state_dict()
    assert all(torch.equal(resumed[key], value) for key, value in whole.items())


@each_method
def test_reset_parameters_forgets_the_training(name: str) -> None:
    graph = toy_graph()
    method, _ = trained(config_of(name), graph)
    before = {key: value.clone() for key, value in method.named_parameters()}
    with drawn_from(torch.Generator().manual_seed(0)):
        method.reset_parameters()
    weights = [key for key, value in before.items() if value.dim() > 1]
    after = dict(method.named_parameters())
    assert all(not torch.equal(after[key], before[key]) for key in weights)
    assert bool(scores_of(method, graph).isfinite().all())


@each_method
def test_a_method_knows_its_name(name: str) -> None:
    assert build(config_of(name), toy_graph()).name == name


# Parts


@each_part
@pytest.mark.parametrize("kind_of_graph", [kind for kind in GRAPHS if kind != "two nodes"])
def test_mgae_trains_with_every_part(part: str, kind: str, kind_of_graph: str) -> None:
    graph = GRAPHS[kind_of_graph]()
    given = {"kind": kind, **_small_settings(part, kind)}
    method, losses = trained(config_of("mgae", **{part: given}), graph)
    assert all(math.isfinite(loss) for loss in losses)
    assert len(losses) == 1
    assert bool(scores_of(method, graph).isfinite().all())


def _small_settings(part: str, kind: str) -> dict[str, Any]:
    fields = PARTS[part][kind].settings.model_fields
    return {key: value for key, value in SMALL.get(part, {}).items() if key in fields}


@each_part
def test_mgae_with_every_part_is_deterministic(part: str, kind: str) -> None:
    graph = toy_graph()
    config = config_of("mgae", **{part: {"kind": kind, **_small_settings(part, kind)}})
    (first, losses), (again, same_losses) = (trained(config, graph) for _ in range(2))
    assert losses == same_losses
    assert torch.equal(scores_of(first, graph), scores_of(again, graph))


# Names, summaries, configurations

EVERY_ENTRY = [
    (registry, entry.name)
    for registry in (METHODS, DATASETS, *PARTS.values())
    for entry in registry
]


@pytest.mark.parametrize(
    ("registry", "name"), EVERY_ENTRY, ids=[f"{r.what}-{name}" for r, name in EVERY_ENTRY]
)
def test_every_entry_has_a_proper_name_and_a_summary(registry: Registry, name: str) -> None:
    entry = registry[name]
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.name)
    assert len(entry.summary.split()) >= 2
    assert "\n" not in entry.summary
    assert not entry.summary.endswith(".")


def assert_survives(config: RunConfig, folder: Path) -> None:
    file = folder / "config.toml"
    file.write_text(config.to_toml(), encoding="utf-8")
    back = RunConfig.from_toml(file)
    assert back == config
    assert back.to_toml() == config.to_toml()


@each_method
@pytest.mark.parametrize("task", ["links", "nodes"])
@pytest.mark.parametrize("protocol", ["paper", "strict"])
def test_the_configuration_of_every_method_survives_its_file(
    name: str, task: str, protocol: str, tmp_path: Path
) -> None:
    config = RunConfig(method=name, task=task, protocol=protocol, seed=3, runs=2)
    assert_survives(config, tmp_path)


@each_part
def test_the_configuration_of_every_part_survives_its_file(
    part: str, kind: str, tmp_path: Path
) -> None:
    config = RunConfig(**{part: kind})
    assert getattr(config, part).kind == kind
    assert_survives(config, tmp_path)


@pytest.mark.parametrize("name", [entry.name for entry in DATASETS])
def test_the_configuration_of_every_dataset_survives_its_file(name: str, tmp_path: Path) -> None:
    assert_survives(RunConfig(graph=name), tmp_path)


@each_part
def test_every_setting_of_a_part_has_its_limits_and_its_help(part: str, kind: str) -> None:
    fields = PARTS[part][kind].settings.model_fields
    assert all(field.description for name, field in fields.items() if name != "kind")


def test_settings_that_are_not_the_usual_ones_survive_their_file(tmp_path: Path) -> None:
    config = RunConfig(
        graph="my graph",
        seed=7,
        runs=3,
        mask={"kind": "directed", "ratio": 0.1},
        encoder={"kind": "sage", "num_layers": 3, "act": "elu", "act_last": False},
        decoder={"kind": "mlp", "combine": "concat", "dropout": 0.25},
        loss={"kind": "sampled-softmax", "num_negatives": 5},
        train={"step_size": 100, "learning_rate": 1e-4, "monitor": "hits@5"},
        evaluation={"hits": (5,), "heuristics": ("random-init",)},
        split={"seed": 12, "val_ratio": 0.2},
    )
    assert_survives(config, tmp_path)
