"""Who is this paper likely to be joined to, and what of a new one?"""

from __future__ import annotations

import mgae

data = mgae.open_graph("cora")
predictor = mgae.MGAE(method="mgae", train={"epochs": 50}).fit(data).predictor()

node = predictor.node_ids[0]
for link in predictor.recommend(node, k=5):
    print(f"{node} → {link.node}: {link.probability:.3f}")

new = {"my paper": data.x[0].numpy()}
links = predictor.recommend_new(new, edges=[("my paper", node)], k=3)
for link in links["my paper"]:
    print(f"my paper → {link.node}: {link.probability:.3f}")
