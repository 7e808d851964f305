"""Draw which folder imports which, from the imports themselves: docs/images/house.svg.

python scripts/house.py

A row is a layer, and imports go down only. `tests/test_layers.py` fails if the drawing is not that
of today's imports.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE, DRAWING = ROOT / "src" / "mgae", ROOT / "docs" / "images" / "house.svg"
# From the top; what each is for, in the words of its place.
ROWS = [
    {"cli": "the command line"},
    {
        "paper": "the paper's tables",
        "estimator": "in scikit-learn's manner",
        "launch": "on a Ray cluster",
    },
    {"reporting": "report.html", "serving": "Predictor, service, page"},
    {"runs": "configuration, pipeline, run directory; build.py makes core objects of settings"},
    {"evaluation": "metrics, ranking, verdict, probabilities"},
    {"data": "files and datasets in, splits, features, ids"},
    {"registry": "names of parts", "settings": "checked settings"},
]
CORE = [
    {"training": "the one loop, checkpoints, devices, ranks"},
    {"methods": "masked.py is Algorithm 1; baselines, heuristics, evidence beside the network"},
    {"evidence": "paths, walks, distances and features of a pair"},
    {
        "encoders": "layers of a graph",
        "decoders": "logits of pairs",
        "losses": "of logits",
        "masks": "what is hidden",
        "negatives": "pairs without edge",
    },
    {
        "graph": "what encoders see",
        "sides": "of a bipartite graph",
        "seeding": "named generators",
        "ops": "fast kernels",
    },
]
WIDTH, GAP, HEIGHT = 920, 12, 58
_NAME = 'font-size="14" font-weight="bold" fill="#1c2733"'
_ABOUT = 'font-size="11" fill="#1c2733"'
_USED = 'font-size="10.5" fill="#4a5a6a"'
_STOREY = 'font-size="13" font-style="italic" fill="#1c2733"'


def unit_of(module: str) -> str:
    """Return the folder of a module, or of the core the part."""
    names = module.split(".")[1:]
    return f"core/{names[1]}" if names[0] == "core" and len(names) > 1 else names[0]


def imports() -> dict[str, set[str]]:
    """Return what each folder, or part of the core, imports of the others."""
    result: dict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        own = unit_of(".".join(["mgae", *path.relative_to(SOURCE).with_suffix("").parts]))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mgae."):
                result[own].add(unit_of(f"{node.module}.{node.names[0].name}"))
    return result


def uses(name: str, uses_of: dict[str, set[str]]) -> str:
    """Return the line of a box: what it imports, in the order of the drawing."""
    inside = name.startswith("core/")
    parts = [f"core/{part}" for names in CORE for part in names]
    order = parts if inside else [folder for names in ROWS for folder in names]
    used = [other for other in order if other in uses_of[name] and other != name]
    if not inside and any(other.startswith("core") for other in uses_of[name]):
        used.append("core")
    return ", ".join(other.removeprefix("core/") for other in used)


def box(x: float, y: float, width: float, lines: tuple[str, str, str]) -> list[str]:
    """Return a box with its name, what it is for and what it imports."""
    title, about, used = (line.replace("&", "&amp;") for line in lines)
    texts = [(_NAME, 18, title), (_ABOUT, 34, about), (_USED, 50, used and f"→ {used}")]
    shown = [
        f'<text {look} x="{x + 10:g}" y="{y + down:g}">{text}</text>'
        for look, down, text in texts
        if text
    ]
    size = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{HEIGHT}" rx="5"'
    return [f'<rect {size} fill="#f4f6f8" stroke="#8a97a5"/>', *shown]


def row(
    names: dict[str, str], y: float, uses_of: dict[str, set[str]], prefix: str = ""
) -> list[str]:
    """Return the boxes of one layer, side by side."""
    width = (WIDTH - GAP * (len(names) - 1)) / len(names)
    return [
        line
        for number, (name, about) in enumerate(names.items())
        for line in box(
            number * (width + GAP) + GAP, y, width, (name, about, uses(prefix + name, uses_of))
        )
    ]


def drawing() -> str:
    """Return the picture."""
    uses_of, lines, y = imports(), list[str](), 30.0
    lines.append(f'<text {_STOREY} x="{GAP}" y="20">the product</text>')
    for names in ROWS:
        lines += row(names, y, uses_of)
        y += HEIGHT + GAP
    lines.append(f'<text {_STOREY} x="{GAP}" y="{y + 20:g}">core: the method</text>')
    y += 30
    for parts in CORE:
        lines += row(parts, y, uses_of, "core/")
        y += HEIGHT + GAP
    size = f'width="{WIDTH + 2 * GAP}" height="{y:g}" viewBox="0 0 {WIDTH + 2 * GAP} {y:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="sans-serif">'
    about = "<title>Which folder imports which: imports go down only</title>"
    back = '<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join([head, about, back, *lines, "</svg>", ""])


if __name__ == "__main__":
    DRAWING.write_text(drawing(), encoding="utf-8")
    print(f"written: {DRAWING.relative_to(ROOT)}")
