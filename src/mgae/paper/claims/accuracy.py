"""What the paper observes of MGAE beside other methods (Tables 2 to 4), and of its cost."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median

from mgae.paper.claims.evidence import (
    AUTOENCODERS,
    LINKS,
    NODES,
    OGB,
    PLANETOID,
    SELF_SUPERVISED,
    Finding,
    Gap,
    Lead,
    Results,
    Verdict,
    ahead_by,
    claim,
    compared,
    gaps,
    is_ahead,
    leads,
    less_than_half,
    on_each,
    rarely,
)
from mgae.paper.document import Measured, display
from mgae.runs.results import heading

_SMALL = ("cora", "citeseer")
_TIMED = (
    "the median run of each, evaluation included; the runs were not timed side by side, "
    "so this is rough; `make bench` times the encoder so at several ω"
)


def _comparable_on_large(lead: Lead) -> Finding:
    points = lead.gap.value
    if lead.dataset in ("ogbl-collab", "ogbl-ppa"):
        return lead.finding(abs(points) < 2, math.copysign(2, points))
    return lead.finding(points >= 1, 1)


beats_autoencoders = claim(
    "links",
    "MGAE is better than ARGE, GAE and GraphSAGE in almost all cases (here: all but one in six)",
)(compared(LINKS, AUTOENCODERS, exceptions=rarely))

by_a_margin = claim(
    "links", "It does so by a great margin (1 point here), and is comparable on collab and ppa"
)(compared(LINKS, AUTOENCODERS, _comparable_on_large))

state_of_the_art = claim("links", "MGAE is the new state of the art on Cora, PubMed and ogbl-ddi")(
    compared(
        {name: LINKS[name] for name in ("cora", "pubmed", "ogbl-ddi")},
        (*AUTOENCODERS, *SELF_SUPERVISED),
    )
)


@claim(
    "links",
    "MGAE is better than DGI, GIC and SelfTask-GNN; only GIC on CiteSeer is ahead "
    "(in the paper's own table DGI is ahead there too)",
)
def beats_self_supervised(results: Results) -> Verdict:
    """Judge whether ours is above the self-supervised, but on CiteSeer below GIC."""

    def findings_on(dataset: str) -> list[Finding]:
        table = LINKS[dataset]
        every = leads(results, dataset, table, SELF_SUPERVISED)
        if dataset != "citeseer" or not every:
            return [is_ahead(lead) for lead in every]
        over_gic = leads(results, dataset, table, ("GIC",))
        over_rest = leads(results, dataset, table, ("DGI", "SelfTask-GNN"))
        behind = [lead.finding(lead.gap.value < 0) for lead in over_gic]
        return [*behind, *map(is_ahead, over_rest)]

    return on_each(LINKS, findings_on)


gains_are_substantial = claim(
    "links",
    'MGAE "achieves substantial performance gains on five out of six datasets" over them '
    "(here: 0.9 points on all but CiteSeer; the paper's least is 0.97)",
)(
    compared(
        {dataset: table for dataset, table in LINKS.items() if dataset != "citeseer"},
        SELF_SUPERVISED,
        ahead_by(0.9),
    )
)


@claim("links", "The lead over the self-supervised methods grows on OGB")
def gap_grows_on_ogb(results: Results) -> Verdict:
    """Judge whether the mean lead over the self-supervised is larger on OGB than on Planetoid."""
    every = {name: leads(results, name, table, SELF_SUPERVISED) for name, table in LINKS.items()}
    small, large = (
        [lead.gap for dataset in group for lead in every[dataset]] for group in (PLANETOID, OGB)
    )
    if not small or not large:
        return Verdict(None)
    here, there = Gap.mean(small), Gap.mean(large)
    growth = there - here
    text = f"mean lead: {here} on Planetoid, {there} on OGB"
    lacking = tuple(dataset for dataset, some in every.items() if not some)
    return Verdict(growth.value > 0, (text,), lacking, growth.is_clear_of())


@claim("links", "Neither MGAE-GCN nor MGAE-SAGE is always the better one")
def no_encoder_always_wins(results: Results) -> Verdict:
    """Judge whether MGAE-GCN is ahead on some graph, MGAE-SAGE on another."""
    every = {d: gaps(results, table, d, "MGAE-SAGE", "MGAE-GCN") for d, table in LINKS.items()}
    if sum(map(bool, every.values())) < 2:
        return Verdict(None)
    known = [gap for by_metric in every.values() for gap in by_metric.values()]
    clear = [gap for gap in known if gap.is_clear_of()]
    both, clearly_both = (
        {gap.value > 0 for gap in some} == {True, False} for some in (known, clear)
    )
    texts = tuple(
        f"{display(dataset)}, SAGE less GCN: "
        + ", ".join(f"{heading(metric)} {gap}" for metric, gap in by_metric.items())
        for dataset, by_metric in every.items()
        if by_metric
    )
    lacking = tuple(dataset for dataset, by_metric in every.items() if not by_metric)
    return Verdict(both, texts, lacking, clearly_both if both else clear == known)


@claim("links", "GAE beats GraphSAGE on Cora and CiteSeer, yet MGAE-SAGE beats MGAE-GCN there")
def encoders_change_order(results: Results) -> Verdict:
    """Judge whether on Cora and CiteSeer GAE is above SAGE, and MGAE-SAGE above MGAE-GCN."""

    def findings_on(dataset: str) -> list[Finding]:
        plain, masked = (
            gaps(results, LINKS[dataset], dataset, *pair)
            for pair in (("GAE", "SAGE"), ("MGAE-SAGE", "MGAE-GCN"))
        )
        return [
            Finding.of(some[metric], some[metric].value > 0, f"{heading(metric)} {label}")
            for metric in plain
            if metric in masked
            for label, some in (("GAE less SAGE", plain), ("MGAE-SAGE less MGAE-GCN", masked))
        ]

    return on_each(_SMALL, findings_on)


@claim("links", "Masking 70% makes MGAE cheaper than a traditional graph autoencoder")
def cheaper_epochs(results: Results) -> Verdict:
    """Judge whether an epoch of MGAE-GCN takes less time than one of GAE."""

    def findings_on(dataset: str) -> list[Finding]:
        ours, gae = (_epoch_seconds(results, dataset, name) for name in ("MGAE-GCN", "GAE"))
        if ours is None or gae is None:
            return []
        return [Finding(ours < gae, f"an epoch takes {ours / gae:.1f} times as long as GAE's")]

    verdict = on_each(PLANETOID, findings_on)
    return replace(verdict, numbers=(*verdict.numbers, _TIMED)) if verdict.numbers else verdict


def _epoch_seconds(results: Results, dataset: str, name: str) -> float | None:
    """Return the seconds of an epoch in the median run."""
    doc = results.get(LINKS[dataset])
    for row in doc.rows if doc else ():
        cell = row.cells.get(dataset)
        if row.name == name and isinstance(cell, Measured) and all(cell.epochs):
            runs = zip(cell.seconds, cell.epochs, strict=True)
            return median(seconds / epochs for seconds, epochs in runs)
    return None


nodes_beat_autoencoders = claim(
    "nodes", "MGAE is better than GCN, GraphSAGE and ARGVA on all graphs"
)(compared(NODES, AUTOENCODERS))

nodes_against_self_supervised = claim(
    "nodes",
    "MGAE loses to the best self-supervised method on "
    "Cora and CiteSeer and wins on the larger graphs",
)(
    compared(
        NODES,
        SELF_SUPERVISED,
        lambda lead: lead.finding((lead.gap.value > 0) == (lead.dataset not in _SMALL)),
    )
)

nodes_by_a_large_margin = claim(
    "nodes",
    'It wins there "by a large margin" (here: 0.9 points; the paper\'s least is 0.92, on PubMed)',
)(
    compared(
        {dataset: table for dataset, table in NODES.items() if dataset not in _SMALL},
        SELF_SUPERVISED,
        ahead_by(0.9),
    )
)


@claim(
    "nodes",
    "SelfTask-GNN does not keep up with the best baselines "
    "(in the paper's own tables it leads them on PubMed's links and on arxiv)",
)
def selftask_is_behind(results: Results) -> Verdict:
    """Judge whether another baseline is mostly above SelfTask-GNN, for links and for nodes."""
    tables = {
        f"{display(dataset)} ({task})": (dataset, table)
        for task, by_graph in (("links", LINKS), ("nodes", NODES))
        for dataset, table in by_graph.items()
    }
    rivals = (*AUTOENCODERS, "DGI", "GIC")

    def findings_on(name: str) -> list[Finding]:
        own = leads(results, *tables[name], rivals, ours=("SelfTask-GNN",))
        return [lead.finding(lead.gap.value < 0) for lead in own]

    return on_each(tables, findings_on, less_than_half)
