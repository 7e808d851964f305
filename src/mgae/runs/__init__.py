"""A run: its configuration, its pipeline, its directory and its results."""
