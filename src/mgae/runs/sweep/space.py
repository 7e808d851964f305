"""Which settings a sweep tries: lists of values, and ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgae.core.errors import ConfigError, hint
from mgae.runs.layering import merge, read_toml
from mgae.settings import shown

_KEYS = ("low", "high", "log", "step")


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    values: tuple[Any, ...]

    def suggest(self, trial: Any, name: str) -> Any:
        """Draw a value."""
        return trial.suggest_categorical(name, self.values)

    def holds(self, value: Any) -> bool:
        """Return whether it is one of the values."""
        return value in self.values

    @property
    def first(self) -> Any:
        """Return a value, to see whether the setting admits it."""
        return self.values[0]


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, both included; integers if both are."""

    low: float
    high: float
    log: bool = False
    step: float | None = None

    def suggest(self, trial: Any, name: str) -> Any:
        """Draw a number."""
        whole = isinstance(self.low, int) and isinstance(self.high, int)
        if whole:
            return trial.suggest_int(name, self.low, self.high, step=self.step or 1, log=self.log)
        return trial.suggest_float(name, self.low, self.high, step=self.step, log=self.log)

    def holds(self, value: Any) -> bool:
        """Return whether it is a number of the range."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and self.step is None and self.low <= value <= self.high

    @property
    def first(self) -> Any:
        """Return a value, to see whether the setting admits it."""
        return self.low


@dataclass(frozen=True)
class Space:
    """What is tried for each setting, by its path, such as ``train.learning_rate``."""

    of: Mapping[str, Choice | Range]

    @classmethod
    def read(cls, path: Path) -> Space:
        """Read a space from a TOML file.

        Raises:
            ConfigError: at the first entry that is neither a list nor a range.
        """
        entries = dict(_entries(read_toml(path)))
        if not entries:
            raise ConfigError(f"{path} names no setting: [train] learning_rate = [0.01, 0.003]")
        return cls(entries)

    def suggest(self, trial: Any) -> dict[str, Any]:
        """Draw a value for every setting, as a configuration has them."""
        return nested({path: one.suggest(trial, path) for path, one in self.of.items()})

    @property
    def ends(self) -> list[dict[str, Any]]:
        """Return settings with the first and the last value of each, to see that all fit."""
        last = {
            path: one.high if isinstance(one, Range) else one.values[-1]
            for path, one in self.of.items()
        }
        return [nested({path: one.first for path, one in self.of.items()}), nested(last)]

    def params_in(self, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what whole settings have for every path; None if a value is not in the space."""
        entries = {}
        for path, one in self.of.items():
            value: Any = settings
            for key in path.split("."):
                value = value.get(key) if isinstance(value, Mapping) else None
            if not one.holds(value):
                return None
            entries[path] = value
        return entries


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by path as sections.

    >>> nested({"train.clip": 1, "train.patience": 5})
    {'train': {'clip': 1, 'patience': 5}}
    """
    whole: dict[str, Any] = {}
    for path, value in flat.items():
        one: Any = value
        for key in reversed(path.split(".")):
            one = {key: one}
        whole = merge(whole, one)
    return whole


def _entries(table: Mapping[str, Any], before: str = "") -> list[tuple[str, Choice | Range]]:
    entries: list[tuple[str, Choice | Range]] = []
    for key, value in table.items():
        path = f"{before}{key}"
        if isinstance(value, list) and value:
            entries.append((path, Choice(tuple(value))))
        elif isinstance(value, Mapping) and {"low", "high"} & value.keys():
            entries.append((path, _range(path, value)))
        elif isinstance(value, Mapping) and not set(value) & set(_KEYS):
            entries += _entries(value, f"{path}.")
        else:
            raise ConfigError(
                f"{path} must be a list of values or {{low, high}} with log or step, "
                f"got {shown(value)}"
            )
    return entries


def _range(path: str, value: Mapping[str, Any]) -> Range:
    for key in value:
        if key not in _KEYS:
            known = ", ".join(_KEYS)
            raise ConfigError(f"unknown key {path}.{key}: known are {known}{hint(key, _KEYS)}")
    low: Any
    high: Any
    low, high, step = (value.get(key) for key in ("low", "high", "step"))
    numbers = [low, high] + ([] if step is None else [step])
    if any(isinstance(one, bool) or not isinstance(one, int | float) for one in numbers):
        raise ConfigError(f"{path} needs low and high, and step if any, as numbers")
    log = bool(value.get("log", False))
    if not low < high or (log and (low <= 0 or step is not None)):
        raise ConfigError(
            f"{path} needs low < high, and with log low > 0 and no step, got {shown(dict(value))}"
        )
    return Range(low, high, log, step)
