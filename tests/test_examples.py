"""The examples run, and the plain one computes what the fast path computes."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from examples import mgae_in_100_lines
from examples.mgae_in_100_lines import PlainMGAE

from mgae import DECODERS
from mgae.core import (
    BCE,
    GCN,
    CrossCorrelation,
    MaskedGraphAutoencoder,
    MessageGraph,
    NegativeSampler,
    Undirected,
)
from mgae.core.seeding import Generators
from mgae.core.training.state import FitSettings, State, Stepper
from mgae.data import load_graph


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    """The example draws from the global generator, as one would at first."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


EXAMPLES = Path(mgae_in_100_lines.__file__).parent
SLOW = ("recommend",)  # trains on Cora
LAST_LINE = {
    "ask_the_service": r"\[\{'source': 0, .*\}\]",
    "compare_methods": r"adamic-adar +AUC 6\d\.\d ± .*",
    "instant_answer": r"33 may know \d+, \d+, \d+",
    "into_scikit_learn": r"[6-9]\d% right, .*",
    "own_csv": r"Cosette and \w+ \(\d+%\): .* in common .*",
    "own_decoder": r"gated +AUC [67]\d\.\d",
    "own_loop": r"within a block \d\S+ and across -\S+",
    "recommend": r"my paper → \d+: 0\.\d+",
    "users_and_items": r"[6-9]\d% of all recommendations .*",
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in LAST_LINE],
)
def test_an_example_runs_and_says_what_it_should(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before = DECODERS.names()
    try:
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    finally:
        for added in set(DECODERS.names()) - set(before):
            del DECODERS._entries[added]
    assert re.fullmatch(LAST_LINE[name], capsys.readouterr().out.splitlines()[-1])


def test_every_example_is_run() -> None:
    names = {path.stem for path in EXAMPLES.glob("[a-z]*.py")}
    assert names == {*LAST_LINE, "mgae_in_100_lines"}


def copy_weights(fast: MaskedGraphAutoencoder, plain: PlainMGAE) -> None:
    theirs = (plain.encoder.first, plain.encoder.second)
    for layer, conv in zip(fast.encoder.layers, theirs, strict=True):
        conv.load_state_dict({"bias": layer.bias, "lin.weight": layer.weight.t()})
    first, last = fast.decoder.mlp.hidden[0], fast.decoder.mlp.last
    plain.decoder.mlp[0].load_state_dict(first.state_dict())
    plain.decoder.mlp[3].load_state_dict(last.state_dict())


def test_from_the_same_weights_masks_and_negatives_the_losses_are_the_same() -> None:
    data = load_graph("cora")
    graph = MessageGraph.of(data)
    fast = MaskedGraphAutoencoder(
        mask=Undirected(0.7),
        encoder=GCN(graph.num_features, 128, num_layers=2, dropout=0.0),
        decoder=CrossCorrelation(128, in_layers=2, dropout=0.0),
        loss=BCE(),
    )
    with torch.no_grad():
        for weight in fast.parameters():
            weight.mul_(3)  # so that logits differ, and gradients are clipped
    plain = PlainMGAE(data, dropout=0.0)
    copy_weights(fast, plain)
    state = State(
        Stepper(fast, learning_rate=0.01), Generators(0), FitSettings(epochs=3, patience=3)
    )
    same = Generators(0)
    losses = []
    for _ in range(3):
        edges = fast.mask(graph, same["mask"])
        sampler = NegativeSampler.of(graph)
        negatives = fast.loss.draw(edges.masked, sampler, same["negatives"]).squeeze(2)
        loss = plain.step(edges.visible.edge_index, edges.masked, negatives)
        losses.append(loss)
        assert loss == pytest.approx(state.run_epoch(graph), rel=1e-4)
    assert max(losses) - min(losses) > 0.1


def test_its_own_mask_hides_both_directions_of_seven_edges_of_ten() -> None:
    data = load_graph("cora")
    edges = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    visible, masked = PlainMGAE(data, channels=2, width=2).mask(edges)
    assert masked.size(1) == round(0.7 * edges.size(1))
    assert visible.size(1) == 2 * (edges.size(1) - masked.size(1))
    assert not set(map(tuple, visible.t().tolist())) & set(map(tuple, masked.t().tolist()))


def test_it_learns_on_cora_and_has_at_most_a_hundred_lines() -> None:
    assert mgae_in_100_lines.main(load_graph("cora"), epochs=4) > 0.6
    text = Path(mgae_in_100_lines.__file__).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 100
