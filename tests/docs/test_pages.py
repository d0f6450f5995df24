"""The pages say what is so: tables made from code, shell sessions replayed, the site builds and needs no network."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from eventide import cli
from tests.docs import function_table

ROOT = Path(__file__).resolve().parents[2]
COMMAND_LINE = ROOT / "docs" / "command-line.md"


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


def test_the_site_builds_strictly_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    site = tmp_path / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    pages = list(site.rglob("*.html"))
    assert len(pages) > 8
    for page in pages:
        loaded = re.findall(r'<(?:script|img|iframe)[^>]*\ssrc="(https?:[^"]*)"', page.read_text())
        loaded += re.findall(
            r'<link[^>]*rel="(?:stylesheet|preconnect|icon)"[^>]*href="(https?:[^"]*)"', page.read_text()
        )
        assert not loaded, page.name
