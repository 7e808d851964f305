"""DGI and GIC: logits and losses worked out by hand, then what they learn."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.nn import DeepGraphInfomax as PyGInfomax
from torch_geometric.utils import to_undirected

from mgae.core import DeepGraphInfomax, GraphInfoClust, NodeFeatures, fit
from mgae.core.graph import MessageGraph
from mgae.core.methods.infomax import Discriminator, cross_entropy, soft_means
from mgae.core.ops.rows import AlteredRows
from mgae.core.seeding import Generators, drawn_from
from mgae.data import checked
from tests.conftest import toy_graph
from tests.core.methods.small import encoder_of


def build(
    kind: type[DeepGraphInfomax],
    graph: MessageGraph | None = None,
    hidden_channels: int = 4,
    **options: Any,
) -> Any:
    """One layer of PReLU on row-normalized features, as the original codes have it."""
    graph = graph or toy_graph()
    if kind is GraphInfoClust:
        options["num_nodes"] = graph.num_nodes
    with drawn_from(Generators(0)["init"]):
        inputs = NodeFeatures(graph.num_features, row_normalize=True)
        layer = {"num_layers": 1, "act": "prelu", "dropout": 0.0, "inputs": inputs}
        return kind(encoder_of(graph, hidden_channels=hidden_channels, **layer), **options)


def test_a_discriminator_s_logit_by_hand() -> None:
    judge = Discriminator(2)
    with torch.no_grad():
        judge.weight.copy_(torch.tensor([[1.0, 2.0], [0.0, 3.0]]))
        judge.bias.fill_(0.5)
        # W·s = [1 + 4, 6] and h = [1, -1]: 5 - 6 + 0.5.
        logit = judge(torch.tensor([[1.0, -1.0]]), torch.tensor([1.0, 2.0]))
    assert logit.tolist() == [-0.5]


def test_the_cross_entropy_of_undecided_logits_is_log_two() -> None:
    zeros = torch.zeros(3)
    assert float(cross_entropy(zeros, zeros)) == pytest.approx(math.log(2))
    assert float(cross_entropy(zeros + 100, zeros - 100)) == pytest.approx(0, abs=1e-6)
    # Mean of -log σ(1) = 0.3133 and -log(1 - σ(2)) = 2.1269.
    assert float(cross_entropy(zeros + 1, zeros + 2)) == pytest.approx(1.2201, abs=1e-4)


def test_the_loss_is_pygs() -> None:
    method = build(DeepGraphInfomax)
    real, fake = torch.randn(2, 20, 4, generator=torch.Generator().manual_seed(0)).unbind()
    reference = PyGInfomax(
        4, torch.nn.Identity(), lambda z, *_: torch.sigmoid(z.mean(dim=0)), lambda *a: a
    )
    with torch.no_grad():
        reference.weight.copy_(method.discriminator.weight)
        theirs = reference.loss(real, fake, torch.sigmoid(real.mean(dim=0))) / 2
        ours = method.loss(real, fake)
    assert float(ours) == pytest.approx(float(theirs), rel=1e-5)


def test_the_corruption_is_an_encoding_of_shuffled_features() -> None:
    graph = toy_graph()
    method = build(DeepGraphInfomax, graph)
    rows = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(1))
    assert isinstance(graph.x, torch.Tensor)
    shuffled = MessageGraph(graph.edge_index, graph.num_nodes, graph.x[rows])
    with torch.no_grad():
        ours = method.encoder.propagate(AlteredRows(graph.row_normalized_x, rows), graph, None)[-1]
        torch.testing.assert_close(ours, method.encoder(shuffled, None)[-1])


def test_one_step_of_soft_k_means_by_hand() -> None:
    points = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    centers = torch.tensor([[2.0, 0.0], [0.0, 5.0]])
    beta = math.log(2)
    means, shares = soft_means(points, centers, beta)
    # Cosines (1, 0), (0, 1), (-1, 0) give odds 2:1, 1:2 and 1/2:1.
    assert shares[:, 0].tolist() == pytest.approx([2 / 3, 1 / 3, 1 / 3])
    # (2/3 - 1/3, 1/3) / (4/3), and (1/3 - 2/3, 2/3) / (5/3).
    assert means[0].tolist() == pytest.approx([0.25, 0.25])
    assert means[1].tolist() == pytest.approx([-0.2, 0.4])


@given(seed=st.integers(0, 10**6), beta=st.floats(0.1, 1000), clusters=st.integers(1, 12))
@settings(max_examples=30, deadline=None)
def test_soft_k_means_stays_finite_and_shares_add_up(seed: int, beta: float, clusters: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    points = torch.nn.functional.normalize(torch.randn(9, 3, generator=generator))
    points[0] = 0  # the embedding of a node may vanish
    centers, shares = soft_means(points, torch.rand(clusters, 3, generator=generator), beta)
    assert bool(centers.isfinite().all())
    torch.testing.assert_close(shares.sum(dim=1), torch.ones(9))


def test_alpha_one_leaves_dgi_s_loss_and_zero_the_clusters_alone() -> None:
    dgi, both = build(DeepGraphInfomax), build(GraphInfoClust)
    real, fake = torch.randn(2, 20, 4, generator=torch.Generator().manual_seed(0)).unbind()

    def loss(alpha: float) -> float:
        method = build(GraphInfoClust, alpha=alpha)
        method.load_state_dict(both.state_dict())
        return float(method.loss(real, fake))

    dgi.discriminator.load_state_dict(both.discriminator.state_dict())
    assert loss(1.0) == pytest.approx(float(dgi.loss(real, fake)))
    assert loss(0.5) == pytest.approx((loss(0.0) + loss(1.0)) / 2)


def test_only_the_last_step_of_k_means_has_gradients() -> None:
    method = build(GraphInfoClust, clusters=3, beta=2.0)
    h = torch.randn(20, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    weight = torch.randn(20, 4, generator=torch.Generator().manual_seed(1))
    (gradient,) = torch.autograd.grad((method.summaries(h) * weight).sum(), h)
    unit, centers = torch.nn.functional.normalize(h), method.start
    for _ in range(10):
        centers = soft_means(unit, centers, 2.0)[0].detach()
    centers, shares = soft_means(unit, centers, 2.0)
    (expected,) = torch.autograd.grad((shares @ centers * weight).sum(), h)
    torch.testing.assert_close(gradient, expected)


def test_there_are_never_more_clusters_than_nodes() -> None:
    assert build(GraphInfoClust).start.shape == (20, 4)
    assert build(GraphInfoClust, clusters=5).start.shape == (5, 4)


def test_a_link_is_the_inner_product_of_unit_vectors_or_of_any() -> None:
    graph, pairs = toy_graph(), torch.tensor([[0, 1, 2], [5, 6, 2]])
    for cosine in (True, False):
        method = build(DeepGraphInfomax, graph, cosine=cosine)
        z = method.embed(graph)
        z = z / z.norm(dim=1, keepdim=True) if cosine else z
        expected = (z[pairs[0]] * z[pairs[1]]).sum(dim=1)
        torch.testing.assert_close(method.score_links(method.encode(graph), pairs), expected)


def communities(size: int = 30) -> MessageGraph:
    """Two groups with words of their own and edges inside."""
    generator = torch.Generator().manual_seed(0)
    group = torch.arange(2 * size) // size
    pairs = torch.combinations(torch.arange(2 * size), 2).t()
    chance = torch.where(group[pairs[0]] == group[pairs[1]], 0.2, 0.005)
    kept = torch.rand(pairs.size(1), generator=generator) < chance
    words = torch.rand(2 * size, 20, generator=generator)
    x = (words < torch.where(torch.arange(20) // 10 == group[:, None], 0.4, 0.1)).float()
    edges = to_undirected(pairs[:, kept], num_nodes=2 * size)
    return MessageGraph.of(checked(Data(x=x, edge_index=edges, num_nodes=2 * size)))


@pytest.mark.parametrize("kind", [DeepGraphInfomax, GraphInfoClust])
def test_training_brings_the_loss_down_and_friends_together(kind: type[DeepGraphInfomax]) -> None:
    graph = communities()
    method = build(kind, graph, hidden_channels=16)
    result = fit(method, graph, epochs=100, clip=0.0)
    assert result.history[result.best_epoch - 1].loss < 0.8 * result.history[0].loss
    z = torch.nn.functional.normalize(method.embed(graph))
    near = torch.cat([z[:30] @ z[:30].t(), z[30:] @ z[30:].t()]).mean()
    assert float(near) > float((z[:30] @ z[30:].t()).mean()) + 0.03
