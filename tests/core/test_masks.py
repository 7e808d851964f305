from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from mgae.core.encoders import GAT, GCN, GIN, SAGE, EmbeddingTable, LayeredEncoder, NodeFeatures
from mgae.core.graph import MessageGraph
from mgae.core.masks import Directed, Mask, MaskedEdges, Path, Undirected
from mgae.core.seeding import drawn_from
from mgae.data import checked
from tests.conftest import toy_graph

PROPERTY = settings(deadline=None, max_examples=50)
KINDS: tuple[type[Mask], ...] = (Undirected, Directed, Path)
IN_PAIRS = (Undirected, Path)  # both directions together
kinds = st.sampled_from(KINDS)
in_pairs = st.sampled_from(IN_PAIRS)
ratios = st.one_of(st.sampled_from([0.0, 0.5, 0.7, 0.999]), st.floats(0, 0.999))
seeds = st.integers(0, 2**20)
undirected_graphs = st.builds(
    toy_graph,
    num_nodes=st.integers(2, 20),
    num_edges=st.integers(1, 60),
    seed=seeds,
    num_features=st.none(),
    weighted=st.booleans(),
)


def digraph(num_nodes: int, num_edges: int, seed: int, weighted: bool) -> MessageGraph:
    """Random arrows, some with their reverse; 0 → 1 stands alone, so that it is no undirected."""
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(num_nodes, (2, num_edges), generator=generator)
    alone = (edge_index[0] == 1) & (edge_index[1] == 0)
    edge_index = torch.cat([edge_index[:, ~alone], torch.tensor([[0], [1]])], dim=1)
    weight = torch.rand(edge_index.size(1), generator=generator) + 0.5 if weighted else None
    data = Data(edge_index=edge_index, edge_weight=weight, num_nodes=num_nodes)
    return MessageGraph.of(checked(data))


directed_graphs = st.builds(
    digraph,
    num_nodes=st.integers(2, 12),
    num_edges=st.integers(1, 60),
    seed=seeds,
    weighted=st.booleans(),
)
graphs = st.one_of(undirected_graphs, directed_graphs)


def masked(graph: MessageGraph, kind: type[Mask], ratio: float, seed: int = 0) -> MaskedEdges:
    generator = torch.Generator().manual_seed(seed)
    return kind(ratio)(graph, generator)


def ordered(pairs: Tensor) -> list[tuple[int, int]]:
    return [(u, v) for u, v in pairs.t().tolist()]


def unordered(pairs: Tensor) -> list[frozenset[int]]:
    return [frozenset(pair) for pair in ordered(pairs)]


@pytest.fixture(scope="module")
def large() -> MessageGraph:
    """300 nodes, 20,000 edges."""
    return toy_graph(num_nodes=300, num_edges=20_000, num_features=None)


@pytest.fixture
def square() -> MessageGraph:
    """The cycle 0-1-2-3: four edges, eight directions."""
    pairs = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    edge_index = torch.cat([pairs, pairs.flip(0)], dim=1)
    return MessageGraph.of(checked(Data(edge_index=edge_index, num_nodes=4)))


def test_half_of_a_square_masked_undirected_is_two_edges(square: MessageGraph) -> None:
    edges = masked(square, Undirected, 0.5)
    assert edges.masked.shape == (2, 2)
    assert edges.visible.edge_index.shape == (2, 4)
    assert edges.visible.undirected


def test_half_of_a_square_masked_directed_is_four_directions(square: MessageGraph) -> None:
    edges = masked(square, Directed, 0.5)
    assert edges.masked.shape == (2, 4)
    assert edges.visible.edge_index.shape == (2, 4)
    assert not edges.visible.undirected


@pytest.mark.parametrize("kind", KINDS)
def test_a_ratio_of_zero_hides_nothing(square: MessageGraph, kind: type[Mask]) -> None:
    edges = masked(square, kind, 0.0)
    assert edges.masked.shape == (2, 0)
    assert torch.equal(edges.visible.edge_index, square.edge_index)


@pytest.mark.parametrize("kind", KINDS)
def test_a_ratio_of_almost_one_hides_a_small_graph_whole(
    square: MessageGraph, kind: type[Mask]
) -> None:
    edges = masked(square, kind, 0.999)
    assert edges.visible.edge_index.shape == (2, 0)
    assert set(unordered(edges.masked)) == set(unordered(square.pairs))


@pytest.mark.parametrize(("kind", "hidden"), [(Undirected, 1998), (Path, 1998), (Directed, 3996)])
def test_a_ratio_of_almost_one_leaves_a_large_graph_some_edges(
    kind: type[Mask], hidden: int
) -> None:
    graph = toy_graph(num_nodes=100, num_edges=2000)
    edges = masked(graph, kind, 0.999)
    assert edges.masked.size(1) == hidden
    assert edges.visible.edge_index.size(1) == 4


def test_an_arrow_and_its_reverse_share_their_fate_but_keep_their_direction() -> None:
    # 0 ⇄ 1 and 2 → 0 are two pairs: masking one hides either two arrows or one.
    edge_index = torch.tensor([[1, 2, 0], [0, 0, 1]])
    graph = MessageGraph.of(checked(Data(edge_index=edge_index, num_nodes=3)))
    outcomes = {
        tuple(sorted(ordered(masked(graph, Undirected, 0.5, seed).masked))) for seed in range(30)
    }
    assert outcomes == {((0, 1), (1, 0)), ((2, 0),)}


def test_what_a_mask_gives_cannot_be_changed(square: MessageGraph) -> None:
    edges = masked(square, Undirected, 0.5)
    with pytest.raises(FrozenInstanceError):
        edges.masked = edges.masked[:, :1]  # type: ignore[misc]


@PROPERTY
@given(graph=undirected_graphs, kind=kinds, ratio=ratios, seed=seeds)
def test_exactly_the_rounded_share_is_masked(
    graph: MessageGraph, kind: type[Mask], ratio: float, seed: int
) -> None:
    num_edges = (graph.edge_index if kind is Directed else graph.pairs).size(1)
    assert masked(graph, kind, ratio, seed).masked.size(1) == round(ratio * num_edges)


@PROPERTY
@given(graph=directed_graphs, ratio=ratios, seed=seeds)
def test_in_a_directed_graph_each_kind_masks_the_rounded_share_of_what_it_counts(
    graph: MessageGraph, ratio: float, seed: int
) -> None:
    for kind in IN_PAIRS:
        hidden_pairs = set(unordered(masked(graph, kind, ratio, seed).masked))
        assert len(hidden_pairs) == round(ratio * graph.pairs.size(1))
    hidden_arrows = masked(graph, Directed, ratio, seed).masked
    assert hidden_arrows.size(1) == round(ratio * graph.edge_index.size(1))


@PROPERTY
@given(graph=undirected_graphs, kind=in_pairs, ratio=ratios, seed=seeds)
def test_undirected_masking_hides_both_directions_and_covers_every_edge(
    graph: MessageGraph, kind: type[Mask], ratio: float, seed: int
) -> None:
    edges = masked(graph, kind, ratio, seed)
    hidden, visible = ordered(edges.masked), ordered(edges.visible.edge_index)
    both_ways = hidden + [(v, u) for u, v in hidden]
    assert sorted(both_ways + visible) == sorted(ordered(graph.edge_index))


@PROPERTY
@given(graph=directed_graphs, kind=kinds, ratio=ratios, seed=seeds)
def test_in_a_directed_graph_visible_and_masked_share_out_the_arrows(
    graph: MessageGraph, kind: type[Mask], ratio: float, seed: int
) -> None:
    edges = masked(graph, kind, ratio, seed)
    result = ordered(edges.masked) + ordered(edges.visible.edge_index)
    assert sorted(result) == sorted(ordered(graph.edge_index))
    assert not edges.visible.undirected


@PROPERTY
@given(graph=undirected_graphs, ratio=ratios, seed=seeds)
def test_directed_masking_shares_out_the_directions(
    graph: MessageGraph, ratio: float, seed: int
) -> None:
    edges = masked(graph, Directed, ratio, seed)
    result = ordered(edges.masked) + ordered(edges.visible.edge_index)
    assert sorted(result) == sorted(ordered(graph.edge_index))


@PROPERTY
@given(graph=graphs, kind=in_pairs, ratio=ratios, seed=seeds)
def test_under_undirected_masking_no_target_is_visible_in_reverse(
    graph: MessageGraph, kind: type[Mask], ratio: float, seed: int
) -> None:
    edges = masked(graph, kind, ratio, seed)
    assert set(unordered(edges.masked)).isdisjoint(unordered(edges.visible.edge_index))


@PROPERTY
@given(graph=undirected_graphs, ratio=ratios, seed=seeds)
def test_all_kinds_leave_equally_many_message_edges_but_for_rounding(
    graph: MessageGraph, ratio: float, seed: int
) -> None:
    left = [masked(graph, kind, ratio, seed).visible.edge_index.size(1) for kind in KINDS]
    assert max(left) - min(left) <= 1


@PROPERTY
@given(graph=graphs.filter(lambda graph: graph.edge_weight is not None), kind=kinds, ratio=ratios)
def test_weights_follow_their_edges(graph: MessageGraph, kind: type[Mask], ratio: float) -> None:
    assert graph.edge_weight is not None
    weight = dict(zip(ordered(graph.edge_index), graph.edge_weight.tolist(), strict=True))
    visible = masked(graph, kind, ratio).visible
    assert visible.edge_weight is not None
    assert visible.edge_weight.tolist() == [weight[edge] for edge in ordered(visible.edge_index)]


@PROPERTY
@given(graph=graphs, kind=kinds, ratio=ratios, seed=seeds)
def test_visible_edges_stay_sorted_by_target_and_source(
    graph: MessageGraph, kind: type[Mask], ratio: float, seed: int
) -> None:
    source, target = masked(graph, kind, ratio, seed).visible.edge_index
    assert bool(((target * graph.num_nodes + source).diff() > 0).all())


@PROPERTY
@given(graph=graphs, kind=kinds, ratio=ratios, seed=seeds)
def test_a_symmetric_visible_graph_is_called_so_only_where_it_is(
    graph: MessageGraph, kind: type[Mask], ratio: float, seed: int
) -> None:
    visible = masked(graph, kind, ratio, seed).visible
    edges = set(ordered(visible.edge_index))
    assert not visible.undirected or all((v, u) in edges for u, v in edges)


@PROPERTY
@given(graph=graphs, kind=kinds, ratio=ratios, seed=seeds)
def test_the_same_generator_state_gives_the_same_mask(
    graph: MessageGraph, kind: type[Mask], ratio: float, seed: int
) -> None:
    first, second = (masked(graph, kind, ratio, seed) for _ in range(2))
    assert torch.equal(first.masked, second.masked)
    assert torch.equal(first.visible.edge_index, second.visible.edge_index)


@pytest.mark.parametrize("kind", KINDS)
def test_masks_differ_between_draws(kind: type[Mask], generator: torch.Generator) -> None:
    graph, mask = toy_graph(), kind(0.5)
    first, second = (mask(graph, generator) for _ in range(2))
    assert set(ordered(first.masked)) != set(ordered(second.masked))
    assert set(ordered(first.visible.edge_index)) != set(ordered(second.visible.edge_index))


@pytest.mark.parametrize("kind", KINDS)
def test_masking_leaves_the_graph_and_the_global_generator_alone(kind: type[Mask]) -> None:
    graph = toy_graph(weighted=True)
    edge_index, state = graph.edge_index.clone(), torch.get_rng_state()
    edges = masked(graph, kind, 0.7)
    assert torch.equal(graph.edge_index, edge_index)
    assert torch.equal(torch.get_rng_state(), state)
    assert edges.visible.x is graph.x
    assert edges.visible.num_nodes == graph.num_nodes


@pytest.mark.parametrize("kind", [Undirected, Directed])
def test_each_edge_is_masked_equally_often(kind: type[Mask], generator: torch.Generator) -> None:
    graph, draws = toy_graph(num_nodes=10, num_edges=12), 1000
    mask = kind(0.25)
    hidden = torch.zeros(graph.edge_index.size(1))
    for _ in range(draws):
        visible = mask(graph, generator).visible
        hidden += ~torch.isin(graph.edge_keys, visible.edge_keys)
    assert float((hidden - draws / 4).abs().max()) < 5 * (draws * 0.25 * 0.75) ** 0.5


@pytest.mark.parametrize("ratio", [0.3, 0.7])
def test_directed_masking_leaves_one_less_omega_of_the_targets_visible_in_reverse(
    large: MessageGraph, ratio: float
) -> None:
    edges = masked(large, Directed, ratio)
    reverse = edges.masked.flip(0)
    keys = reverse[1] * large.num_nodes + reverse[0]
    share = float(torch.isin(keys, edges.visible.edge_keys).double().mean())
    # Of the 20,000 edges about 2ω(1-ω) are masked in one direction only.
    single = 2 * ratio * (1 - ratio)
    sigma = (20_000 * single * (1 - single)) ** 0.5 / (2 * ratio * 20_000)
    assert abs(share - (1 - ratio)) < 5 * sigma


@pytest.mark.parametrize("kind", KINDS)
def test_half_of_the_targets_ascend(large: MessageGraph, kind: type[Mask]) -> None:
    u, v = masked(large, kind, 0.5).masked
    assert abs(float((u < v).double().mean()) - 0.5) < 5 * (0.25 / 10_000) ** 0.5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("directed", [False, True])
def test_targets_come_in_random_order(
    large: MessageGraph, directed: bool, kind: type[Mask]
) -> None:
    graph = digraph(300, 20_000, seed=0, weighted=False) if directed else large
    low = masked(graph, kind, 0.5).masked.amin(dim=0).double()
    position = torch.arange(low.numel()).double()
    correlation = float(torch.corrcoef(torch.stack([low, position]))[0, 1])
    assert abs(correlation) < 5 / low.numel() ** 0.5


ENCODERS: list[type[LayeredEncoder]] = [GCN, SAGE, GIN, GAT]


@PROPERTY
@given(encoder=st.sampled_from(ENCODERS), kind=kinds, learned=st.booleans(), weighted=st.booleans())
def test_an_empty_visible_graph_still_encodes(
    encoder: type[LayeredEncoder], kind: type[Mask], learned: bool, weighted: bool
) -> None:
    generator = torch.Generator().manual_seed(0)
    graph = toy_graph(num_edges=30, num_features=None if learned else 6, weighted=weighted)
    visible = masked(graph, kind, 0.999).visible
    assert visible.edge_index.size(1) == 0
    with drawn_from(generator):
        inputs = EmbeddingTable(graph.num_nodes, 8) if learned else NodeFeatures(6)
        model = encoder(inputs.channels, 8, inputs=inputs)
    layers = model(visible, generator)
    sum(layer.sum() for layer in layers).backward()
    assert all(bool(torch.isfinite(layer).all()) for layer in layers)
    assert all(bool(torch.isfinite(parameter.grad).all()) for parameter in model.parameters())


@pytest.mark.parametrize("encoder", [GCN, SAGE])
def test_without_visible_edges_a_node_sees_only_itself(
    encoder: type[LayeredEncoder], generator: torch.Generator
) -> None:
    graph = toy_graph(num_edges=30)
    visible = masked(graph, Undirected, 0.999).visible
    with drawn_from(generator):
        model = encoder(6, 8)
    # SAGE keeps the map of the neighbors in the left half of its weight.
    own = model.layers[0].weight[:, -8:]
    expected = torch.relu(graph.x @ own + model.layers[0].bias)
    torch.testing.assert_close(model(visible, None)[0], expected)


def path_mask(graph: MessageGraph, ratio: float, length: int, seed: int) -> MaskedEdges:
    return Path(ratio, length)(graph, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("seed", range(5))
def test_what_a_walk_hides_hangs_together(seed: int) -> None:
    """On a long cycle three edges of one walk of three or more lie within three steps."""
    nodes = torch.arange(100)
    ring = torch.stack([nodes, (nodes + 1) % 100])
    edge_index = torch.cat([ring, ring.flip(0)], dim=1)
    graph = MessageGraph.of(checked(Data(edge_index=edge_index, num_nodes=100)))
    together = [path_mask(graph, 0.02, length, seed).masked for length in (1, 200)]
    assert [pairs.size(1) for pairs in together] == [2, 2]
    # A walk this long passes at least two edges, and they share a node.
    first, second = unordered(together[1])
    assert first & second


def test_walks_of_one_edge_choose_uniformly(generator: torch.Generator) -> None:
    graph, draws = toy_graph(num_nodes=10, num_edges=12), 1000
    mask = Path(0.25, walk_length=1)
    hidden = torch.zeros(graph.edge_index.size(1))
    for _ in range(draws):
        hidden += ~torch.isin(graph.edge_keys, mask(graph, generator).visible.edge_keys)
    assert float((hidden - draws / 4).abs().max()) < 5 * (draws * 0.25 * 0.75) ** 0.5


def test_longer_walks_hide_more_edges_that_touch() -> None:
    def touching(length: int) -> float:
        edges = path_mask(toy_graph(num_nodes=300, num_edges=400), 0.05, length, seed=0).masked
        return float((torch.bincount(edges.flatten()) > 1).sum())

    assert touching(8) > 2 * touching(1)


def test_a_walk_goes_against_the_arrows_and_stays_where_none_comes_in() -> None:
    # 0 → 1 → 2: a walk from 1 → 2 goes on to 0 → 1; one from 0 → 1 stays.
    graph = MessageGraph.of(checked(Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3)))
    walks = Path(walk_length=3)._walks(graph, torch.Generator().manual_seed(0)).tolist()
    assert sorted(walks) == [[0, 0, 0], [1, 0, 0]]
