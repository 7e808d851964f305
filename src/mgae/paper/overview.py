"""``results/README.md``: what is there, and which of the paper's observations hold here."""

from __future__ import annotations

from pathlib import Path

from mgae.paper.claims import CLAIMS, Claim
from mgae.paper.document import DONE, NO_DATA, Record, as_document, read_json

_HEADINGS = {
    "links": "Link prediction (Tables 2 and 3)",
    "nodes": "Node classification (Table 4)",
    "figure": "The share of masked edges (Figure 2)",
    "masks": "Undirected and directed masking",
}


def documents(out: Path) -> dict[str, Record]:
    """Every table that was written, by the name of its files."""
    found = {file: read_json(file) for file in sorted(out.glob("*.json"))}
    others = [file for file, doc in found.items() if isinstance(doc, dict) and "kind" not in doc]
    return {file.stem: as_document(doc, file) for file, doc in found.items() if file not in others}


def overview(out: Path) -> str:
    """The page."""
    results = documents(out)
    lines = [
        "# Results",
        "",
        "The paper's tables and its figure, each number beside the published one. Made by",
        "`mgae reproduce NAME`; this page and the tables are functions of the JSON files, and",
        "`mgae reproduce --check` holds them against each other.",
        "",
        *(f"- [{doc['title']}]({stem}.md), {_about(doc)}" for stem, doc in results.items()),
        "",
        "## The paper's observations",
        "",
        "A difference stands with the spread of its runs. *Within the spread*: the verdict rests",
        "on differences that are smaller than that. *Without*: what is not measured here.",
    ]
    for section, title in _HEADINGS.items():
        lines += ["", f"### {title}", ""]
        lines += _observations([claim for claim in CLAIMS if claim.section == section], results)
    return "\n".join(lines) + "\n"


def _observations(claims: list[Claim], results: dict[str, Record]) -> list[str]:
    """A line for each, and below it one for each graph; what was just said is not said again."""
    lines: list[str] = []
    said: tuple[str, ...] = ()
    for claim in claims:
        verdict = claim.look(results)
        numbers = verdict.numbers if verdict.numbers != said else ("the numbers above",)
        lines += [f"- {claim.text}: {verdict}", *(f"  - {line}" for line in numbers)]
        said = verdict.numbers or said
    return lines


def _about(doc: Record) -> str:
    protocol = "" if doc["protocol"] == "paper" else f", protocol {doc['protocol']}"
    if doc["kind"] == "statistics":
        return f"{doc['source']}{protocol}"
    cells = [cell for row in doc["rows"] for cell in row["cells"].values()]
    done = sum(cell["status"] == DONE for cell in cells)
    lacking = sum(cell["status"] == NO_DATA for cell in cells)
    told = f"; for {lacking} the data is not available" if lacking else ""
    protocol += ", settings changed by hand" if doc["changed"] else ""
    return f"{doc['source']}{protocol}: {done} of {len(cells)} cells measured{told}"
