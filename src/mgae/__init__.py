"""Masked graph autoencoders: embeddings and link prediction for graphs without labels.

Two storeys: `mgae.core` is the method as a plain PyTorch library; the rest is the product around
it, in the order in which a graph goes through it:

    data → core (mask, encode, decode, loss, train) → evaluation → runs → serving · reporting

>>> import mgae
>>> config = mgae.RunConfig(graph="cora", encoder="sage", train={"epochs": 1})
>>> result = mgae.run(config)
>>> sorted(result.test)
['ap', 'auc', 'hits@100', 'hits@20', 'hits@50', 'mrr']
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mgae.version import __version__

if TYPE_CHECKING:
    from mgae.core.errors import MGAEError, MGAEWarning
    from mgae.data.opening import open_graph
    from mgae.estimator import MGAE
    from mgae.registry import DATASETS, DECODERS, ENCODERS, LOSSES, MASKS, METHODS
    from mgae.reporting import write_report
    from mgae.runs.bars import Progress
    from mgae.runs.comparison import compare
    from mgae.runs.config import RunConfig
    from mgae.runs.observer import Observer
    from mgae.runs.pipeline import evaluate, resume, run
    from mgae.runs.presets import paper_config, published
    from mgae.runs.results import RunResult
    from mgae.serving.instant import instant
    from mgae.serving.predictor import Predictor

# Imported when first asked for: `mgae --help` must not wait for torch.
_HOMES = {
    "DATASETS": "mgae.registry",
    "DECODERS": "mgae.registry",
    "ENCODERS": "mgae.registry",
    "LOSSES": "mgae.registry",
    "MASKS": "mgae.registry",
    "METHODS": "mgae.registry",
    "MGAE": "mgae.estimator",
    "MGAEError": "mgae.core.errors",
    "MGAEWarning": "mgae.core.errors",
    "Observer": "mgae.runs.observer",
    "Predictor": "mgae.serving.predictor",
    "Progress": "mgae.runs.bars",
    "RunConfig": "mgae.runs.config",
    "RunResult": "mgae.runs.results",
    "compare": "mgae.runs.comparison",
    "evaluate": "mgae.runs.pipeline",
    "instant": "mgae.serving.instant",
    "open_graph": "mgae.data.opening",
    "paper_config": "mgae.runs.presets",
    "published": "mgae.runs.presets",
    "resume": "mgae.runs.pipeline",
    "run": "mgae.runs.pipeline",
    "write_report": "mgae.reporting",
}

__all__ = [
    "DATASETS",
    "DECODERS",
    "ENCODERS",
    "LOSSES",
    "MASKS",
    "METHODS",
    "MGAE",
    "MGAEError",
    "MGAEWarning",
    "Observer",
    "Predictor",
    "Progress",
    "RunConfig",
    "RunResult",
    "__version__",
    "compare",
    "evaluate",
    "instant",
    "open_graph",
    "paper_config",
    "published",
    "resume",
    "run",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'mgae' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
