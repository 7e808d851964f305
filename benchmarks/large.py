"""``python -m benchmarks.large``: from tables of 10⁶ to 10⁸ edges to a trained model's answers.

Tables of edges with text ids are prepared, one sampled epoch of at most 20 steps is trained, and
1,000 nodes get recommendations; each in a process of its own. Processor's seconds and the largest
anonymous memory are measured, and the exponents of their growth with the edges. Nodes are
edges^(2/3), as in `benchmarks.growth`. What is there already is not measured again.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.growth import DENSIFICATION, PPA_EDGES, PPA_NODES, Peak, exponent

SIZES = (1_000_000, 10_000_000, 100_000_000)
STEPS, STEP_SIZE, CHANNELS, NODES_ASKED = 20, 2048, 64, 1000
_CODE = "from benchmarks import large; large.{call}({edges}, {folder!r})"
_AT_ONCE, _TABLES = 1_000_000, 8


def generate(edges: int, folder: Path) -> None:
    """Write tables of edges with text ids whose chance falls with the node's number."""
    chance = np.random.default_rng(0)
    num_nodes = round(PPA_NODES * (edges / PPA_EDGES) ** (1 / DENSIFICATION))
    schema = pa.schema([("source", pa.string()), ("target", pa.string())])
    folder.mkdir(parents=True)
    for number in range(_TABLES):
        with pq.ParquetWriter(folder / f"part-{number}.parquet", schema) as writer:
            for start in range(0, edges // _TABLES, _AT_ONCE):
                count = min(_AT_ONCE, edges // _TABLES - start)
                ends = (chance.random((2, count)) ** DENSIFICATION * num_nodes).astype(np.int64)
                # The order of the texts is not that of the chances.
                ends = ends * 2_654_435_761 % (1 << 32)
                columns = [pc.binary_join_element_wise("node-", _digits(end), "") for end in ends]
                writer.write_batch(pa.record_batch(columns, schema=schema))


def _digits(numbers: np.ndarray) -> pa.Array:
    return pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 10, "0")


def _measured(call: Callable[[], dict[str, Any]]) -> None:
    """Call in this process; print seconds, peaks and what it returns."""
    start = time.perf_counter()
    with Peak() as peak:
        figures = call()
    used = resource.getrusage(resource.RUSAGE_SELF)
    figures |= {
        "cpu_s": used.ru_utime + used.ru_stime,
        "wall_s": time.perf_counter() - start,
        "anonymous_gb": peak.most / 1e9,
    }
    print(json.dumps(figures))


def prepared(edges: int, folder: str) -> None:
    from mgae.data.large import prepare  # noqa: PLC0415 - a process for each stage

    def call() -> dict[str, Any]:
        tables = sorted(Path(folder, "tables").glob("*.parquet"))
        facts = prepare(tables, Path(folder, "graph"))
        return {"nodes": facts["num_nodes"], "merged_edges": facts["num_edges"]}

    _measured(call)


def trained(edges: int, folder: str) -> None:
    from mgae.core.training.state import EpochRecord  # noqa: PLC0415
    from mgae.runs.config import RunConfig  # noqa: PLC0415
    from mgae.runs.pipeline import Observer, run  # noqa: PLC0415

    config = RunConfig(
        graph=str(Path(folder, "graph")),
        method="mgae",
        encoder={"hidden_channels": CHANNELS, "inputs": "table"},
        decoder={"hidden_channels": CHANNELS},
        train={"epochs": 1, "fanouts": (10, 10), "step_size": STEP_SIZE, "max_steps": STEPS,
               "final_fit": False},
        evaluation={"heuristics": [], "hard_negatives": 0, "recall": []},
    )  # fmt: skip

    class Watch(Observer):
        before = after = 0.0

        def on_run(self, index: int, config: RunConfig) -> None:
            self.before = time.process_time()

        def on_epoch(self, record: EpochRecord) -> None:
            self.after = time.process_time()

    def call() -> dict[str, Any]:
        watch = Watch()
        result = run(config, out=Path(folder, "run"), observer=watch)
        figures = {"auc": result.test["auc"].mean, "steps": STEPS}
        return {**figures, "split_and_epoch_cpu_s": watch.after - watch.before}

    _measured(call)


def recommended(edges: int, folder: str) -> None:
    from mgae.serving import Predictor  # noqa: PLC0415

    def call() -> dict[str, Any]:
        predictor = Predictor.load(Path(folder, "run"))
        chosen = np.random.default_rng(0).choice(predictor.num_nodes, NODES_ASKED, replace=False)
        nodes = [predictor.node_ids[int(number)] for number in chosen]
        rows = sum(batch.num_rows for batch in predictor.recommend_all(k=10, nodes=nodes))
        return {"rows": rows}

    _measured(call)


def measure(edges: int, folder: Path) -> dict[str, Any]:
    """Every stage of one size; those whose figures are stored are not run again."""
    stored = folder / "figures.json"
    stages = json.loads(stored.read_text(encoding="utf-8")) if stored.exists() else {"edges": edges}
    for stage in ("prepared", "trained", "recommended"):
        if stage in stages:
            continue
        if stage == "prepared":
            shutil.rmtree(folder, ignore_errors=True)
            generate(edges, folder / "tables")
        for left in {"prepared": ("graph",), "trained": ("run",)}.get(stage, ()):
            shutil.rmtree(folder / left, ignore_errors=True)
        code = _CODE.format(call=stage, edges=edges, folder=str(folder))
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True
        )
        stages[stage] = json.loads(done.stdout.splitlines()[-1])
        stored.write_text(json.dumps(stages), encoding="utf-8")
        print(f"  {edges:,} edges, {stage}: {stages[stage]}", flush=True)
    return dict(stages)


def exponents(sizes: list[dict[str, Any]]) -> dict[str, float]:
    """The growth of each stage's seconds and memory with the edges."""
    result = {}
    for stage in ("prepared", "trained", "recommended"):
        for name in ("cpu_s", "anonymous_gb"):
            points = [{"edges": size["edges"], name: size[stage][name]} for size in sizes]
            result[f"{stage} {name}"] = exponent(points, name)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=float, nargs="+", default=SIZES)
    parser.add_argument("--folder", type=Path, required=True, help="for some 20 GB at 10^8 edges")
    parser.add_argument("--out", type=Path, default=Path("results/large.json"))
    given = parser.parse_args()
    sizes = [measure(int(size), given.folder / f"{int(size)}") for size in given.sizes]
    summary = {
        "step_size": STEP_SIZE,
        "sizes": sizes,
        "exponents": exponents(sizes) if len(sizes) > 1 else {},
    }
    for name, value in summary["exponents"].items():
        print(f"  exponent of {name}: {value:.3f}")
    given.out.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
