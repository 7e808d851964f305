"""Draw plots as SVG text: axes, lines, bars and dots; the page has the colors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from mgae.serving.templates import group_shapes, open_templates

WIDTH, HEIGHT = 440, 290
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 12, 42
_DIGIT = 7.8  # wide, on a phone; elsewhere less
_BESIDE = 29  # what the axis title and the gaps beside a label take
_DECIMALS = 1


@dataclass(frozen=True)
class Scale:
    """Map [low, high] to [start, end].

    >>> Scale(0, 10, 0, 100)(2.5)
    25.0
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the coordinate of a value."""
        share = (value - self.low) / ((self.high - self.low) or 1)
        return self.start + share * (self.end - self.start)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers in [low, high], at most ``most``.

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
    """Return as many ticks as their labels leave room for."""
    values = ticks(low, high, most=7)
    long = max(len(label(value)) for value in values) > 5
    return ticks(low, high, most=3) if long else values


def _fitting(low: float, high: float, step: float) -> int:
    return math.floor(high / step + 1e-9) - math.ceil(low / step - 1e-9) + 1


def label(value: float) -> str:
    """Return a tick's number without needless digits.

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
    shapes: list[Markup] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.x_ticks, self.y_ticks = _readable(*self.x_range), ticks(*self.y_range, most=6)
        # Long labels get the room that they need: none is cut off.
        left = _BESIDE + _DIGIT * max(len(label(value)) for value in self.y_ticks)
        right = _DIGIT / 2 * len(label(self.x_ticks[-1]))
        self.x = Scale(*self.x_range, max(_LEFT, left), WIDTH - max(_RIGHT, right))
        self.y = Scale(*self.y_range, HEIGHT - _BOTTOM, _TOP)

    def line(self, xs: Sequence[float], ys: Sequence[float], style: str) -> None:
        """Draw a line through the points."""
        points = " ".join(
            f"{coordinate(self.x(x))},{coordinate(self.y(y))}" for x, y in zip(xs, ys, strict=True)
        )
        self._add('<polyline class="line {}" points="{}"/>', style, points)

    def bars(self, borders: Sequence[float], heights: Sequence[float], style: str) -> None:
        """Draw a bar for each height between two borders, all as one shape."""
        bottom = coordinate(self.y(self.y_range[0]))
        xs = [coordinate(self.x(border)) for border in borders]
        tops = [coordinate(self.y(height)) for height in heights]
        steps = zip(xs, xs[1:], tops, strict=False)
        shape = "".join(f"L{left} {top}L{right} {top}" for left, right, top in steps)
        path = f"M{xs[0]} {bottom}{shape}L{xs[-1]} {bottom}Z"
        self._add('<path class="bars {}" d="{}"/>', style, path)

    def dot(self, x: float, y: float, style: str, title: str) -> None:
        """Draw a mark with a title that is shown where a pointer rests on it."""
        circle = '<circle class="mark {}" cx="{}" cy="{}" r="4.5"><title>{}</title></circle>'
        self._add(circle, style, coordinate(self.x(x)), coordinate(self.y(y)), title)

    def note(self, x: float, y: float, text: str, anchor: str = "start") -> None:
        """Write a word into the picture."""
        element = '<text class="note" x="{}" y="{}" text-anchor="{}">{}</text>'
        self._add(element, coordinate(self.x(x)), coordinate(self.y(y)), anchor, text)

    def render(self, name: str) -> Markup:
        """Return the whole picture, with ``name`` for those who cannot see it."""
        text = TEMPLATES.get_template("plot.html").render(
            plot=self,
            name=name,
            width=WIDTH,
            height=HEIGHT,
            x_ticks=self.x_ticks,
            y_ticks=self.y_ticks,
        )
        return Markup(text)

    def _add(self, element: str, *values: str) -> None:
        self.shapes.append(Markup(element).format(*values))


def marks(points: Sequence[tuple[float, float]], titles: Sequence[str], group: int) -> Markup:
    """Draw the mark of a group at each point, with a title that is shown under the pointer.

    >>> print(marks([(1, 2)], ["Ann"], 0))
    <g class="marks" style="fill:var(--g0)"><use href="#s0" x="1" y="2"><title>Ann</title></use></g>
    """
    element = Markup('<use href="#s{}" x="{}" y="{}"><title>{}</title></use>')
    drawn = (
        element.format(group, coordinate(x), coordinate(y), title)
        for (x, y), title in zip(points, titles, strict=True)
    )
    whole = Markup('<g class="marks" style="fill:var(--g{})">{}</g>')
    return whole.format(group, Markup("").join(drawn))


def shapes(radius: float) -> Markup:
    """Define the marks of all groups, as palette.css has them."""
    element = Markup('<path id="s{}" transform="scale({})" d="{}"/>')
    paths = (element.format(n, coordinate(radius), path) for n, path in enumerate(group_shapes()))
    return Markup("<defs>{}</defs>").format(Markup("").join(paths))


def segments(ends: Sequence[tuple[float, float, float, float]]) -> Markup:
    """Draw many straight lines as one path; the more they are, the fainter."""
    opacity = min(0.5, max(0.12, 8 / (len(ends) + 1) ** 0.5))
    path = "".join("M{} {}L{} {}".format(*map(coordinate, line)) for line in ends)
    return Markup('<path class="edges" opacity="{:.2f}" d="{}"/>').format(opacity, path)


def coordinate(value: float) -> str:
    """Return a number as short as a screen needs it."""
    return f"{round(value, _DECIMALS):g}"


def percent(share: float) -> str:
    """Return a share in percent, never rounded up to certainty.

    >>> percent(0.874), percent(0.99971)
    ('87.4%', '> 99.9%')
    """
    return "> 99.9%" if share > 0.999 else f"{100 * share:.1f}%"


TEMPLATES = open_templates("mgae.reporting")
TEMPLATES.filters |= {"coordinate": coordinate, "label": label, "percent": percent}
TEMPLATES.globals["shape_paths"] = group_shapes()
