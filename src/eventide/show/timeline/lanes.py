"""Lanes of intervals as bars, of numbers as lines, of events as ticks."""

from __future__ import annotations

import numpy as np

from eventide.show.timeline.axis import duration_text, instant_text
from eventide.show.timeline.canvas import GUTTER, LANE, OPEN_PX, Canvas, ordinal, px, text
from eventide.show.timeline.letters import escape
from eventide.show.timeline.model import Lane, Line, Times
from eventide.show.timeline.thinning import every_nth, join_bars, outline, rows_of

_MAX_TICKS = 500
_MAX_STRETCHES = 500
_MAX_ROWS = 100
_BAR = 14.0
_MIN_BAR = 2.0
_LINE_LANE, _LINE_MARGIN = 64.0, 10.0


def draw_line(canvas: Canvas, line: Line, colour: str) -> None:
    """A number over time, from its lowest value at the bottom of the lane to its highest at the top."""
    top = canvas.lane(line.name, _LINE_LANE, colour)
    known = np.isfinite(line.values)
    if not known.any():
        canvas.say(top, "no values")
        return
    low, high = float(line.values[known].min()), float(line.values[known].max())
    bottom = top + _LINE_LANE - _LINE_MARGIN
    scale = (_LINE_LANE - 2 * _LINE_MARGIN) / (high - low) if high > low else 0.0
    canvas.fixed.append(text(GUTTER - 8, bottom + 4, _number(low), "soft", anchor="end"))
    if high > low:
        canvas.fixed.append(text(GUTTER - 8, top + _LINE_MARGIN + 4, _number(high), "soft", anchor="end"))
    order = np.argsort(line.ts_us, kind="stable")
    values = np.where(known, line.values, np.nan)[order]
    axis = canvas.axis
    share = (line.ts_us[order] - axis.start_us) / (axis.end_us - axis.start_us)
    xs, ys = outline(axis.left + share * (axis.right - axis.left), bottom - (values - low) * scale, _MAX_STRETCHES)
    canvas.moving.append(
        f'<path class="value" stroke-linecap="round" stroke="{colour}" d="{_path(xs.tolist(), ys.tolist())}"/>'
    )
    if xs.size < order.size:
        drawn = f"the lowest and the highest in each of {_MAX_STRETCHES} stretches of time"
        canvas.notes.append(f"{line.name}: of {order.size:,} values {drawn}")


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1_000 <= abs(value) < 1e9 else f"{value:.4g}"


def _path(xs: list[float], ys: list[float]) -> str:
    parts, pen = [], "M"
    for x, y in zip(xs, ys, strict=True):
        if np.isnan(y):
            pen = "M"
            continue
        # With round caps, a point between two gaps shows as a dot.
        parts.append(f"{pen}{px(x)} {px(y)}{'h0' if pen == 'M' else ''}")
        pen = "L"
    return "".join(parts)


def draw_lane(canvas: Canvas, lane: Lane, colour: str, limit: int) -> None:
    """Intervals as at most `limit` bars; those that overlap stand in rows of their own."""
    axis = canvas.axis
    order = np.argsort(lane.start_us, kind="stable")
    starts, is_open = lane.start_us[order], lane.is_open[order]
    ends = np.where(is_open, axis.end_us, lane.end_us[order])
    rows = np.array(rows_of(starts.tolist(), np.where(is_open, np.inf, ends).tolist()), dtype=np.int64)
    n_rows = int(rows.max(initial=0)) + 1
    if n_rows > _MAX_ROWS:
        n_more = int((rows >= _MAX_ROWS).sum())
        canvas.notes.append(f"{lane.name}: {n_more:,} that overlap are drawn on one another in the last row")
        n_rows = _MAX_ROWS
    pitch = LANE if n_rows == 1 else 18.0 if n_rows <= 20 else 8.0
    height = min(_BAR, pitch - 2)
    top = canvas.lane(lane.name, max(LANE, n_rows * pitch + 8) if n_rows > 1 else LANE, colour, lane.detail)
    if not starts.size:
        canvas.say(top, "none")
        return
    top += 4 if n_rows > 1 else 0
    bars = join_bars(starts.astype(float), ends.astype(float), np.minimum(rows, _MAX_ROWS - 1), limit)
    if bars.first.size < starts.size:
        canvas.joined.append((lane.name, int(starts.size), int(bars.first.size)))
    for first, last, row in zip(bars.first.tolist(), bars.last.tolist(), bars.row.tolist(), strict=True):
        start, end = int(starts[first]), None if is_open[last] else int(ends[last])
        words = _words(lane.name, start, end, axis.unit)
        if first != last:
            words += "\nseveral, too near to be drawn apart"
        elif lane.notes:
            words += "\n" + lane.notes[int(order[first])]
        y = top + row * pitch + (pitch - height) / 2
        _bar(canvas, start, end, y, height, colour, words)


def _bar(canvas: Canvas, start: int, end: int | None, y: float, height: float, colour: str, words: str) -> None:
    axis = canvas.axis
    x0 = axis.x(start)
    x1 = axis.right + OPEN_PX if end is None else axis.x(end)
    fill = f"url(#{canvas.gradient(colour)})" if end is None else colour
    place = f'x="{px(x0)}" y="{px(y)}" width="{px(max(_MIN_BAR, x1 - x0))}" height="{px(height)}"'
    # A bar is never too thin to be seen; zooming starts from its true width.
    true = f' data-w="{px(x1 - x0)}"' if x1 - x0 < _MIN_BAR else ""
    canvas.moving.append(f'<rect class="bar" {place}{true} fill="{fill}"><title>{escape(words)}</title></rect>')
    if end is None:
        path = f"M{px(x1)} {px(y)}H{px(x0)}V{px(y + height)}H{px(x1)}"
        canvas.moving.append(f'<path class="open" stroke="{colour}" d="{path}"/>')


def _words(name: str, start_us: int, end_us: int | None, unit: str | None) -> str:
    start = instant_text(start_us, unit)
    if end_us is None:
        return f"{name}\n{start} to an end not known yet"
    return f"{name}\n{start} to {instant_text(end_us, unit)} ({duration_text(end_us - start_us)})"


def draw_events(canvas: Canvas, ts_us: Times) -> None:
    """Events as ticks; of very many, every n-th."""
    top = canvas.lane("events", LANE)
    if not ts_us.size:
        canvas.say(top, "none")
        return
    drawn, n = every_nth(ts_us, _MAX_TICKS)
    if n > 1:
        canvas.notes.append(f"events: every {ordinal(n)} of {ts_us.size:,}")
    ends = f'y1="{px(top + 7)}" y2="{px(top + LANE - 7)}"'
    for ts in drawn.tolist():
        x = px(canvas.axis.x(ts))
        words = f"event at {instant_text(ts, canvas.axis.unit)}"
        canvas.moving.append(f'<line class="event" x1="{x}" x2="{x}" {ends}><title>{words}</title></line>')
