"""SPLIT: which edges and nodes are learned from, and which are kept for the proof."""

from mgae.splits.links import LinkSplit, split_links
from mgae.splits.negatives import NegativeSampler

__all__ = ["LinkSplit", "NegativeSampler", "split_links"]
