"""The settings tried for a row, on seeds that no table uses, judged by validation edges alone.

A row's experiment file lists them; ``results/search.json`` keeps every one that was tried, with its
settings, its validation figures and the seconds it took. No test figure is kept or shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from mgae.core.errors import ConfigError
from mgae.data.atomic import locked, write_json, write_text
from mgae.data.opening import open_graph
from mgae.paper.document import display
from mgae.paper.pages import make_results_folder
from mgae.paper.plan import Row, Table, table
from mgae.paper.running import Request, chooser
from mgae.runs.cells import cell_folder, run_cell, settings_of
from mgae.runs.config import RunConfig
from mgae.runs.folders import read_json
from mgae.runs.layering import merge
from mgae.runs.observer import Observer
from mgae.runs.presets import Search, recipe_config, search_of
from mgae.runs.results import heading
from mgae.runs.texttables import markdown_table

FILE = "search.json"


def searches(spec: Table) -> Iterator[tuple[Row, str, Search]]:
    """Yield each row and graph whose experiment file has settings to try."""
    for dataset in spec.columns:
        for row in spec.rows:
            wanted = search_of(row.recipe or row.method, spec.task)
            applies = wanted is not None and dataset in wanted.graphs and row.group != "heuristic"
            if wanted and applies and (not row.only or dataset in row.only):
                yield row, dataset, wanted


def trial_config(
    row: Row, dataset: str, task: str, wanted: Search, name: str, seed: int
) -> RunConfig:
    """Return the run of one trial: the row's settings with the trial's over them."""
    about = {
        "graph": dataset,
        "task": task,
        "protocol": "paper",
        "method": row.method,
        "encoder": row.encoder,
        "seed": seed,
        "evaluation": {"heuristics": ()},
    }
    return recipe_config(row.recipe, merge(about, row.settings, wanted.trials[name]))


def search(request: Request, observer: Observer) -> list[dict[str, Any]]:
    """Run what is missing of the trials of a table's rows; return all that is known of them.

    Raises:
        UnknownName: if a table, graph or row is unknown.
        ConfigError: if none of the rows has settings to try.
    """
    name, out, spec = request.name, request.out, table(request.name)
    is_asked = chooser(spec, request)
    asked = [one for one in searches(spec) if is_asked(*one[:2])]
    if not asked:
        rows = ", ".join(dict.fromkeys(row.name for row, *_ in searches(spec))) or "no row"
        raise ConfigError(f"of {name}, {rows} has settings to try: name it with --methods")
    make_results_folder(out)
    for row, dataset, wanted in asked:
        graph = open_graph(dataset)
        for trial in wanted.trials:
            for seed in wanted.seeds:
                config = trial_config(row, dataset, spec.task, wanted, trial, seed)
                observer.on_note(f"{row.name} on {dataset}: {trial}, seed {seed}")
                home = cell_folder(out / "cells", config).with_suffix(f".{seed}")
                (one,) = run_cell(config, home, graph, observer).result.seeds
                _add(out, {
                    "table": name, "row": row.name, "dataset": dataset, "trial": trial,
                    "seed": seed, "metric": wanted.metric, "val": one.val,
                    "epochs": one.epochs, "seconds": round(one.seconds, 3),
                    "settings": settings_of(config),
                })  # fmt: skip
    return known(out)


def known(out: Path) -> list[dict[str, Any]]:
    """Return every trial that was run."""
    return list(read_json(out / FILE)["trials"]) if (out / FILE).exists() else []


def _add(out: Path, trial: dict[str, Any]) -> None:
    with locked(out / "cells" / "search.lock"):
        others = [one for one in known(out) if _key(one) != _key(trial)]
        write_json(out / FILE, {"trials": sorted([*others, trial], key=_key)})
        write_text(out / "search.md", search_page(known(out)))


def _key(trial: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(trial[name] for name in ("table", "row", "dataset", "trial", "seed"))


def chosen(trials: list[dict[str, Any]], row: str, dataset: str) -> str | None:
    """Return the trial with the best mean on validation edges, of those with all their seeds."""
    means = _means(trials, row, dataset)
    return max(means, key=lambda name: means[name][0], default=None)


def _means(
    trials: list[dict[str, Any]], row: str, dataset: str
) -> dict[str, tuple[float, list[int], float]]:
    """Return by trial the mean, its seeds and its seconds."""
    own = [one for one in trials if (one["row"], one["dataset"]) == (row, dataset)]
    means = {}
    for name in dict.fromkeys(one["trial"] for one in own):
        runs = [one for one in own if one["trial"] == name]
        figures = [one["val"][one["metric"]] for one in runs]
        seconds = fmean(one["seconds"] for one in runs)
        means[name] = fmean(figures), [one["seed"] for one in runs], seconds
    most = max((len(seeds) for _, seeds, _ in means.values()), default=0)
    return {name: one for name, one in means.items() if len(one[1]) == most}


def search_page(trials: list[dict[str, Any]]) -> str:
    """Return ``results/search.md``."""
    lines = [
        "# Settings that were searched",
        "",
        "Judged by the mean validation figure over seeds that no table uses; the best in bold.",
        "Settings: `search.json`, and the rows' files in `src/mgae/runs/presets/experiments/`.",
    ]
    about = dict.fromkeys((one["row"], one["dataset"], one["metric"]) for one in trials)
    for row, dataset, metric in about:
        means, best = _means(trials, row, dataset), chosen(trials, row, dataset)
        rows = [
            [f"**{name}**" if name == best else name, f"{mean:.2f}", str(len(seeds)), f"{took:.0f}"]
            for name, (mean, seeds, took) in means.items()
        ]
        heads = ["trial", f"validation {heading(metric)}", "seeds", "seconds a run"]
        lines += ["", f"## {row} on {display(dataset)}", "", markdown_table(heads, rows)]
    return "\n".join(lines) + "\n"
