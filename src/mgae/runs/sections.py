"""The sections of a configuration that are no swappable parts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from mgae.registry import METHODS, TRACKERS
from mgae.runs.times import seconds
from mgae.settings import Settings

_DEVICES = re.compile(r"auto|cpu|mps|cuda(:\d+)?")


class SplitSettings(Settings):
    """Which edges are held out."""

    section: ClassVar[str] = "split"

    val_ratio: float = Field(0.05, ge=0, lt=1, description="share of the edges for validation")
    test_ratio: float = Field(
        0.10, ge=0, lt=1, description="share of the edges for the test; 0: no figures"
    )
    by: Literal["auto", "random", "time"] = Field(
        "auto", description="which edges are held out; auto: the last ones if edges have times"
    )
    both: bool = Field(
        False, description="with times: train on the other split too, and print both figures"
    )
    max_edges: int | None = Field(
        None, ge=1, description="edges of the validation, and of the test, at most"
    )
    seed: Annotated[int, Field(ge=0)] | Literal["run"] = Field(
        "run", description="draws one split for all runs; 'run': each run draws its own"
    )

    def ratios(self, num_edges: int) -> tuple[float, float]:
        """Return the shares of ``num_edges`` edges for validation and test, ``max_edges`` kept.

        >>> SplitSettings(max_edges=1000).ratios(100_000)
        (0.01, 0.01)
        """
        most = 1.0 if self.max_edges is None else self.max_edges / max(1, num_edges)
        return min(self.val_ratio, most), min(self.test_ratio, most)


class TrainSettings(Settings):
    """How the parameters are learned."""

    section: ClassVar[str] = "train"

    epochs: int = Field(200, ge=1, description="masks drawn at most")
    patience: int = Field(50, ge=1, description="epochs without a better validation score")
    learning_rate: float = Field(0.01, gt=0, le=100, description="Adam's learning rate")
    weight_decay: float = Field(0.0, ge=0, description="Adam's L2 penalty")
    schedule: Literal["constant", "cosine"] = Field(
        "constant", description="how the learning rate goes over the epochs; cosine: down to zero"
    )
    clip: float = Field(1.0, ge=0, description="largest gradient norm of a module; 0: any")
    step_size: int | None = Field(
        None, ge=1, description="masked edges per optimizer step; absent: all of them"
    )
    fanouts: tuple[int, ...] | None = Field(
        None, description="neighbors kept per node, hop by hop; absent: the whole graph is encoded"
    )
    max_steps: int | None = Field(
        None,
        ge=1,
        description="optimizer steps of an epoch at most: for graphs whose whole epoch "
        "would take days",
    )
    average: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="decay of a running mean of the weights (EMA), which is what is validated and "
        "kept; 0: the weights themselves",
    )
    chunk_size: int = Field(8192, ge=1, description="pairs the decoder holds at once")
    eval_every: int = Field(1, ge=1, description="epochs between two validations")
    monitor: str = Field(
        "auc",
        description="what picks the epoch: a validation metric, 'hits@20+50+100' for the mean of "
        "several Hits@K of evaluation.hits, 'recall@K' among all nodes, 'ndcg@K' in a bipartite "
        "graph, 'hard_mrr' among hard negatives, 'loss'",
    )
    max_pairs: int | None = Field(
        None,
        ge=1,
        description="pairs decoded in all epochs together, at most: large graphs get fewer epochs",
    )
    final_fit: bool = Field(
        False,
        description="after the estimate, train once more, on all edges: what is served",
    )
    budget: float | None = Field(
        None,
        gt=0,
        description="seconds that training may take, or a time such as '10m'; the learning rate "
        "falls with the time that is left",
    )
    device: str = Field(
        "auto", description="what computes: cpu, cuda, cuda:N or mps; auto: cuda if it is there"
    )
    checkpoint_seconds: float = Field(60.0, ge=0, description="seconds between two checkpoints")
    memory_limit_gb: float | None = Field(
        None, gt=0, description="gigabytes that training may take; absent: what is free"
    )
    track: tuple[str, ...] = Field(
        (), description="tools that follow the training: tensorboard, mlflow, wandb, or another's"
    )

    @model_validator(mode="before")
    @classmethod
    def _sampled_steps(cls, given: Any) -> Any:
        # A step over all masked edges would see the whole graph again.
        sampled = isinstance(given, Mapping) and given.get("fanouts") is not None
        endless = sampled and given.get("step_size") is None
        return {**given, "step_size": 1024} if endless else given

    @field_validator("budget", mode="before")
    @classmethod
    def _time(cls, budget: Any) -> Any:
        return seconds(budget) if isinstance(budget, str) else budget

    @field_validator("device")
    @classmethod
    def _device(cls, device: str) -> str:
        if not _DEVICES.fullmatch(device):
            raise ValueError(f"must be auto, cpu, cuda, cuda:N or mps, got {device!r}")
        return device

    @field_validator("track")
    @classmethod
    def _known_trackers(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(TRACKERS[name].name for name in names))

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
    unit_rows: bool = Field(False, description="classify embeddings of unit length, layer by layer")
    features_beside: Literal["never", "auto", "always"] = Field(
        "never",
        description="classify by the features too; auto: where inner folds over the training "
        "nodes, or the validation nodes, say so",
    )
    inner_folds: bool = Field(
        False, description="also measure the classifier by inner folds over the training nodes"
    )
    heuristics: tuple[str, ...] = Field((), description="untrained methods printed beside")
    val_edges_as_input: bool = Field(
        False, description="encode the test from validation edges too; OGB allows it on collab only"
    )

    hard_negatives: int = Field(
        0, ge=0, description="pairs per held-out edge that look like edges; 0: none"
    )
    recall: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        (),
        description="K of recall@K, which ranks all nodes, besides what train.monitor asks; in a "
        "bipartite graph of recall@K and ndcg@K per user, 20 if none is given",
    )
    recall_pairs: int = Field(
        0,
        ge=0,
        description="pairs that recall@10 may rank if no K is given: in a large graph fewer edges "
        "are looked for, in a very large one none; 0: it is not measured",
    )
    beside: tuple[str, ...] = Field(
        (), description="trained methods measured beside, each with its defaults for own graphs"
    )
    max_users: int = Field(
        1000, ge=0, description="users whose recall@K is averaged, evenly taken; 0: all of them"
    )

    @model_validator(mode="before")
    @classmethod
    def _old_names(cls, given: Any) -> Any:
        # Run directories and files written before 0.2 say "floors".
        if not isinstance(given, Mapping) or "floors" not in given:
            return given
        rest = {key: value for key, value in given.items() if key != "floors"}
        return {**rest, "heuristics": given["floors"]}

    @field_validator("heuristics", "beside")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(METHODS[name].name for name in names)
