"""A decoder, a mask and a dataset for mgae."""
