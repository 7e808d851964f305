"""What stands below the help of each command; the tests parse every line."""

from __future__ import annotations

EXAMPLES = {
    "train": (
        "mgae train edges.csv --out my-run",
        "mgae train edges.csv --features nodes.csv --nodes names.csv --budget 10m",
        "mgae train cora --encoder sage --runs 10",
        "mgae train edges.csv --set mask.ratio=0.5 --track tensorboard",
        "mgae train --resume my-run",
    ),
    "evaluate": ("mgae evaluate my-run",),
    "compare": (
        "mgae compare cora --methods mgae,dgi,gic --runs 3",
        "mgae compare edges.csv --methods all --jobs 2",
    ),
    "sweep": ("mgae sweep edges.csv --space space.toml --trials 30 --out sweep",),
    "reproduce": ("mgae reproduce links-planetoid --runs 1",),
    "report": ("mgae report my-run",),
    "embed": (
        "mgae embed my-run -o z.parquet",
        "mgae embed my-run -o other.npy --graph other-edges.csv",
    ),
    "score": (
        "mgae score my-run pairs.csv -o scored.csv",
        "mgae score edges.csv pairs.csv",
        "mgae score my-run - --unknown skip",
    ),
    "recommend": (
        "mgae recommend my-run --node Cosette -k 5 --why",
        "mgae recommend edges.csv --node 35",
        "mgae recommend my-run --all -o links.parquet",
    ),
    "similar": ("mgae similar my-run --node Cosette -k 5",),
    "export": (
        "mgae export my-run --to onnx -o network",
        "mgae export my-run --to parquet -o nodes.parquet",
        "mgae export my-run --to neo4j -o neo4j",
    ),
    "push": ("mgae push my-run OWNER/NAME",),
    "pull": ("mgae pull OWNER/NAME my-run",),
    "update": (
        "mgae update my-run new-edges.csv",
        "mgae update my-run new-edges.csv --features new-nodes.csv --out my-run-2",
    ),
    "serve": ("mgae serve my-run", "mgae serve my-run other-run --port 0"),
    "prepare": ("mgae prepare edges.parquet --out prepared",),
    "inspect": ("mgae inspect edges.csv", "mgae inspect edges.csv --features nodes.csv --json"),
    "methods": ("mgae methods",),
    "settings": ("mgae settings train", "mgae settings --json"),
    "doctor": ("mgae doctor",),
    "datasets": ("mgae datasets", "mgae datasets get citeseer"),
}


def epilog(command: str) -> str:
    """Return the examples as the help's last paragraph, a line each."""
    title = "Example" if len(EXAMPLES[command]) == 1 else "Examples"
    return "\n\n".join([f"[dim]{title}[/dim]", *EXAMPLES[command]])
