"""What the first lines of a delimited text say about the rest: delimiter, comments, header."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mgae.core.errors import GraphError
from mgae.data.io.header import Hints, column_name, has_header
from mgae.data.io.lines import first_records, is_comment, records, usual_delimiter

_MARK = b"\xef\xbb\xbf"  # which some editors put before UTF-8
_HEAD_BYTES = 1 << 20


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
    delimiter, width = usual_delimiter(lines)
    first = 0
    while first < len(lines) and _leads(lines[first], delimiter, width):
        first += 1
    if first == len(lines):
        raise GraphError(f"{path} is empty but for comments")
    rows = first_records(lines[first:], delimiter)
    names = None
    if rows and has_header([fields for _, fields in rows], hints):
        names = tuple(column_name(cell, number) for number, cell in enumerate(rows[0][1], 1))
        first += rows[0][0]
        if len(names) != width:
            raise ragged(path, first, width, len(names))
    start = mark + sum(len(line.encode()) for line in lines[:first])
    return Layout(delimiter, width, names, first, start)


def _leads(line: str, delimiter: str, width: int) -> bool:
    """Whether a line above all rows is blank or a comment, here also one as ``#this``."""
    if not line.strip(" \r\n" if delimiter == "\t" else None) or is_comment(line):
        return True
    fields = next((fields for _, fields in records([line], delimiter)), [])
    return line.startswith(("#", "%")) and len(fields) != width
