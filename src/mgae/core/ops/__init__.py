"""The few numeric kernels: sparse products, dropout, sums in chunks."""
