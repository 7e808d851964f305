"""Tables as Markdown, as CSV and as HTML."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with its first column aligned to the left, the others to the right.

    >>> print(markdown_table(["method", "AUC"], [["gae", "91.09"]]))
    | method | AUC |
    | :-- | --: |
    | gae | 91.09 |
    """
    rule = [":--", *["--:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(texts)} |" for texts in (heads, rule, *rows))


def html_table(
    heads: Sequence[str], rows: Iterable[Sequence[Any]], caption: str | None = None
) -> str:
    """Return a table as a notebook shows it, every text escaped.

    >>> html_table(["method"], [["<gae>"]])
    '<table><thead><tr><th>method</th></tr></thead><tbody><tr><td>&lt;gae&gt;</td></tr></tbody></table>'
    """

    def row(cells: Sequence[Any], tag: str) -> str:
        inner = "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells)
        return f"<tr>{inner}</tr>"

    about = "" if caption is None else f"<caption>{html.escape(caption)}</caption>"
    body = "".join(row(cells, "td") for cells in rows)
    head = f"<thead>{row(heads, 'th')}</thead>"
    return f"<table>{about}{head}<tbody>{body}</tbody></table>"


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return a header and a line for each row; a value that a row lacks is empty.

    >>> csv_text(["method", "auc"], [{"method": "gae"}])
    'method,auc\\ngae,\\n'
    """
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()
