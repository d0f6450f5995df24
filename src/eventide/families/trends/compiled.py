"""The kernels of a kind of numbers, compiled once per machine each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from eventide.runtime.generated import load_module, load_specialized

_MODULES = {"exact": "exact_numbers", "double": "double_numbers", "log2": "scaled_numbers"}


@dataclass(frozen=True, slots=True)
class Kernel:
    """The modules of one kind of numbers."""

    numbers: ModuleType
    records: ModuleType
    trends: ModuleType
    panes: ModuleType
    index: ModuleType
    ranks: ModuleType
    counts: ModuleType


@cache
def load_kernel(counts: str) -> Kernel:
    """`counts` is "exact", "double" or "log2"."""
    # Importing them compiles them: not before a query needs them.
    from eventide.families.trends import kernel as trends
    from eventide.families.trends import kernel_counts as trend_counts
    from eventide.families.trends import kernel_double_numbers as double_numbers
    from eventide.families.trends import kernel_exact_numbers as exact_numbers
    from eventide.families.trends import kernel_index as trend_index
    from eventide.families.trends import kernel_lanes as trend_lanes
    from eventide.families.trends import kernel_panes as trend_panes
    from eventide.families.trends import kernel_ranks as trend_ranks
    from eventide.families.trends import kernel_records as trend_records
    from eventide.families.trends import kernel_scaled_numbers as scaled_numbers

    numbers = {"exact": exact_numbers, "double": double_numbers, "log2": scaled_numbers}[counts]
    if counts == "exact":
        return Kernel(numbers, trend_records, trends, trend_panes, trend_index, trend_ranks, trend_counts)
    source = f"from eventide.families.trends.kernel_{_MODULES[counts]} import"
    records = load_specialized(trend_records, {"numbers": f"{source} add, add_times, clear, to_doubles"})
    walked = f"from {records.__name__} import add_class, add_count, add_event, add_record, clear_record, copy_class"
    walked += "\nfrom eventide.families.trends.kernel_types import count_scopes_type"
    paned = f"from {records.__name__} import add_event, add_record, add_scaled, clear_record, copy_class"
    planned = "from eventide.families.trends.kernel_two_stacks import BEGIN, GROW, KEEP, PREPEND, WINDOW_TIMES_RIGHT"
    laned = f"{source} add, add_lanes, add_times_lanes, words_to_doubles\n"
    laned += f"from {records.__name__} import NONE, add_double, add_scaled"
    lanes = load_specialized(trend_lanes, {"numbers": laned})
    indexed = f"from {lanes.__name__} import begin_lane, has, put, put_event, take_out\n"
    indexed += "from eventide.families.trends.kernel_queues import chain, find, push"
    return Kernel(
        numbers,
        records,
        load_specialized(trends, {"numbers": f"{source} DTYPE, WEIGHT, is_zero, set_one\n{walked}"}),
        load_specialized(
            trend_panes, {"numbers": f"{source} add_product, is_zero, set_one, to_doubles\n{paned}\n{planned}"}
        ),
        load_specialized(trend_index, {"numbers": indexed}),
        trend_ranks,
        load_specialized(trend_counts, {"numbers": f"{source} add, add_product, clear, is_zero, set_one\n{planned}"}),
    )


def load_relate(tests_source: str | None) -> Any:
    """The adjacent-event tests of a query, or none."""
    if tests_source is None:
        from eventide.families.trends.kernel_types import relate_nothing

        return relate_nothing
    return load_module(tests_source).relate


def load_latest_starts() -> Any:
    """The kernel that finds the matches of negations with tests."""
    from eventide.families.trends.kernel_latest_starts import find_latest_starts

    return find_latest_starts
