"""The lane of matches: a numbered bracket from start to end, a diamond at the instant of detection."""

from __future__ import annotations

from dataclasses import dataclass

from eventide.show.timeline.axis import Axis, duration_text, instant_text
from eventide.show.timeline.canvas import GUTTER, LANE, PLOT_RIGHT, Canvas, px
from eventide.show.timeline.letters import escape, width
from eventide.show.timeline.model import Match
from eventide.show.timeline.thinning import rows_of

_MAX_MATCHES = 600
_ROOMY = 40  # rows with full-size numbers
_GUIDED = 12  # matches whose detection is drawn through all lanes
_DIAMOND = 6.0
_NUMBER_PX = 12.0  # bold 11, about
_GAP = 5.0


@dataclass(frozen=True, slots=True)
class Span:
    """A match in pixels: the bracket, the diamond, and all that it takes in its row, with its number."""

    x0: float
    x1: float
    detected: float | None
    is_open: bool
    is_number_left: bool
    taken: tuple[float, float]


def span_of(match: Match, number: int, axis: Axis) -> Span:
    """Where a match stands; the number is left of it, or right where there is no room."""
    detected = None if match.detected_us is None else axis.x(match.detected_us)
    x0 = axis.x(match.start_us)
    known = match.end_us if match.end_us is not None else max(match.start_us, match.detected_us or match.start_us)
    x1 = axis.x(known)
    left = x0 if detected is None else min(x0, detected - _DIAMOND)
    right = x1 if detected is None else max(x1, detected + _DIAMOND)
    room = width(str(number), _NUMBER_PX) + _GAP
    is_left = left - room >= GUTTER or right + room > PLOT_RIGHT
    taken = (left - room - _GAP, right + _GAP) if is_left else (left - _GAP, right + room + _GAP)
    return Span(x0, x1, detected, match.end_us is None, is_left, taken)


def bracket(x0: float, x1: float, y: float, is_open: bool) -> str:
    """A line with ends that point down; without the right end where that is not known."""
    ends = f"M{px(x0)} {px(y + 5)}V{px(y)}"
    if not is_open:
        return f'<path class="match" d="{ends}H{px(x1)}V{px(y + 5)}"/>'
    return f'<path class="match" d="{ends}"/><path class="late" d="M{px(x0)} {px(y)}H{px(x1)}"/>'


def draw_matches(canvas: Canvas, matches: tuple[Match, ...], plot_top: float) -> None:
    """All matches, as low in number of rows as they can stand without touching."""
    if not matches:
        canvas.say(canvas.lane("matches", LANE), "no match")
        return
    drawn = sorted(matches, key=lambda match: (match.start_us, match.detected_us or match.start_us))[:_MAX_MATCHES]
    if len(drawn) < len(matches):
        canvas.notes.append(f"matches: the first {len(drawn):,} of {len(matches):,}")
    spans = [span_of(match, number, canvas.axis) for number, match in enumerate(drawn, start=1)]
    rows = _rows(spans)
    n_rows = max(rows) + 1
    pitch = 22.0 if n_rows <= _ROOMY else 12.0
    top = canvas.lane("matches", n_rows * pitch + 10) + 5
    canvas.moving.append(f'<g class="{"roomy" if n_rows <= _ROOMY else "tight"}">')
    for number, (match, span, row) in enumerate(zip(drawn, spans, rows, strict=True), start=1):
        y = top + (row + 0.5) * pitch
        if span.detected is not None and len(drawn) <= _GUIDED:
            x = px(span.detected)
            canvas.moving.append(f'<line class="guide" x1="{x}" x2="{x}" y1="{px(plot_top)}" y2="{px(y)}"/>')
        canvas.moving.append(_drawn(match, span, number, y, canvas.axis.unit))
    canvas.moving.append("</g>")


def _rows(spans: list[Span]) -> list[int]:
    order = sorted(range(len(spans)), key=lambda i: spans[i].taken)
    found = rows_of((spans[i].taken[0] for i in order), (spans[i].taken[1] for i in order))
    rows = [0] * len(spans)
    for i, row in zip(order, found, strict=True):
        rows[i] = row
    return rows


def _drawn(match: Match, span: Span, number: int, y: float, unit: str | None) -> str:
    parts = [f'<g class="hit"><title>{escape(_words(match, number, unit))}</title>']
    # Hovering needs more to hit than a thin line.
    x, reach = px(span.x0), px(max(1.0, span.x1 - span.x0))
    parts.append(f'<rect class="area" x="{x}" y="{px(y - 6)}" width="{reach}" height="12" fill="none"/>')
    parts.append(bracket(span.x0, span.x1, y, span.is_open))
    if span.detected is not None:
        parts.append(f'<use class="detected" href="#diamond" x="{px(span.detected)}" y="{px(y)}"/>')
    # Offsets from an instant stand in dx, so that the number stays beside its match when the page is zoomed.
    if span.is_number_left:
        near = min(span.x0, span.x0 if span.detected is None else span.detected)
        shift = -_GAP - (_DIAMOND if near == span.detected else 0)
        anchor = ' text-anchor="end"'
    else:
        near = max(span.x1, span.x1 if span.detected is None else span.detected)
        shift, anchor = _GAP + (_DIAMOND if near == span.detected else 0), ""
    parts.append(f'<text class="number" x="{px(near)}" dx="{px(shift)}" y="{px(y + 4)}"{anchor}>{number}</text></g>')
    return "".join(parts)


def _words(match: Match, number: int, unit: str | None) -> str:
    start = instant_text(match.start_us, unit)
    lines = [f"match {number}"]
    if match.end_us is None:
        lines.append(f"from {start}, end not known yet")
    elif match.end_us > match.start_us:
        length = duration_text(match.end_us - match.start_us)
        lines.append(f"{start} to {instant_text(match.end_us, unit)} ({length})")
    if match.detected_us is not None:
        late = match.detected_us - match.start_us
        after = f", {duration_text(late)} after its start" if late > 0 else ""
        lines.append(f"detected at {instant_text(match.detected_us, unit)}{after}")
    lines += [f"{name}: {value}" for name, value in match.values]
    return "\n".join(lines)
