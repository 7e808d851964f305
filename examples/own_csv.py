"""From a file with two columns to recommendations with reasons."""

from __future__ import annotations

import csv
from pathlib import Path

import networkx

import mgae

with Path("miserables.csv").open("w", newline="", encoding="utf-8") as file:
    csv.writer(file).writerows([("source", "target"), *networkx.les_miserables_graph().edges])

quick = {"kind": "combined", "evidence_epochs": 10, "folds": 2}  # leave it out for good figures
config = mgae.RunConfig(graph="miserables.csv", method=quick, train={"epochs": 20})
result = mgae.run(config, out="my-run")
print(result.verdict.text)

predictor = mgae.Predictor.load("my-run")
for link in predictor.recommend("Cosette", k=3):
    (why,) = predictor.why("Cosette", [link.node])
    print(f"Cosette and {link.node} ({link.probability:.0%}): {why.sentence}")
