"""Every mutant has its place, and only one: without running any."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from tests.mutants.__main__ import MUTANTS
from tests.mutants.anchors import Anchors, NotAppliedError
from tests.mutants.apply import PACKAGE
from tests.mutants.mutant import Mutant
from tests.mutants.trials import KILLERS

SOURCE = """
LIMITS = {"least": lambda n: n > 0}


@njit(cache=True)
def walk(rows, out):  # (comment)
    n = 0
    for row in range(0,  # the first
                     rows.size):
        if rows[row] >= 3 and row > 0:
            n += 1
        elif (rows[row] ==
                5):
            n += 1
            out[n, 0] = f"{rows[row]} é"; n += 0
    return sum(r for r in rows), "é", n + 1


class Buffer:
    def add(self, row):
        def inner(row):
            return row + 1

        try:
            self.rows.append(inner(row))
        except KeyError:
            pass
        n += 1
        n += 1
"""
OTHER = """
def walk(rows, out):
    return rows, out, 7
"""


@pytest.fixture
def anchors(tmp_path: Path) -> Anchors:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "walks.py").write_text(SOURCE)
    (tmp_path / "others.py").write_text(OTHER)
    return Anchors(tmp_path)


@pytest.mark.parametrize(
    ("where", "old", "new", "expected"),
    [
        ("walk", "rows[row]>=3", "rows[row] > 3", "if (rows[row] > 3) and row > 0:"),
        ("walk", "n + 1", "n", '"é", (n)'),
        (
            "walk",
            "for row in range(0, rows.size):",
            "for row in range(1, rows.size):",
            "for row in range(1, rows.size):",
        ),
        ("walk", "if rows[row] == 5:", "if False:", "elif False:"),
        ("walk", "elif rows[row] == 5:", "elif False:", "elif False:"),
        ("walk", "sum(r for r in rows)", "rows[0]", "return (rows[0]),"),
        ("walk", "(r for r in rows)", "rows", "sum(rows)"),
        ("walk", 'out[n, 0] = f"{rows[row]} é"\nn += 0', "pass", "            pass\n    return"),
        ("walk", "n = 0", "n = 1\nm = 2", "    n = 1\n    m = 2\n"),
        ("walk", "n += 0", "", 'é"; \n    return'),
        ("walk", "7", "8", "return rows, out, (8)"),
        ("others:walk", "rows", "None", "return (None), out, 7"),
        ("LIMITS", "n > 0", "n >= 0", "lambda n: (n >= 0)"),
        ("Buffer.add.inner", "row + 1", "row", "return (row)"),
        ("Buffer.add", "row + 1", "row", "return (row)"),
        ("Buffer.add", "except KeyError:", "except ValueError:", "except ValueError:"),
        ("Buffer.add", "n += 1\nn += 1", "n += 2", "        n += 2\n"),
    ],
)
def test_a_place_is_found_by_function_and_syntax(
    anchors: Anchors, where: str, old: str, new: str, expected: str
) -> None:
    changed = anchors.edit(Mutant("", where, old, new, ())).changed()
    assert expected in changed
    before = SOURCE if "njit" in changed else OTHER
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(before))


@pytest.mark.parametrize(
    ("where", "old", "message"),
    [
        ("Buffer.add", "n += 1", r"2 times in Buffer.add: one/walks.py:28, one/walks.py:29"),
        ("walk", "out", r"2 times in walk: one/walks.py:\d+, others.py:3"),
        ("walk", "gone", r"0 times in walk: only the function, in one/walks.py, others.py"),
        ("gone", "n", r"0 times in gone: no function of that name"),
        ("one.others:walk", "7", r"0 times in one.others:walk: no function"),
    ],
)
def test_no_place_and_several_places_are_errors(anchors: Anchors, where: str, old: str, message: str) -> None:
    with pytest.raises(NotAppliedError, match=message):
        anchors.edit(Mutant("", where, old, "pass" if "+=" in old else "None", ()))


def test_every_mutant_has_one_place_and_changes_it() -> None:
    anchors, problems = Anchors(PACKAGE), []
    for mutant in MUTANTS:
        try:
            edit = anchors.edit(mutant)
        except NotAppliedError as problem:
            problems.append(f"{mutant.what}: {problem}")
            continue
        if edit.changed() == edit.path.read_text():
            problems.append(f"{mutant.what}: nothing changes")
    assert not problems, "\n".join(problems)


def test_descriptions_tell_mutants_apart_and_killers_name_no_file() -> None:
    names = [mutant.what for mutant in MUTANTS]
    assert len(set(names)) == len(names)
    assert not [killer for killer in json.loads(KILLERS.read_text()).values() if ".py" in killer.partition("[")[0]]
