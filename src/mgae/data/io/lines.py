"""Lines of a delimited text, cut into fields: the delimiter, comments, white space."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator

_DELIMITERS = ("\t", ";", ",", "|")
# "# words" is a comment; "#tag" may be somebody's id.
_COMMENT = re.compile(r"[#%](?:[\s#%]|$)")
_COMMENT_LINES = re.compile(rb"(?m)^[#%](?=[\s#%]|$).*\n?")
_SAMPLE = 100


def usual_delimiter(lines: list[str]) -> tuple[str, int]:
    """The delimiter that cuts most lines into equally many fields, and how many those are."""
    body = [line for line in lines if line.strip() and line[0] not in "#%"] or lines
    found = {mark: _usual_width(body, mark) for mark in (*_DELIMITERS, " ")}
    best = max(_DELIMITERS, key=lambda mark: found[mark][0])
    # Names hold blanks ("New York"), so white space only counts where nothing else does.
    mark = best if found[best][0] > 0.5 or found[" "][0] <= found[best][0] else " "
    return mark, found[mark][1]


def _usual_width(lines: list[str], delimiter: str) -> tuple[float, int]:
    widths = Counter(len(fields) for _, fields in first_records(lines, delimiter))
    total = widths.total()
    width, count = max(
        ((width, count) for width, count in widths.items() if width > 1),
        key=lambda item: item[1],
        default=(1, 0),
    )
    return (count / total if total else 0.0), width


def first_records(lines: list[str], delimiter: str) -> list[tuple[int, list[str]]]:
    """The first hundred of `records`."""
    return [row for row, _ in zip(records(lines, delimiter), range(_SAMPLE), strict=False)]


def is_comment(line: str) -> bool:
    """Whether a line is for people."""
    return _COMMENT.match(line) is not None


def records(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Number of the line and fields of each row, as pyarrow would cut them."""
    number = 0

    def cleaned() -> Iterator[str]:
        nonlocal number
        for line in lines:
            number += 1
            if delimiter not in "\t " or not is_comment(line):
                yield squeezed(line.encode()).decode() if delimiter == " " else line

    try:
        for fields in csv.reader(cleaned(), delimiter=delimiter):
            if fields:
                yield number, fields
    except csv.Error:  # a field above the csv module's limit: nothing more can be said
        return


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
