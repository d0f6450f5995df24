"""Line charts for the docs: one small chart per line, over the same horizontal axis, as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _GAP = 720, 96, 96, 16, 34  # pixels
_STYLE = (
    "text{font:12px sans-serif;fill:#444}.name{font-weight:600;fill:#222}"
    "line{stroke:#ddd}polyline{fill:none;stroke:#2563a8;stroke-width:2}"
)


@dataclass(frozen=True)
class Line:
    """Values in order; NaN where there is none."""

    name: str
    unit: str
    values: Sequence[float]


def line_chart(lines: Sequence[Line], below: str) -> str:
    """All lines, one above the other, each from 0 to its greatest value; `below` says what the steps are.

    >>> svg = line_chart([Line("state", "KiB", [2, 4])], "batches")
    >>> svg[:4], "state, KiB" in svg, svg.count("<polyline")
    ('<svg', True, 1)
    """
    shapes = []
    for number, line in enumerate(lines):
        shapes += _chart(line, _GAP + number * (_HEIGHT + _GAP))
    height = len(lines) * (_HEIGHT + _GAP) + _GAP
    n = max(len(line.values) for line in lines)
    shapes.append(f'<text x="{_LEFT}" y="{height - 12}">0</text>')
    shapes.append(f'<text x="{_WIDTH - _RIGHT}" y="{height - 12}" text-anchor="end">{n - 1}</text>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    shapes.append(f'<text x="{middle}" y="{height - 12}" text-anchor="middle">{escape(below)}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}">'
    background = f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>'
    return "\n".join([head, f"<style>{_STYLE}</style>", background, *shapes, "</svg>", ""])


def _chart(line: Line, top: int) -> list[str]:
    most = max((value for value in line.values if not math.isnan(value)), default=0.0) or 1.0
    step = (_WIDTH - _LEFT - _RIGHT) / max(1, len(line.values) - 1)
    points = " ".join(
        f"{_LEFT + i * step:.1f},{top + _HEIGHT * (1 - value / most):.1f}"
        for i, value in enumerate(line.values)
        if not math.isnan(value)
    )
    return [
        f'<text class="name" x="{_LEFT}" y="{top - 8}">{escape(line.name)}, {escape(line.unit)}</text>',
        *(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>'
            f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{value:,.4g}</text>'
            for y, value in ((top, most), (top + _HEIGHT, 0.0))
        ),
        f'<polyline points="{points}"/>',
    ]
