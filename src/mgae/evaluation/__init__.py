"""EVALUATE: what a trained method is worth, by scores on what it has not seen."""
