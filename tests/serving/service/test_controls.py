"""Every control of the page, at three widths: what it does, and that everybody can use it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from axe_playwright_python.base import AXE_FILE_PATH
from playwright.sync_api import Browser, Download, Page, expect

from mgae.data.nodetexts import NodeTexts
from mgae.serving import Predictor
from mgae.serving.service.application import create_app
from mgae.serving.service.served import Served
from tests.conftest import toy_data
from tests.serving.service.browsing import SIZES, opened, search, served
from tests.serving.service.conftest import measured
from tests.serving.test_predictor import fitted, named, ran

TOWNS = ["Graz", "Linz", "Wels"]
BAD = ("serious", "critical")


@pytest.fixture(scope="module")
def people() -> Predictor:
    data = toy_data(num_nodes=60, num_edges=150)
    titles = pa.array([f"Person {number}" for number in range(59)] + [None])
    data.texts = NodeTexts(titles, {"town": pa.array(TOWNS * 20)})
    return fitted(data)


@pytest.fixture(scope="module")
def address(people: Predictor, predictor: Predictor) -> Iterator[str]:
    first = Served.of(people, "people", measured(people.config, 91.5))
    with served(create_app(first, Served.of(predictor, "other"))) as at:
        yield at


@pytest.fixture(params=SIZES)
def page(browser: Browser, address: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    with opened(browser, address, request.param) as made:
        expect(made.locator("#panel h1")).to_have_text("data")
        yield made


def visit(page: Page, address: str, heading: str) -> None:
    page.evaluate("(hash) => { location.hash = hash; }", address)
    expect(page.locator("#panel h1")).to_have_text(heading)


def ids(page: Page, name: str = "recommended") -> list[str]:
    return page.locator(f"[data-list={name}] tbody .key-id").all_inner_texts()


def rows_of(download: Download) -> list[list[str]]:
    return list(csv.reader(Path(download.path()).read_text(encoding="utf-8").splitlines()))


def test_the_legend_filters_map_and_lists(page: Page, people: Predictor) -> None:
    legend = page.locator("#legend")
    if legend.get_attribute("open") is None:  # on a phone
        legend.locator("summary").click()
    legend.get_by_label("Color by").select_option("town")
    assert legend.locator("li .name").all_inner_texts() == TOWNS
    visit(page, "#node=7", "Person 7")
    expect(page.locator("[data-group-of='7']")).to_have_text("Linz")
    legend.get_by_label("Color by").select_option("class")
    expect(page.locator("[data-group-of='7']")).to_have_text("class 1")
    legend.get_by_label("Color by").select_option("town")
    legend.get_by_role("button", name="Linz").click()
    expect(legend.get_by_role("button", name="Linz")).to_have_attribute("aria-pressed", "true")
    links = [link.node for link in people.recommend(7, 10)]
    kept = [str(node) for node in links if node % 3 == 1]
    assert ids(page) == kept
    expect(page.locator("section.list").first).to_contain_text(f"{len(kept)} of 10")
    hidden = "window.mgae.map.nearest(...window.mgae.map.screen(%d), 1)"
    assert page.evaluate(hidden % 7) == 7
    assert page.evaluate(hidden % 8) != 8  # nobody picks what is not shown
    legend.get_by_role("button", name="Show all").click()
    assert ids(page) == list(map(str, links))


def test_lists_are_as_long_and_in_the_order_that_is_wanted(page: Page, people: Predictor) -> None:
    visit(page, "#node=7", "Person 7")
    page.get_by_label("How many: Recommended links").select_option("25")
    expect(page.locator("[data-list=recommended] tbody tr")).to_have_count(25)
    links = people.recommend(7, 25)
    assert ids(page) == [str(link.node) for link in links]
    assert page.evaluate("window.mgae.map.links.length") == 25
    head = page.locator("[data-list=recommended] thead")
    head.get_by_role("button", name="node").click()
    expect(head.locator("[aria-sort=ascending]")).to_have_text("node")
    ordered = sorted(str(link.node) for link in links if link.node != 59)
    assert sorted(ids(page)) == ordered
    named = [text.split(" ")[1] for text in page.locator("[data-list=recommended] .id").all_inner_texts() if "Person" in text]  # fmt: skip # noqa: E501
    assert named == sorted(named, key=lambda text: int("".join(filter(str.isdigit, text))))
    head.get_by_role("button", name="score").click()
    head.get_by_role("button", name="score").click()
    expect(head.locator("[aria-sort=ascending]")).to_have_text("score")
    assert ids(page)[-1] == str(links[0].node)
    visit(page, "#node=8", "Person 8")  # the length stays, the order does not
    expect(page.locator("[data-list=recommended] tbody tr")).to_have_count(25)


def test_what_is_shown_is_downloaded(page: Page, people: Predictor) -> None:
    visit(page, "#node=7", "Person 7")
    page.get_by_label("How many: Recommended links").select_option("5")
    expect(page.locator("[data-list=recommended] tbody tr")).to_have_count(5)
    page.get_by_role("button", name="Why these?").click()
    expect(page.locator("[data-list=recommended] .reason")).to_have_count(5)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Recommended links as CSV").click()
    assert waiting.value.suggested_filename == "recommended-7.csv"
    head, *rows = rows_of(waiting.value)
    assert head == ["node", "title", "score", "probability", "reason"]
    links = people.recommend(7, 5)
    assert [(row[0], row[1]) for row in rows] == [(str(x.node), x.title or "") for x in links]
    assert [float(row[2]) for row in rows] == pytest.approx([link.score for link in links])
    assert all(row[4].endswith(".") for row in rows)


def test_two_nodes_are_compared(page: Page, people: Predictor) -> None:
    visit(page, "#node=7", "Person 7")
    page.get_by_role("link", name="Compare with…").click()
    expect(page.locator("#panel h1")).to_have_text("Two nodes")
    search(page, "Person 12", "#pair-1", "#pair-1-options")
    page.keyboard.press("Enter")
    tiles = page.get_by_label("The pair")
    scores = people.score_links([(7, 12)])
    expect(tiles).to_contain_text(f"{scores.logit[0]:.2f}")
    expect(tiles).to_contain_text("yes" if people.joins(7, 12) else "no")
    expect(page.locator(".beside thead")).to_have_text("Person 7Person 12")
    expect(page.locator(".beside tbody")).to_contain_text("Linz")
    common = set(people.neighbors(7)) & set(people.neighbors(12))
    assert page.locator("[data-list=common] li").count() == len(common)
    page.get_by_role("button", name="Swap the two").click()
    expect(page.locator(".beside thead")).to_have_text("Person 12Person 7")
    assert page.evaluate("location.hash") == "#pair=12&7"


def test_a_new_node_gets_links(page: Page, people: Predictor) -> None:
    visit(page, "#new", "A new node")
    for text in ("Person 20", "Person 21", "Person 22"):
        search(page, text, "#new-neighbor", "#new-neighbor-options")
        page.keyboard.press("Enter")
    page.get_by_role("button", name="Remove Person 22").click()
    page.get_by_role("button", name="Recommend links").click()
    expect(page.locator("[data-list=recommended] tbody tr")).to_have_count(10)
    mean = people.graph.x.mean(dim=0).tolist()
    edges = [("new", 20), ("new", 21)]
    links = people.recommend_new({"new": mean}, edges, 10)["new"]
    assert ids(page) == [str(link.node) for link in links if link.title]
    assert page.evaluate("window.mgae.map.labels[0].text") == "new"


def test_a_new_node_that_is_none_is_refused(browser: Browser, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}/#new")
    page.fill("#new-id", "3")
    page.get_by_role("button", name="Recommend links").click()
    expect(page.get_by_role("alert")).to_contain_text("is in the graph already")
    page.close()


def test_the_neighborhood_fills_the_map_and_names_cover_nothing(page: Page) -> None:
    visit(page, "#node=7", "Person 7")
    page.get_by_label("Zoom to the neighborhood").click()
    page.wait_for_function("() => window.mgae.map.waiting === undefined")
    apart = page.evaluate(
        """() => {
          const map = window.mgae.map;
          const ends = [map.selected, ...map.neighbors, ...map.links];
          const spots = ends.map((n) => map.screen(n));
          const covers = map.labels.filter((label) => ends.some((n) => {
            const [x, y] = map.screen(n);
            return x > label.left && x < label.left + label.width && y > label.top
              && y < label.top + label.height;
          }));
          const inside = spots.every(([x, y]) => x > 0 && y > 0 && x < map.width && y < map.height);
          return { inside, zoom: map.view.zoom, named: map.labels.length, covered: covers.length };
        }"""
    )
    assert apart["inside"]
    assert apart["named"] >= 3
    assert apart["covered"] == 0
    page.get_by_label("Show everything").click()
    page.locator("#map").focus()
    page.keyboard.press("n")
    assert page.evaluate("window.mgae.map.view.zoom") == pytest.approx(apart["zoom"])


def test_another_run_is_chosen(page: Page) -> None:
    page.get_by_role("combobox", name="Run").select_option("other")
    page.wait_for_url("**/?run=other")
    expect(page.locator("#panel h1")).to_have_text("data")
    search(page, "n2")
    page.keyboard.press("Enter")
    expect(page.locator("#panel h1")).to_have_text("n20")
    assert "run=other" in str(page.get_by_label("Recommended links as JSON").get_attribute("href"))


def test_figures_stand_beside_the_best_heuristic(page: Page) -> None:
    row = page.locator("table.figures tbody tr").first
    expect(row.locator("th")).to_contain_text("how often an edge scores higher")
    expect(row.locator(".best")).to_contain_text("91.50")
    expect(row.locator("td").last).to_contain_text("common-neighbors")


def test_every_route_can_be_tried(page: Page, address: str, people: Predictor) -> None:
    page.goto(f"{address}/docs")
    for name in ("GET /nodes/{id}/recommendations", "POST /score", "POST /embed", "GET /metrics"):
        form = page.get_by_role("form", name=f"Try {name}", exact=True)
        form.get_by_role("button").click()
        expect(form).to_contain_text("200 OK")
    form = page.get_by_role("form", name="Try GET /nodes/{id}/similar", exact=True)
    form.get_by_label("id", exact=True).fill("7")
    form.get_by_label("k", exact=True).fill("1")
    form.get_by_role("button").click()
    expect(form.get_by_label("The same by curl")).to_contain_text("/nodes/7/similar?k=1")
    answer = json.loads(form.get_by_label("The answer").inner_text())
    assert answer["similar"][0]["node"] == people.similar(7, 1)[0][0]


def test_without_embeddings_there_are_lists_and_no_map(browser: Browser, tmp_path: Path) -> None:
    run = ran(
        tmp_path / "run", named(), method="common-neighbors", encoder=None, decoder=None, train=None
    )
    with served(create_app(Served.load(run))) as at, opened(browser, at, "tablet") as page:
        page.goto(f"{at}/#node=n3")
        expect(page.locator("[data-list=recommended] tbody tr")).to_have_count(10)
        expect(page.locator("#map")).to_be_hidden()
        visit(page, "#pair=n3&n4", "Two nodes")
        expect(page.get_by_label("The pair")).to_contain_text("cosine")


@pytest.mark.parametrize(("size", "scheme"), [("desktop", "light"), ("phone", "dark")])
def test_axe_finds_nothing_serious(browser: Browser, address: str, size: str, scheme: Any) -> None:
    axe = Path(AXE_FILE_PATH).read_text(encoding="utf-8")
    with opened(browser, address, size, color_scheme=scheme) as page:
        for url in ("", "#node=7", "#pair=7&12", "#new", "docs"):
            page.goto("about:blank")
            page.goto(f"{address}/{url}")
            expect(page.locator("#panel h1, article h1")).to_be_visible()
            if url == "#node=7":
                page.get_by_role("button", name="Why these?").click()
                expect(page.locator(".reason").first).to_be_visible()
            page.evaluate(axe)
            answer = page.evaluate("axe.run()")
            assert len(answer["passes"]) > 20
            result = answer["violations"]
            bad = {
                one["id"]: [node["html"][:150] for node in one["nodes"]]
                for one in result
                if one["impact"] in BAD
            }
            assert bad == {}, url


def test_many_dots_are_drawn_coarser_while_they_move(browser: Browser, address: str) -> None:
    """On a fine screen: at the pixels of the page, and at all pixels once they rest."""
    with opened(browser, address, device_scale_factor=2) as page:
        expect(page.locator("#panel h1")).to_have_text("data")
        widths = page.evaluate(
            """async () => {
              const map = window.mgae.map;
              const many = (make) => Array.from({ length: 30000 }, (_, n) => make(n));
              const { groups, grouping, projection } = map.data;
              map.load({ groups, grouping, projection, nodes: many((n) => n), titles: null,
                attributes: {}, x: many((n) => (n * 7919) % 65536),
                y: many((n) => (n * 104729) % 65536),
                group: many((n) => n % 2), total: 30000 });
              map.paint();
              const still = map.dots.canvas.width;
              map.pan(5, 0);
              map.paint();
              const moving = map.dots.canvas.width;
              for (let n = 0; n < 600 && map.dots.canvas.width !== still; n++) {
                await new Promise((done) => setTimeout(done, 20));
              }
              return [still, moving, map.dots.canvas.width];
            }"""
        )
        assert widths[0] == widths[2] == 2 * widths[1]


def test_classes_color_first_then_an_attribute_of_few_values(
    browser: Browser, address: str
) -> None:
    with opened(browser, address) as page:
        chosen = page.evaluate(
            """async () => {
              const { telling } = (await import("/page/legend.js")).Legend.prototype;
              const attributes = { name: [..."abcdefghijkl"], town: [..."aabbccaabbc", null] };
              const by = (grouping, some) => telling({ grouping, attributes: some });
              return [by("class", attributes), by("cluster", attributes), by("community", {})];
            }"""
        )
        assert chosen == [0, 2, 0]
