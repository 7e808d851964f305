"""The paper's settings and figures: a file for each method and task in ``experiments/``.

A file says what the paper states, what it leaves open and who chose it on what (``settings``,
``datasets``, ``encoders``), what it printed (``published``), why a figure of ours misses that
(``remarks``), and what a reader of the table must know of a row's settings (``notes``).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, model_serializer, model_validator

from mgae.registry import PARTS, Entry
from mgae.runs.config import RunConfig
from mgae.runs.layering import as_table, merge

_PROTOCOL_SECTIONS = ("split", "evaluation")
FIRST_SEARCH_SEED = 100  # tables have lower ones


class Published(BaseModel):
    """Figures as printed: by metric the mean and the standard deviation, in percent.

    ``instead`` is what is printed instead of figures: "OOM", out of memory.
    """

    model_config = ConfigDict(frozen=True)

    figures: dict[str, tuple[float, float]]
    source: str
    instead: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_json(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or "figures" in given:
            return given
        about = {name: given[name] for name in ("source", "instead") if name in given}
        figures = {
            name: (one.get("mean"), one.get("std")) if isinstance(one, Mapping) else one
            for name, one in given.items()
            if name not in about
        }
        return {"figures": figures, **about}

    @model_serializer
    def to_json(self) -> dict[str, Any]:
        """Return ``mean`` and ``std`` by metric, and the ``source``."""
        figures = {name: {"mean": mean, "std": std} for name, (mean, std) in self.figures.items()}
        instead = {} if self.instead is None else {"instead": self.instead}
        return {**figures, "source": self.source, **instead}

    def mean(self, metric: str) -> float | None:
        """Return the mean of a metric; None if there is none."""
        return self.figures[metric][0] if metric in self.figures else None

    def text(self, metric: str, spread: bool = True) -> str:
        """Return a figure as printed, or a dash if there is none."""
        if metric not in self.figures:
            return self.instead or "–"
        mean, std = self.figures[metric]
        return f"{mean:.2f} ± {std:.2f}" if spread else f"{mean:.2f}"


class Search(BaseModel):
    """Settings tried on some graphs; the best mean on validation edges is taken.

    The seeds are none of a table's. ``trials`` are settings by name, over those of the file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    graphs: tuple[str, ...]
    seeds: tuple[int, ...]
    metric: str
    trials: dict[str, dict[str, Any]]

    @model_validator(mode="after")
    def _apart(self) -> Self:
        if min(self.seeds) < FIRST_SEARCH_SEED:
            raise ValueError(f"seeds below {FIRST_SEARCH_SEED} are those of the tables")
        return self


def paper_config(**given: Any) -> RunConfig:
    """Return a configuration with the experiment file's settings below the given ones.

    The protocol ``strict`` takes the method's settings from there, and not the evaluation's.

    >>> paper_config(graph="cora", encoder="sage").mask.ratio
    0.7
    """
    return recipe_config(None, given)


def recipe_config(recipe: str | None, given: Mapping[str, Any]) -> RunConfig:
    """Do the same with the experiment file of a row that is none of the paper's."""
    first = RunConfig(**given)
    experiment = _experiment(recipe or first.method.kind, first.task)
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
    """Return the kind of a part: as given, else as the experiment file says, else the default."""
    chosen = as_table(part, given.get(part) or {}).get("kind")
    kind: str = chosen or usual.get(part, {}).get("kind") or getattr(first, part).kind
    return kind


def _applicable(usual: dict[str, Any], chosen: Entry) -> dict[str, Any]:
    """Return a part's settings as far as the chosen kind has them."""
    known = chosen.settings.model_fields
    return {**{key: value for key, value in usual.items() if key in known}, "kind": chosen.name}


def published(config: RunConfig) -> Published | None:
    """Return what the paper printed for a configuration, if it has it.

    >>> published(paper_config(graph="cora", method="gae")).figures["auc"]
    (91.09, 0.01)
    """
    figures = _of_encoder("published", config)
    if figures is None:
        return None
    source = _experiment(config.method.kind, config.task)["published"][config.graph]["source"]
    if isinstance(figures, str):
        return Published(figures={}, source=source, instead=figures)
    return Published(figures=figures, source=source)


def remark(config: RunConfig) -> str | None:
    """Return what the experiment file says of a figure, such as why it misses the paper's."""
    text: str | None = _of_encoder("remarks", config)
    return text


def note(recipe: str, task: str, graph: str) -> str | None:
    """Return what is to be said beside a table of a method's or recipe's settings on a graph."""
    notes = _experiment(recipe, task).get("notes", [])
    return next((note["text"] for note in notes if graph in note["graphs"]), None)


def search_of(recipe: str, task: str) -> Search | None:
    """Return the settings that are tried for a method or recipe; None: none are."""
    content = _experiment(recipe, task).get("search")
    return None if content is None else Search(**content)


def _of_encoder(section: str, config: RunConfig) -> Any:
    if config.protocol != "paper" or config.encoder is None:
        return None
    content = _experiment(config.method.kind, config.task).get(section, {})
    return content.get(config.graph, {}).get(config.encoder.kind)


@cache
def _experiment(method: str, task: str) -> dict[str, Any]:
    file = resources.files("mgae.runs.presets") / "experiments" / f"{method}-{task}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
