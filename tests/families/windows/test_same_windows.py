"""Random queries of windows have the rows of the oracle, however the events come."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.budget import QUICK, budgeted
from tests.families.windows.cases import WindowCase, window_cases
from tests.micro_batches import Arrival, arrivals


@budgeted(**QUICK)
@given(window_cases())
def test_the_embedded_engine_returns_the_oracles_windows(case: WindowCase) -> None:
    case.check(case.query.run(case.table()))


@budgeted(**QUICK)
@given(window_cases(kinds=("time", "growing", "session", "count")), arrivals(last=24, most=4, delays=(1, 3, 20)))
def test_micro_batches_with_a_restart_after_each_return_the_oracles_windows(case: WindowCase, arrival: Arrival) -> None:
    case.check_arrival(case.query.plan(case.table().schema), arrival)


@budgeted(**QUICK)
@given(case=window_cases(), in_order=st.booleans())
def test_files_in_pieces_return_the_oracles_windows(case: WindowCase, in_order: bool, tmp_path_factory: Any) -> None:
    assume(case.events)
    path = tmp_path_factory.mktemp("events") / "events.parquet"
    table = case.table()
    pq.write_table(table.sort_by("ts") if in_order else table, path, row_group_size=3)
    module = "eventide.families.windows.operator"
    with patch("eventide.engines.local.run.ROWS_PER_READ", 3), patch(f"{module}._ROWS_HELD", 4):
        case.check(case.query.run(str(path)))


@budgeted(**QUICK)
@given(window_cases())
def test_threads_and_small_batches_change_nothing(case: WindowCase) -> None:
    module = "eventide.families.windows.operator"
    small = patch(f"{module}._ROWS_PER_BATCH", 2), patch(f"{module}._ROWS_PER_THREAD", 2)
    with small[0], small[1], patch("os.cpu_count", lambda: 3):
        case.check(case.query.run(case.table()))
