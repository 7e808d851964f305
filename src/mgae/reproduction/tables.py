"""What stands in each of the paper's tables, from ``tables.toml``: rows, graphs, metrics, runs."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import resources
from typing import Any

from mgae.cells import config_hash
from mgae.config import RunConfig
from mgae.errors import ConfigError, UnknownName
from mgae.layering import merge
from mgae.registry import METHODS, PARTS
from mgae.reproduction.paper import paper_config

STATISTICS = "statistics"
PROTOCOLS = ("paper", "strict")


@dataclass(frozen=True)
class Row:
    """One row of a table; ``series`` and ``ratio`` are a curve's name and its place on it."""

    name: str
    method: str
    encoder: str | None = None
    group: str = "baseline"
    settings: Mapping[str, Any] = field(default_factory=dict)
    only: Sequence[str] = ()
    runs: Mapping[str, int] = field(default_factory=dict)
    trained_as: str | None = None
    series: str | None = None
    ratio: float | None = None


@dataclass(frozen=True)
class Cell:
    """A row on a graph: the run set that fills it."""

    row: Row
    dataset: str
    config: RunConfig
    is_papers: bool
    trained: RunConfig | None = None

    @cached_property
    def config_hash(self) -> str:
        """A checksum of the settings."""
        return config_hash(self.config)


@dataclass(frozen=True)
class Table:
    """A table under a protocol; ``columns`` are the metrics of each graph."""

    name: str
    title: str
    source: str
    task: str
    protocol: str
    caption: str
    kind: str
    columns: Mapping[str, Sequence[str]]
    rows: tuple[Row, ...]
    runs: Mapping[str, int]
    settings: Mapping[str, Any]

    def cells(
        self,
        given: Mapping[str, Any],
        runs: int | None = None,
        chosen: Callable[[Row, str], bool] = lambda row, dataset: True,
    ) -> list[Cell]:
        """All of them, graph by graph; those that only measure another's models come last.

        Raises:
            ConfigError: where a ``chosen`` one has no use for what is given.
        """
        cells = [
            self._cell(row, dataset, given, runs, chosen(row, dataset))
            for dataset in self.columns
            for row in self.rows
            if not row.only or dataset in row.only
        ]
        return sorted(cells, key=lambda cell: cell.trained is not None)

    def _cell(
        self, row: Row, dataset: str, given: Mapping[str, Any], runs: int | None, chosen: bool
    ) -> Cell:
        try:
            return self._built(row, dataset, given, runs)
        except ConfigError:
            if chosen:
                raise
            return self._built(row, dataset, {}, runs)

    def _built(self, row: Row, dataset: str, given: Mapping[str, Any], runs: int | None) -> Cell:
        usual = self.runs.get(dataset, self.runs["default"])
        about = {
            "graph": dataset,
            "task": self.task,
            "protocol": self.protocol,
            "method": row.method,
            "encoder": row.encoder,
            "runs": runs or row.runs.get(dataset, usual),
            "evaluation": {"floors": ()},
        }
        shared = _taken(row, given)
        plain = paper_config(**merge(about, shared))
        own = merge(self.settings.get(dataset, {}), row.settings)
        config = paper_config(**merge(about, own, shared)) if own else plain
        is_papers = config_hash(config) == config_hash(plain)
        return Cell(row, dataset, config, is_papers, plain if row.trained_as else None)


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
    names = RunConfig(graph="cora", task=task).evaluation.floors
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


def _taken(row: Row, given: Mapping[str, Any]) -> dict[str, Any]:
    """Of what is given for all rows: not a part that the method lacks, nor training for a floor."""
    known = METHODS[row.method].extras["parts"]
    taken = {key: value for key, value in given.items() if key not in PARTS or key in known}
    if row.group != "floor":
        return taken
    return {key: value for key, value in taken.items() if key in ("seed", "split", "evaluation")}


@cache
def _file() -> dict[str, Any]:
    file = resources.files("mgae.reproduction") / "tables.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))
