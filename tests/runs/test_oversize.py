"""Settings that nothing can be built from are one line, whatever they are."""

from __future__ import annotations

from typing import Any

import pytest

from mgae.core.errors import ConfigError, MGAEError, UnsupportedError
from mgae.registry import DECODERS, ENCODERS, LOSSES, MASKS, METHODS
from mgae.runs.config import RunConfig
from mgae.runs.layering import assignments
from mgae.runs.pipeline import run
from mgae.settings import Settings
from tests.conftest import toy_data

ODD: list[Any] = [
    10**6, 2**31, 2**63, 10**400, -1, float("inf"), float("nan"), "x" * 5000, [[[]]], {}, {1: 2},
    {"a": {"b": {}}}, True,
]  # fmt: skip


def sections() -> list[tuple[str, type[Settings]]]:
    registries = {"mask": MASKS, "encoder": ENCODERS, "decoder": DECODERS, "loss": LOSSES}
    parts = [(name, registry[kind].settings) for name, registry in registries.items()
             for kind in registry.names()]  # fmt: skip
    fields = RunConfig.model_fields
    own = [(name, fields[name].annotation) for name in ("split", "train", "evaluation")]
    methods = [("method", METHODS[name].settings) for name in METHODS.names()]
    return [*parts, *own, *methods, ("", RunConfig)]


def test_every_setting_takes_or_refuses_odd_values_in_one_line() -> None:
    for _, settings in sections():
        for name in settings.model_fields:
            for value in ODD:
                try:
                    settings(**({} if settings is RunConfig else {"kind": "x"}) | {name: value})
                except ConfigError as error:
                    assert "\n" not in str(error)
                    assert len(str(error)) < 2500


@pytest.mark.parametrize(
    "settings",
    [
        {"encoder": {"hidden_channels": 65536, "num_layers": 100}},
        {"decoder": {"hidden_channels": 65536, "num_layers": 100}},
        {"encoder": {"hidden_channels": 10**6}},
        {"encoder": {"num_layers": 1000}},
        {"train": {"memory_limit_gb": float("inf")}},
        {"train": {"chunk_size": 10**15}},
        {"runs": 10**7},
        {"seed": 2**31 - 1, "runs": 2},
    ],
)
def test_oversize_settings_are_one_line(settings: dict[str, Any]) -> None:
    with pytest.raises(MGAEError) as caught:
        run(RunConfig(graph="toy", **settings), toy_data())
    assert "\n" not in str(caught.value)


def test_many_runs_begin_at_once() -> None:
    from mgae.runs.seeds import seed_configs

    assert [one.seed for one in seed_configs(RunConfig(runs=10_000))][-1] == 9_999


@pytest.mark.parametrize(
    "texts",
    [
        ["a." * 5000 + "b=1"],
        ["train.epochs=" + "[" * 5000 + "]" * 5000],
        ["train.epochs=" + "{a=" * 2000 + "1" + "}" * 2000],
        ["train.epochs=" + "9" * 5000],
        ["train=3"],
        ["task.kind=links"],
        ["graph.name=cora"],
        ["method.kind=[1]"],
        ["encoder.1=2"],
    ],
)
def test_odd_assignments_are_one_line(texts: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        RunConfig(**assignments(texts))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 2500


@pytest.mark.parametrize("message", ["DefaultCPUAllocator: can't allocate memory", "shape"])
def test_no_memory_is_one_line_and_leaves_no_trace(
    message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    def fail(*args: object, **named: object) -> None:
        raise RuntimeError(message)

    monkeypatch.setattr("mgae.runs.trial.fit", fail)
    expected = UnsupportedError if "memory" in message else RuntimeError
    with pytest.raises(expected):
        run(RunConfig(graph="toy"), toy_data(), tmp_path / "run")
    assert (tmp_path / "run").exists() == (expected is RuntimeError)
