"""Declare the options that say how the files of a graph are read, once for all commands."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from mgae.core.errors import ConfigError


def _text(help_: str, metavar: str = "NAME") -> Any:
    return Annotated[str | None, typer.Option(metavar=metavar, help=help_)]


# Options that may be repeated have a name in the singular.
_SINGULAR = {"attributes": "--attribute", "edge_features": "--edge-feature"}


def _texts(name: str, help_: str) -> Any:
    flag = _SINGULAR[name]
    return Annotated[list[str] | None, typer.Option(flag, metavar="NAME", help=help_)]


# By the name of the setting in the section input.
_OPTIONS = {
    "features": _text("A file with a row of features per node.", "FILE"),
    "labels": _text("A file with a label per node.", "FILE"),
    "nodes": _text("A file with a title per node, which is shown for its id.", "FILE"),
    "title_column": _text("The titles in --nodes; a name or a number."),
    "attributes": _texts("attributes", "A column of --nodes to show too; repeat."),
    "source_column": _text("The edges' source; a name or a number from 1."),
    "target_column": _text("The edges' target."),
    "weight_column": _text("The edges' weight."),
    "time_column": _text("When an edge came about; the last ones are held out."),
    "edge_features": _texts("edge_features", "A numeric column of the edges; repeat."),
    "type_column": _text("The edges' type, such as buys or views."),
    "node_type_column": _text("The nodes' type, in features or labels."),
    "weights": _text("Negative weights: without the sign, or without the edge.", "abs|drop"),
    "negatives": _text("Pairs that are known to be no edges.", "FILE"),
    "id_column": _text("The node's id in features and labels."),
    "directed": Annotated[bool, typer.Option("--directed", help="An edge has a direction.")],
    "bipartite": Annotated[
        bool | None,
        typer.Option(
            "--bipartite/--not-bipartite",
            help="Source and target are two sides: users and items "
            "\\[default: if no id is in both]",
        ),
    ],
    "missing": _text("Fill the features of nodes that have no row of them.", "zero|mean"),
    "encoding": _text("Of files that are not UTF-8: windows-1252."),
}
# What an answer without training reads of a graph.
UNTRAINED = (
    "nodes", "title_column", "attributes", "features", "source_column", "target_column",
    "id_column", "directed", "bipartite", "missing", "encoding",
)  # fmt: skip


def graph_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add options to a command, all of them if none is named.

    The command has a parameter ``given``, for the settings that were given. Typer reads the options
    from its signature, so that there they stand where ``given`` is.
    """
    options = {name: _OPTIONS[name] for name in names or _OPTIONS}
    added = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if name == "directed" else None,
            annotation=option,
        )
        for name, option in options.items()
    ]

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for parameter in own.parameters.values():
            parameters += added if parameter.name == "given" else [parameter]

        @functools.wraps(command)
        def called(**arguments: Any) -> Any:
            texts = {name: arguments.pop(name) for name in options}
            return command(**arguments, given=_given(texts))

        called.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return called

    return add


def _given(values: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the section input that were given, also empty ones.

    An option of an unset shell variable is empty, which is an error that is reported later.

    >>> _given({"features": "", "labels": None, "directed": False, "bipartite": True})
    {'features': '', 'bipartite': 'yes'}
    """
    if values.get("bipartite") is not None:
        values = {**values, "bipartite": "yes" if values["bipartite"] else "no"}
    return {key: value for key, value in values.items() if value is not None and value is not False}


def refuse(given: dict[str, Any], reason: str) -> None:
    """Refuse the first option that was given where none is allowed.

    Raises:
        ConfigError: if there is one; it names the option, then the ``reason``.

    >>> refuse({"edge_features": ["age"]}, "needs --graph")
    Traceback (most recent call last):
    mgae.core.errors.ConfigError: --edge-feature needs --graph
    """
    for name in given:
        flag = _SINGULAR.get(name, f"--{name.replace('_', '-')}")
        raise ConfigError(f"{flag} {reason}")
