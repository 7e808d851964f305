"""Write the tables of docs/scale.md from a benchmark's figures: ``python -m scripts.scaletable``.

``results/large.json`` is what ``python -m benchmarks.large`` has measured. The constants below are
sizes of arrays, which follow from the code, or settings; whatever else stands in the tables is
computed from the two, and says so.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from pathlib import Path
from typing import Any

DENSIFICATION = 1.5  # nodes are edges^(2/3), as in the benchmark
PPA_NODES, PPA_EDGES = 576_289, 30_326_273
BYTES_PER_EDGE = 80  # both directions: ends 32, keys 16, number of the pair 16; the pair 16
CHANNELS, LAYERS, HIDDEN = 64, 2, 64
SKETCH_CHANNELS = 193  # inputs of a node without a learned table
MACHINE_BYTES, MACHINE_CORES = 64e9, 16
DAY = 86_400
BEGIN, END = "<!-- {name}: begin -->", "<!-- {name}: end -->"
MODES = ("whole graph", "sampled, arrays in files")


def num_nodes(edges: float) -> float:
    """Return the nodes of the benchmark's graph."""
    return PPA_NODES * (edges / PPA_EDGES) ** (1 / DENSIFICATION)


def node_bytes(edges: float, table: bool) -> float:
    """Return what inference holds for all nodes, and training for a learned table."""
    layers = LAYERS * CHANNELS * 4
    inputs = 5 * CHANNELS * 4 if table else SKETCH_CHANNELS * 4  # value, gradient, Adam, best
    return num_nodes(edges) * (layers + inputs)


def step_bytes(machines: int) -> float:
    """Return what a process sends in a step: the gradients of all weights but a table, by rings."""
    weights = SKETCH_CHANNELS * CHANNELS + CHANNELS**2 + LAYERS**2 * CHANNELS * HIDDEN + HIDDEN
    return 2 * (machines - 1) / machines * 4 * weights


def row(edges: float, per_edge: float, measured: set[int]) -> list[str]:
    """Return a line of the table: mode, machines, time of an epoch, memory and bytes sent."""
    mode = MODES[edges >= 1e8]
    seconds = per_edge * edges
    known = not math.isnan(seconds)
    machines = max(1, math.ceil(seconds / MACHINE_CORES / DAY)) if known else 1
    table = machines == 1 and node_bytes(edges, True) < MACHINE_BYTES / 2
    memory = node_bytes(edges, table) + (96 * 2 * edges if mode == MODES[0] else 12 * edges)
    epoch = seconds / MACHINE_CORES / machines
    note = "measured" if int(edges) in measured else "computed"
    if memory > MACHINE_BYTES:
        note += ", nodes do not fit: not possible today"
    return [
        f"10^{round(math.log10(edges))}",
        f"{num_nodes(edges):,.0f}",
        mode,
        f"{machines:,}" if known else "–",
        span(epoch) if known else "not measured",
        size(memory),
        size(BYTES_PER_EDGE * edges),
        size(step_bytes(machines)) if machines > 1 else "–",
        note,
    ]


def span(seconds: float) -> str:
    """Return a time as people say it.

    >>> span(90), span(7200), span(0.2)
    ('1.5 min', '2.0 h', '0.2 s')
    """
    for unit, most, divisor in (("s", 60, 1), ("min", 3600, 60), ("h", 2 * DAY, 3600)):
        if seconds < most:
            return f"{seconds / divisor:.1f} {unit}"
    return f"{seconds / DAY:.1f} d"


def size(count: float) -> str:
    """Return bytes as people say them.

    >>> size(80e6)
    '80 MB'
    """
    for unit, divisor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= divisor:
            return f"{count / divisor:,.0f} {unit}" if count >= 10 * divisor else (
                f"{count / divisor:,.1f} {unit}")  # fmt: skip
    return f"{count:,.0f} B"


def markdown(titles: list[str], rows: list[list[str]]) -> str:
    """Return a table."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def measured_table(figures: dict[str, Any]) -> str:
    """Return the benchmark's own figures, and the exponents where there are any."""
    rows = []
    for one in figures["sizes"]:
        for stage in ("prepared", "trained", "recommended"):
            if stage in one:
                values = one[stage]
                rows.append([f"{one['edges']:,}", stage, f"{values['cpu_s']:,.0f}",
                             f"{values['anonymous_gb']:.2f}"])  # fmt: skip
    text = markdown(["edges", "stage", "processor's seconds", "anonymous memory, GB"], rows)
    lines = [f"- {name}: {value:.2f}" for name, value in figures.get("exponents", {}).items()]
    return "\n".join([text, *(["", "Exponents of the growth:", "", *lines] if lines else [])])


def step_seconds(figures: dict[str, Any]) -> float:
    """Return the seconds of a processor for an edge of an epoch, of the largest graph trained on.

    The split of that graph is among them, so that this is an upper bound.
    """
    trained = [one for one in figures["sizes"] if "trained" in one]
    if not trained:
        return math.nan
    last = max(trained, key=lambda one: int(one["edges"]))["trained"]
    return float(last["split_and_epoch_cpu_s"]) / (last["steps"] * figures["step_size"] / 0.7)


def scale_table(figures: dict[str, Any]) -> str:
    """Return the table from 10⁴ to 10¹¹ edges."""
    per_edge = step_seconds(figures)
    measured = {int(one["edges"]) for one in figures["sizes"] if "trained" in one}
    titles = ["edges", "nodes", "mode", "machines", "epoch", "memory of each", "files",
              "sent per step", "which"]  # fmt: skip
    return markdown(titles, [row(10.0**power, per_edge, measured) for power in range(4, 12)])


def replaced(text: str, name: str, content: str) -> str:
    """Return a page with what stands between two comments replaced."""
    begin, end = BEGIN.format(name=name), END.format(name=name)
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.S)
    return pattern.sub(lambda _: f"{begin}\n\n{content}\n\n{end}", text)


def main() -> None:
    """Rewrite the tables of the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("figures", nargs="?", type=Path, default=Path("results/large.json"))
    parser.add_argument("--page", type=Path, default=Path("docs/scale.md"))
    given = parser.parse_args()
    figures = json.loads(given.figures.read_text(encoding="utf-8"))
    text = given.page.read_text(encoding="utf-8")
    text = replaced(text, "measured", measured_table(figures))
    text = replaced(text, "scale", scale_table(figures))
    given.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
