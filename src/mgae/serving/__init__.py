"""SERVE: embeddings, scores and recommended links from a run, under the user's own ids."""

from mgae.serving.predictor import LinkScores, Predictor, Recommendation

__all__ = ["LinkScores", "Predictor", "Recommendation"]
