"""The plan of each of the paper's tables, from ``tables.toml``: rows, graphs, metrics and runs."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

from mgae.core.errors import ConfigError, UnknownName
from mgae.registry import METHODS, PARTS
from mgae.runs.config import RunConfig
from mgae.runs.layering import merge
from mgae.runs.presets import recipe_config

STATISTICS = "statistics"
PROTOCOLS = ("paper", "strict")


@dataclass(frozen=True)
class Row:
    """One row of a table; ``series`` and ``ratio`` are a curve's name and the point on it.

    ``trained_as`` names the row whose models this one measures again; its own ``settings`` override
    those of that row. ``recipe`` names the experiment file of a row that is none of the paper's.
    """

    name: str
    method: str
    encoder: str | None = None
    recipe: str | None = None
    group: str = "baseline"
    settings: Mapping[str, Any] = field(default_factory=dict)
    only: Sequence[str] = ()
    runs: Mapping[str, int] = field(default_factory=dict)
    trained_as: str | None = None
    series: str | None = None
    ratio: float | None = None


@dataclass(frozen=True)
class Cell:
    """A row on a graph: the configuration that fills it, and whether it is what the paper ran."""

    row: Row
    dataset: str
    config: RunConfig
    is_papers: bool
    trained: RunConfig | None = None


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
        """Return all cells graph by graph; those that measure another's models come last.

        Raises:
            ConfigError: if a ``chosen`` one has no use for a ``given`` setting.
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
            "evaluation": {"heuristics": ()},
        }
        shared = _applicable(row, given)
        plain = recipe_config(row.recipe, merge(about, shared))
        measured = self._named(row.trained_as).settings if row.trained_as else {}
        own = merge(self.settings.get(dataset, {}), measured, row.settings)
        config = recipe_config(row.recipe, merge(about, own, shared)) if own else plain
        is_papers = config == plain and row.recipe is None
        return Cell(row, dataset, config, is_papers, self._trained(row, dataset, given, runs))

    def _trained(
        self, row: Row, dataset: str, given: Mapping[str, Any], runs: int | None
    ) -> RunConfig | None:
        """Return the configuration of the models that are measured again, with as many runs."""
        if row.trained_as is None:
            return None
        trained = replace(self._named(row.trained_as), runs=row.runs)
        return self._built(trained, dataset, given, runs).config

    def _named(self, name: str) -> Row:
        named = {row.name: row for row in self.rows}
        if name not in named:
            raise UnknownName("row", name, named)
        return named[name]


def _applicable(row: Row, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a row can use: no part that its method lacks, no training for a heuristic."""
    parts = METHODS[row.method].extras["parts"]
    known = {key: value for key, value in given.items() if key not in PARTS or key in parts}
    if row.group != "heuristic":
        return known
    return {key: value for key, value in known.items() if key in ("seed", "split", "evaluation")}


def names() -> list[str]:
    """Return the names of the tables that are run."""
    return [name for name in _file() if name != STATISTICS]


def table(name: str, protocol: str = "paper") -> Table:
    """Return a table by its name.

    Raises:
        ConfigError: if it is unknown, or has no such protocol.
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
    if content["heuristics"]:
        rows += _heuristics(content["task"])
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
    """Return Table 1: by graph what is printed, and a remark on it."""
    return dict(_file()[STATISTICS])


def _columns(content: dict[str, Any], protocol: str) -> dict[str, list[str]]:
    if protocol == "paper":
        return dict(content["columns"])
    datasets = content.get(f"{protocol}_datasets", list(content["columns"]))
    return dict.fromkeys(datasets, content[protocol])


def _settings(content: dict[str, Any], protocol: str) -> dict[str, Any]:
    """Return by graph the settings that differ from the experiment files."""
    if protocol == "paper":
        return dict(content.get("settings", {}))
    return dict.fromkeys(_columns(content, protocol), content.get(f"{protocol}_settings", {}))


def _heuristics(task: str) -> tuple[Row, ...]:
    names = RunConfig(graph="cora", task=task).evaluation.heuristics
    return tuple(Row(name, name, group="heuristic") for name in names)


def _points(row: Row, ratios: Mapping[str, Sequence[float]]) -> list[Row]:
    """Return a row for each ratio of a curve, on the graphs that have it."""
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
