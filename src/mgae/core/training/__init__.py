"""TRAIN: the only loop of the project, and what it needs to be stopped and resumed."""

from mgae.core.training.checkpoint import CheckpointStore, Snapshot
from mgae.core.training.device import choose_device, devices_here
from mgae.core.training.loop import Fit, fit
from mgae.core.training.state import EpochRecord

__all__ = [
    "CheckpointStore",
    "EpochRecord",
    "Fit",
    "Snapshot",
    "choose_device",
    "devices_here",
    "fit",
]
