"""``make bench-serving``: what recommendations are worth and what they cost."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks import candidates, hidden, load, unseen
from benchmarks.__main__ import print_figures

BENCHMARKS = {
    "a tenth of Cora's edges hidden: Hits@10 of finding them, 5 seeds": hidden.measure,
    "a tenth of Cora's nodes unseen: AUC of their links, 5 seeds": unseen.measure,
    "recommendations for a node of 169,343": candidates.measure,
    "16 clients for 60 s against the service of PubMed": load.measure,
}


def main() -> None:
    figures = print_figures(BENCHMARKS)
    text = json.dumps(figures, indent=2) + "\n"
    Path("bench-serving.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
