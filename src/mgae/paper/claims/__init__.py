"""The paper's observations, each with the function that compares it with our figures."""

from mgae.paper.claims import accuracy, masking
from mgae.paper.claims.evidence import CLAIMS, Claim

__all__ = ["CLAIMS", "Claim", "accuracy", "masking"]
