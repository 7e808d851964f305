"""What a sweep leaves behind: the best settings, its figures and a picture."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

import tomli_w
from matplotlib.figure import Figure

from mgae.data.atomic import write_json, write_text
from mgae.runs.layering import merge
from mgae.runs.pictures import plain, save
from mgae.runs.sweep.space import nested

_COLOR, _PALE = "#2a6fbb", "#b8c4d0"
_FEWEST = 4  # finished trials before which an importance would be chance


def write_outputs(
    out: Path, study: Any, summary: Mapping[str, Any], settings: Mapping[str, Any]
) -> None:
    """Write ``best.toml``, ``sweep.json`` and ``importance.png``."""
    best = merge(_plain(settings), nested(summary["params"]))
    heading = f"# {summary['metric']} {summary['value']:.4f} on validation edges\n"
    write_text(out / "best.toml", heading + tomli_w.dumps(best))
    importances = _importances(study)
    trials = [
        {"number": one.number, "state": one.state.name.lower(), "value": one.value, **one.params}
        for one in study.trials
    ]
    write_json(out / "sweep.json", {**summary, "importances": importances, "all": trials})
    save(_picture(trials, importances, str(summary["metric"])), out / "importance")


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is given without empty sections; a run's number is not among the settings."""
    return {key: value for key, value in settings.items() if value not in (None, {})}


def _importances(study: Any) -> dict[str, float]:
    """Return how much of the score's spread each setting explains, the largest first."""
    import optuna  # noqa: PLC0415 - an extra

    finished = study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
    values = {one.value for one in finished}
    if len(finished) < _FEWEST or len(values) < 2:
        return {}
    shares = optuna.importance.get_param_importances(study)
    return {name: float(share) for name, share in shares.items()}


def _picture(trials: list[dict[str, Any]], importances: dict[str, float], metric: str) -> Figure:
    """Draw the importances, and the score of each trial with the best one so far."""
    figure = Figure(figsize=(10, 1.8 + 0.35 * max(4, len(importances))), layout="constrained")
    left, right = figure.subplots(1, 2)
    names = list(importances)[::-1]
    left.barh(names, [importances[name] for name in names], color=_COLOR, height=0.6)
    left.set(xlabel="share of the spread that it explains", title="importance of the settings")
    if not names:
        left.text(0.5, 0.5, "too few finished trials", ha="center", transform=left.transAxes)
    done = [one for one in trials if one["value"] is not None and one["state"] == "complete"]
    numbers, values = [one["number"] for one in done], [one["value"] for one in done]
    best = list(accumulate(values, max))
    right.plot(numbers, values, "o", color=_PALE, markersize=5, label="a trial")
    right.plot(numbers, best, color=_COLOR, label="best so far")
    right.set(xlabel="trial", ylabel=f"validation {metric}", title="score of each trial")
    right.legend(frameon=False, fontsize=8)
    for panel in (left, right):
        plain(panel)
    return figure
