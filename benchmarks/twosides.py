"""Users and items through the command line: does the printed AUC say what a user would ask about?

python -m benchmarks.twosides synthetic [SEEDS]           # 400 users, 300 items, 5 seeds
python -m benchmarks.twosides movielens [SEEDS] [BUDGET]  # MovieLens-1M of MGAE_DATA, one seed

Both sides are numbered from 0, so that every item has the number of a user.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from benchmarks.worthgraphs import official_parts
from mgae.core.graph import MessageGraph
from mgae.core.negatives import NegativeSampler
from mgae.evaluation.metrics import auc
from mgae.runs.rundirectory import RunDirectory
from mgae.serving import Predictor

USERS, ITEMS, GROUPS = 400, 300, 5
_DRAWN = 200_000  # pairs that are no edges
_ASKED = 200  # users and items that get recommendations
_UNUSED = ("evaluation.heuristics=[]", "evaluation.hard_negatives=0", "evaluation.max_users=0")


def purchases(seed: int) -> Tensor:
    """Return users and items [2, n]: half of the choices in the user's group, the rest anywhere."""
    random = np.random.default_rng(seed)
    appeal = random.pareto(1.5, ITEMS) + 0.2  # some items sell well, most do not
    group = np.arange(USERS)[:, None] % GROUPS == np.arange(ITEMS) % GROUPS
    chance = np.minimum(0.9, np.where(group, 0.12, 0.015) * appeal)
    return torch.from_numpy(np.argwhere(random.random((USERS, ITEMS)) < chance).T)


def measure(edges: Tensor, seed: int, *options: str) -> dict[str, float]:
    """Return the printed figures beside those of pairs that are drawn afresh, all in percent."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = "".join(f"{user},{item}\n" for user, item in edges.t().tolist())
        (folder / "edges.csv").write_text("user,item\n" + rows, encoding="utf-8")
        unused = [word for setting in _UNUSED for word in ("--set", setting)]
        command = ["train", "edges.csv", "--bipartite", "--seed", str(seed), "--out", "run"]
        command += ["--json", "--no-final-fit", *unused, *options]
        done = subprocess.run(
            [sys.executable, "-m", "mgae", *command],
            cwd=folder, check=True, capture_output=True, text=True,
        )  # fmt: skip
        printed = {key: value["mean"] for key, value in json.loads(done.stdout)["test"].items()}
        return printed | _afresh(folder / "run", edges)


def _afresh(run: Path, edges: Tensor) -> dict[str, float]:
    """Score other pairs than those of the run, and look where its recommendations lie."""
    predictor = Predictor.load(run)
    graph, method = predictor.graph, predictor.method
    split = RunDirectory.open(run).run().split(graph, MessageGraph.of(graph))
    encoded, generator = method.encode(split.message), torch.Generator().manual_seed(1)
    positive = method.score_links(encoded, split.test)

    def among(pairs: Tensor) -> float:
        return 100 * auc(positive, method.score_links(encoded, pairs))

    whole = MessageGraph.of(graph)
    across = NegativeSampler.of(whole).sample(_DRAWN, generator)
    anyhow = torch.randint(graph.num_nodes, (2, _DRAWN), generator=generator)
    ends = set(edges[0].tolist()), set(edges[1].tolist())
    asked = list(predictor.node_ids)[:: max(1, graph.num_nodes // _ASKED)]
    side = dict(zip(predictor.node_ids, graph.side.tolist(), strict=True))
    answers = [(node, link.node) for node in asked for link in predictor.recommend(node, 10)]
    return {
        "auc, the run's negatives": among(split.test_negatives),
        f"auc, {_DRAWN:,} fresh pairs of a user and an item": among(across),
        "auc, fresh pairs of any two nodes": among(anyhow[:, anyhow[0] != anyhow[1]]),
        "nodes less users and items": graph.num_nodes - sum(map(len, ends)),
        "recommendations": len(answers),
        "recommendations on the other side": np.mean([side[u] != side[v] for u, v in answers])
        * 100,
    }


def main(what: str = "synthetic", seeds: int = 0, budget: str = "8m") -> None:
    rows = []
    for seed in range(seeds or (5 if what == "synthetic" else 1)):
        if what == "synthetic":
            rows.append(measure(purchases(seed), seed))
        else:
            edges = torch.cat(list(official_parts("movielens-1m").values()), dim=1)
            rows.append(measure(edges, seed, "--budget", budget))
        print(seed, json.dumps(rows[-1]), flush=True)
    for name in rows[0]:
        values = np.array([one[name] for one in rows])
        print(f"{name}: {values.mean():.2f} (from {values.min():.2f} to {values.max():.2f})")


if __name__ == "__main__":
    what, *numbers = sys.argv[1:] or ["synthetic"]
    main(what, *(int(n) if n.isdecimal() else n for n in numbers))
