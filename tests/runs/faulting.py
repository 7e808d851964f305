"""Let the n-th system call of a training fail, or kill it there, for every n; run as a process.

``LD_PRELOAD=faultshim.so python -m tests.runs.faulting ERROR FOLDER FIRST STEP`` forks a process
for each n, so that nothing is imported twice; ERROR 0 is SIGKILL. The same process then does as
it was told: it resumes, or starts again. Prints how many calls were struck.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from mgae.core.errors import MGAEError
from mgae.runs.config import RunConfig
from mgae.runs.pipeline import evaluate, run
from mgae.serving import Predictor
from tests.conftest import QUICK, toy_data
from tests.runs.test_faults import contents, finish

CONFIG = RunConfig(
    graph="toy",
    method=QUICK,
    encoder={"kind": "gcn", "hidden_channels": 4},
    decoder={"hidden_channels": 4},
    train={"epochs": 2, "checkpoint_seconds": 0.0, "final_fit": True},
    evaluation={"heuristics": (), "hard_negatives": 0},
)
ALL = ("final.safetensors", "embeddings.parquet")
UNTOUCHED, REFUSED, WRONG = 0, 3, 4


def forked(action: Callable[[], int]) -> int:
    """Return the exit code of an action in a process of its own; -9 if it was killed."""
    child = os.fork()
    if child == 0:
        code = WRONG
        try:
            code = action()
        except BaseException:
            traceback.print_exc()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def everything(folder: Path) -> dict[str, bytes]:
    """Return the files that are the same whatever happened on the way."""
    return contents(folder) | {name: (folder / name).read_bytes() for name in ALL}


def main(error: int, root: Path, first: int, step: int) -> int:
    shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
    run(CONFIG, toy_data(), root / "whole")
    whole = everything(root / "whole")
    folder, struck = root / "struck", 0

    def train(at: int) -> int:
        shim.mgae_arm(str(folder).encode(), at, error)
        code = UNTOUCHED
        try:
            run(CONFIG, toy_data(), folder)
        except MGAEError as problem:
            line = str(problem)
            assert "\n" not in line, line
            assert os.strerror(error) in line, line
            code = REFUSED
        return code if shim.mgae_calls() >= at else UNTOUCHED + 1

    def recover() -> int:
        if not (folder / "metrics.json").exists():
            finish(folder, CONFIG)
        evaluate(folder)
        predictor = Predictor.load(folder)
        predictor.recommend(predictor.node_ids[0], k=2)
        assert not [file for file in folder.rglob(".*") if file.name != ".lock"]
        different = [name for name, old in whole.items() if (folder / name).read_bytes() != old]
        assert not different, different
        return 0

    at = first
    while (code := forked(lambda: train(at))) != UNTOUCHED + 1:  # noqa: B023
        expected = (-signal.SIGKILL,) if error == 0 else (UNTOUCHED, REFUSED)
        assert code in expected, f"call {at}: exit code {code}"
        assert forked(recover) == 0, f"call {at}: not the same bits"
        shutil.rmtree(folder, ignore_errors=True)
        at, struck = at + step, struck + 1
    return struck


if __name__ == "__main__":
    _error, _root, _first, _step = sys.argv[1:]
    struck = main(int(_error), Path(_root), int(_first), int(_step))
    sys.stdout.write(json.dumps({"struck": struck}) + "\n")
