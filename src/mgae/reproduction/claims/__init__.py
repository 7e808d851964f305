"""The paper's observations, each with the function that holds it against our figures."""

from mgae.reproduction.claims import kinds, links, nodes, ratios, variants
from mgae.reproduction.claims.claim import CLAIMS, Claim

__all__ = ["CLAIMS", "Claim", "kinds", "links", "nodes", "ratios", "variants"]
