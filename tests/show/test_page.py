"""The page: one file that loads nothing, shows names as text, and works in the dark, on paper and in a notebook."""

from __future__ import annotations

import ast
import html
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from eventide.errors import InputError
from eventide.show.timeline import build, intervals, page, situations, tables
from eventide.show.timeline.model import Chart
from eventide.show.timeline.page import Timeline
from tests.show.charts import Drawn, lane, large, match, seconds, small
from tests.show.pixels import decode, render


class Tags(HTMLParser):
    """The elements of a page, and whether all are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("chart", [small(), large()], ids=["small", "large"])
def test_a_page_is_well_formed_and_loads_nothing(chart: Chart) -> None:
    text = Timeline.of(chart).html
    tags = Tags(text)
    assert tags.open == []
    assert not re.search(r"https?://|//\w+\.\w", text.replace("://www.w3.org/2000/svg", ""))
    assert not re.search(r"@import|url\((?!#)", text)
    for tag, attributes in tags.seen:
        assert not {"src", "srcset", "data", "action"} & attributes.keys(), tag
        assert (attributes.get("href") or "#").startswith("#")
    assert [tag for tag, _ in tags.seen].count("script") == 1


def test_names_and_values_are_text_wherever_they_stand() -> None:
    evil = "</title></style></script><script>alert('x')</script><img src=x onerror=y>\"'&\x00\x1b\ud800"
    chart = Chart(evil, (lane(evil, (1, 2)),), (), seconds(1, 5), (match(1, 2, 2, **{evil: evil}),), subtitle=evil)
    shown = Timeline.of(chart)
    tags = [tag for tag, _ in Tags(shown.html).seen]
    assert tags.count("script") == 1 and "img" not in tags
    drawn = Drawn.of(shown.svg)  # XML that can be parsed
    assert any("alert('x')" in (title.text or "") for title in drawn.all("title"))
    assert decode(render(shown.svg)).shape[1] == 1200


def test_a_page_has_a_dark_form_and_a_printed_form_that_is_light() -> None:
    text = Timeline.of(small()).html
    dark = text[text.index("@media screen and (prefers-color-scheme:dark)") :]
    assert "figure .paper{fill:#14181d}" in dark
    printed = text[text.index("@media print") :]
    assert ".tools{display:none}" in printed and "print-color-adjust:exact" in printed and "landscape" in printed


def test_without_its_script_a_page_hides_the_buttons_and_shows_the_picture() -> None:
    text = Timeline.of(small()).html
    assert '<div class="tools" hidden>' in text and "cars that brake" in text


def test_a_page_is_saved_whole_and_a_picture_by_its_ending(tmp_path: Path) -> None:
    shown = Timeline.of(small())
    assert shown.save(tmp_path / "page.html").read_text(encoding="utf-8") == shown.html
    assert shown.save(str(tmp_path / "page.svg")).read_text(encoding="utf-8") == shown.svg
    assert sorted(file.name for file in tmp_path.iterdir()) == ["page.html", "page.svg"]


@pytest.mark.parametrize(("name", "message"), [("page.png", "cannot write"), ("no/page.html", "does not exist")])
def test_a_page_that_cannot_be_written_is_said(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Timeline.of(small()).save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_a_folder_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "page.html").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        Timeline.of(small()).save(tmp_path / "page.html")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_a_notebook_shows_the_page_in_a_frame_of_its_own() -> None:
    shown = Timeline.of(small())
    ((tag, attributes),) = Tags(shown._repr_html_()).seen
    assert tag == "iframe" and attributes["srcdoc"] == shown.html
    assert f"height:{shown.height + 60}px" in (attributes["style"] or "")
    assert html.unescape(repr(shown)) == "<Timeline 'cars that brake': 3 lanes, 1 match>"


def test_drawing_knows_nothing_of_queries_and_engines() -> None:
    readers = {module.__name__.rsplit(".", 1)[1] for module in (build, intervals, situations, tables)}
    folder = Path(page.__file__).parent
    drawing = [file for file in folder.glob("*.py") if file.stem not in {*readers, "__init__"}]
    assert len(drawing) >= 8
    for file in drawing:
        nodes = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)]
        ours = {node.module for node in nodes if node.module and node.module.startswith("eventide")}
        allowed = ("eventide.show.timeline.", "eventide.errors", "eventide.runtime.whole_files")
        assert all(name.startswith(allowed) for name in ours), (file.name, ours)
        assert not {f"eventide.show.timeline.{name}" for name in readers} & ours
