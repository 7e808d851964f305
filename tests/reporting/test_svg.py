"""Plots, looked at as text."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mgae.reporting.svg import Plot, Scale, ticks


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 10))
def test_ticks_are_few_inside_and_evenly_apart(low: float, width: float, most: int) -> None:
    high = low + width
    result = ticks(low, high, most)
    slack = 1e-6 * max(abs(low), abs(high), width)
    assert len(result) <= most
    assert all(low - slack <= value <= high + slack for value in result)
    gaps = [b - a for a, b in pairwise(result)]
    assert all(abs(gap - gaps[0]) < 1e-3 * width + slack for gap in gaps)


def test_a_range_of_one_value_has_one_tick() -> None:
    assert ticks(3, 3) == [3]
    assert Scale(3, 3, 10, 20)(3) == 10


def test_a_plot_has_its_line_where_the_numbers_are() -> None:
    plot = Plot((0, 10), (0, 1), "x", "y")
    plot.line([0, 10], [0, 1], "main")
    left, bottom, right, top = plot.x.start, plot.y.start, plot.x.end, plot.y.end
    assert f'points="{left:g},{bottom:g} {right:g},{top:g}"' in plot.render("a line")


def test_names_are_escaped() -> None:
    plot = Plot((0, 1), (0, 1), "<x>", "y")
    plot.dot(0, 0, "main", "<t>")
    plot.note(0, 0, "<n>")
    drawn = plot.render('"<name>"')
    assert "<x>" not in drawn
    assert "<t>" not in drawn
    assert "<n>" not in drawn
    assert 'aria-label="&#34;&lt;name&gt;&#34;"' in drawn
