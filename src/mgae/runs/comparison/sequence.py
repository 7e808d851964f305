"""Run the methods one after another, each as a cell that can be continued."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from mgae.core.errors import ConfigError, MGAEError, RunDirectoryError, UnsupportedError
from mgae.data.atomic import write_json, write_text
from mgae.data.opening import open_graph
from mgae.registry import METHODS
from mgae.runs.cells import run_cell
from mgae.runs.comparison.outputs import picture, to_csv, to_markdown
from mgae.runs.comparison.value import Comparison, Row
from mgae.runs.config import RunConfig
from mgae.runs.folders import check_free, read_json
from mgae.runs.layering import as_table
from mgae.runs.observer import Observer
from mgae.runs.parallel import as_they_come
from mgae.runs.pictures import save
from mgae.runs.presets import paper_config

# What a heuristic takes of the settings that are given for all: it has no training.
_OF_HEURISTICS = ("graph", "task", "protocol", "seed", "runs", "input", "split", "evaluation")


def compare(
    graph: str,
    methods: Sequence[str] = (),
    out: str | Path | None = None,
    observer: Observer | None = None,
    jobs: int = 1,
    **given: Any,
) -> Comparison:
    """Train methods side by side on one graph.

    Each is run as ``mgae train GRAPH --method NAME`` would: on the paper's graphs with the
    settings of its experiment file, elsewhere with its defaults.

    Args:
        graph: a dataset's name or a file.
        methods: their names; without any, all that train.
        out: a directory; the same one again continues with what is missing. Without it, a folder
            below ``runs/`` that is named after the graph and the task.
        observer: receives the progress.
        jobs: methods at the same time, each in a process of its own and with its share of the
            cores; seconds and memory are then those of a busy machine.
        given: settings for all of them, as for `RunConfig`.

    Raises:
        UnsupportedError: if none of the methods can do it.
        RunDirectoryError: if ``out`` holds something else, or what cannot be read.

    >>> import mgae, tempfile
    >>> out = tempfile.TemporaryDirectory()
    >>> settings = {"evaluation": {"heuristics": ()}}
    >>> compared = mgae.compare("cora", ["katz", "jaccard"], out.name, **settings)
    >>> [row.config.method.kind for row in compared.rows]
    ['katz', 'jaccard']
    >>> out.cleanup()
    """
    observer = observer or Observer()
    configs = configurations(methods or trained_methods(), {"graph": graph, **given})
    if configs[0].task == "links" and configs[0].split.test_ratio == 0:
        raise ConfigError("split.test_ratio is 0, and methods are compared on test edges: raise it")
    asked = _asked(configs[0], given)
    folder = comparison_folder(asked, None if out is None else Path(out))
    for cell in folder.glob("cells/*/cell.json"):
        read_json(cell)  # damage is reported now, not when tables are written without its figures
    opened = _opened(configs[0], observer)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "asked.json", asked)
    rows: dict[int, Row] = {}
    calls = [(config, folder, opened, observer if jobs == 1 else None) for config in configs]
    observer.on_cell(configs[0].method.kind, 0, len(configs))
    for index, row in as_they_come(_row, calls, jobs):
        rows[index] = row
        comparison = Comparison(tuple(rows[number] for number in sorted(rows)), folder)
        write(comparison)
        if len(rows) < len(configs):
            following = next(number for number in range(len(configs)) if number not in rows)
            observer.on_cell(configs[following].method.kind, len(rows), len(configs))
    if not comparison.has_figures:
        raise UnsupportedError(f"no method runs on {graph}: {comparison.rows[0].refused}")
    save(picture(comparison), folder / "comparison")
    return comparison


def _opened(config: RunConfig, observer: Observer) -> Data:
    graph = open_graph(config.graph, config.input, preparing=config.features)
    observer.on_graph(graph)
    if config.task == "nodes" and graph.y is None:
        raise UnsupportedError("node classification needs labels, and the graph has none")
    return graph


def trained_methods() -> list[str]:
    """Return every method that learns."""
    return [entry.name for entry in METHODS if trains(entry.name)]


def trains(name: str) -> bool:
    """Return whether a method learns, or is a heuristic."""
    return bool(getattr(METHODS[name].build, "trains", True))


def configurations(methods: Sequence[str], given: dict[str, Any]) -> list[RunConfig]:
    """Return one for each method, then one for each heuristic; none has heuristics of its own."""
    names = list(dict.fromkeys(methods))
    first = paper_config(**given, method=names[0])
    for_heuristics = {key: value for key, value in given.items() if key in _OF_HEURISTICS}
    heuristics = [name for name in first.evaluation.heuristics if name not in names]
    return [
        *(_without_heuristics({**given, "method": name}) for name in names),
        *(_without_heuristics({**for_heuristics, "method": name}) for name in heuristics),
    ]


def _without_heuristics(given: dict[str, Any]) -> RunConfig:
    evaluation = {**as_table("evaluation", given.get("evaluation") or {}), "heuristics": ()}
    return paper_config(**{**given, "evaluation": evaluation})


def _asked(config: RunConfig, given: dict[str, Any]) -> dict[str, Any]:
    """Return what makes two comparisons the same, whatever their methods and runs."""
    about = {key: getattr(config, key) for key in ("graph", "task", "protocol", "seed")}
    settings = {key: value for key, value in given.items() if key not in ("runs", *about)}
    # As it will be read back: a tuple becomes a list.
    return dict(json.loads(json.dumps({**about, "settings": settings})))


def comparison_folder(asked: dict[str, Any], out: Path | None) -> Path:
    """Return the folder of a comparison: a new one, or the one where it was begun.

    Raises:
        RunDirectoryError: if ``out`` holds something else.
    """
    if out is None:
        stem = f"runs/compare-{Path(asked['graph']).stem}-{asked['task']}"
        candidates = (Path(stem if n == 1 else f"{stem}-{n}") for n in range(1, 10**6))
        return next(path for path in candidates if not path.exists() or _asked_in(path) == asked)
    before = _asked_in(out)
    if before is None:
        check_free(out)
    elif before != asked:
        raise RunDirectoryError(f"{out} holds a comparison with other settings: give another --out")
    return out


def _asked_in(folder: Path) -> Any:
    file = folder / "asked.json"
    return read_json(file) if file.is_file() else None


def _row(config: RunConfig, folder: Path, graph: Data, observer: Observer | None) -> Row:
    name = config.method.kind
    try:
        cell = run_cell(config, folder / "cells" / name, graph, observer or Observer())
        return Row(config, trains(name), cell)
    except RunDirectoryError:
        raise  # what is stored is damaged: this says nothing about the method
    except MGAEError as error:
        return Row(config, trains(name), refused=str(error))


def write(comparison: Comparison) -> None:
    """Write the tables so far."""
    folder = comparison.directory
    if not comparison.has_figures:
        return
    write_json(folder / "comparison.json", comparison.to_json())
    write_text(folder / "comparison.md", to_markdown(comparison))
    write_text(folder / "comparison.csv", to_csv(comparison))
