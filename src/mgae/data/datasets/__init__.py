"""The named datasets: where their bytes come from and how they are read."""
