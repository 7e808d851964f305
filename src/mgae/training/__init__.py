"""TRAIN: the only loop of the project, and what it needs to be stopped and gone on with."""

from mgae.training.checkpoint import Checkpoints
from mgae.training.loop import EpochRecord, Fit, train

__all__ = ["Checkpoints", "EpochRecord", "Fit", "train"]
