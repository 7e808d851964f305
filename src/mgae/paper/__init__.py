"""The paper, held beside ours: what it ran, what it left open, and what it printed."""

from mgae.runs.presets import Published, paper_config, published

__all__ = ["Published", "paper_config", "published"]
