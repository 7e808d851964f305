"""TRAIN: the only loop of the project, and what it needs to be stopped and gone on with."""

from mgae.training.checkpoint import Checkpoints
from mgae.training.loop import Fit, train
from mgae.training.state import EpochRecord

__all__ = ["Checkpoints", "EpochRecord", "Fit", "train"]
