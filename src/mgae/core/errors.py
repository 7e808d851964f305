"""What can go wrong, as one tree.

    MGAEError              something the user can mend; printed as one line
    ├── ConfigError        a setting has a wrong name or value
    │   └── UnknownName    … and the name is not in a registry
    ├── GraphError         a graph cannot be read or used
    │   └── MissingData    … since a dataset's files are nowhere to be had
    ├── RunDirectoryError  a run directory is missing, taken or damaged
    ├── UnsupportedError   this method or graph cannot do what was asked
    ├── TrainingError      training went wrong, as by a loss that is not finite
    └── RankError          another process of the same training is gone

`MGAEWarning` says that a result stands on weak feet; the filters of `warnings` take it.

A broken promise of this package itself is an ``assert``, never one of these.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_SWAP = 0.5
_MOST_COMPARED = 8


class MGAEError(Exception):
    """A problem that the user can mend; ``exit_code`` is what the command line returns.

    >>> import mgae
    >>> try:
    ...     mgae.open_graph([("ann", "ann"), ("bob", "bob")])
    ... except mgae.MGAEError as error:
    ...     print(error)
    the table has no edges but 2 self-loops
    """

    exit_code = 2


class MGAEWarning(UserWarning):
    """Something that puts a result in doubt, though there is one.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", MGAEWarning)  # or "error", to stop at the first
    """


class ConfigError(MGAEError):
    """A setting has a wrong name or value."""


class UnknownName(ConfigError):  # noqa: N818 - reads as what it says
    """A name that is not among the known ones.

    >>> print(UnknownName("method", "mga", ["gae", "mgae"]))
    unknown method 'mga': known are gae, mgae (did you mean mgae?)
    """

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        super().__init__(
            f"unknown {what} {name[:200]!r}: known are {', '.join(known)}{hint(name, known)}"
        )


class GraphError(MGAEError):
    """A graph cannot be read or used."""


class MissingData(GraphError):  # noqa: N818 - reads as what it says
    """A dataset's files are nowhere to be had; damaged ones are not missing."""


class RunDirectoryError(MGAEError):
    """A run directory is missing, taken or damaged."""


class UnsupportedError(MGAEError):
    """This method or graph cannot do what was asked."""


class TrainingError(MGAEError):
    """Training went wrong."""

    exit_code = 1


class RankError(MGAEError):
    """Another process of the same training is gone."""

    exit_code = 1


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether Python, numpy, pyarrow or torch had no memory for an array.

    >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("shape mismatch"))
    (True, False)
    """
    if isinstance(error, MemoryError):
        return True
    words = ("allocate memory", "out of memory", "Storage size calculation overflowed")
    return isinstance(error, RuntimeError) and any(word in str(error) for word in words)


def hint(name: str, known: Iterable[str]) -> str:
    """Return a suggestion in parentheses, or nothing if no known name is near.

    >>> hint("gnc", ["gin", "gcn"])
    ' (did you mean gcn?)'
    >>> hint("MGAE", ["mgae", "vgae"])
    ' (did you mean mgae?)'
    """
    known = list(known)
    lower = {one.lower() for one in known}
    close = difflib.get_close_matches(name.lower(), sorted(lower), n=_MOST_COMPARED)
    near = [one for one in known if one.lower() in close]

    def slips(one: str) -> tuple[float, float]:
        return _slips(name.lower(), one.lower()), _slips(name, one)

    return f" (did you mean {min(near, key=slips)}?)" if near else ""


def _slips(typed: str, meant: str) -> float:
    """Return how many slips of the fingers lead from one name to another.

    A letter more, less or wrong is one slip, two neighbors that are swapped half of one.

    >>> _slips("gnc", "gcn"), _slips("gnc", "gin"), _slips("mge", "mgae")
    (0.5, 2.0, 1.0)
    """
    before: list[float] = []
    row = [float(column) for column in range(len(meant) + 1)]
    for i, letter in enumerate(typed, start=1):
        above, row = row, [float(i)]
        for j, other in enumerate(meant, start=1):
            least = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != other))
            if i > 1 and j > 1 and (letter, typed[i - 2]) == (meant[j - 2], other):
                least = min(least, before[j - 2] + _SWAP)
            row.append(least)
        before = above
    return row[-1]
