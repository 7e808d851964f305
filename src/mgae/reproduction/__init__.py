"""The paper, held beside ours: what it ran, what it left open, and what it printed."""

from mgae.reproduction.paper import Published, paper_config, published

__all__ = ["Published", "paper_config", "published"]
