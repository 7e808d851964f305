"""Train in two workers of a Ray cluster; RAY_ADDRESS says which, without it a local one starts."""

from mgae import RunConfig
from mgae.launch import on_ray

if __name__ == "__main__":
    metrics = on_ray(RunConfig(graph="cora", train={"epochs": 20}), out="runs/on-ray", workers=2)
    print(metrics["test"]["auc"]["mean"])
