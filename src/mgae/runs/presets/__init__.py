"""The experiment files: one per method and task, with what the paper says and what it printed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from mgae.registry import PARTS, Entry
from mgae.runs.config import RunConfig
from mgae.runs.layering import as_table, merge


@dataclass(frozen=True)
class Published:
    """Figures as printed: by metric the mean and the standard deviation, in percent.

    ``instead`` is what stands there in place of figures: "OOM", out of memory.
    """

    figures: dict[str, tuple[float, float]]
    source: str
    instead: str | None = None

    def to_json(self) -> dict[str, Any]:
        """By metric ``mean`` and ``std``, and the ``source``."""
        figures = {name: {"mean": mean, "std": std} for name, (mean, std) in self.figures.items()}
        told = {} if self.instead is None else {"instead": self.instead}
        return {**figures, "source": self.source, **told}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Published:
        """What `to_json` gave; of an empty table no figures."""
        rest = ("source", "instead")
        figures = {name: (of["mean"], of["std"]) for name, of in stored.items() if name not in rest}
        return cls(figures, stored.get("source", ""), stored.get("instead"))

    def text(self, metric: str, spread: bool = True) -> str:
        """A figure as printed; a dash where there is none."""
        if metric not in self.figures:
            return self.instead or "–"
        mean, std = self.figures[metric]
        return f"{mean:.2f} ± {std:.2f}" if spread else f"{mean:.2f}"


def paper_config(**given: Any) -> RunConfig:
    """A configuration with the experiment file's settings below the given ones.

    The protocol ``strict`` takes the method's settings from there, and not the evaluation's.

    >>> paper_config(graph="cora", encoder="sage").mask.ratio
    0.7
    """
    first = RunConfig(**given)
    experiment = _experiment(first.method.kind, first.task)
    own = experiment.get("datasets", {}).get(first.graph)
    if own is None:
        return first
    usual = merge(experiment["settings"], own)
    encoder = _kind("encoder", given, usual, first)
    usual = merge(usual, experiment.get("encoders", {}).get(first.graph, {}).get(encoder, {}))
    if first.protocol == "strict":
        usual = {key: value for key, value in usual.items() if key not in _PROTOCOL_SECTIONS}
    for name in PARTS.keys() & usual.keys():
        usual[name] = _applicable(usual[name], PARTS[name][_kind(name, given, usual, first)])
    method = as_table("method", given.get("method", first.method.kind))
    return RunConfig(**merge(usual, {**given, "method": method}))


def _kind(part: str, given: Mapping[str, Any], usual: Mapping[str, Any], first: RunConfig) -> str:
    """Which kind of a part it is: as given, else as the experiment file says, else the default."""
    chosen = as_table(part, given.get(part) or {}).get("kind")
    kind: str = chosen or usual.get(part, {}).get("kind") or getattr(first, part).kind
    return kind


def _applicable(usual: dict[str, Any], chosen: Entry) -> dict[str, Any]:
    """What is said of a part, as far as the kind that was chosen knows it."""
    known = chosen.settings.model_fields
    return {**{key: value for key, value in usual.items() if key in known}, "kind": chosen.name}


def published(config: RunConfig) -> Published | None:
    """What the paper printed for this cell, if it has it."""
    if config.protocol != "paper" or config.encoder is None:
        return None
    values = _experiment(config.method.kind, config.task).get("published", {})
    row = values.get(config.graph, {})
    figures = row.get(config.encoder.kind)
    if figures is None:
        return None
    if isinstance(figures, str):
        return Published({}, row["source"], figures)
    pairs = {name: (float(mean), float(std)) for name, (mean, std) in figures.items()}
    return Published(pairs, row["source"])


def remark(config: RunConfig) -> str | None:
    """What the experiment file says of a cell's figure, as why it misses the paper's."""
    if config.protocol != "paper" or config.encoder is None:
        return None
    remarks = _experiment(config.method.kind, config.task).get("remarks", {})
    text: str | None = remarks.get(config.graph, {}).get(config.encoder.kind)
    return text


_PROTOCOL_SECTIONS = ("split", "evaluation")


@cache
def _experiment(method: str, task: str) -> dict[str, Any]:
    file = resources.files("mgae.runs.presets") / "experiments" / f"{method}-{task}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
