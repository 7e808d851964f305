"""Names of devices, and what is said if one is not here."""

from __future__ import annotations

import pytest
import torch

from mgae.core.errors import ConfigError
from mgae.core.training import device
from mgae.core.training.device import choose_device, device_again
from mgae.runs.config import RunConfig


@pytest.fixture
def two_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "devices_here", lambda: ["cpu", "cuda:0", "cuda:1"])


@pytest.mark.usefixtures("two_cards")
@pytest.mark.parametrize(
    ("name", "wanted"),
    [("auto", "cuda:0"), ("cuda", "cuda:0"), ("cuda:1", "cuda:1"), ("cpu", "cpu")],
)
def test_a_name_is_a_device(name: str, wanted: str) -> None:
    assert choose_device(name) == torch.device(wanted)


@pytest.mark.usefixtures("two_cards")
def test_what_is_not_here_is_named_with_what_is() -> None:
    with pytest.raises(ConfigError, match=r"device 'cuda:2' .* which has cpu, cuda:0, cuda:1"):
        choose_device("cuda:2")
    with pytest.raises(ConfigError, match="device 'mps' is not on this machine"):
        choose_device("mps")


def test_a_stored_run_opens_without_the_device_that_trained_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device, "devices_here", lambda: ["cpu"])
    assert device_again(None, "cuda:3") == torch.device("cpu")
    with pytest.raises(ConfigError, match="choose one of these, or auto"):
        device_again("cuda:3", "cpu")


def test_a_setting_is_one_of_the_names() -> None:
    with pytest.raises(ConfigError, match=r"train.device: must be auto, cpu, cuda, cuda:N or mps"):
        RunConfig(train={"device": "gpu"})
