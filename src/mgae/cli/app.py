"""Define ``mgae``: the commands, and how errors are printed.

Nothing here loads torch before a command needs it.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from mgae.cli import (
    comparing,
    doctor,
    embeddings,
    exporting,
    graphs,
    naming,
    preparing,
    ranks,
    recommending,
    reproducing,
    scoring,
    service,
    sweeping,
    training,
    updating,
)
from mgae.cli.examples import epilog
from mgae.cli.watching import Interrupted, Terminated, terminable
from mgae.core.errors import MGAEError, is_out_of_memory
from mgae.version import __version__

app = typer.Typer(
    name="mgae",
    help="Masked graph autoencoders: embeddings and link prediction for graphs without labels.",
    invoke_without_command=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
)
_TRAINING, _ANSWERS, _GRAPHS = "Training", "Answers of a run", "Graphs, methods and this machine"


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mgae {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", "-v", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Masked graph autoencoders: embeddings and link prediction for graphs without labels."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
    else:
        ranks.refuse_alone(context.invoked_subcommand)


def _add(name: str, panel: str, command: Callable[..., Any]) -> None:
    app.command(name, rich_help_panel=panel, epilog=epilog(name))(command)


_add("train", _TRAINING, training.train)
_add("evaluate", _TRAINING, training.evaluate)
_add("compare", _TRAINING, comparing.compare)
_add("sweep", _TRAINING, sweeping.sweep)
_add("reproduce", _TRAINING, reproducing.reproduce)
_add("report", _TRAINING, training.report)
_add("embed", _ANSWERS, embeddings.embed)
_add("score", _ANSWERS, scoring.score)
_add("recommend", _ANSWERS, recommending.recommend)
_add("similar", _ANSWERS, embeddings.similar)
_add("export", _ANSWERS, exporting.export)
_add("push", _ANSWERS, exporting.push)
_add("pull", _ANSWERS, exporting.pull)
_add("update", _ANSWERS, updating.update)
_add("serve", _ANSWERS, service.serve)
app.add_typer(graphs.datasets, name="datasets", rich_help_panel=_GRAPHS, epilog=epilog("datasets"))
_add("prepare", _GRAPHS, preparing.prepare)
_add("inspect", _GRAPHS, graphs.inspect)
_add("methods", _GRAPHS, naming.methods)
_add("settings", _GRAPHS, naming.settings)
_add("doctor", _GRAPHS, doctor.doctor)


def main(arguments: list[str] | None = None) -> None:
    """Run a command; print a problem that the user can solve as one line on stderr."""
    # Read once, when torch is loaded. On a busy machine threads that spin while they wait take
    # several times the processor's time of the work itself.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    # Torch makes hundreds of thousands of objects when it is loaded, none of which is ever
    # collected: to look for garbage among them takes a third of a second, at start and at exit.
    gc.set_threshold(50_000)
    atexit.register(gc.freeze)
    # Said by every import of torch_geometric with a new torch, and nothing to a user.
    warnings.filterwarnings("ignore", message=r"`torch\.jit\.\w+` is deprecated")
    try:
        with terminable():
            outcome: Any = app(arguments, standalone_mode=False)
    except MGAEError as error:
        _fail(str(error), error.exit_code)
    except Interrupted as stop:
        _fail(str(stop), stop.exit_code)
    except KeyboardInterrupt as stop:
        _fail("interrupted", 143 if isinstance(stop, Terminated) else 130)
    except typer.Abort:
        _fail("aborted", 1)
    except BrokenPipeError:
        # The reader has gone, as in `mgae datasets | head -1`; nor may the exit flush to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _fail(f"cannot read or write {error.filename or 'a file'}: {error.strerror or error}", 2)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        _fail("there is not enough memory for this: use a smaller graph, or fewer at once", 1)
    except _USAGE_ERROR as error:
        _fail(_usage(error), 2)
    else:
        sys.exit(outcome if isinstance(outcome, int) else 0)


def _usage(error: Any) -> str:
    """Return what is wrong with a command line, and where to look; options are not guessed."""
    text, context = error.format_message().rstrip("."), getattr(error, "ctx", None)
    for long, short in _WORDINGS:
        text = text.replace(long, short)
    if context is None or context.parent is None:
        return f"{text} (see mgae --help)"
    options = {name for parameter in context.command.params for name in parameter.opts}
    if "unexpected extra argument" in text and "--node" in options:
        text += ": a node is given as --node ID"
    part = getattr(error, "option_name", "").removeprefix("--")
    if part in ("decoder", "loss") and "--set" in options:
        text = f"No such option: --{part}: it is --set {part}.kind=NAME"
    return f"{text} (see mgae {context.info_name} --help)"


def _fail(message: str, code: int) -> None:
    if ranks.tells_failure():
        typer.echo(f"mgae: {' '.join(message.split())}", err=True)
    sys.exit(code)


_WORDINGS = (
    (", unable to parse string as an integer", ""),
    (", unable to parse string as a number", ""),
    ("Input should be", "must be"),
)
# Typer has click's exceptions either from click or built in; this is theirs in both cases.
_USAGE_ERROR: Any = typer.BadParameter.__mro__[1]
