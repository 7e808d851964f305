"""``python -m benchmarks.frames``: how long the page takes to draw 100,000 nodes, in chromium."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks.load import _mgae, _service

NODES = 100_000
_TRAIN = ["train", "cora", "--set", "train.epochs=1", "--quiet"]
# Nodes in nine clouds, drawn 40 times at each zoom and then moved, a frame after the other.
_MEASURE = """async (count) => {
  const { map } = window.mgae;
  let state = 1;
  const draw = () => { state = (state * 16807) % 2147483647; return state / 2147483647; };
  const many = (make) => Array.from({ length: count }, (_, n) => make(n));
  const near = (middle) => Math.round(65535 * Math.min(1, Math.max(0,
    middle + 0.28 * (draw() + draw() + draw() - 1.5))));
  map.load({ nodes: many((n) => n), titles: null, attributes: {}, grouping: "class",
    x: many((n) => near(0.25 + 0.25 * (n % 3))), y: many((n) => near(0.25 + 0.25 * ((n % 9) / 3 | 0))),
    group: many((n) => n % 9), groups: [..."abcdefghi"], projection: "pca", total: count });
  const middle = (times, share) => times.sort((one, other) => one - other)[Math.floor(share * times.length)];
  const found = {};
  for (const zoom of [1, 4, 20]) {
    const times = [];
    for (let n = 0; n < 40; n++) {
      map.view.zoom = zoom;
      map.pan(n % 2 ? 3 : -3, 1);
      const started = performance.now();
      map.paint();
      times.push(performance.now() - started);
    }
    found[`zoom ${zoom}: p50 ms`] = middle(times, 0.5);
    found[`zoom ${zoom}: p90 ms`] = middle(times, 0.9);
  }
  map.all();
  const stamps = [];
  for (let n = 0; n < 90; n++) {
    map.pan(n % 60 < 30 ? 3 : -3, 0);
    await new Promise(requestAnimationFrame);
    stamps.push(performance.now());
  }
  const gaps = stamps.slice(1).map((stamp, n) => stamp - stamps[n]);
  return { ...found, "between two frames: p50 ms": middle(gaps, 0.5), "between two frames: p90 ms": middle(gaps, 0.9) };
}"""  # noqa: E501


def measure(address: str, ratio: int) -> dict[str, float]:
    """Milliseconds on a screen with so many pixels for each of the page's."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        context = browser.new_context(
            viewport={"width": 1440, "height": 900}, device_scale_factor=ratio
        )
        page = context.new_page()
        page.goto(f"http://{address}/")
        page.wait_for_selector("#panel h1")
        figures: dict[str, float] = page.evaluate(_MEASURE, NODES)
        browser.close()
        return figures


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        _mgae(*_TRAIN, "--out", str(run))
        with _service(run) as address:
            for ratio in (1, 2):
                for name, value in measure(address, ratio).items():
                    print(f"{ratio} pixels, {name} {value:.1f}")


if __name__ == "__main__":
    main()
