"""The paper's observations, each with the function that holds it against our figures."""

from mgae.paper.claims import kinds, links, nodes, ratios, variants
from mgae.paper.claims.claim import CLAIMS, Claim

__all__ = ["CLAIMS", "Claim", "kinds", "links", "nodes", "ratios", "variants"]
