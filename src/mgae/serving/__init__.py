"""Serve embeddings, scores and recommended links of a run, under the user's own ids."""

from mgae.serving.answers import LinkScores, Recommendation, Recommendations
from mgae.serving.predictor import Predictor

__all__ = ["LinkScores", "Predictor", "Recommendation", "Recommendations"]
