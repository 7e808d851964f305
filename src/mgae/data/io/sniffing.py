"""Detect the layout of a delimited text from its first lines: delimiter, comments, header.

Own code: `csv.Sniffer` knows neither comments nor columns that are aligned by white space.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, cast

from mgae.core.errors import GraphError
from mgae.data.io.bounds import LONGEST_ROW, too_long
from mgae.data.io.headers import Hints, column_name, detect_header

_DELIMITERS = ("\t", ";", ",", "|")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_HEAD_BYTES = 1 << 20
_SAMPLE_ROWS = 100
# "# words" is a comment; "#tag" may be somebody's id.
_LEADING_COMMENTS = re.compile(rb"(?:[ \r]*\n|[#%](?=[\s#%])[^\n]*\n)*")
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{\s*[\"}]|\[\s*[\[{\]])")
_COMMENT = re.compile(r"[#%](?:[\s#%]|$)")
_ZERO_LED = re.compile(r"0\d+")


@dataclass(frozen=True)
class Layout:
    """The layout of a text.

    Attributes:
        delimiter: between two fields; a blank stands for any run of white space.
        width: fields of a row.
        names: of the columns, or None without a header.
        lines: how many lines precede the first row of data.
        start: how many bytes precede it.
        likely: whether the header is one by likelihood alone.
        zero_led: columns of whole numbers some of which have leading zeros.
    """

    delimiter: str
    width: int
    names: tuple[str, ...] | None
    lines: int
    start: int
    likely: bool = False
    zero_led: frozenset[int] = frozenset()


def detect_layout(path: Path, stream: IO[bytes], hints: Hints) -> Layout:
    """Return the layout of a text file, read from its beginning.

    Raises:
        GraphError: if the file is empty, binary, or not in UTF-8.
    """
    head = stream.read(_HEAD_BYTES)
    _require_text(path, head)
    mark = len(head) - len(head.removeprefix(_BYTE_ORDER_MARK))
    head, above, start, more = head[mark:], 0, mark, head
    while True:
        end = cast(re.Match[bytes], _LEADING_COMMENTS.match(head)).end()
        above, start, head = above + head.count(b"\n", 0, end), start + end, head[end:]
        if head.count(b"\n") >= 2 or not (more := stream.read(_HEAD_BYTES)):
            break
        if len(head) > LONGEST_ROW:
            raise too_long(path, f"line {above + 1}")
        head += more
    _require_text(path, head or b"#")
    whole = not more or not stream.read(1)
    head = head if whole else head[: head.rindex(b"\n") + 1]
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        line = above + head.count(b"\n", 0, error.start) + 1
        raise not_utf8(path, line, head[error.start]) from None
    layout = _layout(path, list(io.StringIO(text, newline="")), hints)
    return replace(layout, lines=above + layout.lines, start=start + layout.start)


def records(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the fields of each row, cut as pyarrow cuts them."""
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


def squeezed(text: bytes) -> bytes:
    """Return lines with single blanks between fields and none around; quoted fields are kept."""
    if b'"' in text:
        text = re.sub(rb'("[^"\n]*")|[ \t]+', lambda match: match[1] or b" ", text)
    elif b"\t" in text or b"  " in text:
        text = re.sub(rb"[ \t]+", b" ", text)
    return re.sub(rb"(?m)^ | (?=\r?$)", b"", text)


def not_utf8(path: Path, line: int, byte: int) -> GraphError:
    """Return the error for a byte that is not UTF-8."""
    return GraphError(
        f"{path}, line {line}: byte 0x{byte:02x} is not UTF-8 text: save the file as UTF-8, "
        "or say what it is, as --encoding windows-1252"
    )


def ragged(path: Path, line: int, expected: int, got: int) -> GraphError:
    """Return the error for a row that is too long or too short."""
    return GraphError(f"{path}, line {line}: expected {expected} fields as elsewhere, got {got}")


def _require_text(path: Path, head: bytes) -> None:
    if not head.removeprefix(_BYTE_ORDER_MARK).strip():
        raise GraphError(f"{path} is empty")
    if head.startswith(b"PK\x03\x04"):
        raise GraphError(f"{path} is a zip archive or a spreadsheet: save the table as CSV")
    if _JSON.match(head):
        raise GraphError(f"{path} is JSON: save the edges as CSV, a pair of ids in each row")
    if b"\0" in head:
        raise GraphError(f"{path} is a binary file of no known format: use CSV, Parquet or GraphML")


def _layout(path: Path, lines: list[str], hints: Hints) -> Layout:
    delimiter, width = _detect_delimiter(lines)
    above = 0
    while above < len(lines) and _precedes_rows(lines[above], delimiter, width):
        above += 1
    if above == len(lines):
        raise GraphError(f"{path} is empty but for comments")
    rows = _sample(lines[above:], delimiter)
    names = None
    header = detect_header([fields for _, fields in rows], hints) if rows else "no"
    if header != "no":
        names = tuple(column_name(cell, number) for number, cell in enumerate(rows[0][1], 1))
        above += rows[0][0]
        if len(names) != width:
            raise ragged(path, above, width, len(names))
    start = sum(len(line.encode()) for line in lines[:above])
    body = [fields for _, fields in rows[names is not None :]]
    return Layout(delimiter, width, names, above, start, header == "likely", _zero_led(body))


def _zero_led(rows: list[list[str]]) -> frozenset[int]:
    columns = enumerate(zip(*rows, strict=False))
    return frozenset(
        number
        for number, cells in columns
        if any(_ZERO_LED.fullmatch(cell.strip()) for cell in cells)
    )


def _detect_delimiter(lines: list[str]) -> tuple[str, int]:
    """Return the delimiter that cuts most lines into equally many fields, and how many."""
    body = [line for line in lines if line.strip() and line[0] not in "#%"] or lines
    widths = {delimiter: _usual_width(body, delimiter) for delimiter in (*_DELIMITERS, " ")}
    best = max(_DELIMITERS, key=lambda delimiter: widths[delimiter][0])
    # Names contain blanks ("New York"), so white space counts only if nothing else delimits.
    if widths[best][0] <= 0.5 and widths[" "][0] > widths[best][0]:
        best = " "
    return best, widths[best][1]


def _usual_width(lines: list[str], delimiter: str) -> tuple[float, int]:
    """Return the most frequent number of fields above one, after the share of rows that have it."""
    widths = Counter(len(fields) for _, fields in _sample(lines, delimiter))
    width = max((width for width in widths if width > 1), key=widths.__getitem__, default=1)
    return (widths[width] / widths.total() if width > 1 else 0.0), width


def _sample(lines: list[str], delimiter: str) -> list[tuple[int, list[str]]]:
    return list(islice(records(lines, delimiter), _SAMPLE_ROWS))


def _precedes_rows(line: str, delimiter: str, width: int) -> bool:
    """Return whether a line above all rows is blank or a comment, such as ``#this`` here."""
    if not line.strip(" \r\n" if delimiter == "\t" else None) or _COMMENT.match(line):
        return True
    fields = next((fields for _, fields in records([line], delimiter)), [])
    return line.startswith(("#", "%")) and len(fields) != width
