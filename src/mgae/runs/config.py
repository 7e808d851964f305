"""RunConfig: one object for the library, the configuration file and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import tomli_w
from pydantic import Field, SerializeAsAny, model_validator

from mgae.core.errors import ConfigError
from mgae.data.columns.choices import FeatureSettings
from mgae.data.io.options import InputSettings
from mgae.evaluation.monitors import LOSS, monitored_rank
from mgae.registry import DATASETS, METHODS, PARTS, Registry
from mgae.runs.layering import as_table, flat, read_toml
from mgae.runs.sections import EvaluationSettings, SplitSettings, TrainSettings
from mgae.runs.texttables import html_table
from mgae.settings import PartSettings, Settings, shown

Task = Literal["links", "nodes"]
Protocol = Literal["paper", "strict"]

# The paper: 85/5/10 for link prediction; 90/10 and no test edges for node classification.
_SPLIT_RATIOS: dict[str, dict[str, Any]] = {
    "links": {"val_ratio": 0.05, "test_ratio": 0.10},
    "nodes": {"val_ratio": 0.10, "test_ratio": 0.0},
}
# Figures of so many edges are sure to a few tenths, and the rest is better learned from.
_ENOUGH_EDGES = 4000
# Recall by the paper's decoder takes two microseconds a pair.
_RECALL_PAIRS = 20_000_000
_HEURISTICS = {
    "links": (
        "common-neighbors",
        "adamic-adar",
        "resource-allocation",
        "personalized-pagerank",
        "raw-features",
        "random-init",
    ),
    "nodes": ("raw-features", "random-init"),
}

# What every version has stored.
_STORED = ("graph", "task", "protocol", "seed", "runs", "method", "split", "train", "evaluation")


class RunConfig(Settings):
    """Everything that decides a result.

    >>> config = RunConfig(encoder="sage", mask={"ratio": 0.5})
    >>> config.encoder.kind, config.mask.ratio, config.protocol
    ('sage', 0.5, 'paper')
    """

    graph: str = Field("cora", description="a dataset's name")
    task: Task = Field("links", description="what the embeddings are for")
    method: SerializeAsAny[PartSettings] = Field(description="what is trained")
    protocol: Protocol = Field("paper", description="rules of the evaluation")
    seed: int = Field(0, ge=0, lt=2**31, description="seed of the first run")
    runs: int = Field(1, ge=1, le=10_000, description="runs; run k has seed + k and a fresh model")
    input: InputSettings = InputSettings()
    features: FeatureSettings = FeatureSettings()
    split: SplitSettings
    mask: SerializeAsAny[PartSettings] | None = None
    encoder: SerializeAsAny[PartSettings] | None = None
    decoder: SerializeAsAny[PartSettings] | None = None
    loss: SerializeAsAny[PartSettings] | None = None
    train: TrainSettings
    evaluation: EvaluationSettings

    # Typed as loose keywords: a part may be given by its name alone, or as a table.
    def __init__(self, **given: Any) -> None:
        super().__init__(**given)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            raise ConfigError(f"a configuration must be a table, got {shown(given)}")
        config = {key: value for key, value in given.items() if value is not None}
        dataset = _dataset(config.get("graph", "cora"))
        config.setdefault("task", dataset.get("tasks", ("links",))[0])
        if not isinstance(config["task"], str):
            raise ConfigError(f"task must be links or nodes, got {shown(config['task'])}")
        config.setdefault("protocol", "paper" if dataset.get("on_paper") else "strict")
        _complete_parts(config)
        _complete_sections(config, dataset)
        return config

    @model_validator(mode="after")
    def _all_seeds(self) -> Self:
        if self.seed + self.runs > 2**31:
            raise ConfigError(
                f"seed must be at most {2**31 - self.runs} for {self.runs} runs, got {self.seed}"
            )
        return self

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Read a configuration file."""
        return cls(**read_toml(path))

    @classmethod
    def from_run(cls, path: Path) -> Self:
        """Read what `to_toml` gave: nothing that is missing gets its default.

        Raises:
            ConfigError: if something is missing, as at the end of a file that was cut.
        """
        given = read_toml(path)
        if missing := [name for name in _STORED if name not in given]:
            raise ConfigError(f"{path} is damaged: {', '.join(missing)} is missing")
        # What came later was not measured then.
        if isinstance(given["evaluation"], dict):
            given["evaluation"].setdefault("recall_pairs", 0)
        if isinstance(given["method"], dict) and given["method"].get("kind") == "combined":
            given["method"].setdefault("start", "random")
        return cls(**given)

    def to_toml(self) -> str:
        """Return the canonical file: every setting that has a value, in the classes' order."""
        return tomli_w.dumps(self.model_dump(exclude_none=True, mode="json"))

    def changed(self, **changes: Any) -> Self:
        """Return a copy with other top-level values, checked again."""
        return type(self)(**{**self.model_dump(exclude_none=True), **changes})

    def for_method(self, name: str) -> Self:
        """Return the same graph, split and evaluation for another method.

        Shared parts are kept, and sampled neighborhoods if the method can do with them.
        """
        entry = METHODS[name]
        dropped = {"method"} | (PARTS.keys() - entry.extras["parts"].keys())
        given = self.model_dump(exclude_none=True, exclude=dropped)
        if not getattr(entry.build, "samplable", False):
            given["train"].pop("fanouts", None)
        return type(self)(**given, method=name)

    def with_defaults(self, method: str) -> Self:
        """Return the same graph, split and evaluation for a method with its own defaults."""
        kept = ("graph", "task", "protocol", "seed", "runs", "input", "features", "split")
        given = self.model_dump(exclude_none=True, include={*kept, "evaluation"})
        return type(self)(**given, method=method)

    @property
    def is_own(self) -> bool:
        """Whether the graph is a user's own, and none of the catalogue's."""
        return not _dataset(self.graph)

    @property
    def recalls(self) -> tuple[int, ...]:
        """Each K whose recall@K is measured."""
        monitored = monitored_rank(self.train.monitor)
        return (*self.evaluation.recall, *([] if monitored is None else [monitored]))

    @property
    def ranked_by(self) -> str:
        """The link metric that counts: what picks the epoch, or else what the graph is known by."""
        monitor = self.train.monitor.partition("+")[0]  # of several Hits@K the first
        return _dataset(self.graph).get("monitor", "auc") if monitor == LOSS else monitor

    def __repr__(self) -> str:
        kinds = (f"{name}={getattr(self, name).kind!r}" for name in ("method", *PARTS)
                 if getattr(self, name) is not None)  # fmt: skip
        plain = (f"{name}={getattr(self, name)!r}" for name in ("task", "protocol", "seed", "runs"))
        return f"RunConfig(graph={self.graph!r}, {', '.join((*kinds, *plain))}, …)"

    def _repr_html_(self) -> str:
        rows = flat(self.model_dump(exclude_none=True)).items()
        return html_table(["setting", "value"], rows, self.label)

    @property
    def label(self) -> str:
        """A short name for this run, fit for a folder."""
        encoder = [self.encoder.kind] if self.encoder else []
        return "-".join([Path(self.graph).stem, self.task, self.method.kind, *encoder])


def _dataset(graph: Any) -> Mapping[str, Any]:
    """Return what the catalogue says of a graph; nothing if it has none of that name."""
    known = isinstance(graph, str) and graph in DATASETS
    return DATASETS[graph].extras if known else {}


def _is_own(config: Mapping[str, Any]) -> bool:
    """Return whether the graph is none of the catalogue's."""
    return not _dataset(config.get("graph", "cora"))


def _complete_parts(config: dict[str, Any]) -> None:
    # The paper's own graphs have the paper's method, whoever else's the one that is best there.
    own = config["task"] == "links" and _is_own(config)
    usual = "combined" if own else "mgae"
    usual = "combined-relational" if _has_types(config.get("input")) else usual
    config["method"] = _part(METHODS, config.get("method", {}), {"kind": usual})
    method = METHODS[config["method"].kind]
    for name, registry in PARTS.items():
        default = method.extras["parts"].get(name)
        if default is not None:
            config[name] = _part(registry, config.get(name, {}), default)
        elif name in config:
            has = ", ".join(method.extras["parts"]) or "none"
            raise ConfigError(f"method {method.name!r} has no {name}: its parts are {has}")


def _has_types(settings: Any) -> bool:
    """Return whether the edges are read with types, which most methods cannot tell apart."""
    given = settings.model_dump() if isinstance(settings, InputSettings) else settings
    return isinstance(given, Mapping) and given.get("type_column") is not None


def _part(registry: Registry, given: Any, default: Mapping[str, Any]) -> PartSettings:
    """Validate one part's settings by the class that its kind brings along."""
    given = as_table(registry.what, given)
    kind = given.get("kind", default.get("kind"))
    if not isinstance(kind, str):
        raise ConfigError(f"{registry.what}.kind must be one of {', '.join(registry.names())}")
    if given.get("module") is not None and kind not in registry:
        registry.load(given["module"])
        if given["module"] == "__main__" and kind not in registry:
            raise ConfigError(
                f"{registry.what} {kind!r} was defined in a script or a notebook, which nothing "
                "else can import: move it into a module, and train again"
            )
    entry = registry[kind]
    usual = {key: value for key, value in default.items() if key in entry.settings.model_fields}
    return entry.settings(**{**usual, **given, "kind": kind, "module": entry.module})


def _complete_sections(config: dict[str, Any], dataset: Mapping[str, Any]) -> None:
    strict, task = config["protocol"] == "strict", config["task"]
    split: dict[str, Any] = dict(_SPLIT_RATIOS.get(task, {}))
    if strict:
        split["seed"] = 0  # one split, whatever the seed of the run
    if _is_own(config):
        split["max_edges"] = _ENOUGH_EDGES
    evaluation = {
        "hits": dataset.get("hits", (20, 50, 100)),
        "probe": "logistic" if strict else "svm",
        "heuristics": _HEURISTICS.get(task, ()),
        "val_edges_as_input": dataset.get("val_edges_at_test", False),
    }
    if strict and task == "links":
        evaluation["hard_negatives"] = 100
        if _is_own(config):
            evaluation["recall_pairs"] = _RECALL_PAIRS
    # A method may bring what its training needs, as a learning rate far from the others'.
    usual_train = METHODS[config["method"].kind].extras.get("train", {})
    train = {"monitor": dataset.get("monitor", "auc"), **usual_train}
    for name, usual in (("split", split), ("train", train), ("evaluation", evaluation)):
        config[name] = {**usual, **as_table(name, config.get(name, {}))}
