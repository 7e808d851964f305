from __future__ import annotations

import pytest
import torch

from mgae.runs import peakmemory
from mgae.runs.peakmemory import PeakMemory


@pytest.fixture(params=["kernel", "thread"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "thread":
        monkeypatch.setattr(peakmemory, "_reset_high_water", lambda: False)


@pytest.mark.usefixtures("way")
def test_a_peak_that_is_gone_again_is_seen() -> None:
    with PeakMemory() as memory:
        for _ in range(3):
            torch.ones(2**25).sqrt_().exp_().log_()  # 128 MiB, for a while
    assert memory.peak_bytes > 0.9 * 2**27


@pytest.mark.usefixtures("way")
def test_what_was_there_before_does_not_count() -> None:
    before = bytearray(b"x") * 2**27
    with PeakMemory() as memory:
        pass
    assert len(before) == 2**27
    assert memory.peak_bytes < len(before)
