"""Recommend items that a user does not have yet."""

from __future__ import annotations

import numpy as np
import pandas as pd

import mgae

draw = np.random.default_rng(0)
taste, kind = draw.integers(3, size=80), draw.integers(3, size=50)
user, item = np.nonzero(draw.random((80, 50)) < np.where(taste[:, None] == kind, 0.3, 0.03))
bought = pd.DataFrame({"user": [f"u{n}" for n in user], "item": [f"i{n}" for n in item]})

predictor = mgae.instant(bought)  # mgae.MGAE().fit(mgae.open_graph(bought)).predictor() trains
users = [name for name in predictor.node_ids if name.startswith("u")]
right = []
for name in users:
    links = predictor.recommend(name, k=3)
    right += [kind[int(link.node[1:])] == taste[int(name[1:])] for link in links]
print(users[0], "→", " ".join(link.node for link in predictor.recommend(users[0], k=3)))
print(f"{np.mean(right):.0%} of all recommendations are of the user's kind")
