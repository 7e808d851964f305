"""Plots as SVG text: axes, lines, bars and dots; the colors are the page's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 440, 290
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 12, 42
_DECIMALS = 1


@dataclass(frozen=True)
class Scale:
    """Takes [low, high] to [start, end].

    >>> Scale(0, 10, 0, 100)(2.5)
    25.0
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The place of a value."""
        share = (value - self.low) / ((self.high - self.low) or 1)
        return self.start + share * (self.end - self.start)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers in [low, high], at most ``most``.

    >>> ticks(0, 1), ticks(93.2, 95.4)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [93.5, 94.0, 94.5, 95.0])
    """
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    steps = (power * factor for factor in (1, 2, 5, 10, 20))
    step = next(step for step in steps if _fitting(low, high, step) <= most)
    first = math.ceil(low / step - 1e-9)
    return [round((first + n) * step, 10) for n in range(_fitting(low, high, step))]


def _readable(low: float, high: float) -> list[float]:
    """As many ticks as their labels leave room for."""
    found = ticks(low, high, most=7)
    long = max(len(label(value)) for value in found) > 5
    return ticks(low, high, most=3) if long else found


def _fitting(low: float, high: float, step: float) -> int:
    return math.floor(high / step + 1e-9) - math.ceil(low / step - 1e-9) + 1


def label(value: float) -> str:
    """A tick's number without needless digits.

    >>> label(0.2), label(100.0), label(25000.0)
    ('0.2', '100', '25k')
    """
    if abs(value) >= 10_000:
        return f"{value / 1000:g}k"
    return f"{value:g}".replace("-", "−")


@dataclass
class Plot:
    """One picture with two axes; what is drawn later lies above."""

    x_range: tuple[float, float]
    y_range: tuple[float, float]
    x_title: str
    y_title: str
    parts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.x = Scale(*self.x_range, _LEFT, WIDTH - _RIGHT)
        self.y = Scale(*self.y_range, HEIGHT - _BOTTOM, _TOP)

    def line(self, xs: Sequence[float], ys: Sequence[float], style: str) -> None:
        """A line through the points."""
        points = " ".join(f"{_n(self.x(x))},{_n(self.y(y))}" for x, y in zip(xs, ys, strict=True))
        self.parts.append(f'<polyline class="line {style}" points="{points}"/>')

    def bars(self, borders: Sequence[float], heights: Sequence[float], style: str) -> None:
        """A bar for each height between two borders, as one shape."""
        floor = _n(self.y(self.y_range[0]))
        shape = [f"M{_n(self.x(borders[0]))} {floor}"]
        for left, right, height in zip(borders, borders[1:], heights, strict=False):
            top = _n(self.y(height))
            shape.append(f"L{_n(self.x(left))} {top}L{_n(self.x(right))} {top}")
        shape.append(f"L{_n(self.x(borders[-1]))} {floor}Z")
        self.parts.append(f'<path class="bars {style}" d="{"".join(shape)}"/>')

    def dot(self, x: float, y: float, style: str, title: str) -> None:
        """A mark that says what it is where a pointer rests on it."""
        place = f'cx="{_n(self.x(x))}" cy="{_n(self.y(y))}"'
        self.parts.append(
            f'<circle class="mark {style}" {place} r="4.5"><title>{escape(title)}</title></circle>'
        )

    def note(self, x: float, y: float, text: str, anchor: str = "start") -> None:
        """A word in the picture."""
        place = f'x="{_n(self.x(x))}" y="{_n(self.y(y))}" text-anchor="{anchor}"'
        self.parts.append(f'<text class="note" {place}>{escape(text)}</text>')

    def render(self, name: str) -> str:
        """The whole picture, with ``name`` for those who cannot see it."""
        inside = "".join([*self._axes(), *self.parts])
        return (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(name)}">'
            f"{inside}</svg>"
        )

    def _axes(self) -> list[str]:
        left, right = self.x.start, self.x.end
        bottom, top = self.y.start, self.y.end
        parts = []
        for value in ticks(*self.y_range, most=6):
            y = _n(self.y(value))
            parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>')
            parts.append(_text(left - 7, self.y(value) + 4, label(value), "end"))
        for value in _readable(*self.x_range):
            parts.append(_text(self.x(value), bottom + 17, label(value), "middle"))
        parts.append(
            f'<line class="axis" x1="{left}" x2="{right}" y1="{_n(bottom)}" y2="{_n(bottom)}"/>'
        )
        parts.append(_text((left + right) / 2, HEIGHT - 6, self.x_title, "middle", "title"))
        middle = _n((bottom + top) / 2)
        parts.append(
            f'<text class="title" text-anchor="middle" '
            f'transform="translate(12 {middle}) rotate(-90)">{escape(self.y_title)}</text>'
        )
        return parts


def dots(points: Sequence[tuple[float, float]], color: str, width: float) -> str:
    """Many round dots as one small path: a line of no length with round ends each.

    >>> dots([(1, 2), (3, 4.25)], "g0", 5)
    '<path class="dots" style="stroke:var(--g0)" stroke-width="5" d="M1 2h0M3 4.2h0"/>'
    """
    path = "".join(f"M{_n(x)} {_n(y)}h0" for x, y in points)
    look = f'style="stroke:var(--{color})" stroke-width="{_n(width)}"'
    return f'<path class="dots" {look} d="{path}"/>'


def segments(ends: Sequence[tuple[float, float, float, float]]) -> str:
    """Many straight lines as one path; the more they are, the fainter."""
    opacity = min(0.5, max(0.12, 8 / (len(ends) + 1) ** 0.5))
    path = "".join(f"M{_n(a)} {_n(b)}L{_n(c)} {_n(d)}" for a, b, c, d in ends)
    return f'<path class="edges" opacity="{opacity:.2f}" d="{path}"/>'


def _text(x: float, y: float, text: str, anchor: str, style: str = "tick") -> str:
    place = f'x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}"'
    return f'<text class="{style}" {place}>{escape(text)}</text>'


def _n(value: float) -> str:
    return f"{round(value, _DECIMALS):g}"
