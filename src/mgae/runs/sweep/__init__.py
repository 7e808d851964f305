"""Search for settings on validation edges."""

from mgae.runs.sweep.space import Space
from mgae.runs.sweep.study import Sweep, sweep

__all__ = ["Space", "Sweep", "sweep"]
