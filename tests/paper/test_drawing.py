"""Pictures of tables: what is drawn, and what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from mgae.paper.document import (
    Counts,
    GraphRow,
    StatisticsDocument,
    TableDocument,
    Unmeasured,
    document,
)
from mgae.paper.drawing import picture
from mgae.paper.plan import table
from mgae.paper.statistics import statistics_picture
from mgae.runs.pictures import save
from mgae.runs.results import Summary
from tests.paper.test_tables import curves, done, made


def strict(figures: dict[str, float]) -> TableDocument:
    """Table 2 by the strict protocol, with one row on one graph."""
    spec = table("links-planetoid", "strict")
    test = {name: Summary.of([value]) for name, value in figures.items()}
    return document(spec, spec.cells({}), {("GAE", "cora"): done([50.0], [], test=test)}, {})


def test_where_there_are_hard_negatives_they_are_drawn() -> None:
    (panel,) = picture(strict({"auc": 95.0, "hard_mrr": 30.0})).axes
    assert panel.get_xlabel() == "hard MRR, %"
    assert panel.lines[0].get_xdata() == [30.0]
    (panel,) = picture(made("links-planetoid", {("GAE", "cora"): [95.0]})).axes
    assert panel.get_xlabel() == "AUC, %"


def legend_of(figure: Figure) -> list[str]:
    (legend,) = figure.legends
    return sorted(text.get_text() for text in legend.get_texts())


def test_the_legend_has_each_color_once_and_the_diamond_where_there_is_one() -> None:
    rows = ("DGI", "GAE", "MGAE-GCN", "MGAE-SAGE", "raw-features")
    figures = {(row, graph): [90.0, 91.0] for row in rows for graph in ("cora", "citeseer")}
    colors = ["MGAE", "baselines", "heuristics: nothing is learned"]
    paper = "the paper's mean"
    assert legend_of(picture(made("links-planetoid", figures))) == [*colors, paper]
    assert legend_of(picture(strict({"hard_mrr": 30.0}))) == ["baselines"]
    heuristic = {("raw-features", "cora"): [80.0]}
    assert legend_of(picture(made("links-planetoid", heuristic))) == [colors[-1]]


def test_counts_that_differ_are_apart_and_what_was_not_loaded_is_not_there() -> None:
    cora = Counts(nodes=2708, edges=5429, features=None, classes=None)
    rows = [
        GraphRow.model_construct(name=name, printed=cora, loaded=loaded)
        for name, loaded in (("cora", cora.model_copy(update={"edges": 5278})), ("ogbl-ppa", None))
    ]
    nodes, edges = statistics_picture(StatisticsDocument.model_construct(rows=rows)).axes
    assert [label.get_text() for label in nodes.get_yticklabels()] == ["Cora"]
    found = [[text.get_text() for text in panel.texts] for panel in (nodes, edges)]
    assert found == [["+0.00"], ["-2.78"]], "100 · (5278 / 5429 - 1)"
    (place,) = edges.transData.transform(edges.collections[0].get_offsets())
    (same,) = edges.transData.transform([[0.0, 0.0]])
    assert same[0] - place[0] > 50, "pixels"


def test_a_curve_that_is_not_whole_is_left_out() -> None:
    doc = curves()
    lacking = {"SelfTask-GNN at ω = 0.9": ["cora", "citeseer"], "MGAE-GCN at ω = 0.1": ["citeseer"]}
    for row in doc.rows:
        for dataset in lacking.get(row.name, []):
            row.cells[dataset] = Unmeasured(status="not measured yet")
    panels = {panel.get_title().split()[0]: panel for panel in picture(doc).axes}
    assert list(panels) == ["PubMed", "ogbl-ddi", "Cora"]
    names = [text.get_text() for text in panels["Cora"].get_legend().get_texts()]
    assert names == ["MGAE-GCN"]


def test_a_variant_by_itself_is_left_out_and_a_method_is_not() -> None:
    figures = {(kind, "cora"): [95.0] for kind in ("undirected", "directed")}
    figures["directed", "citeseer"] = [94.0]
    assert [panel.get_title() for panel in picture(made("mask-kind", figures)).axes] == ["Cora"]
    assert len(picture(made("links-planetoid", {("GAE", "cora"): [95.0]})).axes) == 1


@pytest.mark.parametrize("name", ["links-planetoid", "mask-ratio", "mask-kind"])
def test_where_nothing_is_left_the_picture_says_so(
    name: str, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    figure = picture(made(name, {}))
    assert not figure.axes
    assert figure.texts[-1].get_text() == "nothing to compare yet"
    save(figure, tmp_path / name)
    assert not recwarn.list
