"""EVIDENCE: what the visible graph says about a pair of nodes, without any training."""

from mgae.core.evidence.cosines import FeatureViews
from mgae.core.evidence.structure import Evidence, Shortlist

__all__ = ["Evidence", "FeatureViews", "Shortlist"]
