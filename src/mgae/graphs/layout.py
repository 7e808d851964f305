"""What the first lines of a delimited text say about the rest: delimiter, comments, header."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mgae.errors import GraphError

NULLS = ("", "NA", "N/A", "null", "NULL", "None")
_DELIMITERS = ("\t", ";", ",", "|")
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)", re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?\d+")
# "# words" is a comment; "#tag" may be somebody's id.
_COMMENT = re.compile(r"[#%](?:[\s#%]|$)")
_COMMENT_LINES = re.compile(rb"(?m)^[#%](?=[\s#%]|$).*\n?")
_MARK = b"\xef\xbb\xbf"  # which some editors put before UTF-8
_HEAD_BYTES = 1 << 20
_SAMPLE = 100


@dataclass(frozen=True)
class Hints:
    """What is known of a table before its first line is seen.

    Attributes:
        header: ``auto``, ``yes`` or ``no``.
        known: names, in lower case, of which ``needed`` in row 1 make it a header.
        chosen: columns that the user asked for.
        values: those of the known names that may as well be values of a row.
        key: the number of the column with the ids, where ``values`` are to be told from names.
    """

    header: str = "auto"
    known: frozenset[str] = frozenset()
    needed: int = 1
    chosen: tuple[str | None, ...] = ()
    values: frozenset[str] = frozenset()
    key: int = 0


@dataclass(frozen=True)
class Layout:
    """How a text is laid out.

    Attributes:
        delimiter: between two fields; a blank stands for any run of white space.
        width: fields of a row.
        names: of the columns, or None without a header.
        lines: how many stand above the first row of data.
        start: how many bytes that is.
    """

    delimiter: str
    width: int
    names: tuple[str, ...] | None
    lines: int
    start: int


def layout_of(path: Path, stream: IO[bytes], hints: Hints) -> Layout:
    """Look at the beginning of a text file.

    Raises:
        GraphError: where it is empty, binary, or not in UTF-8.
    """
    head = stream.read(_HEAD_BYTES)
    while head.count(b"\n") < 2 and (more := stream.read(_HEAD_BYTES)):
        head += more
    _refuse_other_than_text(path, head)
    whole = not stream.read(1)
    mark = len(head) - len(head.removeprefix(_MARK))
    text = _decoded(path, head[mark:] if whole else head[mark : head.rindex(b"\n") + 1])
    return _layout(path, list(io.StringIO(text, newline="")), mark, hints)


def _refuse_other_than_text(path: Path, head: bytes) -> None:
    if not head.removeprefix(_MARK).strip():
        raise GraphError(f"{path} is empty")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise GraphError(f"{path} is UTF-16 text: save it as UTF-8")
    if head.startswith(b"PK\x03\x04"):
        raise GraphError(f"{path} is a zip archive or a spreadsheet: save the table as CSV")
    if b"\0" in head:
        raise GraphError(f"{path} is a binary file of no known format: use CSV, Parquet or GraphML")


def _decoded(path: Path, head: bytes) -> str:
    try:
        return head.decode()
    except UnicodeDecodeError as error:
        line = head.count(b"\n", 0, error.start) + 1
        raise not_utf8(path, line, head[error.start]) from None


def not_utf8(path: Path, line: int, byte: int) -> GraphError:
    """What to say of a byte that is no UTF-8."""
    return GraphError(
        f"{path}, line {line}: byte 0x{byte:02x} is not UTF-8 text: save the file as UTF-8, "
        "for example with iconv -f latin1 -t utf-8"
    )


def ragged(path: Path, line: int, expected: int, got: int) -> GraphError:
    """What to say of a row that is too long or too short."""
    return GraphError(f"{path}, line {line}: expected {expected} fields as elsewhere, got {got}")


def _layout(path: Path, lines: list[str], mark: int, hints: Hints) -> Layout:
    delimiter, width = _delimiter(lines)
    first = 0
    while first < len(lines) and _leads(lines[first], delimiter, width):
        first += 1
    if first == len(lines):
        raise GraphError(f"{path} is empty but for comments")
    rows = _sample(lines[first:], delimiter)
    names = None
    if rows and _has_header([fields for _, fields in rows], hints):
        names = tuple(_name(cell, number) for number, cell in enumerate(rows[0][1], 1))
        first += rows[0][0]
        if len(names) != width:
            raise ragged(path, first, width, len(names))
    start = mark + sum(len(line.encode()) for line in lines[:first])
    return Layout(delimiter, width, names, first, start)


def _leads(line: str, delimiter: str, width: int) -> bool:
    """Whether a line above all rows is blank or a comment, here also one as ``#this``."""
    if not line.strip(" \r\n" if delimiter == "\t" else None) or _COMMENT.match(line):
        return True
    fields = next((fields for _, fields in records([line], delimiter)), [])
    return line.startswith(("#", "%")) and len(fields) != width


def _delimiter(lines: list[str]) -> tuple[str, int]:
    """The delimiter that cuts most lines into equally many fields, and how many those are."""
    body = [line for line in lines if line.strip() and line[0] not in "#%"] or lines
    found = {mark: _usual_width(body, mark) for mark in (*_DELIMITERS, " ")}
    best = max(_DELIMITERS, key=lambda mark: found[mark][0])
    # Names hold blanks ("New York"), so white space only counts where nothing else does.
    mark = best if found[best][0] > 0.5 or found[" "][0] <= found[best][0] else " "
    return mark, found[mark][1]


def _usual_width(lines: list[str], delimiter: str) -> tuple[float, int]:
    widths = Counter(len(fields) for _, fields in _sample(lines, delimiter))
    total = widths.total()
    width, count = max(
        ((width, count) for width, count in widths.items() if width > 1),
        key=lambda item: item[1],
        default=(1, 0),
    )
    return (count / total if total else 0.0), width


def _sample(lines: list[str], delimiter: str) -> list[tuple[int, list[str]]]:
    return [row for row, _ in zip(records(lines, delimiter), range(_SAMPLE), strict=False)]


def records(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Number of the line and fields of each row, as pyarrow would cut them."""
    number = 0

    def cleaned() -> Iterator[str]:
        nonlocal number
        for line in lines:
            number += 1
            if delimiter not in "\t " or not _COMMENT.match(line):
                yield squeezed(line.encode()).decode() if delimiter == " " else line

    try:
        for fields in csv.reader(cleaned(), delimiter=delimiter):
            if fields:
                yield number, fields
    except csv.Error:  # a field above the csv module's limit: nothing more can be said
        return


def _has_header(rows: list[list[str]], hints: Hints) -> bool:
    if hints.header != "auto":
        return hints.header == "yes"
    first = [_name(cell, number) for number, cell in enumerate(rows[0], 1)]
    if any(name in first for name in hints.chosen if name and not name.isdecimal()):
        return True
    hits = [name.lower() for name in first if name.lower() in hints.known]
    if len(hits) >= hints.needed and not (hints.values.issuperset(hits) and _is_row(rows, hints)):
        return True
    return any(_is_heading(cells) for cells in zip(*rows, strict=False))


def is_number(cell: str) -> bool:
    """Whether a cell reads as a number.

    >>> is_number("-1e3"), is_number("1st")
    (True, False)
    """
    return _NUMBER.fullmatch(cell) is not None


def _is_row(rows: list[list[str]], hints: Hints) -> bool:
    """Whether row 1 is like those below: an integer for its id, or a value that comes again."""
    columns = [[cell.strip() for cell in cells] for cells in zip(*rows, strict=False)]
    keys = columns[hints.key] if hints.key < len(columns) else []
    if len(keys) > 1 and all(_INTEGER.fullmatch(key) for key in keys):
        return True
    return any(top.lower() in hints.values and top in below for top, *below in columns)


def _is_heading(cells: tuple[str, ...]) -> bool:
    """Whether there are only numbers below a text."""
    top, *below = [cell.strip() for cell in cells]
    below = [cell for cell in below if cell not in NULLS]
    numbers = bool(below) and all(map(is_number, below))
    return numbers and top not in NULLS and not is_number(top)


def _name(cell: str, number: int) -> str:
    name = " ".join(cell.split())
    return (name.lstrip("#% ") if number == 1 else name) or f"column{number}"


def cleaned(chunk: bytes, delimiter: str) -> bytes:
    """Whole lines without comments, and with single blanks where white space delimits."""
    if b"#" in chunk or b"%" in chunk:
        chunk = _COMMENT_LINES.sub(b"", chunk)
    return squeezed(chunk) if delimiter == " " else chunk


def squeezed(chunk: bytes) -> bytes:
    """Single blanks between fields and none around a line; quoted fields stay as they are."""
    if b'"' in chunk:
        chunk = re.sub(rb'("[^"\n]*")|[ \t]+', lambda match: match[1] or b" ", chunk)
    elif b"\t" in chunk or b"  " in chunk:
        chunk = re.sub(rb"[ \t]+", b" ", chunk)
    return re.sub(rb"(?m)^ | (?=\r?$)", b"", chunk)
