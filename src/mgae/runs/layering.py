"""Settings as plain dictionaries: read from files and texts, and merged."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mgae.core.errors import ConfigError
from mgae.registry import PARTS
from mgae.settings import Settings, shown

_DEEPEST = 3  # no setting lies deeper


def as_table(name: str, value: Any) -> dict[str, Any]:
    """Return a section as a plain dictionary; a bare text is the part's kind."""
    if isinstance(value, Settings):
        return value.model_dump(exclude_none=True)
    if isinstance(value, str):
        return {"kind": value}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return dict(value)
    raise ConfigError(f"{name} must be a section or a name, got {shown(value)}")


def merge(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Merge dictionaries section by section; the later one wins.

    >>> merge({"mask": {"ratio": 0.7}}, {"mask": "directed"})
    {'mask': {'ratio': 0.7, 'kind': 'directed'}}
    """
    merged: dict[str, Any] = {}
    for key, value in (item for layer in layers for item in layer.items() if item[1] is not None):
        if isinstance(value, Mapping) or key in (*PARTS, "method"):
            section = {**as_table(key, merged.get(key, {})), **as_table(key, value)}
            earlier = as_table(key, merged.get(key, {}))
            # A table within a section, as features.columns, is filled key by key too.
            inner = {
                name: {**earlier[name], **one}
                for name, one in section.items()
                if isinstance(one, Mapping) and isinstance(earlier.get(name), Mapping)
            }
            merged[key] = {**section, **inner}
        else:
            merged[key] = value
    return merged


def flat(settings: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Return the settings of all sections by their paths.

    >>> flat({"seed": 1, "mask": {"ratio": 0.7}})
    {'seed': 1, 'mask.ratio': 0.7}
    """
    whole: dict[str, Any] = {}
    for name, value in settings.items():
        inner = flat(value, f"{above}{name}.") if isinstance(value, Mapping) else None
        whole |= {f"{above}{name}": value} if inner is None else inner
    return whole


def assignments(texts: Iterable[str]) -> dict[str, Any]:
    """Read ``section.key=value`` texts; the value is TOML, or else plain text.

    >>> assignments(["mask.ratio=0.5", "encoder=sage"])
    {'mask': {'ratio': 0.5}, 'encoder': {'kind': 'sage'}}
    """
    table: dict[str, Any] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        keys = [key.strip() for key in path.split(".")]
        if not equals or not all(keys) or len(keys) > _DEEPEST:
            raise ConfigError(f"--set needs section.key=value, got {shown(text)}")
        nested: Any = _toml_value(value.strip())
        for key in reversed(keys[1:]):
            nested = {key: nested}
        table = merge(table, {keys[0]: nested})
    return table


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return text


def read_toml(path: str | Path) -> dict[str, Any]:
    """Read a TOML file as a plain dictionary."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read configuration {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"configuration {path} is not TOML: {error}") from None
