"""Define options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from mgae.core.errors import ConfigError

Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress: only the result, and notes.")
]
Features = Annotated[
    str | None, typer.Option(metavar="FILE", help="A table with a row of features per node.")
]
Labels = Annotated[str | None, typer.Option(metavar="FILE", help="A table with a label per node.")]
Nodes = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="A table with a title per node, which is shown for its id."),
]
TitleColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="The titles in --nodes; a name or a number.")
]
Attributes = Annotated[
    list[str] | None,
    typer.Option("--attribute", metavar="NAME", help="A column of --nodes to show too; repeat."),
]
SourceColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="The edges' source; a name or a number from 1.")
]
TargetColumn = Annotated[str | None, typer.Option(metavar="NAME", help="The edges' target.")]
WeightColumn = Annotated[str | None, typer.Option(metavar="NAME", help="The edges' weight.")]
TimeColumn = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="When an edge came about; the last ones are held out."),
]
TypeColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="The edges' type, such as buys or views.")
]
NodeTypeColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="The nodes' type, in features or labels.")
]
EdgeFeatures = Annotated[
    list[str] | None,
    typer.Option("--edge-feature", metavar="NAME", help="A numeric column of the edges; repeat."),
]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="abs|drop", help="Negative weights: without the sign, or without the edge."
    ),
]
Negatives = Annotated[
    str | None, typer.Option(metavar="FILE", help="Pairs that are known to be no edges.")
]
IdColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="The node's id in features and labels.")
]
Directed = Annotated[bool, typer.Option("--directed", help="An edge has a direction.")]
Bipartite = Annotated[
    bool | None,
    typer.Option(
        "--bipartite/--not-bipartite",
        help="Source and target are two sides: users and items \\[default: if no id is in both]",
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(metavar="zero|mean", help="Fill the features of nodes that have no row of them."),
]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of files that are not UTF-8: windows-1252.")
]

Jobs = Annotated[
    int,
    typer.Option(min=1, metavar="N", help="Runs, or methods, that train at the same time."),
]
Device = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What computes: auto, cpu, cuda, cuda:N or mps. \\[default: cuda if it is there]",
    ),
]
DeviceAgain = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="NAME",
        help="What computes: auto, cpu, cuda, cuda:N or mps. \\[default: as in training]",
    ),
]

SafeCsv = Annotated[
    bool,
    typer.Option(
        "--safe-csv", help="In a .csv file, put ' before texts that a spreadsheet would compute."
    ),
]


def at_least_one(option: str) -> Callable[[str], int]:
    """Return a parser of counts.

    >>> at_least_one("--runs")("2")
    2
    """

    def read(text: str) -> int:
        try:
            count = int(text)
        except ValueError:
            count = 0
        if count < 1:
            raise ConfigError(f"{option} must be an integer ≥ 1, got {text}")
        return count

    return read


def input_table(**given: Any) -> dict[str, Any]:
    """Return the settings of ``[input]`` that were given, also empty ones.

    An option of an unset shell variable is empty, which is an error that is reported later.

    >>> input_table(features="", labels=None, directed=False, bipartite=True)
    {'features': '', 'bipartite': 'yes'}
    """
    if given.get("bipartite") is not None:
        given["bipartite"] = "yes" if given["bipartite"] else "no"
    return {key: value for key, value in given.items() if value is not None and value is not False}
