"""What a mutant is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One fault: in the function `where`, `old` becomes `new`; `tests` must fail.

    `where` is a qualified name without its module: `earliest`, `Buffer.append`, `outer.inner`, or the name of a
    constant that holds a lambda. Two functions of one name that both have `old` need a module in front:
    `rows.lower:window`. `old` is an expression, statements, or the head of a statement with its colon (`if n > 1:`),
    compared as syntax. An empty `new` takes statements away.
    """

    what: str
    where: str
    old: str
    new: str
    tests: tuple[str, ...]


def tests_of(folder: str, *named: str) -> list[tuple[str, ...]]:
    """Tests below a folder of `tests`, for each of the names that take them.

    >>> tests_of("families/rows", "ties", "matcher::greedy matcher::reluctant")[1]
    ('tests/families/rows/test_matcher.py::test_greedy', 'tests/families/rows/test_matcher.py::test_reluctant')
    """
    return [tuple(_path(folder, *each.split("::")) for each in tests.split()) for tests in named]


def _path(folder: str, file: str, test: str = "") -> str:
    return f"tests/{folder}/test_{file}.py" + (f"::test_{test}" if test else "")
