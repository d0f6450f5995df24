"""The table of functions in docs/expressions.md, made from the allow-list.

`python -m tests.docs.function_table` writes it into the page; a test checks that the page holds it.
"""

from __future__ import annotations

import re
from pathlib import Path

from eventide.expressions.functions import FUNCTIONS, MOST_ULPS, SPECIAL_FORMS, TRUNC_UNITS, Function
from eventide.expressions.types import type_name

PAGE = Path(__file__).resolve().parents[2] / "docs" / "expressions.md"
_BEGIN = "<!-- functions: written by python -m tests.docs.function_table -->"
_END = "<!-- end of functions -->"
_WORDS = {"double": "number", "integer": "whole number", "date": "date", "timestamp": "timestamp", "unit": "unit"}


def table() -> str:
    """The functions in the order of the allow-list, and the special forms below them."""
    lines = ["| function | result | equal on both engines |", "|---|---|---|"]
    lines += [f"| `{_call(row)}` | {type_name(row.result)} | {_equality(row)} |" for row in FUNCTIONS.values()]
    forms = ", ".join(f"`{name}`" for name in SPECIAL_FORMS)
    units = ", ".join(f"`{unit}`" for unit in TRUNC_UNITS)
    return "\n".join([*lines, "", f"Forms with rules of their own: {forms}.", "", f"Units of `DATE_TRUNC`: {units}."])


def written(page: str) -> str:
    """The table as it stands in the page's text."""
    return page.partition(_BEGIN)[2].partition(_END)[0].strip()


def write() -> None:
    """Put the table into the page."""
    made = f"{_BEGIN}\n\n{table()}\n\n{_END}"
    page = PAGE.read_text()
    PAGE.write_text(re.sub(re.escape(_BEGIN) + ".*?" + re.escape(_END), lambda _: made, page, flags=re.DOTALL))


def _call(row: Function) -> str:
    words = [_WORDS.get(param, param) for param in row.params]
    needed = len(words) - row.optional
    optional = "".join(f"[, {word}]" for word in words[needed:])
    return f"{row.name}({', '.join(words[:needed])}{optional})"


def _equality(row: Function) -> str:
    return "yes" if row.exact else f"up to {MOST_ULPS} units in the last place"


if __name__ == "__main__":
    write()
