"""Tables as Markdown has them."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first column to the left, the others to the right.

    >>> print(markdown_table(["method", "AUC"], [["gae", "91.09"]]))
    | method | AUC |
    | :-- | --: |
    | gae | 91.09 |
    """
    rule = [":--", *["--:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(texts)} |" for texts in (heads, rule, *rows))
