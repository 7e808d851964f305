"""What the paper observes in link prediction (Tables 2 and 3)."""

from __future__ import annotations

from mgae.reproduction.claims.claim import claim
from mgae.reproduction.claims.evidence import (
    AUTOENCODERS,
    LINKS,
    OGB,
    PLANETOID,
    SELF_SUPERVISED,
    Finding,
    Results,
    Verdict,
    duels,
    epoch_ms,
    gap_between,
    judged,
    on_each,
)
from mgae.reproduction.rendering import display


@claim("links", "MGAE is better than ARGE, GAE and GraphSAGE in almost all cases")
def beats_autoencoders(results: Results) -> Verdict:
    """Ours above ARGE, GAE and GraphSAGE, with one exception at most."""
    return judged(duels(results, LINKS, AUTOENCODERS), lambda duel: duel.gap > 0, allowed=1)


@claim("links", "MGAE is the new state of the art on Cora, PubMed and ogbl-ddi")
def state_of_the_art(results: Results) -> Verdict:
    """Ours above every other row on Cora, PubMed and ddi."""
    homes = {name: LINKS[name] for name in ("cora", "pubmed", "ogbl-ddi")}
    others = (*AUTOENCODERS, *SELF_SUPERVISED)
    return judged(duels(results, homes, others), lambda duel: duel.gap > 0)


@claim("links", "MGAE is better than DGI, GIC and SelfTask-GNN; only GIC on CiteSeer is ahead")
def beats_self_supervised(results: Results) -> Verdict:
    """Ours above DGI, GIC and SelfTask-GNN but on CiteSeer."""
    return judged(
        duels(results, LINKS, SELF_SUPERVISED),
        lambda duel: (duel.gap > 0) == (duel.dataset != "citeseer"),
    )


@claim("links", "The lead over the self-supervised methods grows on OGB")
def gap_grows_on_ogb(results: Results) -> Verdict:
    """The mean lead over the self-supervised is larger on OGB than on Planetoid."""
    fought = duels(results, LINKS, SELF_SUPERVISED)
    small = [duel.gap for duel in fought if duel.dataset in PLANETOID]
    large = [duel.gap for duel in fought if duel.dataset in OGB]
    if not small or not large:
        return Verdict(None)
    here, there = sum(small) / len(small), sum(large) / len(large)
    return Verdict(there > here, f"mean lead {here:+.2f} on Planetoid, {there:+.2f} on OGB")


@claim("links", "Neither MGAE-GCN nor MGAE-SAGE is always the better one")
def no_encoder_always_wins(results: Results) -> Verdict:
    """MGAE-GCN is ahead somewhere, MGAE-SAGE elsewhere."""
    gaps = {d: gap_between(results, t, d, "MGAE-SAGE", "MGAE-GCN") for d, t in LINKS.items()}
    known = {dataset: gap for dataset, gap in gaps.items() if gap is not None}
    if len(known) < 2:
        return Verdict(None)
    text = ", ".join(f"{display(dataset)} {gap:+.2f}" for dataset, gap in known.items())
    signs = {gap > 0 for gap in known.values()}
    return Verdict(len(signs) == 2, f"SAGE less GCN: {text}")


@claim("links", "GAE beats GraphSAGE on Cora and CiteSeer, yet MGAE-SAGE beats MGAE-GCN there")
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


@claim("links", "Masking 70% makes MGAE cheaper than a traditional graph autoencoder")
def cheaper_epochs(results: Results) -> Verdict:
    """An epoch of MGAE-GCN takes less time than one of GAE."""

    def look(dataset: str) -> Finding:
        ours, gae = (epoch_ms(results, dataset, name) for name in ("MGAE-GCN", "GAE"))
        if ours is None or gae is None:
            return None
        return ours < gae, f"{ours:.0f} ms against {gae:.0f} ms"

    return on_each(PLANETOID, look)
