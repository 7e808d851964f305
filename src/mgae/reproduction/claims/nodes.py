"""What the paper observes in node classification (Table 4)."""

from __future__ import annotations

from mgae.reproduction.claims.claim import claim
from mgae.reproduction.claims.evidence import (
    AUTOENCODERS,
    LINKS,
    NODES,
    SELF_SUPERVISED,
    Results,
    Verdict,
    duels,
    judged,
    means,
)
from mgae.reproduction.rendering import display


@claim("nodes", "MGAE is better than GCN, GraphSAGE and ARGVA on all graphs")
def nodes_beat_autoencoders(results: Results) -> Verdict:
    """Ours above GCN, GraphSAGE and ARGVA on every graph."""
    return judged(duels(results, NODES, AUTOENCODERS), lambda duel: duel.gap > 0)


@claim(
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


@claim("nodes", "SelfTask-GNN does not keep up with the best baselines")
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
