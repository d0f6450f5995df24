"""Generated modules are made once, of the text that is given."""

from __future__ import annotations

import traceback

import pytest

from eventide.runtime.generated import load_module, specialize


def test_the_same_source_is_the_same_module() -> None:
    one = load_module("x = 1  # the same source\n")
    assert load_module("x = 1  # the same source\n") is one
    assert load_module("x = 2  # another source\n").x == 2


def test_a_module_imports_another_one_by_its_name() -> None:
    one = load_module("x = 3\n")
    assert load_module(f"from {one.__name__} import x\n").x == 3


def test_an_error_in_generated_code_shows_its_line() -> None:
    module = load_module("def divide(x):\n    return 1 // x  # here\n")
    with pytest.raises(ZeroDivisionError) as raised:
        module.divide(0)
    assert "return 1 // x  # here" in "".join(traceback.format_exception(raised.value))


def test_regions_are_replaced_by_name() -> None:
    source = "a = 1\n# <generated: one>\nb = 1\n# </generated>\n# <generated: two>\nc = 1\n# </generated>\n"
    made = specialize(source, {"two": "c = '\\\\1'\n\n"})
    assert made == "a = 1\n# <generated: one>\nb = 1\n# </generated>\n# <generated: two>\nc = '\\\\1'\n# </generated>\n"


def test_a_region_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="no region named holds"):
        specialize("x = 1\n", {"holds": "y = 1"})
