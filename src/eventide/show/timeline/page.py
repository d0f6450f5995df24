"""One page that needs nothing else: the picture, how it looks, and the script that zooms it."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from pathlib import Path

from eventide.runtime.whole_files import check_place, file_path, whole_file
from eventide.show.timeline.letters import escape
from eventide.show.timeline.model import Chart
from eventide.show.timeline.picture import XMLNS, draw
from eventide.show.timeline.script import SCRIPT
from eventide.show.timeline.style import PAGE_CSS

_BUTTONS = (
    ("back", "\u2190", "earlier"),
    ("on", "\u2192", "later"),
    ("in", "+", "zoom in"),
    ("out", "\u2212", "zoom out"),
    ("all", "all", "show all"),
)
_HELP = "drag over a stretch of time to zoom in, double-click to see all"
_TOOLS_PX = 60
PAGES = (".html", ".htm", ".svg")


@dataclass(frozen=True, slots=True)
class Timeline:
    """A picture of what happened: `html` is a page, `svg` the picture alone, `chart` what it shows."""

    chart: Chart
    svg: str
    height: int

    @classmethod
    def of(cls, chart: Chart) -> Timeline:
        picture = draw(chart)
        return cls(chart, picture.svg, picture.height)

    @property
    def html(self) -> str:
        """A page of its own, with nothing loaded from elsewhere."""
        buttons = "".join(
            f'<button type="button" data-do="{name}" title="{words}" aria-label="{words}">{sign}</button>'
            for name, sign, words in _BUTTONS
        )
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            f"<title>{escape(self.chart.title)}</title><style>{PAGE_CSS}</style></head>\n<body><figure>"
            f'<div class="tools" hidden><output></output><span class="help">{_HELP}</span>{buttons}</div>\n'
            f"{self.svg.replace(XMLNS + ' ', '', 1)}\n</figure>\n<script>{SCRIPT}</script></body></html>\n"
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, or with a name that ends in .svg the picture; whole or not at all."""
        target = file_path("path", path)
        check_place(target, PAGES)
        content = self.svg if target.suffix.lower() == ".svg" else self.html
        with whole_file(target) as partial:
            partial.write_text(content, encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        """In a frame of its own, so that neither the notebook's styles nor the page's reach the other."""
        style = f"width:100%;height:{self.height + _TOOLS_PX}px;border:0"
        return f'<iframe title="timeline" style="{style}" srcdoc="{html.escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        parts = [_count(len(self.chart.lanes), "lane", "lanes")]
        if self.chart.matches is not None:
            parts.append(_count(len(self.chart.matches), "match", "matches"))
        return f"<Timeline {self.chart.title!r}: {', '.join(parts)}>"


def _count(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"
