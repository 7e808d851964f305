"""Every method and part on a second device; run by `tests/contracts/test_placement.py`.

The device is one written in Python (`tests/placement/pretend.py`), so that these prove where
tensors lie, and nothing about speed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from mgae.core.graph import CPU
from mgae.core.methods import Method, on_device
from mgae.core.methods.ondevice import device_of
from mgae.core.seeding import Generators
from mgae.core.training.loop import fit
from mgae.core.training.state import Stepper
from mgae.data import MessageGraph
from mgae.registry import METHODS
from mgae.runs.build import build_method
from mgae.runs.checkpoints import Checkpoints
from mgae.runs.config import RunConfig
from mgae.runs.pipeline import evaluate, run
from mgae.serving import Predictor
from tests.conftest import QUICK, toy_data
from tests.contracts.test_golden import CURVES, SMALL, fixed_graph
from tests.contracts.test_methods import ALL_METHODS, config_of, pairs_of
from tests.placement import pretend

DEVICE = pretend.register()

SAMPLED = {"epochs": 2, "step_size": 16, "fanouts": (2, 2)}
MORE: dict[str, dict[str, Any]] = {
    **{
        f"mask {kind}": {**SMALL, "mask": kind, "decoder": {"symmetric": True}}
        for kind in ("directed", "path")
    },
    **{
        f"inputs {kind}": {**SMALL, "encoder": {"inputs": kind, "dropout": 0.3, "norm": "batch"}}
        for kind in ("table", "sketches", "one-hot")
    },
    **{
        f"decoder {kind}": {"decoder": kind, "train": SMALL["train"]}
        for kind in ("mlp", "inner-product")
    },
    **{
        f"sampled {kind}": {"encoder": {"inputs": kind, "hidden_channels": 16}, "train": SAMPLED}
        for kind in ("features", "table", "sketches", "one-hot")
    },
    "sampled sage bpr": {"encoder": "sage", "loss": "bpr", "train": SAMPLED},
}
CASES = {**CURVES, **MORE}
TRAINED = [name for name in CASES if name not in METHODS or METHODS[name].build.trains]


def method_of(settings: dict[str, Any], graph: MessageGraph) -> tuple[RunConfig, Method]:
    config = RunConfig(**settings)
    return config, build_method(config, graph, Generators(0)["init"])


def tensors_of(method: Method, stepper: Stepper) -> Iterator[tuple[str, Tensor]]:
    yield from method.named_parameters()
    yield from method.named_buffers()
    for name, weight in method.named_parameters():
        if weight.grad is not None:
            yield f"gradient of {name}", weight.grad
    for optimizer in stepper.optimizers.values():
        for state in optimizer.state.values():
            yield from state.items()


@pytest.mark.parametrize("case", TRAINED)
def test_steps_move_nothing_by_themselves_and_leave_nothing_behind(case: str) -> None:
    graph = fixed_graph()
    _, method = method_of(CASES[case], graph)
    method.move_to(DEVICE)
    generators = Generators(0)
    for stage in method.stages(graph, generators):
        where = device_of(stage.method)
        assert where == (CPU if stage.method.stays_on_cpu else DEVICE)
        stepper = Stepper(stage.method, 0.01, clip=1.0)
        seen_by = graph if stage.method.trains_from_cpu else graph.to(where)
        stage.method.train()
        for epoch in range(2):
            with pretend.watched() as crossed:
                for loss, group in stage.method.losses(seen_by, generators):
                    stepper.step(loss, group)
                    assert loss.device == where
            if epoch:  # in the first one, what the graph keeps is computed
                assert crossed == []
        elsewhere = [name for name, t in tensors_of(stage.method, stepper) if t.device != where]
        assert elsewhere == []


@pytest.mark.parametrize("case", TRAINED)
def test_the_same_chance_gives_the_same_losses(case: str) -> None:
    """What the CPU draws is drawn there for every device, so that a run can move between them."""
    graph, losses = fixed_graph(), {}
    for device in (CPU, DEVICE):
        _, method = method_of(CASES[case], graph)
        result = fit(method, graph, epochs=3, generators=0, device=device)
        losses[device] = [record.loss for record in result.history]
    assert losses[DEVICE] == pytest.approx(losses[CPU], rel=2e-3)


@pytest.mark.parametrize("name", ALL_METHODS)
def test_what_is_asked_from_the_cpu_is_answered_there(name: str) -> None:
    graph = fixed_graph()
    pairs, heads, tails = pairs_of(graph)[:, ::7], torch.arange(3), torch.arange(24)
    answers = []
    for device in (CPU, DEVICE):
        method = build_method(config_of(name), graph, Generators(0)["init"])
        asked = on_device(method.eval(), device)
        encoded = asked.encode(graph)
        asked.settle(graph, pairs[:, ::2], pairs[:, 1::2])
        given = [
            asked.score_links(encoded, pairs),
            asked.rank_links(encoded, pairs),
            asked.score_tails(encoded, heads, tails),
        ]
        if method.embeds:
            given.append(asked.embed(graph))
        if method.shortlists:
            given.append(asked.shortlist(encoded, heads).scores)
        assert all(type(value) is Tensor and value.device == CPU for value in given)
        answers.append(given)
    for here, there in zip(*answers, strict=True):
        torch.testing.assert_close(there, here, rtol=1e-3, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("case", ["mgae gcn bce", "vgae", "combined", "sampled table"])
@pytest.mark.parametrize(("before", "after"), [(DEVICE, CPU), (CPU, DEVICE)])
def test_a_checkpoint_goes_on_on_another_device(
    case: str, before: torch.device, after: torch.device, tmp_path: Path
) -> None:
    graph = fixed_graph()
    _, whole = method_of(CASES[case], graph)
    wanted = fit(whole, graph, epochs=6, generators=0)
    _, method = method_of(CASES[case], graph)

    def stop(record: Any) -> None:
        if record.epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store = Checkpoints(tmp_path / "c", every_seconds=0)
        fit(method, graph, epochs=6, generators=0, device=before, checkpoints=store, on_epoch=stop)
    assert store.newest() is not None
    assert all(type(value) is Tensor for value in store.newest().tensors.values())
    _, fresh = method_of(CASES[case], graph)
    store = Checkpoints(tmp_path / "c")
    result = fit(fresh, graph, epochs=6, generators=0, device=after, checkpoints=store)
    assert device_of(fresh) == after
    assert [record.loss for record in result.history] == pytest.approx(
        [record.loss for record in wanted.history], rel=2e-3
    )


@pytest.mark.parametrize("method", ["mgae", "combined"])
def test_a_run_trained_there_is_measured_and_served_on_either_device(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = str(DEVICE)
    monkeypatch.setattr("mgae.runs.sections._DEVICES", re.compile(f"auto|cpu|{name}"))
    monkeypatch.setattr("mgae.core.training.device.devices_here", lambda: ["cpu", name])
    kind = QUICK if method == "combined" else {"kind": method}
    evaluation = {"hard_negatives": 4, "recall": (3,), "heuristics": ("random-init", "l3")}
    train = {"epochs": 2, "device": name, "final_fit": True}
    config = RunConfig(
        graph="own", method=kind, train=train, evaluation=evaluation, protocol="strict"
    )
    result = run(config, toy_data(num_nodes=40, num_edges=120), tmp_path / "run")
    environment = json.loads((tmp_path / "run/environment.json").read_text())
    assert environment["device"] == name
    again = evaluate(tmp_path / "run", device="cpu")
    figures = {name: figure.mean for name, figure in result.test.items()}
    measured = {name: figure.mean for name, figure in again.test.items()}
    assert measured == pytest.approx(figures, abs=1e-3)
    there, here = (Predictor.load(tmp_path / "run", device=name) for name in (name, "cpu"))
    assert device_of(there.method) == DEVICE
    node = here.node_ids[0]
    np.testing.assert_allclose(there.embed(), here.embed(), atol=1e-4)
    for exact in (True, False):
        ours, theirs = (one.recommend(node, 3, exact=exact) for one in (there, here))
        assert [link.node for link in ours] == [link.node for link in theirs]


def test_the_graph_is_copied_once_and_not_back() -> None:
    graph = fixed_graph()
    there = graph.to(DEVICE)
    assert there.edge_index.device == DEVICE
    assert graph.to(DEVICE) is there
    assert there.to(CPU) is graph


def test_a_planted_cpu_tensor_and_a_planted_read_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, x = nn.Linear(3, 1).to(DEVICE), torch.ones(2, 3).to(DEVICE)
    with pytest.raises(RuntimeError, match="lies on the CPU"):
        x + torch.ones(3)
    with pretend.watched() as crossed:
        float(layer(x).detach().sum())
        layer(x).cpu()
        x.copy_(torch.ones(2, 3))
        torch.ones(2).to(DEVICE)
    whats = [what.split(" at ")[0] for what in crossed]
    assert whats == ["read by Python", "to the CPU", "to the device", "to the device"]
