"""The report in a real browser: nothing is cut off, tables sort, files come down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_FILE_PATH
from playwright.sync_api import Browser, Page, expect

from mgae.reporting import write_report
from mgae.reporting.svg import Plot
from tests.serving.service.browsing import SIZES
from tests.serving.test_predictor import named, ran

# The texts of pictures that reach beyond their picture, by a pixel or more.
CUT = """() => [...document.querySelectorAll("svg text")].filter((text) => {
  const [inner, outer] = [text, text.ownerSVGElement].map((one) => one.getBoundingClientRect());
  return inner.left < outer.left - 1 || inner.right > outer.right + 1
    || inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1;
}).map((text) => text.textContent)"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    heuristics = {"evaluation": {"heuristics": ["common-neighbors", "adamic-adar"]}}
    return write_report(ran(tmp_path_factory.mktemp("looked") / "run", named(), **heuristics))


@pytest.fixture(params=SIZES)
def page(browser: Browser, report: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    width, height = SIZES[request.param]
    context = browser.new_context(viewport={"width": width, "height": height})
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    opened.goto(report.as_uri())
    yield opened
    assert wrong == []
    context.close()


def column(page: Page, number: int) -> list[float]:
    cells = page.locator(f"table.sortable >> nth=0 >> tbody td:nth-child({number})")
    texts = [text.split()[0] for text in cells.all_inner_texts()]
    return [float(text) for text in texts if text != "–"]


def test_nothing_is_cut_off_and_tables_scroll_by_themselves(page: Page) -> None:
    assert page.evaluate(CUT) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_figures_sort_by_any_column(page: Page) -> None:
    before = column(page, 2)
    head = page.locator("table.sortable >> nth=0 >> th").nth(1)
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert column(page, 2) == sorted(before, reverse=True)
    head.get_by_role("button").click()
    assert column(page, 2) == sorted(before)
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") is None
    assert column(page, 2) == before


def test_files_come_down(page: Page) -> None:
    with page.expect_download() as waiting:
        page.get_by_role("link", name="These figures as CSV").click()
    assert waiting.value.suggested_filename == "figures.csv"
    assert Path(waiting.value.path()).read_text().startswith("method,metric,mean")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Browser, report: Path, scheme: Any) -> None:
    page = browser.new_page(color_scheme=scheme)
    page.goto(report.as_uri())
    page.evaluate(Path(AXE_FILE_PATH).read_text(encoding="utf-8"))
    answer = page.evaluate("axe.run()")
    assert len(answer["passes"]) > 10
    serious = [one for one in answer["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in serious] == []
    page.close()


def test_long_numbers_beside_an_axis_have_room(browser: Browser) -> None:
    plot = Plot((0, 0.00012), (-0.0000012, 0.0000031), "x", "loss")
    page = browser.new_page()
    page.set_content(
        "<style>svg { width: 440px } svg text { font: 14px 'DejaVu Sans' }</style>"
        + plot.render("small")
    )
    expect(page.locator("text.tick").first).to_be_visible()
    assert page.evaluate(CUT) == []
    page.close()
