"""Mutate inputs for as long as it is asked, with memory and time bounded; run as a process.

``python -m tests.fuzzing TARGET COUNT SEED`` prints how many inputs were tried. Any exception but
our own, more memory than allowed, or an input that takes too long ends it with a traceback and
the input's seed.
"""

from __future__ import annotations

import faulthandler
import gzip
import json
import os
import random
import resource
import shutil
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

IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
STORED = Path(__file__).parent / "runs" / "stored"
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
    graph = nx.krackhardt_kite_graph()
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
    files["graph.graphml.gz"] = gzip.compress(files["graph.graphml"])
    files["graph.mtx.gz"] = gzip.compress(files["graph.mtx"])
    files["features.csv"] = b"id,a,b,c\n" + b"".join(
        f"n{n},{n / 7},{n % 3},{'xyz'[n % 3]}\n".encode() for n in range(10)
    )
    return files


def fuzz_files(count: int, draw: random.Random) -> None:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as name:
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


# A table of sales: each option finds a column that it could mean.
KINDS = ["buys", "sees", "likes"]
SALES = b"buyer,item,when,how,much,note\n" + b"".join(
    f"u{n * 7 % 13},i{n * 5 % 17},2024-{n % 12 + 1:02}-{n % 28 + 1:02},".encode()
    + f"{KINDS[n % 3]},{n % 5 + 0.5},{'' if n % 4 else n}\n".encode()
    for n in range(60)
)
PEOPLE = b"id,kind,age\n" + b"".join(
    f"{side}{n},{side},{n / 7}\n".encode()
    for side, size in (("u", 13), ("i", 17))
    for n in range(size)
)
NEVER = b"buyer,item\nu0,i1\nu1,i2\nu2,i0\nu3,i9\n"
COLUMNS = [
    "buyer",
    "item",
    "when",
    "how",
    "much",
    "note",
    "id",
    "kind",
    "0",
    "1",
    "3",
    "-1",
    "",
    "x" * 900,
]


def odd_options(draw: random.Random) -> dict[str, Any]:
    """Return a few options of how files are read, most of them allowed."""
    ways: dict[str, Callable[[], Any]] = {
        name: lambda: draw.choice(COLUMNS)
        for name in InputSettings.model_fields
        if name.endswith("_column")
    } | {
        "time_column": lambda: draw.choice(["when", "much", "note", "how"]),
        "type_column": lambda: draw.choice(["how", "note", "when"]),
        "node_type_column": lambda: draw.choice(["kind", "age"]),
        "half_life": lambda: draw.choice([1e-300, 0.1, 30, 1e300, 0, -1, float("nan")]),
        "repeated": lambda: draw.choice(["count", "last"]),
        "weights": lambda: draw.choice(["refuse", "abs", "drop"]),
        "edge_features": lambda: tuple(draw.sample(COLUMNS, draw.randint(0, 2))),
        "directed": lambda: draw.random() < 0.5,
        "bipartite": lambda: draw.choice(["auto", "yes", "no"]),
        "header": lambda: draw.choice(["auto", "yes", "no"]),
        "missing": lambda: draw.choice(["zero", "mean", "refuse"]),
    }
    return {name: ways[name]() for name in draw.sample(sorted(ways), draw.randint(1, 4))}


def fuzz_options(count: int, draw: random.Random) -> None:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as name:
        folder = Path(name)
        whole = {"sales.csv": SALES, "people.csv": PEOPLE, "never.csv": NEVER}
        for file, content in whole.items():
            (folder / file).write_bytes(content)
        for _ in range(count):
            spoiled = draw.choice(sorted(whole))
            (folder / spoiled).write_bytes(mutated(whole[spoiled], draw))
            given = odd_options(draw)
            for option, file in (("features", "people.csv"), ("negatives", "never.csv")):
                if draw.random() < 0.4:
                    given[option] = str(folder / file)
            attempt(lambda: answered(folder / "sales.csv", given, draw.random() < 0.01))  # noqa: B023
            (folder / spoiled).write_bytes(whole[spoiled])


def answered(path: Path, options: dict[str, Any], recommends: bool) -> None:
    """Open a graph as `mgae train` does, or answer for it as ``mgae recommend FILE``."""
    from mgae.serving.instant import instant

    settings = InputSettings(**options)
    settings.refuse_unused()
    if recommends:
        predictor = instant(path, **options)
        predictor.recommend(predictor.node_ids[0], k=2)
    else:
        open_graph(path, settings)


def fuzz_runs(count: int, draw: random.Random) -> None:
    """Spoil a file of a run without checksums: with them, every change is refused at once."""
    from tests.runs.test_damage import files, read_all

    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as name:
        folder = Path(name) / "run"
        shutil.copytree(STORED / "finished", folder)
        contents = {file: (folder / file).read_bytes() for file in files(folder)}
        for _ in range(count):
            file = draw.choice(sorted(contents))
            (folder / file).write_bytes(mutated(contents[file], draw))
            attempt(lambda: read_all(folder))
            (folder / file).write_bytes(contents[file])


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
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as name:
        path = Path(name) / "config.toml"
        for _ in range(count):
            path.write_bytes(mutated(text, draw))
            attempt(lambda: RunConfig(**read_toml(path)))


def fuzz_service(count: int, draw: random.Random) -> None:
    from fastapi.testclient import TestClient

    from mgae.serving import Predictor
    from mgae.serving.service.application import create_app

    bodies = {
        "/score": b'{"pairs": [["n0", "n1"], ["n2", 3]]}',
        "/embed": b'{"nodes": [{"node": "new", "features": [0.5, 1]}], "edges": [["new", "n1"]]}',
    }
    paths = ["/nodes/n0", "/nodes/n1/similar?k=3", "/nodes?query=n&limit=4", "/node?id=."]
    with TestClient(
        create_app(Predictor.load(STORED / "finished")), base_url="http://localhost"
    ) as client:
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
    """Run with a bound on its processor time; only our own errors, of one line, are allowed."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        action()
    except MGAEError as error:
        text = str(error)
        assert len(text) < 5000 and "\n" not in text, text[:300]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


TARGETS = {
    "files": fuzz_files,
    "options": fuzz_options,
    "runs": fuzz_runs,
    "settings": fuzz_settings,
    "toml": fuzz_toml,
    "service": fuzz_service,
}


def main(target: str, count: int, seed: int) -> None:
    faulthandler.register(signal.SIGPROF, chain=True)  # say where the time went, then end
    taken = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY,) * 2)
    TARGETS[target](count, random.Random(seed))
    sys.stdout.write(json.dumps({"inputs": count}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
