"""A tenth of Cora's nodes taken away before training, and shown only afterwards.

A removed node's links to nodes that stayed are cut into two halves. The one half is given along
in the second setting; the other is to be found in both: AUC of these true links against as many
pairs of a removed and a staying node without a link, in percent. Links between two removed nodes
are not used.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity
from torch_geometric.data import Data
from torch_geometric.utils import subgraph

from benchmarks.hidden import averaged, ours
from mgae.core.seeding import Generators
from mgae.data import checked, load_graph
from mgae.evaluation.metrics import auc
from mgae.serving import Predictor


@dataclass(frozen=True)
class Removed:
    """Cora without some nodes: what stayed, and pairs (removed, staying) [2, n] by their number."""

    whole: Data
    staying: Data
    nodes: Tensor
    given: Tensor
    true: Tensor
    false: Tensor

    @classmethod
    def draw(cls, seed: int) -> Removed:
        whole, generator = load_graph("cora"), Generators(seed)["split"]
        whole.node_ids = None
        order = torch.randperm(whole.num_nodes, generator=generator)
        gone, stay = order[: whole.num_nodes // 10], order[whole.num_nodes // 10 :].sort().values
        edges, _ = subgraph(stay, whole.edge_index, relabel_nodes=True)
        staying = checked(
            Data(x=whole.x[stay], edge_index=edges, num_nodes=len(stay), node_ids=stay.tolist())
        )
        links = whole.edge_index[:, torch.isin(whole.edge_index[0], gone)]
        links = links[:, torch.isin(links[1], stay)]
        links = links[:, torch.randperm(links.size(1), generator=generator)]
        half = links.size(1) // 2
        false = cls._unlinked(whole, gone, stay, links.size(1) - half, generator)
        return cls(whole, staying, gone, links[:, :half], links[:, half:], false)

    @staticmethod
    def _unlinked(
        whole: Data, gone: Tensor, stay: Tensor, count: int, generator: torch.Generator
    ) -> Tensor:
        known = {(u, v) for u, v in whole.edge_index.t().tolist()}
        pairs: list[tuple[int, int]] = []
        while len(pairs) < count:
            u = int(gone[torch.randint(len(gone), (1,), generator=generator)])
            v = int(stay[torch.randint(len(stay), (1,), generator=generator)])
            if (u, v) not in known:
                pairs.append((u, v))
        return torch.tensor(pairs).t()

    def auc_of(self, score: Callable[[Tensor], object]) -> float:
        return 100 * auc(score(self.true), score(self.false))  # type: ignore[arg-type]


def scored(predictor: Predictor, removed: Removed, given: Tensor) -> float:
    """The AUC with the removed nodes added by their features and the edges ``given``."""
    names = {int(node): f"new {int(node)}" for node in removed.nodes}
    features = {name: removed.whole.x[node].numpy() for node, name in names.items()}
    later = predictor.with_new(features, [(names[u], v) for u, v in given.t().tolist()])

    def score(pairs: Tensor) -> object:
        return later.score_links([(names[u], v) for u, v in pairs.t().tolist()]).logit

    return removed.auc_of(score)


def measure_seed(seed: int) -> dict[str, float]:
    removed = Removed.draw(seed)
    x, predictor = removed.whole.x, ours(removed.staying, seed)
    return {
        "features alone": scored(predictor, removed, removed.given[:, :0]),
        "features and half of the edges": scored(predictor, removed, removed.given),
        "raw features, cosine": removed.auc_of(lambda p: cosine_similarity(x[p[0]], x[p[1]])),
    }


def measure(seeds: int = 5) -> dict[str, dict[str, float]]:
    return averaged("auc", [measure_seed(seed) for seed in range(seeds)])


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
