"""Random rows in one draw: to draw every value by itself takes Hypothesis longer than most queries take to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

Row = dict[str, Any]
# One row of so many is left out.
LEFT_OUT_OF = 13


def drawn_rows(columns: Mapping[str, Sequence[Any]], n: int) -> st.SearchStrategy[list[Row]]:
    """`n` rows. Each value is one byte, which says which of its column's values it is; failures shrink to the first."""
    chosen = [(name, list(values)) for name, values in columns.items()]
    assert all(0 < len(values) <= 256 for _, values in chosen)
    width = len(chosen)

    def rows(drawn: bytes) -> list[Row]:
        places = range(0, n * width, width)
        return [
            {name: values[drawn[start + i] % len(values)] for i, (name, values) in enumerate(chosen)}
            for start in places
        ]

    return st.binary(min_size=n * width, max_size=n * width).map(rows)


def mostly_drawn_rows(columns: Mapping[str, Sequence[Any]], n: int) -> st.SearchStrategy[list[Row]]:
    """At most `n` rows: Hypothesis prefers short lists, and full ones have the matches.

    A failure shrinks by leaving out one row after the other.
    """
    there = {"": [False] + [True] * (LEFT_OUT_OF - 1), **columns}
    return drawn_rows(there, n).map(lambda rows: [row for row in rows if row.pop("")])
