"""RunConfig: one object for the library, the configuration file and the command line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import tomli_w
from pydantic import Field, SerializeAsAny, field_validator, model_validator

from mgae.errors import ConfigError
from mgae.registry import DATASETS, METHODS, PARTS, Registry
from mgae.settings import PartSettings, Settings

Task = Literal["links", "nodes"]
Protocol = Literal["paper", "strict"]
LOSS = "loss"  # the monitor that is no validation metric

# The paper: 85/5/10 for link prediction; 90/10 and no test edges for node classification.
_SPLIT_RATIOS: dict[str, dict[str, Any]] = {
    "links": {"val_ratio": 0.05, "test_ratio": 0.10},
    "nodes": {"val_ratio": 0.10, "test_ratio": 0.0},
}
_FLOORS = {
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


class InputSettings(Settings):
    """How the user's own files are to be read."""

    section: ClassVar[str] = "input"

    features: str | None = Field(None, description="a table with a row of features per node")
    labels: str | None = Field(None, description="a table with a label per node")
    source_column: str | None = Field(None, description="the edges' source: a name, or a number")
    target_column: str | None = Field(None, description="the edges' target: a name, or a number")
    weight_column: str | None = Field(None, description="the edges' weight: a name, or a number")
    id_column: str | None = Field(None, description="the node's id in features and labels")
    label_column: str | None = Field(None, description="the label's column")
    directed: bool = Field(False, description="whether an edge has a direction")
    header: Literal["auto", "yes", "no"] = Field("auto", description="whether row 1 holds names")
    missing: Literal["refuse", "zero", "mean"] = Field(
        "refuse", description="the features of a node that has edges and no row of features"
    )


class SplitSettings(Settings):
    """Which edges are held out."""

    section: ClassVar[str] = "split"

    val_ratio: float = Field(0.05, ge=0, lt=1, description="share of the edges for validation")
    test_ratio: float = Field(0.10, ge=0, lt=1, description="share of the edges for the test")
    seed: Annotated[int, Field(ge=0)] | Literal["run"] = Field(
        "run", description="draws one split for all runs; 'run': each run draws its own"
    )


class TrainSettings(Settings):
    """How the parameters are found."""

    section: ClassVar[str] = "train"

    epochs: int = Field(200, ge=1, description="masks drawn at most")
    patience: int = Field(50, ge=1, description="epochs without a better validation score")
    learning_rate: float = Field(0.01, gt=0, le=100, description="Adam's learning rate")
    weight_decay: float = Field(0.0, ge=0, description="Adam's L2 penalty")
    clip: float = Field(1.0, ge=0, description="largest gradient norm of a module; 0: any")
    step_size: int | None = Field(
        None, ge=1, description="masked edges per optimizer step; absent: all of them"
    )
    fanouts: tuple[int, ...] | None = Field(
        None, description="neighbors kept per node, hop by hop; absent: the whole graph is encoded"
    )
    chunk_size: int = Field(8192, ge=1, description="pairs the decoder holds at once")
    eval_every: int = Field(1, ge=1, description="epochs between two validations")
    monitor: str = Field(
        "auc",
        description="what picks the epoch: a validation metric, 'recall@K' among all nodes, 'loss'",
    )
    checkpoint_seconds: float = Field(60.0, ge=0, description="seconds between two checkpoints")
    memory_limit_gb: float | None = Field(
        None, gt=0, description="gigabytes that training may take; absent: what is free"
    )

    @model_validator(mode="before")
    @classmethod
    def _sampled_steps(cls, given: Any) -> Any:
        # A step over all masked edges would see the whole graph again.
        sampled = isinstance(given, Mapping) and given.get("fanouts") is not None
        endless = sampled and given.get("step_size") is None
        return {**given, "step_size": 1024} if endless else given

    @field_validator("fanouts")
    @classmethod
    def _some_neighbors(cls, fanouts: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if fanouts is not None and min(fanouts, default=0) < 1:
            raise ValueError(f"must be integers ≥ 1, one for each layer, got {list(fanouts)}")
        return fanouts


class EvaluationSettings(Settings):
    """What is measured, and beside what."""

    section: ClassVar[str] = "evaluation"

    hits: tuple[Annotated[int, Field(ge=1)], ...] = Field((20, 50, 100), description="K of Hits@K")
    probe: Literal["svm", "logistic"] = Field("svm", description="classifier on the embeddings")
    folds: int = Field(5, ge=2, description="folds of the SVM's cross-validation")
    floors: tuple[str, ...] = Field((), description="untrained methods printed beside")
    val_edges_as_input: bool = Field(
        False, description="encode the test from validation edges too; OGB allows it on collab only"
    )

    hard_negatives: int | None = Field(
        None, ge=0, description="pairs per test edge that look like edges; 0 or absent: none"
    )
    recall: tuple[Annotated[int, Field(ge=1)], ...] | None = Field(
        None, description="K of recall@K, which ranks all nodes; absent: what train.monitor asks"
    )

    @field_validator("floors")
    @classmethod
    def _known(cls, floors: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(METHODS[name].name for name in floors)


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
    runs: int = Field(1, ge=1, description="runs; run k has seed + k and a fresh model")
    input: InputSettings = InputSettings()
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
            raise ConfigError(f"a configuration must be a table, got {given!r}")
        config = {key: value for key, value in given.items() if value is not None}
        dataset = _dataset(config.get("graph", "cora"))
        config.setdefault("task", dataset.get("tasks", ("links",))[0])
        config.setdefault("protocol", "paper" if dataset.get("on_paper") else "strict")
        _complete_parts(config)
        _complete_sections(config, dataset)
        return config

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Read a configuration file."""
        return cls(**read_toml(path))

    def to_toml(self) -> str:
        """The canonical file: every setting that has a value, in the order of the classes."""
        return tomli_w.dumps(self.model_dump(exclude_none=True, mode="json"))

    def changed(self, **changes: Any) -> Self:
        """A copy with other top-level values, checked again."""
        return type(self)(**{**self.model_dump(exclude_none=True), **changes})

    def for_method(self, name: str) -> Self:
        """The same graph, split and evaluation for another method; shared parts are kept."""
        parts = METHODS[name].extras["parts"]
        dropped = {"method"} | (PARTS.keys() - parts.keys())
        return type(self)(**self.model_dump(exclude_none=True, exclude=dropped), method=name)

    @property
    def recalls(self) -> tuple[int, ...]:
        """Each K whose recall@K is measured."""
        monitored = re.fullmatch(r"recall@([1-9]\d*)", self.train.monitor)
        return (*(self.evaluation.recall or ()), *([int(monitored[1])] if monitored else []))

    @property
    def ranked_by(self) -> str:
        """The link metric that counts: what picks the epoch, or else what the graph is known by."""
        monitor = self.train.monitor
        return _dataset(self.graph).get("monitor", "auc") if monitor == LOSS else monitor

    @property
    def label(self) -> str:
        """A short name for this run, fit for a folder."""
        encoder = [self.encoder.kind] if self.encoder else []
        return "-".join([Path(self.graph).stem, self.task, self.method.kind, *encoder])


def _dataset(graph: Any) -> Mapping[str, Any]:
    """What the catalogue says of a graph; nothing of one that is not in it."""
    known = isinstance(graph, str) and graph in DATASETS
    return DATASETS[graph].extras if known else {}


def _complete_parts(config: dict[str, Any]) -> None:
    config["method"] = _part(METHODS, config.get("method", "mgae"), {})
    method = METHODS[config["method"].kind]
    for name, registry in PARTS.items():
        default = method.extras["parts"].get(name)
        if default is not None:
            config[name] = _part(registry, config.get(name, {}), default)
        elif name in config:
            has = ", ".join(method.extras["parts"]) or "none"
            raise ConfigError(f"method {method.name!r} has no {name}: its parts are {has}")


def _part(registry: Registry, given: Any, default: Mapping[str, Any]) -> PartSettings:
    """Validate one part's settings by the class that its kind brings along."""
    given = as_table(registry.what, given)
    kind = given.get("kind", default.get("kind"))
    if not isinstance(kind, str):
        raise ConfigError(f"{registry.what}.kind must be one of {', '.join(registry.names())}")
    settings = registry[kind].settings
    usual = {key: value for key, value in default.items() if key in settings.model_fields}
    return settings(**{**usual, **given, "kind": kind})


def _complete_sections(config: dict[str, Any], dataset: Mapping[str, Any]) -> None:
    strict, task = config["protocol"] == "strict", config["task"]
    split: dict[str, Any] = dict(_SPLIT_RATIOS.get(task, {}))
    if strict:
        split["seed"] = 0  # one split, whatever the seed of the run
    evaluation = {
        "hits": dataset.get("hits", (20, 50, 100)),
        "probe": "logistic" if strict else "svm",
        "floors": _FLOORS.get(task, ()),
        "val_edges_as_input": dataset.get("val_edges_at_test", False),
    }
    if strict and task == "links":
        evaluation["hard_negatives"] = 100
    # A method may bring what its training needs, as a learning rate far from the others'.
    usual_train = METHODS[config["method"].kind].extras.get("train", {})
    train = {"monitor": dataset.get("monitor", "auc"), **usual_train}
    for name, usual in (("split", split), ("train", train), ("evaluation", evaluation)):
        config[name] = {**usual, **as_table(name, config.get(name, {}))}


def as_table(name: str, value: Any) -> dict[str, Any]:
    """A section as a plain table; a bare text is the part's kind."""
    if isinstance(value, Settings):
        return value.model_dump(exclude_none=True)
    if isinstance(value, str):
        return {"kind": value}
    if isinstance(value, Mapping):
        return dict(value)
    raise ConfigError(f"{name} must be a table or a name, got {value!r}")


def merge(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Lay tables over each other, the later one winning, section by section.

    >>> merge({"mask": {"ratio": 0.7}}, {"mask": "directed"})
    {'mask': {'ratio': 0.7, 'kind': 'directed'}}
    """
    merged: dict[str, Any] = {}
    for key, value in (item for layer in layers for item in layer.items() if item[1] is not None):
        if isinstance(value, Mapping) or key in (*PARTS, "method"):
            merged[key] = {**as_table(key, merged.get(key, {})), **as_table(key, value)}
        else:
            merged[key] = value
    return merged


def assignments(texts: Iterable[str]) -> dict[str, Any]:
    """Read ``section.key=value`` texts; the value is TOML, or plain text where it is not.

    >>> assignments(["mask.ratio=0.5", "encoder=sage"])
    {'mask': {'ratio': 0.5}, 'encoder': {'kind': 'sage'}}
    """
    table: dict[str, Any] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        keys = [key.strip() for key in path.split(".")]
        if not equals or not all(keys):
            raise ConfigError(f"--set needs section.key=value, got {text!r}")
        nested: Any = _toml_value(value.strip())
        for key in reversed(keys[1:]):
            nested = {key: nested}
        table = merge(table, {keys[0]: nested})
    return table


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def read_toml(path: str | Path) -> dict[str, Any]:
    """Read a TOML file as a plain table."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read configuration {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"configuration {path} is not TOML: {error}") from None
