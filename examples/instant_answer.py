"""Recommendations from a graph in memory, without any training."""

from __future__ import annotations

import networkx

import mgae

predictor = mgae.instant(networkx.karate_club_graph())
for member in (0, 16, 33):
    links = predictor.recommend(member, k=3)
    print(member, "may know", ", ".join(str(link.node) for link in links))
