"""``mgae reproduce``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from mgae.cli.options import Json, Quiet, at_least_one
from mgae.cli.running import stoppable
from mgae.core.errors import ConfigError, MGAEError


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="datasets, links-planetoid, links-ogb, nodes, mask-ratio or mask-kind.",
        ),
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(metavar="A,B", help="Graphs, by comma. [default: the table's]")
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="Rows or methods, by comma. [default: all, with heuristics]"
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            parser=at_least_one("--runs"),
            metavar="N",
            help="Runs of each cell. [default: the table's, often 10]",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the tables are kept.")] = Path("results"),
    jobs: Annotated[
        int,
        typer.Option(
            parser=at_least_one("--jobs"), metavar="N", help="Cells that run at the same time."
        ),
    ] = 1,
    protocol: Annotated[str, typer.Option(help="paper or strict.")] = "paper",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting for all, as train.epochs=5."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Hold README and docs against the JSON; runs nothing.")
    ] = False,
    update_docs: Annotated[
        bool, typer.Option("--update-docs", help="Write the tables into README and docs.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Regenerate a table or the figure of the paper, each number beside the published one.

    The same command again goes on where it was broken off; a changed setting runs its cells again.
    """
    if check or update_docs:
        return _documents(name, out, update_docs)
    if name is None:
        raise ConfigError("reproduce needs the NAME of a table, or --check (see mgae reproduce -h)")
    if name == "datasets" and (methods or runs or set_ or jobs > 1 or protocol != "paper"):
        raise ConfigError("datasets trains nothing: leave out all options but --datasets and --out")
    from mgae.paper.running import Request
    from mgae.runs.layering import assignments

    request = Request(
        name=name,
        protocol=protocol,
        datasets=_listed("--datasets", datasets),
        methods=_listed("--methods", methods),
        runs=runs,
        out=out,
        jobs=jobs,
        given=assignments(set_ or []),
    )
    made = _made(request, quiet or as_json)
    if as_json:
        return typer.echo(json.dumps(made, ensure_ascii=False))
    return _print(made, request.datasets, out)


def _listed(option: str, text: str | None) -> list[str]:
    """The names between the commas; an option that names nothing must not stand for all."""
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    if text is not None and not names:
        raise ConfigError(f"{option} needs names, by comma, got {text!r}: leave it out for all")
    return names


def _made(request: Any, quiet: bool) -> dict[str, Any]:
    from mgae.cli.livetable import LiveTable
    from mgae.paper.running import reproduce as run
    from mgae.paper.running import reproduce_datasets

    if request.name == "datasets":
        return reproduce_datasets(request.datasets, request.out, LiveTable(not quiet, jobs=1))
    way = "go on with the same command"
    with stoppable(way), LiveTable(not quiet, request.jobs) as observer:
        return run(request, observer)


def _print(made: dict[str, Any], datasets: Sequence[str], out: Path) -> None:
    """The page as its file has it, less the graphs not asked for; its Markdown reads well."""
    from mgae.paper.document import stem_of
    from mgae.paper.writing import page_of

    typer.echo(page_of(_only(made, datasets) if datasets else made))
    typer.echo(f"tables and picture: {out / stem_of(made)}.json, .md, .csv, .png, .svg")


def _only(made: dict[str, Any], datasets: Sequence[str]) -> dict[str, Any]:
    if "columns" not in made:
        return {**made, "rows": [row for row in made["rows"] if row["name"] in datasets]}
    return {**made, "columns": {name: made["columns"][name] for name in datasets}}


def _documents(name: str | None, out: Path, writing: bool) -> None:
    from mgae.paper.checking import check, update

    if name is not None:
        raise ConfigError(f"--check and --update-docs take all tables of {out}: leave out {name}")
    if writing:
        for path in update(out):
            typer.echo(f"written: {path}")
        return
    problems = check(out)
    if problems:
        raise _DiffersError("; ".join(problems))
    typer.echo(f"README and docs have the tables of {out}")


class _DiffersError(MGAEError):
    """A page does not equal the JSON."""

    exit_code = 1
