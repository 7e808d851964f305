"""What the paper observes of MGAE's two encoders and of its cost in link prediction."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from mgae.paper.claims.claim import claim
from mgae.paper.claims.evidence import LINKS, PLANETOID, Results, gaps
from mgae.paper.claims.verdict import Finding, Verdict, on_each
from mgae.paper.document import DONE
from mgae.paper.rendering import display
from mgae.runs.results import heading

_TIMED = (
    "the median run of each, evaluation included; the runs were not timed side by side, "
    "so this is rough; `make bench` times the encoder so at several ω"
)


@claim("links", "Neither MGAE-GCN nor MGAE-SAGE is always the better one")
def no_encoder_always_wins(results: Results) -> Verdict:
    """MGAE-GCN is ahead somewhere, MGAE-SAGE elsewhere."""
    found = {d: gaps(results, table, d, "MGAE-SAGE", "MGAE-GCN") for d, table in LINKS.items()}
    if sum(map(bool, found.values())) < 2:
        return Verdict(None)
    known = [gap for by_metric in found.values() for gap in by_metric.values()]
    clear = [gap for gap in known if gap.is_clear_of()]
    both, clearly_both = (
        {gap.value > 0 for gap in some} == {True, False} for some in (known, clear)
    )
    texts = tuple(
        f"{display(dataset)}, SAGE less GCN: "
        + ", ".join(f"{heading(metric)} {gap}" for metric, gap in by_metric.items())
        for dataset, by_metric in found.items()
        if by_metric
    )
    lacking = tuple(dataset for dataset, by_metric in found.items() if not by_metric)
    decided = clearly_both if both else clear == known
    return Verdict(both, texts, lacking, decided)


@claim("links", "GAE beats GraphSAGE on Cora and CiteSeer, yet MGAE-SAGE beats MGAE-GCN there")
def encoders_change_places(results: Results) -> Verdict:
    """On Cora and CiteSeer GAE is above SAGE, and MGAE-SAGE above MGAE-GCN."""

    def look(dataset: str) -> list[Finding]:
        plain, masked = (
            gaps(results, LINKS[dataset], dataset, *pair)
            for pair in (("GAE", "SAGE"), ("MGAE-SAGE", "MGAE-GCN"))
        )
        return [
            Finding.of(found[metric], found[metric].value > 0, f"{heading(metric)} {label}")
            for metric in plain
            if metric in masked
            for label, found in (("GAE less SAGE", plain), ("MGAE-SAGE less MGAE-GCN", masked))
        ]

    return on_each(("cora", "citeseer"), look)


@claim("links", "Masking 70% makes MGAE cheaper than a traditional graph autoencoder")
def cheaper_epochs(results: Results) -> Verdict:
    """An epoch of MGAE-GCN takes less time than one of GAE."""

    def look(dataset: str) -> list[Finding]:
        ours, gae = (_epoch_ms(results, dataset, name) for name in ("MGAE-GCN", "GAE"))
        if ours is None or gae is None:
            return []
        return [Finding(ours < gae, f"an epoch takes {ours / gae:.1f} times as long as GAE's")]

    verdict = on_each(PLANETOID, look)
    return replace(verdict, numbers=(*verdict.numbers, _TIMED)) if verdict.numbers else verdict


def _epoch_ms(results: Results, dataset: str, name: str) -> float | None:
    """Milliseconds for each epoch of the median run."""
    rows = results.get(LINKS[dataset], {"rows": []})["rows"]
    for cell in (row["cells"].get(dataset) for row in rows if row["name"] == name):
        if cell and cell["status"] == DONE and all(cell["epochs"]):
            runs = zip(cell["seconds"], cell["epochs"], strict=True)
            return 1000 * float(median(seconds / epochs for seconds, epochs in runs))
    return None
