"""EVALUATE: what a trained method is worth, by scores on held-out data."""
