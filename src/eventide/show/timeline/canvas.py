"""What is drawn so far, and the few shapes that all parts of a picture share."""

from __future__ import annotations

from dataclasses import dataclass, field

from eventide.show.timeline.axis import Axis
from eventide.show.timeline.letters import escape, shorten

WIDTH = 1200
MARGIN = 14
GUTTER = 208  # the names of lanes stand left of it
LANE = 28.0
OPEN_PX = 26  # how far an open interval reaches beyond the last instant
PLOT_RIGHT = WIDTH - MARGIN


@dataclass(slots=True)
class Canvas:
    """Shapes from top to bottom: those that stay, and those that move with the time axis when a page is zoomed."""

    axis: Axis
    y: float = 0.0
    fixed: list[str] = field(default_factory=list)
    moving: list[str] = field(default_factory=list)
    gradients: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # what the picture leaves out
    joined: list[tuple[str, int, int]] = field(default_factory=list)  # lanes with fewer bars than intervals
    n_lanes: int = 0

    def gradient(self, colour: str) -> str:
        """The id of a fill that fades to the right."""
        return self.gradients.setdefault(colour, f"fade-{len(self.gradients)}")

    def lane(self, name: str, height: float, colour: str | None = None, detail: str = "") -> float:
        """Room for a lane, with its name; its upper edge."""
        top = self.y
        self.y += height
        self.n_lanes += 1
        if self.n_lanes % 2:
            self.fixed.append(f'<rect class="stripe" y="{px(top)}" width="{WIDTH}" height="{px(height)}"/>')
        middle, x = top + LANE / 2, float(MARGIN)
        if colour:
            place = f'x="{MARGIN}" y="{px(middle - 6)}" width="4" height="12"'
            self.fixed.append(f'<rect class="key" {place} rx="1.5" fill="{colour}"/>')
            x += 11
        self.fixed.append(text(x, middle + 4, shorten(name, 12, GUTTER - x - 8), full=detail or name))
        return top

    def say(self, top: float, words: str) -> None:
        """Words where a lane has nothing to show."""
        self.fixed.append(text(self.axis.left, top + LANE / 2 + 4, words, "soft"))


def px(value: float) -> str:
    """A coordinate, no finer than a screen shows when zoomed.

    >>> px(12.0), px(1.256)
    ('12', '1.26')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text(x: float, y: float, words: str, kind: str = "", *, anchor: str = "", full: str | None = None) -> str:
    """A text; where it is cut, `full` is shown on hovering."""
    more = f' class="{kind}"' if kind else ""
    more += f' text-anchor="{anchor}"' if anchor else ""
    title = f"<title>{escape(full)}</title>" if full is not None and full != words else ""
    return f'<text x="{px(x)}" y="{px(y)}"{more}>{escape(words)}{title}</text>'


def ordinal(n: int) -> str:
    """
    >>> [ordinal(n) for n in (2, 3, 11, 21, 112)]
    ['2nd', '3rd', '11th', '21st', '112th']
    """
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n:,}{ending}"
