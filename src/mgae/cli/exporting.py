"""``mgae export``, ``mgae push`` and ``mgae pull``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mgae.cli.flags import Quiet, Run, RunNumber

Repo = Annotated[
    str, typer.Argument(metavar="OWNER/NAME", help="A repository of models on Hugging Face.")
]


def export(
    run: Run,
    to: Annotated[
        str,
        typer.Option(
            metavar="FORM", help="onnx, torch, faiss, lancedb, parquet, graphml or neo4j."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A new folder; a file of parquet or graphml.")
    ],
    number: RunNumber = 0,
    quiet: Quiet = False,
) -> None:
    """Write a run for other tools: its network, its vectors, or its graph with links."""
    from mgae.cli.stages import StageProgress
    from mgae.serving import Predictor
    from mgae.serving.exporting.forms import export as write
    from mgae.serving.exporting.forms import form_of

    form = form_of(to, out)
    with StageProgress(shown=not quiet) as progress:
        progress.on_share(f"loading {run}", 0.0)
        predictor = Predictor.load(run, number)
        progress.on_share(f"writing {out.name}", 0.0)
        files = write(predictor, to, out)
    for note in form.notes(predictor):
        typer.echo(f"note: {note}", err=True)
    for file in files:
        typer.echo(file)


def push(
    run: Run,
    repo: Repo,
    public: Annotated[
        bool, typer.Option("--public", help="For all to see, with the graph. \\[default: private]")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Upload a run with its graph to Hugging Face; HF_TOKEN or hf auth login gives access."""
    from mgae.serving.exporting.hub import push as upload

    typer.echo(upload(run, repo, public, quiet))


def pull(
    repo: Repo,
    out: Annotated[Path, typer.Argument(help="A new run directory.")],
    revision: Annotated[
        str | None, typer.Option(metavar="NAME", help="A branch, a tag or a commit.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Download a run from Hugging Face, and check its files."""
    from mgae.serving.exporting.hub import pull as download

    typer.echo(download(repo, out, revision, quiet))
