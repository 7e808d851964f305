"""``mgae train``, ``mgae evaluate`` and ``mgae report``."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mgae.cli import flags, ranks
from mgae.cli.flags import Json, Quiet
from mgae.cli.graphoptions import graph_options
from mgae.cli.watching import observing, stoppable
from mgae.core.errors import ConfigError

if TYPE_CHECKING:
    from mgae.runs.config import RunConfig
    from mgae.runs.observer import Observer


@graph_options()
def train(
    graph: Annotated[
        str | None, typer.Argument(help="A dataset's name or a file of edges. \\[default: cora]")
    ] = None,
    task: flags.Task = None,
    method: Annotated[
        str | None,
        typer.Option(help="What to train: mgae methods. \\[default: combined for files]"),
    ] = None,
    encoder: Annotated[
        str | None, typer.Option(help="gcn, sage, gin or gat. \\[default: gcn]")
    ] = None,
    mask: Annotated[
        str | None, typer.Option(help="undirected, directed or path. \\[default: undirected]")
    ] = None,
    mask_ratio: Annotated[
        float | None, typer.Option(help="Share of the edges to hide. \\[default: 0.7]")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Masks drawn at most. \\[default: by the method]")
    ] = None,
    patience: Annotated[
        int | None, typer.Option(help="Epochs without a better score. \\[default: by the method]")
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Adam's learning rate. \\[default: by the method]")
    ] = None,
    runs: flags.Runs = None,
    seed: flags.Seed = None,
    protocol: flags.Protocol = None,
    *,
    given: dict[str, Any],
    device: flags.Device = None,
    memory_limit: Annotated[
        float | None,
        typer.Option(metavar="GB", help="Memory to stay below. \\[default: what is free]"),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Time that training may take, as 90s, 10m or 1h."),
    ] = None,
    final_fit: Annotated[
        bool | None,
        typer.Option(
            "--final-fit/--no-final-fit",
            help="Train once more on all edges after the estimate. \\[default: own graphs]",
        ),
    ] = None,
    recipe: Annotated[
        bool,
        typer.Option(
            "--recipe/--no-recipe",
            help="Beside the paper's row of the embedded Cora, the default recipe for own graphs.",
        ),
    ] = True,
    check_features: Annotated[
        bool,
        typer.Option(
            "--check-features", help="Train with and without the features first, and compare."
        ),
    ] = False,
    track: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Follow it in tensorboard, mlflow or wandb; repeat."),
    ] = None,
    config: flags.Config = None,
    set_: flags.Set = None,
    out: Annotated[
        Path | None, typer.Option(help="Run directory. \\[default: a new one below runs/]")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Go on with a run that was broken off.")
    ] = None,
    jobs: flags.Jobs = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a method on a graph and print its figures beside the paper's and the heuristics'."""
    learning = _given(
        epochs=epochs,
        patience=patience,
        learning_rate=learning_rate,
        memory_limit_gb=memory_limit,
        budget=budget,
        final_fit=final_fit,
        track=track or None,
    )
    chosen = {
        "graph": graph,
        "task": task,
        "method": method,
        "encoder": encoder,
        "mask": _given(kind=mask, ratio=mask_ratio),
        "runs": runs,
        "seed": seed,
        "protocol": protocol,
        "input": given or None,
        "train": _given(**(learning or {}), device=device),
    }
    if resume is not None:
        _refuse_beside_resume(
            {
                **chosen,
                "train": learning,
                "mask": mask,
                "mask-ratio": mask_ratio,
                "config": config,
                "check-features": check_features or None,
                "set": set_,
                "out": out,
            }
        )
        return _carry_out(None, None, resume, False, device, jobs, as_json, quiet)
    settings = _configure(chosen, config, set_ or [])
    shown_beside = ("graph", "runs", "seed")
    plain = not any(value for name, value in chosen.items() if name not in shown_beside)
    if recipe and plain and not (config or set_):
        settings = _with_recipe(settings)
    return _carry_out(settings, out, None, check_features, device, jobs, as_json, quiet)


def evaluate(
    run: flags.Run,
    device: flags.DeviceAgain = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure a finished run again from its weights and its split."""
    from mgae.runs.pipeline import evaluate as measure

    with observing(as_json, quiet or not ranks.is_first()) as observer, ranks.together():
        result = measure(run, observer, device=device)
    if ranks.is_first():
        _print(result, as_json, observer.notes)


def report(
    run: flags.Run,
    map_: Annotated[
        Literal["pca", "umap"] | None,
        typer.Option("--map", help="The map's projection. \\[default: umap where it is installed]"),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Draw a finished run's report.html again, one page that needs no network."""
    from mgae.reporting import write_report
    from mgae.serving.maps import best_projection

    typer.echo(write_report(run, map_ or best_projection()))


def _configure(chosen: dict[str, Any], file: Path | None, texts: list[str]) -> RunConfig:
    """Combine the paper's settings, the file's, the options' and ``--set``; the later ones win."""
    from mgae.runs.layering import assignments, merge, read_toml
    from mgae.runs.presets import paper_config

    return paper_config(**merge(read_toml(file) if file else {}, chosen, assignments(texts)))


def _with_recipe(settings: RunConfig) -> RunConfig:
    """Add the default method for own graphs to the paper's, where no other setting was given.

    On the embedded graph alone: elsewhere it may take longer than what was asked for.
    """
    from mgae.data.datasets.catalogue import dataset_state
    from mgae.registry import DATASETS
    from mgae.runs.presets import published

    on_paper = published(settings) is not None and settings.graph in DATASETS
    if not on_paper or dataset_state(settings.graph) != "embedded":
        return settings
    evaluation = settings.evaluation.model_dump(exclude_none=True)
    return settings.changed(evaluation={**evaluation, "beside": ("combined",)})


def _refuse_beside_resume(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if value is not None:
            raise ConfigError(f"--resume takes its settings from the run: leave out {name}")


def _carry_out(
    settings: RunConfig | None,
    out: Path | None,
    resume: Path | None,
    check_features: bool,
    device: str | None,
    jobs: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Train, or go on with a run; of several ranks the first one writes and prints."""
    from mgae.runs import pipeline

    start = monotonic()
    with ExitStack() as stack:
        with ranks.together():
            begun = ranks.left_behind(out, resume)
            path = ranks.agreed(lambda: begun or out or _new_folder(stack, settings))
            hidden = quiet or not ranks.is_first()
            observer = stack.enter_context(observing(as_json, hidden))
            with _stoppable(path):
                if begun is not None or settings is None:
                    if resume is None:
                        observer.on_note(f"going on with the run in {path}")
                    result = pipeline.resume(path, observer, device, jobs)
                else:
                    result = pipeline.run(settings, None, path, observer, check_features, jobs)
        if not ranks.is_first():
            return
        with _stoppable(path):
            _draw_report(path, observer)
    _print(result, as_json, observer.notes, monotonic() - start)


def _new_folder(stack: ExitStack, settings: RunConfig | None) -> Path:
    from mgae.runs.folders import new_folder

    assert settings is not None, "a run that is resumed has its folder"
    return stack.enter_context(new_folder(Path("runs"), settings.label))


def _draw_report(path: Path, observer: Observer) -> None:
    from mgae.reporting import write_report

    observer.on_stage("drawing the report")
    write_report(path)


def _stoppable(path: Path) -> AbstractContextManager[None]:
    way = f"go on with: mgae train --resume {path}"
    return stoppable(way, started=(path / "config.toml").exists)


def _given(**settings: Any) -> dict[str, Any] | None:
    """Return the settings that were given, None without any."""
    return {key: value for key, value in settings.items() if value is not None} or None


def _print(result: Any, as_json: bool, notes: list[str], seconds: float | None = None) -> None:
    from mgae.runs.presets import published

    paper = published(result.config)
    if as_json:
        figures = None if paper is None else paper.to_json()
        whole = {**result.to_json(), "published": figures, "notes": notes}
        typer.echo(json.dumps(whole, ensure_ascii=False))
        return
    from mgae.cli.printing import print_result

    print_result(result, paper, seconds)
