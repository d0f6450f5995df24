"""`eventide warm` runs every kind of query, so that what they share is compiled and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eventide import families
from eventide.cli import warm
from eventide.families.registry import family_named
from tests.conftest import Command

OPERATORS = {
    "SequenceOperator": "events",
    "PatternOperator": "events",
    "TrendOperator": "trends",
    "RowsOperator": "rows",
    "DetectionOperator": "builder",
    "SituationOperator": "situations",
    "IntervalOperator": "intervals",
    "AllenOperator": "allen",
    "JoinOperator": "joins",
    "WindowOperator": "windows",
    "CountOperator": "windows",
    "EarlyOperator": "windows",
    "EmptyOperator": "windows",
}


def test_every_kind_of_operator_is_among_those_that_are_warmed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = set()
    for name in set(OPERATORS.values()):
        family = family_named(name)

        def note(*given: Any, _make: Any = family.operator, **named: Any) -> Any:
            operator = _make(*given, **named)
            made.add(type(operator).__name__)
            return operator

        monkeypatch.setattr(family, "operator", note)
    for run in warm.kinds().values():
        run()
    assert made == OPERATORS.keys()


def test_every_family_with_an_operator_is_in_the_list() -> None:
    folder = Path(families.__file__).parent
    others = {"late", "statement"}  # which compile nothing
    assert {path.parent.name for path in folder.glob("*/family.py")} == {*OPERATORS.values(), *others}


def test_the_command_says_what_it_compiled_and_where_it_is_kept(
    eventide: Command, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    ran = []
    monkeypatch.setattr(warm, "kinds", lambda: {"event patterns": lambda: ran.append(1)})
    code, out, err = eventide("warm")
    assert (code, out, ran) == (0, "", [1])
    assert err.splitlines() == ["event patterns: 0.0 s", f"compiled code is kept in {place / 'code'}"]


def test_the_command_fails_where_nothing_can_be_kept(
    eventide: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("EVENTIDE_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    code, _, err = eventide("warm")
    assert code == 2
    assert "Error: there is no folder in which compiled code can be kept\nHint: set EVENTIDE_CACHE_DIR" in err
