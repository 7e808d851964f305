"""How much one request may ask for."""

from __future__ import annotations

MOST_K = 1000
MOST_PAIRS = 10_000
MOST_NEW_NODES = 100
MOST_NEW_EDGES = 10_000
MOST_FEATURES = 100_000
MOST_SUGGESTIONS = 100
MOST_NEIGHBORS = 1000
MOST_MAP_POINTS = 20_000
MOST_ID_LENGTH = 1000
MOST_BYTES = 4 * 2**20

LIMITS = {
    "k": MOST_K,
    "pairs": MOST_PAIRS,
    "new_nodes": MOST_NEW_NODES,
    "new_edges": MOST_NEW_EDGES,
    "request_bytes": MOST_BYTES,
}
