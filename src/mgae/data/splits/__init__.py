"""SPLIT: which edges and nodes are learned from, and which are kept for the proof."""

from mgae.core.negatives import NegativeSampler
from mgae.data.splits.links import LinkSplit, split_links

__all__ = ["LinkSplit", "NegativeSampler", "split_links"]
