"""The table of examples and the random tests go together."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests import budget

FOLDER = Path(__file__).parent


def random_tests() -> dict[tuple[str, str], list[str]]:
    """By module and name the decorators of every test that draws examples."""
    found = {}
    for path in sorted(FOLDER.rglob("test_*.py")):
        text = path.read_text()
        module = path.relative_to(FOLDER).with_suffix("").as_posix().replace("/", ".")
        functions = (
            [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)] if "@given" in text else []
        )
        for function in functions:
            decorators = [ast.unparse(decorator).partition("(")[0] for decorator in function.decorator_list]
            if "given" in decorators:
                found[module, function.name] = decorators
    return found


def test_every_random_test_has_its_examples_from_the_table() -> None:
    tests = random_tests()
    assert not [test for test, decorators in tests.items() if "budgeted" not in decorators or "settings" in decorators]
    assert set(tests) == {(module, name) for module, own in budget.EXAMPLES.items() for name in own}


def test_the_examples_keep_to_the_budget() -> None:
    listed = [budget.both(given) for own in budget.EXAMPLES.values() for given in own.values()]
    assert all(0 < compiled <= plain for plain, compiled in listed)
    assert all(sum(one) <= most for one, most in zip(zip(*listed, strict=True), budget.MOST, strict=True))


def test_a_test_that_is_not_in_the_table_is_told() -> None:
    with pytest.raises(LookupError, match="how many examples test_budget: random_tests draws"):
        budget.budgeted()(random_tests)
