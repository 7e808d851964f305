"""The paper's observations, each with the function that holds it against our figures."""

from mgae.reproduction.claims import links, masks, nodes
from mgae.reproduction.claims.claim import CLAIMS, Claim

__all__ = ["CLAIMS", "Claim", "links", "masks", "nodes"]
