"""The page's script, run without a browser: zooming moves everything to where its time then is."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from eventide.show.timeline.axis import STEPS_US, clock_text, instant_text
from eventide.show.timeline.canvas import GUTTER
from eventide.show.timeline.picture import draw
from eventide.show.timeline.script import SCRIPT
from tests.show.charts import NAMESPACE, Drawn, small

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="needs node")


def node(program: str, given: str = "") -> Any:
    assert NODE is not None
    done = subprocess.run([NODE, "-e", program], input=given, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("length", [900, 40_000, 7_000_000, 500_000_000, 90_000_000_000, 9 * 86_400_000_000])
def test_ticks_of_a_zoomed_page_are_labelled_as_those_of_the_picture(length: int) -> None:
    start = 1_706_700_123_456_789
    found = node(f"{SCRIPT}\nconsole.log(JSON.stringify(ticks({start}, {start + length}, 980, '')))")
    assert 3 <= len(found) <= 12
    step = found[1][0] - found[0][0]
    assert step in STEPS_US
    for ts, label, below in found:
        assert start <= ts <= start + length and ts % step == 0
        assert label == (clock_text(ts, step) if step < 86_400_000_000 else instant_text(ts)[:10])
        assert below in ("", instant_text(ts)[:10])


def test_months_and_numbers_have_round_ticks_too() -> None:
    program = f"""{SCRIPT}
    const year = 365 * 86400e6;
    console.log(JSON.stringify([ticks(30 * year, 31 * year, 980, ""), ticks(-70 * year, 80 * year, 980, ""),
        ticks(0, 59e6, 980, "s"), ticks(0, 5, 980, "us")].map(found => found.map(tick => tick[1]))))"""
    months, years, seconds, micros = node(program)
    assert months[:2] == ["2000-01", "2000-02"] and len(months) in (12, 13)
    assert years == [str(year) for year in range(1920, 2041, 20)]
    assert seconds == [str(n) for n in range(0, 60, 5)] and micros == list("012345")


def test_zooming_moves_bars_numbers_brackets_and_ticks_to_their_times_and_back() -> None:
    svg = draw(small()).svg
    drawn = Drawn.of(svg)
    left, right = (float(drawn.root.get(f"data-{name}")) for name in ("left", "right"))

    def tree(element: Any) -> list[Any]:
        return [element.tag.removeprefix(NAMESPACE), dict(element.attrib), [tree(child) for child in element]]

    given = {"svg": tree(drawn.root), "script": SCRIPT, "at": drawn.x(50), "from": drawn.x(20), "to": drawn.x(60)}
    report = node((Path(__file__).parent / "zoom.js").read_text(), json.dumps(given))

    def x(second: float, start: float, end: float) -> float:
        return left + (second - start) / (end - start) * (right - left)

    def check(bars: Any, start: float, end: float) -> None:
        for bar, (first, last) in zip(bars, ((10, 30), (60, 70), (20, 50)), strict=False):
            assert float(bar["x"]) == pytest.approx(x(first, start, end), abs=0.1)
            assert float(bar["width"]) == pytest.approx(x(last, start, end) - x(first, start, end), abs=0.1)

    assert report["hidden"] is False
    assert report["said"] == "50 s"
    check(report["first"], 0, 100)
    check(report["zoomed"], 25, 75)
    assert float(report["numbers"][0]["x"]) == pytest.approx(x(10, 25, 75), abs=0.1)
    assert report["paths"] == [f"matrix(2 0 0 1 {report['paths'][0].split(' ')[-2]} 0)"]
    shift = float(report["paths"][0].split(" ")[-2])
    assert 2 * drawn.x(10) + shift == pytest.approx(x(10, 25, 75), abs=0.1)
    assert [(text, pytest.approx(x(int(text), 25, 75))) for text, _ in report["ticks"]] == [
        tuple(tick) for tick in report["ticks"]
    ]
    assert all(GUTTER <= place <= 1200 for _, place in report["ticks"]) and len(report["ticks"]) >= 5
    check(report["earliest"], 0, 50)
    assert report["last"] == report["first"] and report["restored"]
    check(report["dragged"], 20, 60)
