"""Mutate inputs for as long as it is asked, with memory and time bounded; run as a process.

``python -m tests.fuzzing TARGET COUNT SEED`` prints how many inputs were tried. Any exception but
our own, more memory than allowed, or an input that takes too long ends it with a traceback and
the input's seed.
"""

from __future__ import annotations

import gzip
import json
import random
import resource
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather
from scipy import io as scipy_io
from scipy import sparse

from mgae.core.errors import MGAEError
from mgae.data.io.options import InputSettings
from mgae.data.opening import open_graph
from mgae.registry import DECODERS, ENCODERS, LOSSES, MASKS, METHODS
from mgae.runs.config import RunConfig
from mgae.runs.layering import assignments, read_toml

MEMORY, SECONDS = 3 * 2**30, 60
TOKENS = [b"", b"0", b"-1", b"1e309", b"nan", b"NA", b'"', b"'", b",", b"\t", b"\n", b"\r\n", b"\0",
          b"#", b"%", b"[", b"]", b"<", b">", b"&", b"\xff", b"\xef\xbb\xbf", "é".encode(),
          b" " * 99, b"9" * 40, b"2147483648", b"a" * 300]  # fmt: skip


def mutated(content: bytes, draw: random.Random) -> bytes:
    """Change a few places: bits, tokens, cuts, repeats."""
    for _ in range(draw.randint(1, 4)):
        at, size = draw.randrange(len(content) + 1), draw.randint(0, 20)
        way = draw.randrange(5)
        if way == 0 and content:
            flip = draw.randrange(len(content))
            content = content[:flip] + bytes([draw.randrange(256)]) + content[flip + 1 :]
        elif way == 1:
            content = content[:at] + draw.choice(TOKENS) + content[at:]
        elif way == 2:
            content = content[:at] + content[at + size :]
        elif way == 3:
            content = content[:at] + content[at : at + size] * draw.randint(2, 30) + content[at:]
        else:
            content = content[:at] if draw.random() < 0.3 else content
    return content


def samples(folder: Path) -> dict[str, bytes]:
    """Return a small valid file of each format."""
    graph = nx.karate_club_graph()
    named = nx.relabel_nodes(graph, {node: f"n{node}" for node in graph})
    files: dict[str, bytes] = {}

    def written(name: str, write: Callable[[str], object]) -> None:
        write(str(folder / name))
        files[name] = (folder / name).read_bytes()

    rows = [(f"n{u}", f"n{v}", 1.5) for u, v in graph.edges]
    text = "source,target,weight\n" + "".join(f"{u},{v},{w}\n" for u, v, w in rows)
    files["edges.csv"] = text.encode()
    files["edges.tsv"] = b"# comment\n" + text.replace(",", "\t").encode()
    files["edges.txt"] = "".join(f"{u} {v}\n" for u, v in graph.edges).encode()
    files["edges.csv.gz"] = gzip.compress(text.encode())
    columns = list(zip(*rows, strict=True))
    table = pa.table(dict(zip(("source", "target", "weight"), map(list, columns), strict=True)))
    written("edges.parquet", lambda path: pq.write_table(table, path))
    written("edges.feather", lambda path: feather.write_feather(table, path))
    written("graph.graphml", lambda path: nx.write_graphml(named, path))
    written("graph.gexf", lambda path: nx.write_gexf(named, path))
    written("graph.gml", lambda path: nx.write_gml(named, path))
    written("graph.net", lambda path: nx.write_pajek(named, path))
    matrix = nx.to_scipy_sparse_array(graph, format="csr")
    written("graph.npz", lambda path: sparse.save_npz(path, matrix))
    written("graph.mtx", lambda path: scipy_io.mmwrite(path, matrix))
    files["features.csv"] = b"id,a,b,c\n" + b"".join(
        f"n{n},{n / 7},{n % 3},{'xyz'[n % 3]}\n".encode() for n in range(34)
    )
    return files


def fuzz_files(count: int, draw: random.Random) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = samples(folder)
        (folder / "whole.csv").write_bytes(files["edges.csv"])
        for _ in range(count):
            sample = draw.choice(sorted(files))
            path = folder / f"fuzzed-{sample}"
            path.write_bytes(mutated(files[sample], draw))
            if sample == "features.csv":
                settings = InputSettings(features=str(path), missing="zero")
                attempt(lambda: open_graph(folder / "whole.csv", settings))  # noqa: B023
            else:
                attempt(lambda: open_graph(path))  # noqa: B023


def odd_value(draw: random.Random, depth: int = 0) -> Any:
    ways: list[Callable[[], Any]] = [
        lambda: draw.choice([0, 1, -1, 2**31, 2**63, 10**300, True, None]),
        lambda: draw.choice([0.5, 1e308, float("inf"), float("nan"), -0.0]),
        lambda: draw.choice(["", "gcn", "mgae", "links", "x" * 2000, "\0", "é", "run", "auc"]),
        lambda: [odd_value(draw, depth + 1) for _ in range(draw.randint(0, 3))],
        lambda: {draw.choice(["kind", "ratio", "a"]): odd_value(draw, depth + 1)},
    ]
    return draw.choice(ways[: 3 if depth > 3 else 5])()


def setting_names() -> list[str]:
    names = list(RunConfig.model_fields)
    for section, registry in {"mask": MASKS, "encoder": ENCODERS, "decoder": DECODERS,
                              "loss": LOSSES, "method": METHODS}.items():  # fmt: skip
        fields = {key for kind in registry.names() for key in registry[kind].settings.model_fields}
        names += [f"{section}.{key}" for key in sorted(fields)]
    for section in ("split", "train", "evaluation", "input"):
        kind: Any = RunConfig.model_fields[section].annotation
        names += [f"{section}.{key}" for key in kind.model_fields]
    return names


def fuzz_settings(count: int, draw: random.Random) -> None:
    names = setting_names()
    for _ in range(count):
        if draw.random() < 0.5:
            given = {name: odd_value(draw) for name in draw.sample(names, draw.randint(1, 3))}
            texts = [f"{name}={json.dumps(value)}" for name, value in given.items()]
            texts = [mutated(t.encode(), draw).decode("utf-8", "replace") for t in texts]
            attempt(lambda: RunConfig(**assignments(texts)))  # noqa: B023
        else:
            name = draw.choice(names).split(".")
            given = {name[0]: odd_value(draw) if len(name) == 1 else {name[1]: odd_value(draw)}}
            attempt(lambda: RunConfig(**given))  # noqa: B023


def fuzz_toml(count: int, draw: random.Random) -> None:
    text = RunConfig().to_toml().encode()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "config.toml"
        for _ in range(count):
            path.write_bytes(mutated(text, draw))
            attempt(lambda: RunConfig(**read_toml(path)))


def fuzz_service(count: int, draw: random.Random) -> None:
    from fastapi.testclient import TestClient

    from mgae.serving import Predictor
    from mgae.serving.service.application import create_app

    stored = Path(__file__).parent / "runs" / "stored" / "finished"
    bodies = {
        "/score": b'{"pairs": [["n0", "n1"], ["n2", 3]]}',
        "/embed": b'{"nodes": [{"node": "new", "features": [0.5, 1]}], "edges": [["new", "n1"]]}',
    }
    paths = ["/nodes/n0", "/nodes/n1/similar?k=3", "/nodes?query=n&limit=4", "/node?id=."]
    with TestClient(create_app(Predictor.load(stored)), base_url="http://localhost") as client:
        for _ in range(count):
            if draw.random() < 0.6:
                path, body = draw.choice(sorted(bodies.items()))
                kind = draw.choice(["application/json", "text/plain", ""])
                answer = client.post(
                    path, content=mutated(body, draw), headers={"content-type": kind}
                )
            else:
                text = mutated(draw.choice(paths).encode(), draw).decode("latin-1")
                text = "".join(c if c.isprintable() and c.isascii() else "%FF" for c in text)
                try:
                    answer = client.get("/" + text.lstrip("/"))
                except Exception as error:  # what the client itself refuses to send
                    assert "URL" in type(error).__name__, error
                    continue
            assert answer.status_code < 500, answer.text
            assert len(answer.content) < 2**22


def attempt(action: Callable[[], object]) -> None:
    """Run with a bound on its time; only our own errors, of one line, are allowed."""
    signal.alarm(SECONDS)
    try:
        action()
    except MGAEError as error:
        assert len(str(error)) < 5000, str(error)[:300]
    finally:
        signal.alarm(0)


TARGETS = {
    "files": fuzz_files,
    "settings": fuzz_settings,
    "toml": fuzz_toml,
    "service": fuzz_service,
}


def main(target: str, count: int, seed: int) -> None:
    taken = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY,) * 2)
    TARGETS[target](count, random.Random(seed))
    sys.stdout.write(json.dumps({"inputs": count}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
