"""Tables as Markdown and as CSV."""

from __future__ import annotations

import csv
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
