"""Encode the columns of a table as numbers: one file for each kind of column.

`choosing.choose_encoder` looks at a column once, at training time; what it returns encodes the
same column of new nodes, and is stored with a run as plain JSON and tensors.
"""
