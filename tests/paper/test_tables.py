"""Tables: what is in them, and how they read."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mgae.cli.livetable import seconds_left
from mgae.core.errors import UnknownName
from mgae.paper.claims import CLAIMS
from mgae.paper.document import (
    Environment,
    Measured,
    Outcomes,
    TableDocument,
    Unmeasured,
    document,
    documents,
)
from mgae.paper.drawing import picture
from mgae.paper.pages import body_of, overview, write_results
from mgae.paper.plan import names, printed_statistics, table
from mgae.paper.rendering import table_csv
from mgae.registry import DATASETS, METHODS
from mgae.runs.cells import config_hash, same_settings
from mgae.runs.results import Summary

BOTH = [*((name, "paper") for name in names()), ("links-planetoid", "strict"), ("nodes", "strict")]


def done(values: list[float], metrics: list[str], **more: Any) -> Measured:
    summary = Summary(values, sum(values) / len(values), 0.5)
    about: dict[str, Any] = {
        "seeds": list(range(len(values))),
        "epochs": [10] * len(values),
        "seconds": [1.0] * len(values),
        "environment": Environment(versions={"torch": "2"}, cores=2),
        "test": dict.fromkeys(metrics, summary),
    }
    return Measured(status="done", **{**about, **more})


def made(name: str, figures: dict[tuple[str, str], list[float]], **more: Any) -> TableDocument:
    """A document with these figures by row and graph."""
    spec = table(name)
    outcomes: Outcomes = {
        key: done(values, list(spec.columns[key[1]]), **more) for key, values in figures.items()
    }
    return document(spec, spec.cells({}), outcomes, {})


@pytest.mark.parametrize(("name", "protocol"), BOTH)
def test_every_cell_is_a_valid_run_set_on_a_known_graph(name: str, protocol: str) -> None:
    spec = table(name, protocol)
    for cell in spec.cells({}):
        assert cell.dataset in DATASETS
        assert cell.row.method in METHODS
        assert (cell.config.protocol, cell.config.evaluation.heuristics) == (protocol, ())
        if cell.is_papers and protocol == "paper" and cell.row.group != "heuristic":
            assert cell.config.method.kind == cell.row.method
    assert set(printed_statistics()) <= set(DATASETS.names())


def test_the_runs_of_a_cell_are_the_rows_or_the_graphs() -> None:
    runs = {(c.row.name, c.dataset): c.config.runs for c in table("links-ogb").cells({})}
    assert (runs["DGI", "ogbl-ddi"], runs["MGAE-GCN", "ogbl-ddi"]) == (3, 1)
    assert runs["MGAE-GCN", "ogbl-collab"] == 10
    assert {cell.config.runs for cell in table("links-ogb").cells({}, 2)} == {2}
    strict = {(c.row.name, c.dataset): c.config.runs for c in table("nodes", "strict").cells({})}
    assert (strict["MGAE", "cora"], strict["MGAE", "pubmed"]) == (5, 3)


def test_tables_share_the_run_sets_that_are_the_same() -> None:
    hashes = {n: {config_hash(c.config) for c in table(n).cells({})} for n in names()}
    assert len(hashes["mask-kind"] & hashes["links-planetoid"]) == 3
    assert len(hashes["mask-kind"] & hashes["links-ogb"]) == 1
    assert len(hashes["mask-ratio"] & hashes["links-planetoid"]) == 6


def test_the_extra_row_measures_the_models_of_another() -> None:
    cells = table("links-ogb").cells({})
    (extra,) = [c for c in cells if c.row.name.startswith("MGAE-GCN (") and c.dataset == "ogbl-ddi"]
    (plain,) = [c for c in cells if c.row.name == "MGAE-GCN" and c.dataset == "ogbl-ddi"]
    assert extra.trained == plain.config
    assert extra.config.evaluation.val_edges_as_input
    assert not plain.config.evaluation.val_edges_as_input
    assert cells.index(extra) > cells.index(plain)
    assert not extra.is_papers


def test_models_of_a_row_that_is_not_there_cannot_be_measured() -> None:
    spec = table("links-ogb")
    rows = [row for row in spec.rows if row.name != "MGAE-GCN"]
    with pytest.raises(UnknownName, match="unknown row 'MGAE-GCN'"):
        replace(spec, rows=tuple(rows)).cells({})


def lines(text: str) -> dict[str, list[str]]:
    """The first table's lines by their first text."""
    rows = (line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| "))
    result: dict[str, list[str]] = {}
    for first, *rest in rows:
        result.setdefault(first, rest)
    return result


def test_by_hand_ours_the_papers_the_difference_the_runs_and_the_best() -> None:
    figures = {
        ("MGAE-GCN", "cora"): [93.0, 94.0],
        ("GAE", "cora"): [91.0],
        ("raw-features", "cora"): [99.0],
    }
    text = body_of(made("links-planetoid", figures))
    result = lines(text)
    assert result["method"] == ["AUC", "paper", "Δ", "AP", "paper", "Δ", "runs"]
    assert result["MGAE-GCN"][:3] == ["**93.50 ± 0.50**", "93.52 ± 0.23", "-0.02"]
    assert result["MGAE-GCN"][6] == "2"
    assert result["GAE"][:3] == ["91.00", "91.09 ± 0.01", "-0.09"]
    assert result["MGAE-SAGE"][1] == "**95.05 ± 0.76**"
    assert result["*raw-features*"][0] == "*99.00*", "below the line, never the best"
    assert text.index("*heuristics") < text.index("*raw-features*")
    assert result["*common-neighbors*"][0] == "*not measured yet*"
    assert "misses the paper's AP by 0.96" in text, "94.46 - 93.50, more than 0.3"
    assert "misses the paper's AUC" not in text


def test_a_row_of_ours_that_is_better_is_bold_beside_the_papers_best() -> None:
    figures = {
        ("GAE", "cora"): [91.0],
        ("MGAE-GCN", "cora"): [93.0],
        ("MGAE+", "cora"): [96.0],
        ("MGAE+evidence", "cora"): [97.0],
    }
    doc = made("links-planetoid", figures, settings={"method": {"kind": "mgae"}})
    result = lines(body_of(doc))
    texts = [result[name][0] for name in ("GAE", "MGAE-GCN", "MGAE+", "MGAE+evidence")]
    assert texts == ["91.00", "**93.00**", "96.00", "**97.00**"]
    assert result["MGAE+"][1:3] == ["–", ""], "the paper has no such row"
    text = body_of(doc)
    assert "the best in bold among the paper's rows, and what of ours is above it." in text
    assert "- MGAE+ on Cora: settings by the mean validation AUC of seeds 100 and 101." in text
    assert "- MGAE+evidence on Cora: the settings of the default for one's own graph" in text
    stored = {row["name"]: row for row in doc.to_json()["rows"]}
    assert stored["MGAE+"]["recipe"] == "mgae-plus"
    assert "recipe" not in stored["GAE"], "stored rows of before are not to change"


def test_out_of_memory_and_missing_data_stand_in_their_cells() -> None:
    spec = table("links-ogb")
    outcomes: Outcomes = {("DGI", "ogbl-collab"): Unmeasured(status="data not available")}
    text = body_of(document(spec, spec.cells({}), outcomes, {}))
    collab = lines(text[text.index("**ogbl-collab**") :])
    assert collab["DGI"][:2] == ["data not available", "OOM"]
    assert collab["GCN"][0] == "not measured yet"


def test_a_metric_that_was_not_measured_is_a_dash() -> None:
    spec = table("links-planetoid")
    outcomes: Outcomes = {("MGAE-GCN", "cora"): done([93.0], ["ap"])}
    text = body_of(document(spec, spec.cells({}), outcomes, {}))
    assert lines(text)["MGAE-GCN"][:4] == ["–", "93.52 ± 0.23", "", "**93.00**"]
    doc = curves()
    cell = doc.rows[0].cells["pubmed"]
    doc.rows[0].cells["pubmed"] = cell.model_copy(update={"test": {}})
    assert lines(body_of(doc))["0.1"][0] == "–"
    assert doc.rows.pop(0).name == "MGAE-GCN at ω = 0.1"
    assert "not measured yet" in lines(body_of(doc))["0.1"]


def test_the_hours_of_models_that_are_measured_anew_count_once() -> None:
    spec = table("links-ogb")
    names = (
        "MGAE-GCN",
        "MGAE-GCN (validation edges as input)",
        "MGAE-SAGE (the authors' dropout)",
        "MGAE-SAGE (the authors' dropout and input)",
    )
    again: Outcomes = {
        (name, "ogbl-ddi"): done([60.0], ["hits@20"], seconds=[7200.0]) for name in names
    }
    assert "4.0 hours of runs in all" in body_of(document(spec, spec.cells({}), again, {}))


def test_a_row_that_measures_models_anew_has_the_settings_they_were_trained_with() -> None:
    cells = {cell.row.name: cell for cell in table("links-ogb").cells({})}
    cell = cells["MGAE-SAGE (the authors' dropout and input)"]
    trained = cells["MGAE-SAGE (the authors' dropout)"].config
    assert cell.trained is not None
    assert config_hash(cell.trained) == config_hash(trained)
    assert trained.encoder.drop_outputs and trained.train.epochs == 120
    evaluation = {**trained.evaluation.model_dump(), "val_edges_as_input": True}
    assert cell.config == trained.changed(evaluation=evaluation)


def test_with_settings_changed_by_hand_nothing_misses_the_paper() -> None:
    doc = made("links-planetoid", {("MGAE-GCN", "cora"): [50.0]})
    assert "misses the paper's" in body_of(doc)
    changed = doc.model_copy(update={"changed": {"train": {"epochs": 1}}})
    assert "misses the paper's" not in body_of(changed)


def test_csv_has_a_line_for_each_figure() -> None:
    doc = made("links-planetoid", {("MGAE-GCN", "cora"): [93.0, 94.0]})
    rows = list(csv.DictReader(io.StringIO(table_csv(doc))))
    (row,) = [
        r for r in rows if (r["method"], r["dataset"], r["metric"]) == ("MGAE-GCN", "cora", "auc")
    ]
    assert (row["mean"], row["runs"], row["paper_mean"]) == ("93.5", "2", "93.52")
    assert float(row["difference"]) == pytest.approx(-0.02)


def curves() -> TableDocument:
    figures: dict[tuple[str, str], list[float]] = {}
    for cell in table("mask-ratio").cells({}):
        ratio, ours = float(cell.row.ratio or 0), cell.row.series == "MGAE-GCN"
        middle = 97.0 - 10 * (ratio - 0.7) ** 2 - (0 if ours else 0.5)
        figures[cell.row.name, cell.dataset] = [middle - 0.2, middle, middle + 0.2]
    return made("mask-ratio", figures)


def test_a_curve_has_a_line_for_each_ratio_and_a_panel_for_each_graph() -> None:
    doc = curves()
    result = lines(body_of(doc))
    assert result["ω"] == ["MGAE-GCN, AUC", "SelfTask-GNN, AUC", "runs"]
    assert result["0.7"] == ["**97.00 ± 0.50**", "**96.50 ± 0.50**", "3"]
    panels = picture(doc).axes
    assert [panel.get_title() for panel in panels] == [
        f"{graph} (3 runs a point, 10 epochs at most)"
        for graph in ("PubMed", "ogbl-ddi", "Cora", "CiteSeer")
    ]
    assert [len(panel.lines) for panel in panels] == [3] * 4, "two curves and the paper's ratio"


def test_the_overview_counts_cells_and_lists_every_claim(tmp_path: Path) -> None:
    write_results(curves(), tmp_path / "mask-ratio.json")
    text = overview(tmp_path)
    assert "- [The share of masked edges](mask-ratio.md), Figure 2: 48 of 48 cells measured" in text
    assert all(claim.text in text for claim in CLAIMS)
    assert "\n  - PubMed: 0.1 to 0.2: " in text


def test_claims_that_rest_on_the_same_numbers_give_them_once(tmp_path: Path) -> None:
    kinds = {("directed", "cora"): [91.0, 92.0], ("undirected", "cora"): [90.0, 91.0]}
    write_results(made("mask-kind", kinds), tmp_path / "mask-kind.json")
    result = overview(tmp_path).split("### Undirected and directed masking\n\n")[1].splitlines()
    assert [line[:8] for line in result] == ["- Sparse", "  - Cora", "- In its", "  - the "]


def test_time_left_by_graph_and_by_what_is_only_read_again() -> None:
    cells = [c for c in table("mask-kind").cells({}, 2) if c.dataset in ("cora", "citeseer")]
    assert [c.dataset for c in cells] == ["cora", "cora", "citeseer", "citeseer"]
    assert seconds_left(cells, {}, {}, {}, 1) is None
    first = done([1.0, 2.0], ["auc"], seconds=[10.0, 20.0])
    # Two runs of 15 s for each of the three others.
    assert seconds_left(cells, {0: first}, {}, {}, 1) == 90.0
    assert seconds_left(cells, {0: first}, {}, {}, 2) == 45.0
    assert seconds_left(cells, {0: first}, {}, {1: 2, 2: 1}, 1) == 45.0
    assert seconds_left(cells, {}, {0: first}, {}, 1) == 120.0, "its runs are no longer there"


def test_stored_figures_match_the_settings_of_today() -> None:
    for doc in documents(Path(__file__).parents[2] / "results").values():
        if isinstance(doc, TableDocument):
            cells = table(doc.name, doc.protocol).cells({})
            configs = {(cell.row.name, cell.dataset): cell.config for cell in cells}
            for row, dataset, cell in doc.cells():
                if isinstance(cell, Measured):
                    assert same_settings(cell.settings, configs[row.name, dataset])


def test_what_the_experiment_files_note_of_settings_stands_below_a_table_of_methods() -> None:
    rows = {("MGAE-GCN", "cora"): [95.0], ("MGAE-SAGE", "cora"): [95.0]}
    ours = {"method": {"kind": "mgae"}}
    text = body_of(made("links-planetoid", rows, settings=ours))
    assert "- MGAE-GCN and MGAE-SAGE on Cora: encoder.feature_dropout = 0.5, the best of 9" in text
    gic = {("GIC", graph): [80.0] for graph in ("cora", "citeseer", "pubmed")}
    text = body_of(made("nodes", gic, settings={"method": {"kind": "gic"}}))
    assert "- GIC on Cora, CiteSeer and PubMed: without the unit lengths of its original" in text
    variants = {("undirected", "cora"): [95.0], ("directed", "cora"): [94.0]}
    assert "feature_dropout" not in body_of(made("mask-kind", variants, settings=ours))


def test_rows_that_were_not_asked_for_are_not_printed() -> None:
    spec = table("links-planetoid")
    outcomes: Outcomes = {("MGAE-GCN", "cora"): done([93.0], ["auc"])}
    doc = document(spec, spec.cells({}), outcomes, {})
    text = body_of(doc.model_copy(update={"only": frozenset(["MGAE-GCN"])}))
    assert lines(text)["MGAE-GCN"][0] == "**93.00**"
    assert "MGAE-SAGE" not in text and "heuristics" not in text
    assert "only" not in doc.to_json()
