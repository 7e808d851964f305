"""Steps of several ranks are those of one: the same masks, gradients and losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor

from mgae.core import BCE, FullSoftmax, Loss, Method, SampledSoftmax, fit
from mgae.core.graph import MessageGraph
from mgae.core.losses import SameHeadLoss
from mgae.core.negatives import TypedSampler
from mgae.core.seeding import Generators, Share
from mgae.core.training import distributed
from mgae.core.training.state import Stepper
from mgae.registry import METHODS
from mgae.runs.build import build_method
from mgae.runs.config import RunConfig
from tests.conftest import toy_graph
from tests.contracts.test_golden import small
from tests.core.methods.small import masked
from tests.ranks.gang import together

TRAINED = [entry.name for entry in METHODS if entry.build.trains]


@contextmanager
def same_negatives() -> Iterator[None]:
    """The negatives of an edge follow from the edge, so that it does not matter who draws them."""

    def of(positives: Tensor, count: int) -> Tensor:
        turn = torch.arange(1, count + 1)
        tails = (positives[1].unsqueeze(1) * 7 + 3 * turn) % 20
        return torch.stack([positives[0].unsqueeze(1).expand_as(tails), tails])

    def typed(_: TypedSampler, triples: Tensor, count: int, __: object) -> Tensor:
        types = triples[2:].repeat_interleave(count, dim=1)
        return torch.cat([of(triples[:2], count).flatten(1), types])

    with ExitStack() as patches:
        for kind in (BCE, SameHeadLoss):
            draw = lambda self, positives, *_: of(positives, self.num_negatives)  # noqa: E731
            patches.enter_context(patch.object(kind, "draw", draw))
        patches.enter_context(patch.object(TypedSampler, "sample", typed))
        yield


@contextmanager
def all_neighbors() -> Iterator[None]:
    """Which neighbors are sampled is each rank's own chance: here all are."""

    def encode(encoder: Any, graph: MessageGraph, reached: Any, _: object) -> list[Tensor]:
        return [layer[reached.nodes[: reached.ends[0]]] for layer in encoder(graph, None)]

    with patch("mgae.core.methods.masked.encode_neighborhood", encode):
        yield


@same_negatives()
def steps(method: Method, graph: MessageGraph, most: int) -> list[list[float]]:
    """Return the loss and the gradients of the first steps of an epoch, at the same weights."""
    method.train()
    generators, taken = Generators(3), []
    generators.fork(distributed.share())
    stepper = Stepper(method, 0.01)
    for loss, group in method.losses(graph, generators):
        stepper.optimizers[group].zero_grad()
        loss.backward()
        value = float(stepper.averaged(loss, group))
        gradients = [p.grad for m in stepper.groups[group] for p in m.parameters()]
        flat = [gradient.flatten() for gradient in gradients if gradient is not None]
        taken.append([value, *torch.cat(flat).tolist()])
        if len(taken) == most:
            break
    return taken


@all_neighbors()
def sampled_step(method: Method, graph: MessageGraph, most: int) -> list[list[float]]:
    return steps(method, graph, most)


def require_same(
    make: Callable[[], Method], graph: MessageGraph, ranks: int, most: int = 4, work: Any = steps
) -> None:
    alone = work(make(), graph, most)
    assert len(alone) > 0
    for taken in together(work, make(), graph, most, ranks=ranks):
        assert len(taken) == len(alone)
        for one, other in zip(alone, taken, strict=True):
            scale = max(1.0, torch.tensor(one).abs().max().item())
            assert one == pytest.approx(other, abs=1e-6 * scale)


@pytest.mark.parametrize("name", TRAINED)
def test_every_method_takes_the_steps_of_one_rank(name: str) -> None:
    graph = toy_graph()

    def made() -> Method:
        method = build_method(RunConfig(**small(name)), graph, Generators(0)["init"])
        for part, module in method.named_modules():
            if "decoder" in part and hasattr(module, "dropout"):
                module.dropout = 0.0  # each rank's own; the encoder's is that of one rank
        return method

    require_same(made, graph, ranks=2)


@pytest.mark.parametrize("loss", [BCE(2), SampledSoftmax(3), FullSoftmax()])
def test_uneven_and_empty_shares_weigh_what_they_are(loss: Loss) -> None:
    graph = toy_graph()  # 40 edges, of which 28 are masked: the last of the steps has a single one
    options = {"encoder": {"norm": "batch"}, "decoder": {"dropout": 0.0}}
    require_same(lambda: masked(graph, loss=loss, step_size=9, **options), graph, ranks=3)


def test_sampled_steps_are_those_of_one_rank() -> None:
    graph = toy_graph()
    options = {"encoder": {"dropout": 0.0}, "decoder": {"dropout": 0.0}, "fanouts": [20, 20]}
    made = lambda: masked(graph, step_size=9, **options)  # noqa: E731
    require_same(made, graph, ranks=2, most=1, work=sampled_step)


def masks(epochs: int, ranks: int = 1) -> list[list[int]]:
    """Train; return the sources of the visible edges of each step."""
    graph, shares = toy_graph(), []
    method = masked(graph, loss=BCE(2))
    encode = method.encoder.forward

    def watched(visible: MessageGraph, generator: torch.Generator | None) -> list[Tensor]:
        shares.append(visible.edge_index.flatten().tolist())
        return encode(visible, generator)

    method.encoder.forward = watched  # type: ignore[method-assign]
    fit(method, graph, epochs=epochs, generators=5)
    return shares


def test_all_ranks_draw_the_masks_of_one() -> None:
    alone = masks(3)
    assert alone[0] != alone[1]
    assert together(masks, 3, ranks=2) == [alone, alone]


def test_each_rank_has_streams_of_its_own() -> None:
    drawn = []
    for rank in range(2):
        generators = Generators(0)
        generators.fork(Share(rank, 2))
        drawn.append(float(torch.rand((), generator=generators.own("negatives"))))
        assert torch.equal(generators["mask"].get_state(), Generators(0)["mask"].get_state())
    assert drawn[0] != drawn[1]
