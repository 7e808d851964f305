"""TRAIN: the only loop of the project, and what it needs to be stopped and gone on with."""

from mgae.core.training.checkpoint import Checkpoints
from mgae.core.training.loop import Fit, train
from mgae.core.training.state import EpochRecord

__all__ = ["Checkpoints", "EpochRecord", "Fit", "train"]
