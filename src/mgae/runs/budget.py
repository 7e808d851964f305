"""Fewer epochs for large graphs."""

from __future__ import annotations

from mgae.core.graph import MessageGraph
from mgae.runs.config import RunConfig

_FEWEST_EPOCHS = 3
_VALIDATIONS = 20  # at least so many in a training that is shortened


def shortened(config: RunConfig, graph: MessageGraph) -> tuple[RunConfig, str | None]:
    """Return a configuration with fewer epochs if ``train.max_pairs`` asks for it, and a note."""
    most, train = config.train.max_pairs, config.train
    if most is None or config.mask is None:
        return config, None
    masked = getattr(config.mask, "ratio", 0.0) * graph.pairs.size(1)
    pairs = masked * (1 + getattr(config.loss, "num_negatives", 1))
    epochs = max(_FEWEST_EPOCHS, int(most / max(1.0, pairs)))
    if epochs >= train.epochs:
        return config, None
    every = max(1, min(train.eval_every, epochs // _VALIDATIONS))
    changes = {**train.model_dump(exclude_none=True), "epochs": epochs, "eval_every": every}
    note = (
        f"a large graph: {epochs} epochs instead of {train.epochs}, so that no more than "
        f"train.max_pairs = {most:,} pairs are decoded"
    )
    return config.changed(train=changes), note
