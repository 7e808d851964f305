"""What stands in each of the paper's tables, from ``tables.toml``: rows, graphs, metrics, runs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from mgae.core.errors import ConfigError, UnknownName
from mgae.paper.plan import Row, Table
from mgae.runs.cells import config_hash
from mgae.runs.config import RunConfig
from mgae.runs.layering import merge

STATISTICS = "statistics"
PROTOCOLS = ("paper", "strict")


def cell_folder(config: RunConfig) -> str:
    """Named by the settings: the same run set in two tables is run once."""
    return f"{config.label}-{config_hash(config)}"


def file_stem(name: str, protocol: str, changed: bool) -> str:
    """The name of a table's files; with settings changed by hand it is another table."""
    return name + (f"-{protocol}" if protocol != "paper" else "") + ("-changed" if changed else "")


def names() -> list[str]:
    """The tables that are run."""
    return [name for name in _file() if name != STATISTICS]


def table(name: str, protocol: str = "paper") -> Table:
    """A table by its name.

    Raises:
        ConfigError: where it is unknown, or has no such protocol.
    """
    if name not in names():
        raise UnknownName("table", name, ["datasets", *names()])
    content = dict(_file()[name])
    if protocol not in PROTOCOLS:
        raise UnknownName("protocol", protocol, PROTOCOLS)
    if protocol != "paper" and protocol not in content:
        has = " and ".join(other for other in names() if protocol in _file()[other])
        raise ConfigError(f"{name} has no protocol {protocol!r}: only {has} have it")
    columns = _columns(content, protocol)
    caption = content["caption" if protocol == "paper" else f"{protocol}_caption"]
    rows = tuple(Row(**row) for row in content["rows"])
    if content["floors"]:
        rows += _floors(content["task"])
    if "ratios" in content:
        rows = tuple(point for row in rows for point in _points(row, content["ratios"]))
    return Table(
        name=name,
        protocol=protocol,
        caption=caption,
        columns=columns,
        rows=rows,
        kind=content.get("kind", "table"),
        settings=_settings(content, protocol),
        runs=content["runs"] if protocol == "paper" else content[f"{protocol}_runs"],
        **{key: content[key] for key in ("title", "source", "task")},
    )


def printed_statistics() -> dict[str, dict[str, Any]]:
    """Table 1: by graph what is printed, and what is to be said of it."""
    return dict(_file()[STATISTICS])


def _columns(content: dict[str, Any], protocol: str) -> dict[str, list[str]]:
    if protocol == "paper":
        return dict(content["columns"])
    datasets = content.get(f"{protocol}_datasets", list(content["columns"]))
    return dict.fromkeys(datasets, content[protocol])


def _settings(content: dict[str, Any], protocol: str) -> dict[str, Any]:
    """By graph what differs there from the experiment files."""
    if protocol == "paper":
        return dict(content.get("settings", {}))
    return dict.fromkeys(_columns(content, protocol), content.get(f"{protocol}_settings", {}))


def _floors(task: str) -> tuple[Row, ...]:
    names = RunConfig(graph="cora", task=task).evaluation.heuristics
    return tuple(Row(name, name, group="floor") for name in names)


def _points(row: Row, ratios: Mapping[str, Sequence[float]]) -> list[Row]:
    """A row for each ratio of a curve, on the graphs that have it."""
    every = sorted({ratio for some in ratios.values() for ratio in some})
    return [
        replace(
            row,
            name=f"{row.name} at ω = {ratio}",
            series=row.name,
            ratio=ratio,
            only=[dataset for dataset, some in ratios.items() if ratio in some],
            settings=merge(row.settings, {"mask": {"ratio": ratio}}),
        )
        for ratio in every
    ]


@cache
def _file() -> dict[str, Any]:
    file = resources.files("mgae.paper") / "tables.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))
