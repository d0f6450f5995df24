"""A chart as one SVG picture: lanes from top to bottom, time from left to right.

What stands in the group `plot` moves with the time axis when the page is zoomed; the page's script reads its places.
"""

from __future__ import annotations

from dataclasses import dataclass

from eventide.show.timeline.axis import Axis
from eventide.show.timeline.canvas import GUTTER, MARGIN, OPEN_PX, PLOT_RIGHT, WIDTH, Canvas, px, text
from eventide.show.timeline.lanes import draw_events, draw_lane, draw_line
from eventide.show.timeline.letters import escape, shorten, width
from eventide.show.timeline.matches import bracket, draw_matches
from eventide.show.timeline.model import Chart
from eventide.show.timeline.style import PALETTE, PICTURE_CSS

XMLNS = 'xmlns="http://www.w3.org/2000/svg"'
_INSET = 12
_MAX_BARS = 4_000
_TALL = 800  # above it, the time axis also stands at the top


@dataclass(frozen=True, slots=True)
class Picture:
    """The SVG and its height."""

    svg: str
    height: int


def draw(chart: Chart) -> Picture:
    """The picture of a chart.

    >>> import numpy as np
    >>> picture = draw(Chart("two events", events_us=np.array([0, 1_000_000]), unit="s"))
    >>> picture.svg[:4], picture.svg.count("event at")
    ('<svg', 2)
    """
    picture = _draw(chart, is_tall=False)
    return picture if picture.height <= _TALL else _draw(chart, is_tall=True)


def _draw(chart: Chart, *, is_tall: bool) -> Picture:
    start, end = chart.span_us
    if start == end:
        start, end = start - 500_000, end + 500_000
    has_open = any(lane.is_open.any() for lane in chart.lanes)
    right = PLOT_RIGHT - (OPEN_PX if has_open else _INSET)
    canvas = Canvas(Axis(start, end, GUTTER + _INSET, right, chart.unit))
    _head(canvas, chart)
    labels_above = canvas.y + 12
    canvas.y += 34 if is_tall else 0
    top = canvas.y
    for i, line in enumerate(chart.lines):
        draw_line(canvas, line, PALETTE[-1 - i % len(PALETTE)])
    for i, lane in enumerate(chart.lanes):
        draw_lane(canvas, lane, PALETTE[i % len(PALETTE)], max(20, _MAX_BARS // len(chart.lanes)))
    if chart.events_us is not None:
        draw_events(canvas, chart.events_us)
    if chart.matches is not None:
        draw_matches(canvas, chart.matches, top)
    bottom = canvas.y
    axis = _axis(canvas.axis, top, bottom, [labels_above, bottom + 17] if is_tall else [bottom + 17])
    caption = chart.zone or canvas.axis.caption
    if caption:
        canvas.fixed.append(text(MARGIN, bottom + 17, caption, "soft"))
    canvas.y += 38
    _foot(canvas)
    return Picture(_assemble(canvas, chart, axis, (top, bottom)), int(canvas.y))


def _head(canvas: Canvas, chart: Chart) -> None:
    canvas.y = 30.0
    room = WIDTH - 2 * MARGIN
    canvas.fixed.append(text(MARGIN, canvas.y, shorten(chart.title, 18, room), "title", full=chart.title))
    if chart.subtitle:
        canvas.y += 19
        canvas.fixed.append(text(MARGIN, canvas.y, shorten(chart.subtitle, 11, room), "soft", full=chart.subtitle))
    canvas.y += 24
    _legend(canvas, chart)


def _legend(canvas: Canvas, chart: Chart) -> None:
    """What the marks mean, of those that occur."""
    entries: list[tuple[str, str]] = []
    if any(lane.start_us.size for lane in chart.lanes):
        bars = "".join(f'<rect x="{8 * i}" y="-5" width="8" height="10" fill="{PALETTE[i]}"/>' for i in range(3))
        entries.append((bars, "from start to end"))
    if any(lane.is_open.any() for lane in chart.lanes):
        fading = f'<rect y="-5" width="24" height="10" fill="url(#{canvas.gradient(PALETTE[0])})"/>'
        path = f'<path class="open" stroke="{PALETTE[0]}" d="M24-5H0V5H24"/>'
        entries.append((fading + path, "end not known yet"))
    if chart.events_us is not None:
        ticks = "".join(f'<line class="event" x1="{x}" x2="{x}" y1="-5" y2="5"/>' for x in (4, 9, 18))
        entries.append((ticks, "event"))
    if chart.matches:
        entries.append((bracket(0, 24, -2, False), "match"))
        if any(match.end_us is None for match in chart.matches):
            entries.append((bracket(0, 24, -2, True), "match, end not known yet"))
        if any(match.detected_us is not None for match in chart.matches):
            entries.append(('<use class="detected" href="#diamond" x="12" y="0"/>', "match is detected"))
    x = float(MARGIN)
    for mark, words in entries:
        canvas.fixed.append(f'<g class="legend" transform="translate({px(x)} {px(canvas.y - 4)})">{mark}</g>')
        canvas.fixed.append(text(x + 31, canvas.y, words, "soft"))
        x += 31 + width(words, 11) + 20
    canvas.y += 14


def _axis(axis: Axis, top: float, bottom: float, baselines: list[float]) -> str:
    """Lines through all lanes, with their labels; the page's script makes the same when it zooms."""
    parts = []
    for tick in axis.ticks():
        x = axis.x(tick.ts_us)
        parts.append(f'<line class="grid" x1="{px(x)}" x2="{px(x)}" y1="{px(top)}" y2="{px(bottom)}"/>')
        for y in baselines:
            parts += [_label(x, y + 14 * i, words) for i, words in enumerate((tick.label, tick.below)) if words]
    places = f'data-top="{px(top)}" data-bottom="{px(bottom)}" data-labels="{" ".join(map(px, baselines))}"'
    edges = f'<path class="edge" d="M{GUTTER} {px(top)}H{PLOT_RIGHT}M{GUTTER} {px(bottom)}H{PLOT_RIGHT}"/>'
    return f'<g class="axis" {places}>{"".join(parts)}</g>{edges}'


def _label(x: float, y: float, words: str) -> str:
    half = width(words, 11) / 2
    if x + half > WIDTH - 4:
        return text(WIDTH - 4, y, words, "soft", anchor="end")
    return text(x, y, words, "soft", anchor="middle")


def _foot(canvas: Canvas) -> None:
    """What the picture leaves out."""
    if canvas.joined:
        names = ", ".join(f"{name} ({n:,} as {n_bars:,})" for name, n, n_bars in canvas.joined)
        canvas.notes.append(f"intervals that are near one another drawn as one bar: {names}")
    for note in canvas.notes:
        canvas.fixed.append(text(MARGIN, canvas.y + 12, shorten(note, 11, WIDTH - 2 * MARGIN), "soft", full=note))
        canvas.y += 16
    canvas.y += 6


def _assemble(canvas: Canvas, chart: Chart, axis: str, lanes: tuple[float, float]) -> str:
    height, (top, bottom) = int(canvas.y), lanes
    area = f'x="{GUTTER}" y="{px(top)}" width="{PLOT_RIGHT - GUTTER}" height="{px(bottom - top)}"'
    fading = "".join(
        f'<linearGradient id="{name}"><stop offset="0.3" stop-color="{colour}"/>'
        f'<stop offset="1" stop-color="{colour}" stop-opacity="0.1"/></linearGradient>'
        for colour, name in canvas.gradients.items()
    )
    scale = canvas.axis
    data = f'data-start="{scale.start_us}" data-end="{scale.end_us}" data-unit="{scale.unit or ""}"'
    data += f' data-left="{px(scale.left)}" data-right="{px(scale.right)}"'
    return "".join(
        (
            f'<svg {XMLNS} width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" {data}>',
            f"<title>{escape(chart.title)}</title><style>{PICTURE_CSS}</style>",
            f'<defs><clipPath id="area"><rect {area}/></clipPath>{fading}',
            '<path id="diamond" d="M0-5.5L5.5 0L0 5.5L-5.5 0Z"/></defs>',
            f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
            *canvas.fixed,
            axis,
            f'<g clip-path="url(#area)"><rect class="ground" {area} fill="none"/><g class="plot">',
            *canvas.moving,
            "</g></g></svg>",
        )
    )
