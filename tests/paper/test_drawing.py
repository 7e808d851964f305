"""Pictures of tables: what is drawn, and what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from mgae.paper.document import (
    Counts,
    GraphRow,
    StatisticsDocument,
    TableDocument,
    Unmeasured,
    document,
    documents,
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


def test_table_1_is_a_table_with_differences_in_bold() -> None:
    cora = Counts(nodes=2708, edges=5429, features=None, classes=None)
    rows = [
        GraphRow.model_construct(
            name=name, printed=cora, loaded=loaded, split=None, printed_split=None
        )
        for name, loaded in (("cora", cora.model_copy(update={"edges": 5278})), ("ogbl-ppa", None))
    ]
    (panel,) = statistics_picture(StatisticsDocument.model_construct(rows=rows)).axes
    (drawn,) = panel.tables
    texts = {index: cell.get_text() for index, cell in drawn.get_celld().items()}
    assert [texts[1, n].get_text() for n in range(5)] == [
        "Cora",
        "2,708",
        "2,708",
        "5,278",
        "5,429",
    ]
    assert [texts[2, n].get_text() for n in range(3)] == ["ogbl-ppa", "–", "2,708"]
    assert [index for index, text in texts.items() if text.get_weight() == "bold"] == [(1, 3)]


@pytest.mark.parametrize("name", ["links-planetoid", "links-ogb", "mask-ratio"])
def test_legends_lie_beside_the_data_and_within_the_picture(name: str) -> None:
    doc = documents(Path("results"))[name]
    assert isinstance(doc, TableDocument)
    figure = picture(doc)
    FigureCanvasAgg(figure).draw()
    (legend,) = figure.legends
    box, whole = legend.get_window_extent(), figure.bbox
    assert whole.x0 <= box.x0 < box.x1 <= whole.x1
    assert not any(box.overlaps(panel.get_window_extent()) for panel in figure.axes)


def test_a_curve_that_is_not_whole_is_left_out() -> None:
    doc = curves()
    lacking = {"SelfTask-GNN at ω = 0.9": ["cora", "citeseer"], "MGAE-GCN at ω = 0.1": ["citeseer"]}
    for row in doc.rows:
        for dataset in lacking.get(row.name, []):
            row.cells[dataset] = Unmeasured(status="not measured yet")
    panels = {panel.get_title().split()[0]: panel for panel in picture(doc).axes}
    assert list(panels) == ["PubMed", "ogbl-ddi", "Cora"]
    assert panels["Cora"].get_legend_handles_labels()[1] == ["MGAE-GCN"]


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
