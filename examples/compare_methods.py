"""Several methods and what is free, on the same splits."""

from __future__ import annotations

import networkx

import mgae

graph = networkx.planted_partition_graph(4, 30, 0.25, 0.02, seed=0)
methods = ("mgae", "gae", "spectral", "adamic-adar")
configs = {
    name: mgae.RunConfig(graph="mine", method=name, train={"epochs": 30}, runs=2)
    for name in methods
}
for name, config in configs.items():
    auc = mgae.run(config, graph).test["auc"]
    print(f"{name:12} AUC {auc.mean:.1f} ± {auc.std:.1f}")
