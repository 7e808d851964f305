"""Train the evidence model that is shipped, on many graphs at once.

    python -m scripts.pretrain  # writes src/mgae/core/evidence/shipped.safetensors
    python -m scripts.pretrain --leave-out cora --out cora.safetensors

Every graph's edges are divided into folds as in a training of its own. The evidence is
standardized over all of them, and a step draws several graphs. What a graph without features lacks
is not known, and counts for nothing.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from scripts.pretraingraphs import PLANETOID, Source, sources
from torch import Tensor

from mgae.core.evidence.folds import Contests, FoldedEvidence
from mgae.core.evidence.shipped import FILE
from mgae.core.evidence.structure import column_names
from mgae.core.methods.evidencemodel import EvidenceModel
from mgae.core.seeding import Generators, drawn_from
from mgae.version import __version__

SETTINGS = {
    "seed": 0,
    "steps": 6000,
    "graphs_per_step": 6,
    "edges_per_graph": 3000,
    "edges_per_step": 256,
    "learning_rate": 0.005,
    "weight_decay": 5e-5,
    "hidden_channels": 64,
    "dropout": 0.1,
}


def padded(values: Tensor, width: int) -> Tensor:
    """Return rows [n, F] with columns that are not known, NaN, up to ``width``."""
    missing = values.new_full((len(values), width - values.size(1)), torch.nan)
    return torch.cat([values, missing], dim=1)


def folded_evidence(source: Source, folder: Path | None = None) -> FoldedEvidence:
    """Return the evidence of a graph's folds, with all columns; kept in ``folder``, if any."""
    path = None if folder is None else folder / f"{source.name}.pt"
    if path is not None and path.exists():
        positives, negatives, contests = torch.load(path)
        return FoldedEvidence(positives, negatives, Contests(*contests))
    chance = Generators(SETTINGS["seed"]).fresh(f"pretrain/{source.name}")
    count = SETTINGS["edges_per_graph"]
    folded = FoldedEvidence.of(source.open(), 8, count, 50, chance)
    width, contests = len(column_names(True)), folded.contests
    rest = (contests.is_edge, contests.edge, contests.first, contests.end)
    parts = (padded(folded.positives, width), padded(folded.negatives, width))
    lists = (padded(contests.values, width), *rest)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save((*parts, lists), path)
    return FoldedEvidence(*parts, Contests(*lists))


def standardize(model: EvidenceModel, folded: list[FoldedEvidence], weights: Tensor) -> None:
    """Set mean and scale over the known evidence of all graphs."""
    parts = [torch.cat([one.positives, one.negatives]).double() for one in folded]
    means = torch.stack([part.nanmean(dim=0) for part in parts])
    squares = torch.stack([part.square().nanmean(dim=0) for part in parts])
    share = torch.where(means.isnan(), 0.0, weights.double().unsqueeze(1))
    share = share / share.sum(dim=0)
    mean, square = ((share * part.nan_to_num()).sum(dim=0) for part in (means, squares))
    model.mean.copy_(mean)
    model.scale.copy_(1 / (square - mean.square()).clamp(min=1e-8).sqrt())


def pretrain(graphs: list[Source], folder: Path | None = None) -> EvidenceModel:
    """Return a model that was trained on all these graphs at once."""
    generators = Generators(SETTINGS["seed"])
    with drawn_from(generators["init"]):
        model = EvidenceModel(
            num_features=1,
            hidden_channels=SETTINGS["hidden_channels"],
            dropout=SETTINGS["dropout"],
            step_size=SETTINGS["edges_per_step"],
        )
    folded = [folded_evidence(source, folder) for source in graphs]
    weights = torch.tensor([source.weight for source in graphs])
    standardize(model, folded, weights)
    steps, chance = SETTINGS["steps"], generators.fresh("graphs")
    optimizer = torch.optim.AdamW(
        model.parameters(), SETTINGS["learning_rate"], weight_decay=SETTINGS["weight_decay"]
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        drawn = torch.multinomial(weights, SETTINGS["graphs_per_step"], generator=chance)
        losses = [model.step_loss(folded[number], generators) for number in drawn.tolist()]
        optimizer.zero_grad()
        torch.stack(losses).mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model.eval()


def write(model: EvidenceModel, graphs: list[Source], path: Path) -> None:
    """Write the weights, and in the file's metadata where they come from."""
    about = {
        "columns": json.dumps(model.names),
        "graphs": json.dumps([source.name for source in graphs]),
        "licences": "Planetoid's graphs: MIT; all others are drawn by scripts/pretraingraphs.py",
        "settings": json.dumps(SETTINGS),
        "version": __version__,
        "libraries": json.dumps({"torch": torch.__version__, "numpy": np.__version__}),
    }
    save_file(model.state_dict(), path, about)


def main(arguments: list[str] | None = None) -> None:
    """Train, and write the file."""
    parser = argparse.ArgumentParser(prog="python -m scripts.pretrain")
    parser.add_argument("--leave-out", choices=PLANETOID)
    parser.add_argument("--out", type=Path, default=FILE, help=f"default: {FILE.name}")
    parser.add_argument("--cache", type=Path, help="a folder to keep the graphs' evidence in")
    args = parser.parse_args(arguments)
    graphs = sources(args.leave_out)
    write(pretrain(graphs, args.cache), graphs, args.out)
    print(f"{args.out}: trained on {len(graphs)} graphs")


if __name__ == "__main__":
    main()
