"""Charts to draw: hand-made, small and large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np

from eventide.show.timeline.model import Chart, Lane, Line, Match

S = 1_000_000
NAMESPACE = "{http://www.w3.org/2000/svg}"


def lane(name: str, *intervals: tuple[float, float | None]) -> Lane:
    """Intervals in seconds; an end of None is not known."""
    return Lane(
        name,
        np.array([round(start * S) for start, _ in intervals], dtype=np.int64),
        np.array([round((end or 0) * S) for _, end in intervals], dtype=np.int64),
        np.array([end is None for _, end in intervals], dtype=bool),
    )


def match(start: float, end: float | None, detected: float | None, **values: str) -> Match:
    return Match(
        round(start * S),
        None if end is None else round(end * S),
        None if detected is None else round(detected * S),
        tuple(values.items()),
    )


def seconds(*times: float) -> Any:
    return np.array([round(t * S) for t in times], dtype=np.int64)


def small() -> Chart:
    """Three situations, one of them open, ten events, one match."""
    times = np.arange(0, 101, 10)
    return Chart(
        "cars that brake",
        lanes=(lane("A", (10, 30), (60, 70)), lane("B", (20, 50)), lane("C", (80, None))),
        lines=(Line("speed", times * S, 50.0 + times),),
        events_us=times * S,
        matches=(match(10, 50, 40, avg_speed="71.5"),),
        unit="s",
    )


def large(seed: int = 7) -> Chart:
    """60 lanes of 60 situations, 100,000 events, 200 matches, names of all kinds."""
    rng = np.random.default_rng(seed)
    lanes = []
    for i in range(60):
        edges = np.sort(rng.choice(172_800, 120, replace=False)).reshape(60, 2).tolist()
        name = ("plain", "長い名前と絵文字🚗", "<script>alert('x')</script> & more", "a name " * 30)[i % 4]
        lanes.append(lane(f"{name} {i}", *edges[:-1], (edges[-1][0], None if i % 7 == 0 else edges[-1][1])))
    ts = np.sort(rng.integers(0, 172_800 * S, 100_000))
    starts = rng.integers(0, 172_800, 200)
    matches = tuple(
        match(int(s), None if i % 5 == 0 else int(s) + 9_000, int(s) + int(rng.integers(1, 9_000)), i=str(i))
        for i, s in enumerate(starts)
    )
    return Chart(
        "Everything at once", tuple(lanes), (Line("walk", ts, rng.normal(size=ts.size).cumsum()),), ts, matches
    )


@dataclass(frozen=True)
class Drawn:
    """A picture's elements, and where an instant should stand by the numbers on the picture itself."""

    root: Any

    @classmethod
    def of(cls, svg: str) -> Drawn:
        return cls(ElementTree.fromstring(svg))

    def all(self, tag: str, kind: str | None = None) -> list[Any]:
        found = self.root.iter(NAMESPACE + tag)
        return [node for node in found if kind is None or node.get("class") == kind]

    def x(self, second: float) -> float:
        start, end, left, right = (float(self.root.get(f"data-{name}")) for name in ("start", "end", "left", "right"))
        return left + (second * S - start) / (end - start) * (right - left)

    def words(self) -> Sequence[str]:
        return [node.text for node in self.all("text")]
