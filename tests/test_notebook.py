"""A notebook, run by a kernel as people run it: a bar while it trains, tables of what comes out."""

from __future__ import annotations

from typing import Any

import nbformat
from nbclient import NotebookClient

CELLS = [
    """
import mgae
edges = [(node, (node + 1) % 30) for node in range(30)]
model = mgae.MGAE(method="mgae", encoder__hidden_channels=4, train__epochs=3, verbose=True)
model.fit(edges);
""",
    "model",
    "model.predictor().recommend(3, k=2)",
    """
config = mgae.RunConfig(graph="ring", method="gae", train={"epochs": 2})
mgae.run(config, edges, observer=mgae.Progress())
""",
]


def html_of(cell: Any) -> list[str]:
    shown = (one["data"] for one in cell["outputs"] if "data" in one)
    return ["".join(data["text/html"]) for data in shown if "text/html" in data]


def test_a_notebook_shows_progress_and_tables() -> None:
    cells = [nbformat.v4.new_code_cell(text.strip()) for text in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=240, kernel_name="python3").execute()
    fitting, model, links, run = map(html_of, notebook["cells"])
    (bar,) = fitting
    assert "<progress value='3' max='3'></progress>" in bar and "3/3 epochs" in bar
    assert "loss" in bar and "best validation auc" in bar
    assert "<caption>MGAE, fitted</caption>" in model[0] and "validation auc" in model[0]
    assert "<th>probability</th>" in links[0] and links[0].count("<tr>") == 3
    assert "<progress value='2' max='2'></progress>" in run[0]
    assert "<th>AUC</th>" in run[1] and "common neighbors" in run[1]
