"""The pages say what is so: tables made from code, shell sessions replayed, the site builds and needs no network."""

from __future__ import annotations

import doctest
import html
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import eventide as ev
from eventide.cli import app as cli
from tests.docs import function_table
from tests.docs.script import PARTS, example

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
COMMAND_LINE = DOCS / "command-line.md"


def test_the_table_of_functions_is_the_allow_list() -> None:
    written = function_table.written(function_table.PAGE.read_text())
    assert written == function_table.table(), "run python -m tests.docs.function_table"


def test_the_shell_sessions_of_the_command_line_page_print_what_they_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = COMMAND_LINE.read_text()
    for name, text in re.findall(r'```sql title="([\w.]+)"\n(.*?)```', page, re.DOTALL):
        Path(name).write_text(text)
    code, n_commands = 0, 0
    for session in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", session, re.MULTILINE):
            words = shlex.split(command)
            if words == ["echo", "$?"]:
                assert shown == f"{code}\n"
                continue
            code = _call(words, monkeypatch)
            output = capsys.readouterr()
            _compare(command, shown, output.err + output.out)
            n_commands += 1
    assert n_commands >= 6


def _call(words: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    assert words[0] == "eventide"
    monkeypatch.setattr(sys, "argv", words)
    try:
        cli.main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def _compare(command: str, shown: str, found: str) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(shown, found, flags), f"$ {command}\n{found}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The HTML of the built pages by file name."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    pages = {page.name: page.read_text() for page in folder.rglob("*.html")}
    assert len(pages) > 8
    return pages


def test_the_site_loads_nothing_from_elsewhere(site: dict[str, str]) -> None:
    for name, page in site.items():
        loaded = re.findall(r'<(?:script|img|iframe)[^>]*\ssrc="(https?:[^"]*)"', page)
        loaded += re.findall(r'<link[^>]*rel="(?:stylesheet|preconnect|icon)"[^>]*href="(https?:[^"]*)"', page)
        assert not loaded, name


def test_no_page_shows_an_include_instead_of_what_it_includes(site: dict[str, str]) -> None:
    assert [name for name, page in site.items() if "--8" in _text(page)] == []


@pytest.mark.parametrize("part", PARTS)
def test_the_page_of_an_engine_shows_the_code_that_runs(site: dict[str, str], part: str) -> None:
    page = {"query": "engines", "batch": "spark-batch", "path": "spark-batch", "stream": "spark-stream"}[part]
    assert example(part) in _text(site[f"{page}.html"])


def test_the_reference_has_every_public_name_with_its_signature(site: dict[str, str]) -> None:
    shown = _text(site["reference.html"])
    headings = set(re.findall(r"ev\.(\w+)\s*\n", shown))
    assert headings == set(ev.__all__)
    assert "batches(\n    events: Any = None," in shown


def test_the_reference_shows_doctests_as_code(site: dict[str, str]) -> None:
    page = site["reference.html"]
    assert "<blockquote" not in page and "BLANKLINE" not in page
    assert page.count('<span class="gp">&gt;&gt;&gt; </span>') > 50


def test_the_index_links_every_page() -> None:
    linked = set(re.findall(r"\]\(([\w-]+\.md)", (DOCS / "index.md").read_text()))
    assert linked | {"index.md"} == {page.name for page in DOCS.glob("*.md")}


def test_the_readme_links_every_page() -> None:
    linked = set(re.findall(r"\]\(docs/([\w-]+\.md)", (ROOT / "README.md").read_text()))
    assert linked | {"index.md"} == {page.name for page in DOCS.glob("*.md")}


def test_the_first_screen_of_the_readme_says_how_to_begin() -> None:
    screen = "\n".join((ROOT / "README.md").read_text().splitlines()[:30])
    assert all(command in screen for command in ("pip install", "make demo", "make test", "ev.query("))


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_from_the_root_lead_to_headings(page: str) -> None:
    for target, anchor in re.findall(r"\]\(([\w/.-]+\.md)(?:#([\w-]+))?\)", (ROOT / page).read_text()):
        assert (ROOT / target).is_file(), target
        headings = re.findall(r"^#+ (.*)$", (ROOT / target).read_text(), re.MULTILINE)
        assert not anchor or anchor in map(_anchor, headings), f"{target}#{anchor}"


def _anchor(heading: str) -> str:
    """The place of a heading in the page's address, as MkDocs and GitHub make it."""
    return re.sub(r"[^\w -]", "", heading).lower().strip().replace(" ", "-")


def _text(page: str) -> str:
    """What a reader sees: the page without its tags."""
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def test_ruff_leaves_the_includes_of_a_page_alone(tmp_path: Path) -> None:
    pytest.importorskip("ruff")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    page = tmp_path / "page.md"
    page.write_text('```python\n--8<-- "examples/takeover.py:query"\n```\n')
    before = page.read_text()
    subprocess.run([sys.executable, "-m", "ruff", "format", "."], cwd=tmp_path, capture_output=True, check=True)
    assert page.read_text() == before
