"""Mutants of aggregates over lists of a window's values, of windows without events, and of trends of single events."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, tests_of

_LISTS, _ORDER, _BATCHES, _EMPTY, _STREAM, _GAPS = tests_of(
    "families/windows",
    "aggregates::windows_have_the_oracles_aggregates",
    "aggregates::values_of_one_event_stay_beside_each_other aggregates::lists_and_structs_have_an_order_of_their_own",
    "aggregates::batches_of_rows_hold_few_items_of_lists",
    "empty::windows_without_events_are_the_oracles",
    "empty::a_stream_returns_a_gap_with_the_next_window_of_the_group",
    "empty::a_gap_comes_in_batches",
)
_EXACT, _CHOSEN = tests_of(
    "families/trends",
    "single_events::sums_are_exact_and_averages_the_nearest_double",
    "single_events::a_stream_keeps_the_operator_that_its_checkpoints_know",
)

WINDOWS_AGGREGATES = (
    Mutant(
        "window lists: values of one time have the order of the events",
        "lists_of",
        "np.lexsort(keys)",
        "np.lexsort(keys[n_values:])",
        _LISTS,
    ),
    Mutant(
        "window lists: of equal lists the longer comes first",
        "_places",
        "1 + ranks[offsets[:-1][has_item] + place]",
        "-1 - ranks[offsets[:-1][has_item] + place]",
        _ORDER,
    ),
    Mutant(
        "window lists: a batch takes the items of all windows",
        "WindowOperator._cuts",
        "number += items // _ITEMS_PER_BATCH",
        "",
        _BATCHES,
    ),
    Mutant(
        "window lists: the first value under a condition is the first that is there",
        "_is_kept_filter",
        'function_of(node.this) not in ("FIRST", "LAST")',
        "True",
        _LISTS,
    ),
    Mutant(
        "windows without events: one too many between two",
        "EmptyOperator._gaps",
        "spans[:, 0] - before - 1",
        "spans[:, 0] - before",
        _EMPTY,
    ),
    Mutant(
        "windows without events: the first window of a group goes on from another's",
        "EmptyOperator._gaps",
        "np.where(is_first, last[group], np.roll(spans[:, 0], 1))",
        "np.roll(spans[:, 0], 1)",
        _EMPTY,
    ),
    Mutant(
        "windows without events: a group forgets its last window",
        "EmptyOperator._remember",
        "concatenate([new, self._known])",
        "concatenate([self._known, new])",
        _STREAM,
    ),
    Mutant(
        "windows without events: the window with events is left out of a later batch",
        "EmptyOperator._rows",
        'np.searchsorted(stops, place, side="right")',
        "np.minimum(np.searchsorted(stops, place), len(stops) - 1)",
        _GAPS,
    ),
    Mutant(
        "single events: large averages are quotients of doubles",
        "_nearest",
        "(high < -(1 << 20)) | (high >= 1 << 20) | (count * float(unit) >= 2.0**53)",
        "count < 0",
        _EXACT,
    ),
    Mutant(
        "single events: streams get another operator",
        "is_of_single_events",
        "not plan.input.is_stream",
        "True",
        _CHOSEN,
    ),
)
