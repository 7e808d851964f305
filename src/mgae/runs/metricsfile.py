"""Read ``metrics.json`` back, also that of earlier versions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from mgae.evaluation.certainty import Certainty
from mgae.evaluation.verdict import Verdict
from mgae.runs.results import Advice, Figures, SeedResult, Summary


@dataclass
class _Metrics:
    """What ``metrics.json`` has; runs of 0.1.0 say ``floors``."""

    seeds: Annotated[list[int], Field(min_length=1)]
    epochs: Annotated[list[int], Field(min_length=1)]
    best_epochs: Annotated[list[int], Field(min_length=1)]
    test: dict[str, Summary]
    val: dict[str, Summary]
    heuristics: dict[str, dict[str, Summary]] = field(default_factory=dict)
    floors: dict[str, dict[str, Summary]] = field(default_factory=dict)
    beside: dict[str, dict[str, Summary]] = field(default_factory=dict)
    certainty: Certainty | None = None
    advice: tuple[Advice, ...] = ()


_CHECK = TypeAdapter(_Metrics)
_VERDICT = TypeAdapter(Verdict)


def checked_metrics(content: Any) -> dict[str, Any]:
    """Return what `RunResult.metrics` gave, read back from a file.

    Raises:
        ValueError: if something is missing or of another type.
    """
    _CHECK.validate_python(content)
    if not {"heuristics", "floors"} & content.keys():
        raise ValueError("heuristics: Field required")
    return dict(content)


def seed_result(metrics: dict[str, Any], seconds: float) -> SeedResult:
    """Return a single seed's figures, read back from its ``metrics.json``."""

    def first(figures: dict[str, Any]) -> Figures:
        return {name: summary["values"][0] for name, summary in figures.items()}

    # Runs of 0.1.0 say "floors".
    heuristics = metrics["heuristics"] if "heuristics" in metrics else metrics["floors"]
    judged = _CHECK.validate_python(metrics)
    return SeedResult(
        seed=metrics["seeds"][0],
        test=first(metrics["test"]),
        val=first(metrics["val"]),
        heuristics={name: first(figures) for name, figures in heuristics.items()},
        epochs=metrics["epochs"][0],
        best_epoch=metrics["best_epochs"][0],
        seconds=seconds,
        other_split=first(metrics["other_split"]) if "other_split" in metrics else None,
        certainty=judged.certainty,
        advice=judged.advice,
        beside={name: first(figures) for name, figures in metrics.get("beside", {}).items()},
    )


def verdict_of(metrics: dict[str, Any]) -> Verdict | None:
    """Return the verdict of a ``metrics.json``; older versions wrote none."""
    given = metrics.get("verdict")
    return None if given is None else _VERDICT.validate_python(given)
