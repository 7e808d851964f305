"""The page in a real browser: what a person does with it, and what she sees."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Page, expect

from mgae.data.nodetexts import NodeTexts
from mgae.evaluation.verdict import Verdict
from mgae.serving import Predictor
from mgae.serving.service.application import create_app
from mgae.serving.service.served import Served
from tests.conftest import toy_data
from tests.serving.service.browsing import SIZES, opened, search, served
from tests.serving.service.conftest import measured
from tests.serving.test_predictor import fitted


@pytest.fixture(scope="module")
def address(predictor: Predictor) -> Iterator[str]:
    toy = Served.of(predictor, "data", measured(predictor.config, 91.5))
    with served(create_app(toy)) as at:
        yield at


@pytest.fixture(params=SIZES)
def page(browser: Browser, address: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    with opened(browser, address, request.param) as made:
        expect(made.locator("#panel h1")).to_have_text("data")
        yield made


def colors(page: Page) -> dict[str, int]:
    """How many pixels of the map have each color of the palette."""
    return page.evaluate(
        """async () => {
          // Once for what was asked before, once more for what that has drawn.
          for (let n = 0; n < 2; n++) await new Promise(requestAnimationFrame);
          const pixels = (canvas) => [...canvas.getContext("2d")
            .getImageData(0, 0, canvas.width, canvas.height).data];
          const data = [...document.querySelectorAll("canvas")].flatMap(pixels);
          const found = {};
          window.mgae.map.looks.colors.forEach((hex, group) => {
            const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
            let count = 0;
            for (let at = 0; at < data.length; at += 4) {
              const near = (value, wanted) => Math.abs(value - wanted) < 4;
              if (data[at + 3] > 60 && near(data[at], r) && near(data[at + 1], g)
                && near(data[at + 2], b)) count += 1;
            }
            found[`g${group}`] = count;
          });
          return found;
        }"""
    )


def links(page: Page, name: str) -> list[str]:
    return page.locator(f"[data-list={name}] a .id").all_inner_texts()


def test_the_map_is_drawn_in_the_groups_colors(page: Page) -> None:
    counts = colors(page)
    assert counts["g0"] > 100
    assert counts["g1"] > 100
    assert counts["g2"] == 0  # the toy graph has two classes
    expect(page.locator("#map-note")).to_contain_text("60 nodes, by PCA")
    expect(page.locator("table.figures")).to_contain_text("91.50")


def test_nothing_is_wider_than_the_screen(page: Page) -> None:
    search(page, "n20")
    page.keyboard.press("Enter")
    expect(page.locator("[data-list=recommended] a")).to_have_count(10)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_search_then_walk_along_a_recommendation(page: Page, predictor: Predictor) -> None:
    search(page, "n2")
    assert page.locator("#suggestions li").all_inner_texts() == predictor.find("n2", 12)
    page.keyboard.press("ArrowDown")
    expect(page.locator("#suggestions li[aria-selected=true]")).to_have_text("n21")
    page.keyboard.press("Enter")
    expect(page.locator("#panel h1")).to_have_text("n21")
    # The heading may stand there before the answer.
    expect(page.locator("[data-list=recommended] a")).to_have_count(10)
    assert links(page, "recommended") == [link.node for link in predictor.recommend("n21", 10)]
    assert links(page, "similar") == [node for node, _ in predictor.similar("n21", 10)]
    chips = page.locator("[data-list=neighbors] a").all_inner_texts()
    assert chips == predictor.neighbors("n21")
    before = colors(page)
    first = links(page, "recommended")[0]
    page.locator("[data-list=recommended] a").first.click()
    expect(page.locator("#panel h1")).to_have_text(first)
    chosen = "(id) => window.mgae.map.data.nodes[window.mgae.map.selected] === id"
    page.wait_for_function(chosen, arg=first)
    assert colors(page) != before  # other lines and rings are drawn
    page.go_back()
    expect(page.locator("#panel h1")).to_have_text("n21")


def test_a_dot_that_is_clicked_is_chosen(page: Page) -> None:
    where = page.evaluate("window.mgae.map.screen(window.mgae.map.indexOf('n30'))")
    page.locator("#map").click(position={"x": where[0], "y": where[1]})
    expect(page.locator("[data-list=recommended] a")).to_have_count(10)
    chosen = page.locator("#panel h1").inner_text()
    there = page.evaluate("(id) => window.mgae.map.screen(window.mgae.map.indexOf(id))", chosen)
    assert abs(there[0] - where[0]) + abs(there[1] - where[1]) < 12  # it, or one that covers it


def test_the_map_moves_and_zooms_by_wheel_drag_and_keys(page: Page) -> None:
    view = "window.mgae.map.view"
    canvas = page.locator("#map")
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 200, box["y"] + 330)
    page.mouse.wheel(0, -500)
    page.wait_for_function(f"() => {view}.zoom > 2")
    x = page.evaluate(f"{view}.x")
    page.mouse.down()
    page.mouse.move(box["x"] + 260, box["y"] + 330, steps=4)
    page.mouse.up()
    assert page.evaluate(f"{view}.x") < x
    assert page.evaluate("location.hash") == ""  # a drag is no click
    canvas.focus()
    page.keyboard.press("0")
    assert page.evaluate(view) == {"x": 0.5, "y": 0.5, "zoom": 1}
    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(f"{view}.zoom") == pytest.approx(1.4)
    assert page.evaluate(f"{view}.x") > 0.5
    page.get_by_label("Show everything").click()
    assert page.evaluate(f"{view}.zoom") == 1


def test_an_id_is_never_taken_for_markup(page: Page) -> None:
    search(page, "<b>")
    page.locator("#suggestions li").first.click()
    expect(page.locator("#panel h1")).to_have_text("<b>bold</b>")
    assert page.locator("#panel h1 b").count() == 0
    page.evaluate("location.hash = '#node=a%2Fb'")
    expect(page.locator("#panel h1")).to_have_text("a/b")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_color_schemes_are_there(browser: Browser, address: str, scheme: Any) -> None:
    page = browser.new_page(color_scheme=scheme)
    page.goto(address)
    expect(page.locator("#panel h1")).to_have_text("data")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(246, 247, 249)", "dark": "rgb(16, 21, 28)"}[scheme]
    assert colors(page)["g0"] > 100
    page.close()


def test_an_unknown_node_is_told_and_the_way_back_shown(browser: Browser, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}/#node=nobody")
    expect(page.get_by_role("alert")).to_contain_text("unknown node 'nobody'")
    page.get_by_text("Back to the overview").click()
    expect(page.locator("#panel h1")).to_have_text("data")
    page.close()


def test_scores_that_should_not_be_used_are_said_to_be(
    browser: Browser, predictor: Predictor
) -> None:
    judged = copy(predictor)
    text = "not worth it here: use L3 (AUC 90.0 against our 80.0)"
    judged.verdict = Verdict("worse", text, "auc", 100, 80.0, (75.0, 85.0), "l3", 90.0)
    toy = Served.of(judged, "data", measured(judged.config, 70.0))
    with served(create_app(toy)) as address:
        page = browser.new_page()
        page.goto(address)
        shown = page.locator("#panel .verdict.worse")
        expect(shown).to_have_text(f"N{text[1:]}.")
        expect(page.locator("#panel .figures .best")).to_contain_text("80.00")
        page.goto(f"{address}/#node=n20")
        expect(page.locator("#panel [data-list=recommended]")).to_be_visible()
        expect(shown).to_have_count(1)
        page.close()


def test_the_api_is_described_without_a_cdn(browser: Browser, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}/docs")
    expect(page.locator(".route")).to_have_count(11)
    expect(page.locator("article")).to_contain_text("/nodes/{id}/recommendations")
    page.close()


def test_a_guarded_page_asks_for_the_token(browser: Browser, predictor: Predictor) -> None:
    with served(create_app(predictor, token="correct horse")) as address:
        page = browser.new_page()
        page.goto(address)
        page.fill("#token", "wrong horse")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_have_text("That is not the token.")
        page.fill("#token", "correct horse")
        page.keyboard.press("Enter")
        expect(page.locator("#panel h1")).to_have_text("data")
        assert "correct" not in page.url
        page.close()


def test_titles_are_searched_shown_and_explained(browser: Browser) -> None:
    data = toy_data(num_nodes=30, num_edges=80)
    titles = pa.array([f"Person {number}" for number in range(29)] + [None])
    data.texts = NodeTexts(titles, {"town": pa.array(["Graz", "Linz"] * 15)})
    with served(create_app(fitted(data))) as at:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        page = context.new_page()
        page.goto(at)
        search(page, "person 7")
        assert page.locator("#suggestions li").all_inner_texts()[0].startswith("Person 7")
        page.keyboard.press("Enter")
        expect(page.locator("#panel h1")).to_have_text("Person 7")
        expect(page.locator("[data-name=facts]")).to_have_text("7 · town: Linz")
        expect(page.locator("[data-list=recommended] a .id").first).to_contain_text("Person ")
        assert page.evaluate("window.mgae.map.about(4)") == "Person 4 · class 0 · Graz"
        assert page.evaluate("window.mgae.map.title(29)") == "29"
        page.get_by_role("button", name="Why these?").click()
        expect(page.locator("[data-list=recommended] .reason")).to_have_count(10)
        expect(page.locator(".reason").first).to_contain_text("= score ")
        context.close()
