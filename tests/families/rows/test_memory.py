"""Lists behind aggregates of ALL ROWS PER MATCH: no more of them at once than a batch holds."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

import eventide as ev
from eventide.families.rows import operator
from eventide.runtime.measures import Measures


@pytest.mark.parametrize(
    ("pattern", "text", "most"), [("A+", "median(x)", 64), ("A+", "FINAL median(x)", 64), ("A{8}", "median(x)", 64)]
)
def test_points_are_cut_by_the_length_of_their_lists(pattern: str, text: str, most: int) -> None:
    sizes: list[int] = []
    real = Measures.at

    def spied(self: Measures, *given: Any) -> pa.RecordBatch:
        made = real(self, *given)
        sizes.append(made.num_rows + sum(len(made.column(i.name).values) for i in self._spec.listed))
        return made

    rows = [{"id": i, "x": i} for i in range(48)]
    clause = ev.match_recognize(order_by="id", pattern=pattern, measures={"m": text}, rows="all")
    with patch.object(operator, "ROWS_PER_BATCH", most), patch.object(Measures, "at", spied):
        found = clause(rows).sort_by("id").column("m").to_pylist()
    whole = 8 if pattern == "A{8}" else 48
    first = [i // whole * whole for i in range(48)]
    if text.startswith("FINAL"):
        assert found == [(2 * first[i] + whole - 1) / 2 for i in range(48)]
    else:
        assert found == [(first[i] + i) / 2 for i in range(48)]
    assert max(sizes) <= most
    assert len(sizes) > 1
