"""Files of results: whole or absent, and no formulas if that is asked for."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from mgae.serving.outfiles import write_batches

ODD = ["=1+1", "+49 30", "-5 °C", "@name", "\tx", "plain", "a=b", ""]


SAFE = [*(f"'{text}" for text in ODD[:5]), *ODD[5:]]


@pytest.mark.parametrize(("safe", "expected"), [(False, ODD), (True, SAFE)])
def test_formulas_are_quoted_if_asked(tmp_path: Path, safe: bool, expected: list[str]) -> None:
    batch = pa.RecordBatch.from_pydict({"node_id": pa.array(ODD), "rank": pa.array(range(-4, 4))})
    write_batches(tmp_path / "out.csv", iter([batch]), safe)
    from pyarrow import csv

    options = csv.ConvertOptions(column_types={"node_id": pa.string()})
    table = csv.read_csv(tmp_path / "out.csv", convert_options=options)
    assert table["node_id"].to_pylist() == expected
    assert table["rank"].to_pylist() == list(range(-4, 4))


def test_a_terminated_command_leaves_no_partial_file(tmp_path: Path) -> None:
    code = (
        "import time, pyarrow as pa\n"
        "from pathlib import Path\n"
        "from mgae.cli import app\n"
        "from mgae.serving.outfiles import write_batches\n"
        "def slow(**named):\n"
        "    def batches():\n"
        "        yield pa.RecordBatch.from_pydict({'a': [1]})\n"
        "        print('writing', flush=True)\n"
        "        time.sleep(60)\n"
        "    write_batches(Path('out.csv'), batches())\n"
        "app.app = lambda *a, **k: slow()\n"
        "app.main([])\n"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        assert any(tmp_path.iterdir())
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 143
    assert not any(tmp_path.iterdir())
