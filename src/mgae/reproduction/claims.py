"""The paper's observations, each with the function that holds it against our figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mgae.reproduction.evidence import (
    AUTOENCODERS,
    LINKS,
    NODES,
    OGB,
    PLANETOID,
    SELF_SUPERVISED,
    Results,
    Verdict,
    curve_gaps,
    curve_of,
    duels,
    epoch_ms,
    gap_between,
    judged,
    means,
)
from mgae.reproduction.rendering import display

Look = Callable[[Results], Verdict]
_CURVES = ("pubmed", "ogbl-ddi")


@dataclass(frozen=True)
class Claim:
    """What the paper says, under which heading, and the function that looks."""

    section: str
    text: str
    look: Look


CLAIMS: list[Claim] = []


def _claim(section: str, text: str) -> Callable[[Look], Look]:
    def register(look: Look) -> Look:
        CLAIMS.append(Claim(section, text, look))
        return look

    return register


@_claim("links", "MGAE is better than ARGE, GAE and GraphSAGE in almost all cases")
def beats_autoencoders(results: Results) -> Verdict:
    """Ours above ARGE, GAE and GraphSAGE, with one exception at most."""
    return judged(duels(results, LINKS, AUTOENCODERS), lambda duel: duel.gap > 0, allowed=1)


@_claim("links", "MGAE is the new state of the art on Cora, PubMed and ogbl-ddi")
def state_of_the_art(results: Results) -> Verdict:
    """Ours above every other row on Cora, PubMed and ddi."""
    homes = {name: LINKS[name] for name in ("cora", "pubmed", "ogbl-ddi")}
    others = (*AUTOENCODERS, *SELF_SUPERVISED)
    return judged(duels(results, homes, others), lambda duel: duel.gap > 0)


@_claim("links", "MGAE is better than DGI, GIC and SelfTask-GNN; only GIC on CiteSeer is ahead")
def beats_self_supervised(results: Results) -> Verdict:
    """Ours above DGI, GIC and SelfTask-GNN but on CiteSeer."""
    return judged(
        duels(results, LINKS, SELF_SUPERVISED),
        lambda duel: (duel.gap > 0) == (duel.dataset != "citeseer"),
    )


@_claim("links", "The lead over the self-supervised methods grows on OGB")
def gap_grows_on_ogb(results: Results) -> Verdict:
    """The mean lead over the self-supervised is larger on OGB than on Planetoid."""
    fought = duels(results, LINKS, SELF_SUPERVISED)
    small = [duel.gap for duel in fought if duel.dataset in PLANETOID]
    large = [duel.gap for duel in fought if duel.dataset in OGB]
    if not small or not large:
        return Verdict(None)
    here, there = sum(small) / len(small), sum(large) / len(large)
    return Verdict(there > here, f"mean lead {here:+.2f} on Planetoid, {there:+.2f} on OGB")


@_claim("links", "Neither MGAE-GCN nor MGAE-SAGE is always the better one")
def no_encoder_always_wins(results: Results) -> Verdict:
    """MGAE-GCN is ahead somewhere, MGAE-SAGE elsewhere."""
    gaps = {d: gap_between(results, t, d, "MGAE-SAGE", "MGAE-GCN") for d, t in LINKS.items()}
    known = {dataset: gap for dataset, gap in gaps.items() if gap is not None}
    if len(known) < 2:
        return Verdict(None)
    text = ", ".join(f"{display(dataset)} {gap:+.2f}" for dataset, gap in known.items())
    signs = {gap > 0 for gap in known.values()}
    return Verdict(len(signs) == 2, f"SAGE less GCN: {text}")


@_claim("links", "GAE beats GraphSAGE on Cora and CiteSeer, yet MGAE-SAGE beats MGAE-GCN there")
def encoders_change_places(results: Results) -> Verdict:
    """On Cora and CiteSeer GAE is above SAGE, and MGAE-SAGE above MGAE-GCN."""
    holds, texts = True, []
    for dataset in ("cora", "citeseer"):
        plain = gap_between(results, "links-planetoid", dataset, "GAE", "SAGE")
        masked = gap_between(results, "links-planetoid", dataset, "MGAE-SAGE", "MGAE-GCN")
        if plain is None or masked is None:
            return Verdict(None)
        holds &= plain > 0 and masked > 0
        texts.append(f"{display(dataset)}: GAE {plain:+.2f} over SAGE, MGAE-SAGE {masked:+.2f}")
    return Verdict(holds, "; ".join(texts))


@_claim("links", "Masking 70% makes MGAE cheaper than a traditional graph autoencoder")
def cheaper_epochs(results: Results) -> Verdict:
    """An epoch of MGAE-GCN takes less time than one of GAE."""
    texts, faster = [], []
    for dataset in PLANETOID:
        ours, gae = (epoch_ms(results, dataset, name) for name in ("MGAE-GCN", "GAE"))
        if ours is not None and gae is not None:
            faster.append(ours < gae)
            texts.append(f"{display(dataset)} {ours:.0f} ms against {gae:.0f} ms")
    return Verdict(all(faster) if faster else None, "; ".join(texts))


@_claim("nodes", "MGAE is better than GCN, GraphSAGE and ARGVA on all graphs")
def nodes_beat_autoencoders(results: Results) -> Verdict:
    """Ours above GCN, GraphSAGE and ARGVA on every graph."""
    return judged(duels(results, NODES, AUTOENCODERS), lambda duel: duel.gap > 0)


@_claim(
    "nodes",
    "MGAE loses to the best self-supervised method on "
    "Cora and CiteSeer and wins on the larger graphs",
)
def nodes_against_self_supervised(results: Results) -> Verdict:
    """Ours below the best self-supervised on Cora and CiteSeer, above it elsewhere."""
    return judged(
        duels(results, NODES, SELF_SUPERVISED),
        lambda duel: (duel.gap > 0) == (duel.dataset not in ("cora", "citeseer")),
    )


@_claim("nodes", "SelfTask-GNN does not keep up with the best baselines")
def selftask_is_behind(results: Results) -> Verdict:
    """SelfTask-GNN is not the best baseline on any graph."""
    texts, behind = [], []
    for table, dataset in [
        *((t, d) for d, t in LINKS.items()),
        *((t, d) for d, t in NODES.items()),
    ]:
        found = means(results, table, dataset)
        rivals = [found[name] for name in (*AUTOENCODERS, "DGI", "GIC") if name in found]
        if "SelfTask-GNN" in found and rivals:
            behind.append(found["SelfTask-GNN"] < max(rivals))
            task = "nodes, " if table == "nodes" else ""
            texts.append(
                f"{task}{display(dataset)} {found['SelfTask-GNN']:.2f}, another {max(rivals):.2f}"
            )
    return Verdict(all(behind) if behind else None, "; ".join(texts))


@_claim("figure", "MGAE improves up to ω = 0.7 and drops behind it")
def peak_at_seventy(results: Results) -> Verdict:
    """MGAE's curve rises to ω = 0.7 and falls behind it."""
    texts, peaks = [], []
    for dataset in _CURVES:
        curve = curve_of(results, dataset, "MGAE-GCN")
        if len(curve) >= 5:
            best = max(curve, key=lambda ratio: curve[ratio])
            peaks.append(best == 0.7)
            ends = (
                f"{curve[min(curve)]:.2f} at {min(curve)}, {curve[max(curve)]:.2f} at {max(curve)}"
            )
            texts.append(f"{display(dataset)} best at ω = {best} ({curve[best]:.2f}; {ends})")
    return Verdict(all(peaks) if peaks else None, "; ".join(texts))


@_claim("figure", "MGAE is stable for ω from 0.5 to 0.7")
def stable_around_the_middle(results: Results) -> Verdict:
    """From ω = 0.5 to 0.7 MGAE's curve moves less than over the whole."""
    texts, stable = [], []
    for dataset in _CURVES:
        curve = curve_of(results, dataset, "MGAE-GCN")
        middle = [value for ratio, value in curve.items() if 0.5 <= ratio <= 0.7]
        if len(middle) >= 2 and len(curve) >= 5:
            inner, whole = max(middle) - min(middle), max(curve.values()) - min(curve.values())
            stable.append(inner < whole / 3)
            texts.append(f"{display(dataset)} moves by {inner:.2f} there, {whole:.2f} over all")
    return Verdict(all(stable) if stable else None, "; ".join(texts))


@_claim("figure", "MGAE is better than SelfTask-GNN at every ω, but below 0.2 on PubMed")
def above_selftask_everywhere(results: Results) -> Verdict:
    """MGAE above SelfTask-GNN at each ω, but below 0.2 on PubMed."""
    texts, fine = [], []
    for dataset in _CURVES:
        gaps = curve_gaps(results, dataset)
        if gaps:
            kept = {r: gap for r, gap in gaps.items() if r >= 0.2 or dataset != "pubmed"}
            fine.append(all(gap > 0 for gap in kept.values()))
            listed = ", ".join(f"{ratio}: {gap:+.2f}" for ratio, gap in gaps.items())
            texts.append(f"{display(dataset)} {listed}")
    return Verdict(all(fine) if fine else None, "; ".join(texts))


@_claim("figure", "The lead over SelfTask-GNN is largest around ω = 0.5 to 0.7")
def widest_around_the_middle(results: Results) -> Verdict:
    """The lead over SelfTask-GNN is largest between ω = 0.5 and 0.7."""
    texts, fine = [], []
    for dataset in _CURVES:
        gaps = curve_gaps(results, dataset)
        if len(gaps) >= 5:
            widest = max(gaps, key=lambda ratio: gaps[ratio])
            fine.append(0.5 <= widest <= 0.7)
            texts.append(f"{display(dataset)} widest at ω = {widest} ({gaps[widest]:+.2f})")
    return Verdict(all(fine) if fine else None, "; ".join(texts))


@_claim(
    "masks",
    "Sparse graphs want directed masking, dense ones undirected "
    "(the paper's defaults are the other way round)",
)
def sparse_wants_directed(results: Results) -> Verdict:
    """Directed masks are better on the sparse Planetoid graphs, undirected ones on ddi."""
    texts, fine = [], []
    for dataset in (*PLANETOID, "ogbl-ddi"):
        gap = gap_between(results, "mask-kind", dataset, "directed", "undirected")
        if gap is not None:
            fine.append((gap > 0) == (dataset in PLANETOID))
            texts.append(f"{display(dataset)} directed less undirected {gap:+.2f}")
    return Verdict(all(fine) if fine else None, "; ".join(texts))
