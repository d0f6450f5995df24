"""Pictures, as elements and as pixels: everything stands where its time is, in its own colour, and nothing collides."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from eventide.errors import InputError
from eventide.show.timeline.letters import width
from eventide.show.timeline.model import Chart, Line
from eventide.show.timeline.picture import draw
from eventide.show.timeline.style import DETECTED, MATCH, PALETTE
from tests.show.charts import Drawn, S, lane, large, match, seconds, small
from tests.show.pixels import decode, is_colour, render


def number(node, name: str) -> float:  # type: ignore[no-untyped-def]
    return float(node.get(name, 0))


def test_a_picture_renders_to_a_png_of_its_size() -> None:
    picture = draw(small())
    assert decode(render(picture.svg)).shape == (picture.height, 1200, 3)


def test_bars_have_their_lane_s_colour_from_their_start_to_their_end() -> None:
    picture = draw(small())
    drawn, pixels = Drawn.of(picture.svg), decode(render(picture.svg))
    bars = drawn.all("rect", "bar")
    expected = [(0, 10, 30), (0, 60, 70), (1, 20, 50)]
    assert len(bars) == len(expected) + 1
    for bar, (idx, start, end) in zip(bars, expected, strict=False):
        middle = int(number(bar, "y") + number(bar, "height") / 2)
        coloured = np.flatnonzero(is_colour(pixels[middle], PALETTE[idx])[208:]) + 208
        ours = coloured[(coloured >= drawn.x(start) - 5) & (coloured <= drawn.x(end) + 5)]
        assert abs(ours.min() - drawn.x(start)) <= 1.5 and abs(ours.max() + 1 - drawn.x(end)) <= 1.5
        assert ours.size == ours.max() - ours.min() + 1, "a bar has no gaps"


def test_each_colour_stands_in_the_row_of_its_lane_and_in_no_other() -> None:
    picture = draw(replace(small(), lines=(), matches=None, events_us=None))
    drawn, pixels = Drawn.of(picture.svg), decode(render(picture.svg))
    rows = sorted({number(bar, "y") for bar in drawn.all("rect", "bar")})
    assert len(rows) == 3
    for row, y in enumerate(rows):
        found = [bool(is_colour(pixels[int(y) + 7, 215:], colour, 12).any()) for colour in PALETTE[:3]]
        assert found == [idx == row for idx in range(3)]


def test_a_bar_without_an_end_fades_to_the_edge_under_a_dashed_outline() -> None:
    picture = draw(small())
    drawn, pixels = Drawn.of(picture.svg), decode(render(picture.svg))
    bar = drawn.all("rect", "bar")[-1]
    middle = int(number(bar, "y") + 7)
    start, edge = int(drawn.x(80)) + 3, 1180
    assert is_colour(pixels[middle, start], PALETTE[2])
    brightness = pixels[middle, start:edge].astype(int).sum(axis=1)
    assert brightness[-1] > brightness[0] + 200 and edge > drawn.x(100)
    outline = is_colour(pixels[int(number(bar, "y")), start:edge], PALETTE[2], 60)
    assert outline.any() and not outline.all(), "dashes"


def test_a_match_is_a_bracket_with_its_number_and_a_diamond_where_it_was_detected() -> None:
    picture = draw(small())
    drawn, pixels = Drawn.of(picture.svg), decode(render(picture.svg))
    (diamond,) = [use for use in drawn.all("use", "detected") if number(use, "x") > 100]
    y = int(number(diamond, "y"))
    assert abs(number(diamond, "x") - drawn.x(40)) < 0.01
    assert is_colour(pixels[y, int(drawn.x(40))], DETECTED)
    beside = int(drawn.x(10)) - 4  # the number stands left of it
    line = np.flatnonzero(is_colour(pixels[y], MATCH)[beside:]) + beside
    assert abs(line.min() - drawn.x(10)) <= 2 and abs(line.max() - drawn.x(50)) <= 2
    for end in (10, 50):
        assert is_colour(pixels[y + 4, round(drawn.x(end)) - 1 : round(drawn.x(end)) + 2], MATCH, 90).any()
    assert "1" in drawn.words()


def test_hovering_a_match_tells_its_times_and_its_returned_columns() -> None:
    titles = [node.text for node in Drawn.of(draw(small()).svg).all("title")]
    assert "match 1\n10 s to 50 s (40 s)\ndetected at 40 s, 30 s after its start\navg_speed: 71.5" in titles
    assert "A\n10 s to 30 s (20 s)" in titles
    assert "C\n80 s to an end not known yet" in titles


def test_a_match_whose_end_is_not_known_has_no_right_end() -> None:
    drawn = Drawn.of(draw(Chart("x", matches=(match(10, None, 30),), events_us=seconds(0, 50))).svg)
    paths = [node.get("d") for node in drawn.all("path", "late")]
    assert f"H{drawn.x(30):.2f}".rstrip("0").rstrip(".") in paths[-1]
    assert "match, end not known yet" in drawn.words()


def test_matches_that_overlap_stand_in_rows_of_their_own_with_room_for_their_numbers() -> None:
    chart = large()
    drawn = Drawn.of(draw(chart).svg)
    assert chart.matches is not None
    groups = drawn.all("g", "hit")
    assert len(groups) == len(chart.matches)
    taken: dict[float, list[tuple[float, float]]] = {}
    for group in groups:
        area, label = group[1], group[-1]
        at, shift = number(label, "x") + number(label, "dx"), width(label.text, 11)
        text = (at - shift, at) if label.get("text-anchor") == "end" else (at, at + shift)
        marks = [number(node, "x") for node in group if node.get("class") == "detected"]
        left, right = number(area, "x"), number(area, "x") + number(area, "width")
        ours = (min(left, text[0], *marks), max(right, text[1], *marks))
        assert ours[0] >= 200, "nothing stands on the names of lanes"
        taken.setdefault(number(area, "y"), []).append(ours)
    for row in taken.values():
        row.sort()
        assert all(before[1] <= after[0] for before, after in pairwise(row))
    assert sorted(int(group[-1].text) for group in groups) == list(range(1, 201))


def test_many_events_are_thinned_and_the_page_says_so() -> None:
    drawn = Drawn.of(draw(large()).svg)
    assert len([line for line in drawn.all("line", "event") if number(line, "x1") > 100]) == 500
    assert "events: every 200th of 100,000" in drawn.words()


def test_ten_events_are_ten_ticks_and_nothing_is_said_of_thinning() -> None:
    drawn = Drawn.of(draw(small()).svg)
    assert len([line for line in drawn.all("line", "event") if number(line, "x1") > 100]) == 11
    assert not any("every" in words for words in drawn.words())


def test_a_picture_never_has_more_than_some_thousands_of_elements() -> None:
    rng = np.random.default_rng(3)
    edges = np.sort(rng.choice(10**7, 200_000, replace=False)).reshape(-1, 2)
    crowded = Chart(
        "crowd",
        tuple(lane(f"L{i}", *edges[i::5].tolist()) for i in range(5)),
        events_us=np.arange(10**6) * S,
        matches=tuple(match(i, i + 5, i + 1) for i in range(5_000)),
    )
    picture = draw(crowded)
    assert picture.svg.count("<") < 25_000 and len(picture.svg) < 2_000_000
    words = " ".join(Drawn.of(picture.svg).words())
    assert "L0 (20,000 as 800)" in words and "matches: the first 600 of 5,000" in words


def test_intervals_that_overlap_in_one_lane_stand_below_one_another() -> None:
    drawn = Drawn.of(draw(Chart("x", (lane("A", (0, 10), (5, 15), (10, 20)),))).svg)
    bars = sorted(drawn.all("rect", "bar"), key=lambda bar: number(bar, "x"))
    first, second, third = (number(bar, "y") for bar in bars)
    assert first < second and third == first


def test_an_instant_is_wide_enough_to_be_seen_and_keeps_its_true_width_for_zooming() -> None:
    (bar,) = Drawn.of(draw(Chart("x", (lane("A", (5, 5)),), events_us=seconds(0, 10))).svg).all("rect", "bar")
    assert number(bar, "width") == 2 and bar.get("data-w") == "0"


def test_all_at_one_instant_can_be_drawn() -> None:
    drawn = Drawn.of(draw(Chart("x", (lane("A", (5, None)),), events_us=seconds(5), unit="s")).svg)
    assert 400 < number(drawn.all("rect", "bar")[0], "x") < 800


def test_nothing_to_show_is_an_error() -> None:
    with pytest.raises(InputError, match="nothing to show"):
        Chart("x", (lane("A"),), events_us=seconds(), matches=())


def test_lanes_without_anything_say_so() -> None:
    chart = Chart("x", (lane("A"),), (Line("v", seconds(1), np.array([np.nan])),), seconds(1, 2), ())
    words = Drawn.of(draw(chart).svg).words()
    assert {"none", "no values", "no match"} <= set(words)


def test_names_are_cut_where_they_would_reach_into_the_lanes_and_are_whole_on_hovering() -> None:
    drawn = Drawn.of(draw(large()).svg)
    names = [node for node in drawn.all("text") if number(node, "x") == 25]
    assert len(names) == 61
    assert all(25 + width(node.text, 12) <= 208 for node in names)
    cut = next(node for node in names if node.text.startswith("a name"))
    assert cut.text.endswith("…") and cut[0].text == "a name " * 30 + " 3"


def test_labels_of_the_time_axis_do_not_touch() -> None:
    for end in (1e-5, 0.3, 7, 45, 600, 7_200, 86_400, 40 * 86_400, 4_000 * 86_400):
        for unit in (None, "us"):
            drawn = Drawn.of(draw(Chart("x", (lane("A", (0, end)),), unit=unit)).svg)
            labels = [node for node in drawn.all("text", "soft") if node.get("text-anchor") in ("middle", "end")]
            assert len(labels) >= 2
            for y in {number(node, "y") for node in labels}:
                row = sorted(_extent(node) for node in labels if number(node, "y") == y)
                assert all(a[1] < b[0] for a, b in pairwise(row)), (end, unit)


def _extent(node) -> tuple[float, float]:  # type: ignore[no-untyped-def]
    x, half = number(node, "x"), width(node.text, 11)
    return (x - half, x) if node.get("text-anchor") == "end" else (x - half / 2, x + half / 2)


def test_a_line_keeps_its_peaks_and_breaks_where_values_are_missing() -> None:
    values = np.zeros(100_000)
    values[50_123] = 9.0
    values[20_000:40_000] = np.nan
    drawn = Drawn.of(draw(Chart("x", lines=(Line("v", np.arange(100_000) * S, values),), unit="s")).svg)
    (path,) = (node.get("d") for node in drawn.all("path", "value"))
    assert path.count("M") == 2 and len(path) < 30_000
    ys = [float(part.replace("h0", "").split(" ")[1]) for part in path.replace("M", "L").split("L")[1:]]
    assert ys.count(min(ys)) == 1 and max(ys) - min(ys) == pytest.approx(44)
    assert {"0", "9"} <= set(drawn.words())


def test_the_large_picture_renders() -> None:
    picture = draw(large())
    pixels = decode(render(picture.svg))
    assert pixels.shape[0] == picture.height < 4_000
    assert all(is_colour(pixels, colour, 12).sum() > 1_000 for colour in PALETTE)
    assert is_colour(pixels, DETECTED, 12).sum() > 1_000
