"""Compare the tables in README and docs with ``results/*.json``, or write them again from it.

python scripts/results.py check     # exit code 1, and a line for each file that differs
python scripts/results.py update    # write what differs, draw what is missing
"""

from __future__ import annotations

import sys
from pathlib import Path

from mgae.core.errors import MGAEError
from mgae.paper.checking import check, update


def main(action: str, out: Path = Path("results")) -> int:
    """Return the exit code: 0 if all is well, 1 if a page differs, 2 if one cannot be read."""
    try:
        if action == "update":
            for path in update(out):
                print(f"written: {path}")
            return 0
        problems = check(out)
    except MGAEError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if problems:
        print("\n".join(problems), file=sys.stderr)
        return 1
    print(f"README and docs have the tables of {out}")
    return 0


if __name__ == "__main__":
    if sys.argv[1:] not in (["check"], ["update"]):
        sys.exit(f"usage: {sys.argv[0]} check|update")
    sys.exit(main(sys.argv[1]))
