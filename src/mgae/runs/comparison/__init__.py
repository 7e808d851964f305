"""Methods side by side on one graph: same splits, same seeds, same metrics."""

from mgae.runs.comparison.sequence import compare
from mgae.runs.comparison.value import Comparison, Row

__all__ = ["Comparison", "Row", "compare"]
