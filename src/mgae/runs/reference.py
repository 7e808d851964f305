"""Every setting with its default, its limits and its help, read from the settings classes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic.fields import FieldInfo

from mgae.core.errors import UnknownName
from mgae.registry import METHODS, PARTS, Entry, Registry
from mgae.runs.config import RunConfig
from mgae.settings import Settings, allowed_values

_OUTSIDE = "run"  # the settings that stand in no section
_PART_FIELDS = ("kind", "module")


@dataclass(frozen=True)
class Setting:
    """One setting, as a configuration file and ``--set`` name it.

    ``kinds`` are the parts that have it, empty if it belongs to none.
    """

    name: str
    section: str
    default: str
    allowed: str
    help: str
    kinds: tuple[str, ...] = ()


def all_settings(section: str | None = None) -> list[Setting]:
    """Return the settings of a section, or all of them, in the classes' order.

    >>> [setting.default for setting in all_settings("mask") if setting.name == "mask.ratio"]
    ['0.7']

    Raises:
        UnknownName: if there is no such section.
    """
    listed = [*_plain(RunConfig, _OUTSIDE), *_sections(), *_parts()]
    names = list(dict.fromkeys(setting.section for setting in listed))
    if section is not None and section not in names:
        raise UnknownName("section", section, names)
    return [setting for setting in listed if section in (None, setting.section)]


def schema() -> dict[str, Any]:
    """Return the JSON schema of a configuration; that of a part depends on its kind."""
    return RunConfig.model_json_schema()


def _sections() -> Iterator[Setting]:
    for name, field in RunConfig.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Settings) and name not in ("method", *PARTS):
            yield from _plain(kind, name)


def _plain(settings: type[Settings], section: str) -> Iterator[Setting]:
    inner = {"method", *PARTS}
    for name, field in settings.model_fields.items():
        kind = field.annotation
        if name in inner or (isinstance(kind, type) and issubclass(kind, Settings)):
            continue
        path = name if section == _OUTSIDE else f"{section}.{name}"
        yield _setting(path, section, field)


def _parts() -> Iterator[Setting]:
    for section, registry in (*PARTS.items(), ("method", METHODS)):
        yield Setting(
            f"{section}.kind", section, "by the method" if section != "method" else "by the graph",
            "one of " + ", ".join(registry.names()), f"which {registry.what}",
        )  # fmt: skip
        yield from _of_kinds(section, registry)


def _of_kinds(section: str, registry: Registry) -> Iterator[Setting]:
    """Yield each setting of a part once, with all kinds that have it alike."""
    kinds: dict[Setting, list[str]] = {}
    for entry in registry:
        for name, field in _own_fields(entry):
            kinds.setdefault(_setting(f"{section}.{name}", section, field), []).append(entry.name)
    for setting, names in kinds.items():
        everywhere = len(names) == len(registry.names())
        yield Setting(
            setting.name, section, setting.default, setting.allowed, setting.help,
            () if everywhere else tuple(names),
        )  # fmt: skip


def _own_fields(entry: Entry) -> Iterator[tuple[str, FieldInfo]]:
    fields = entry.settings.model_fields.items()
    return ((name, field) for name, field in fields if name not in _PART_FIELDS)


def _setting(path: str, section: str, field: FieldInfo) -> Setting:
    default = "by the graph" if field.is_required() else _shown(field.default)
    return Setting(path, section, default, allowed_values(field), field.description or "")


def _shown(value: Any) -> str:
    """Return a default as a file has it; what is absent has none."""
    return "absent" if value is None else json.dumps(value).strip('"')
