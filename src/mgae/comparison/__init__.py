"""Methods side by side on one graph: same splits, same seeds, same metrics."""

from mgae.comparison.running import compare
from mgae.comparison.value import Comparison, Row

__all__ = ["Comparison", "Row", "compare"]
