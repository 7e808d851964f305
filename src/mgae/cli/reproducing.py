"""``mgae reproduce``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mgae.cli import flags
from mgae.cli.flags import Json, Quiet
from mgae.cli.watching import stoppable
from mgae.core.errors import ConfigError

if TYPE_CHECKING:
    from mgae.paper.document import Document
    from mgae.paper.running import Request


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="datasets, links-planetoid, links-ogb, nodes, mask-ratio, mask-kind; none of the "
            "paper's: links-blogcatalog, nodes-blogcatalog.",
        ),
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(metavar="A,B", help="Graphs, by comma. \\[default: the table's]")
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="Rows or methods, by comma. \\[default: all, with heuristics]"
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            parser=flags.at_least_one("--runs"),
            metavar="N",
            help="Runs of each cell. \\[default: the table's, often 10]",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the tables are kept.")] = Path("results"),
    jobs: flags.Jobs = 1,
    protocol: Annotated[str, typer.Option(help="paper or strict.")] = "paper",
    set_: flags.Set = None,
    search: Annotated[
        bool,
        typer.Option(
            "--search",
            help="Try the settings that the rows' files list, judged by validation edges alone.",
        ),
    ] = False,
    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate",
            help="Take two steps of each cell, and print the hours and the memory it will take.",
        ),
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Regenerate a table or the figure of the paper, each number beside the published one.

    The same command again continues where it stopped; a changed setting runs its cells again.
    """
    if name is None:
        raise ConfigError("reproduce needs the NAME of a table (see mgae reproduce -h)")
    if estimate and (search or as_json or jobs > 1 or name == "datasets"):
        raise ConfigError("--estimate trains nothing: leave out --search, --jobs and --json")
    if search and (runs or set_ or jobs > 1 or as_json or protocol != "paper"):
        raise ConfigError("--search has settings of its own: leave out all but names and --out")
    if name == "datasets" and (
        methods or runs or set_ or search or jobs > 1 or protocol != "paper"
    ):
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
    if search:
        return _search(request, quiet)
    if estimate:
        return _estimate(request, quiet)
    made = _made(request, quiet or as_json)
    if as_json:
        return typer.echo(json.dumps(made.to_json(), ensure_ascii=False))
    return _print(made, request, out)


def _estimate(request: Request, quiet: bool) -> None:
    from mgae.paper.estimating import estimate_page, estimates

    with stoppable("nothing was stored"):
        made = list(estimates(request, lambda cell: None if quiet else typer.echo(cell, err=True)))
    typer.echo(estimate_page(made))


def _search(request: Request, quiet: bool) -> None:
    from mgae.paper.searching import search as run
    from mgae.paper.searching import search_page
    from mgae.runs.observer import Observer

    class Lines(Observer):
        def on_note(self, text: str) -> None:
            if not quiet:
                typer.echo(text, err=True)

    with stoppable("go on with the same command"):
        typer.echo(search_page(run(request, Lines())))


def _listed(option: str, text: str | None) -> list[str]:
    """Return the names between the commas; an option that names nothing must not mean all."""
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    if text is not None and not names:
        raise ConfigError(f"{option} needs names, by comma, got {text!r}: leave it out for all")
    return names


def _made(request: Request, quiet: bool) -> Document:
    from mgae.cli.livetable import LiveTable
    from mgae.paper.running import reproduce as run
    from mgae.paper.running import reproduce_datasets

    if request.name == "datasets":
        return reproduce_datasets(request.datasets, request.out, LiveTable(not quiet, jobs=1))
    with stoppable("go on with the same command"), LiveTable(not quiet, request.jobs) as observer:
        return run(request, observer)


def _print(made: Document, request: Request, out: Path) -> None:
    """Print the table as its file has it, without the graphs and rows that were not asked for."""
    from mgae.paper.document import TableDocument, stem_of, title_of
    from mgae.paper.pages import body_of

    datasets = request.datasets
    if request.methods and isinstance(made, TableDocument):
        made = made.model_copy(update={"only": frozenset(request.methods)})
    if datasets and isinstance(made, TableDocument):
        made = made.model_copy(update={"columns": {name: made.columns[name] for name in datasets}})
    elif datasets:
        made = made.model_copy(update={"rows": [row for row in made.rows if row.name in datasets]})
    typer.echo(f"# {title_of(made)}\n\n{body_of(made)}\n")
    typer.echo(f"tables and picture: {out / stem_of(made)}.json, .md, .csv, .png, .svg")
