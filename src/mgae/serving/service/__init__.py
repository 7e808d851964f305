"""The HTTP service of a trained model, and its page."""
