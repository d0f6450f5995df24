"""Mutants of relating intervals: the ranges of the kernel, windows, sides, slices, bad intervals, instants."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

RULES = ("tests/families/allen/test_rules.py",)
PAIRS = ("tests/families/allen/test_same_pairs.py",)
MESSAGES = ("tests/families/allen/test_messages.py",)
SLICES = (
    "tests/families/allen/test_same_pairs.py::test_slices_of_time_find_every_pair_once",
    "tests/families/allen/test_same_pairs.py::test_a_pair_across_the_border_of_slices_is_found",
)
BATCHES = ("tests/families/allen/test_same_pairs.py::test_micro_batches_find_the_pairs_of_one_batch",)
LONG = (
    "tests/families/allen/test_same_pairs.py::test_long_tables_are_found_alike",
    "tests/families/allen/test_same_pairs.py::test_long_runs_are_passed_over_up_to_the_first_that_is_wanted",
)
_DERIVED = "tests/families/allen/test_derived.py::test_"
DERIVED = (
    f"{_DERIVED}intervals_that_come_after_their_end_give_the_pairs_of_one_batch",
    f"{_DERIVED}a_pair_waits_until_no_earlier_interval_can_come",
    f"{_DERIVED}of_a_side_that_is_not_derived_what_comes_behind_the_watermark_is_late",
    f"{_DERIVED}a_gap_and_a_fixed_length_bound_how_late_an_interval_comes",
)


ALLEN = (
    Mutant(
        "allen: an end that is equal is during",
        "_relate_by_start",
        "_collect(index, near, at_start, end + 1, _LATEST, DURING, rows, held, n)",
        "_collect(index, near, at_start, end, _LATEST, DURING, rows, held, n)",
        RULES,
    ),
    Mutant(
        "allen: what overlaps may meet",
        "_relate_by_start",
        "_collect(index, near, at_start, start + 1, end - 1, OVERLAPPED_BY, rows, held, n)",
        "_collect(index, near, at_start, start, end - 1, OVERLAPPED_BY, rows, held, n)",
        RULES,
    ),
    Mutant(
        "allen: an equal start may overlap",
        "_relate_by_start",
        "_collect(index, behind_start, at_end, end + 1, latest, OVERLAPS, rows, held, n)",
        "_collect(index, at_start, at_end, end + 1, latest, OVERLAPS, rows, held, n)",
        RULES,
    ),
    Mutant(
        "allen: overlaps knows no window",
        "_relate_by_start",
        "_collect(index, behind_start, at_end, end + 1, latest, OVERLAPS, rows, held, n)",
        "_collect(index, behind_start, at_end, end + 1, _LATEST, OVERLAPS, rows, held, n)",
        RULES,
    ),
    Mutant(
        "allen: meets knows no window",
        "_relate_by_start",
        "_collect(index, at_end, behind_end, -_LATEST, latest, MEETS, rows, held, n)",
        "_collect(index, at_end, behind_end, -_LATEST, _LATEST, MEETS, rows, held, n)",
        RULES,
    ),
    Mutant(
        "allen: the window's edge is outside",
        "_relate",
        "start + window_us",
        "start + window_us - 1",
        RULES,
    ),
    Mutant(
        "allen: the window's edge is outside, backwards",
        "_relate",
        "end - window_us",
        "end - window_us + 1",
        RULES,
    ),
    Mutant(
        "allen: a point at the end finishes",
        "_relate_by_end",
        "start < end",
        "start <= end",
        RULES,
    ),
    Mutant(
        "allen: a point at the start is met by",
        "_relate_by_end",
        "_collect(index, at_start, behind_start, earliest, start - 1, MET_BY, rows, held, n)",
        "_collect(index, at_start, behind_start, earliest, start, MET_BY, rows, held, n)",
        RULES,
    ),
    Mutant(
        "allen: a point at the end is finished by",
        "_relate_by_end",
        "end - 1",
        "end",
        RULES,
    ),
    Mutant(
        "allen: after forgets what is far",
        "_relate_by_end",
        "_collect(index, near, at_start, earliest, _LATEST, AFTER, rows, held, n)",
        "_collect(index, near, at_start, start, _LATEST, AFTER, rows, held, n)",
        RULES,
    ),
    Mutant(
        "allen: a run is passed over whose greatest value is wanted",
        "_collect",
        "if high[node] >= least and low[node] <= most:",
        "if high[node] > least and low[node] <= most:",
        LONG,
    ),
    Mutant(
        "allen: a run is passed over whose least value is wanted",
        "_collect",
        "if high[node] >= least and low[node] <= most:",
        "if high[node] >= least and low[node] < most:",
        LONG,
    ),
    Mutant(
        "allen: a run of runs is passed over from its middle",
        "_collect",
        "i & ((FAN << FAN_BITS * level) - 1) == 0",
        "i & (FAN - 1) == 0",
        LONG,
    ),
    Mutant(
        "allen: the longest interval is a little shorter",
        "_relate",
        "start - longest_us",
        "start - longest_us + 2_000_000",
        RULES,
    ),
    Mutant(
        "allen: equal keys stand as they come",
        "_by_pairs",
        "by_key if order is None else order[by_key]",
        "by_key",
        PAIRS,
    ),
    Mutant(
        "allen: left intervals that are known meet no new right ones",
        "AllenOperator._advance",
        "is_right & is_new",
        "is_right & ~is_right",
        BATCHES,
    ),
    Mutant(
        "allen: pairs of known intervals leave again",
        "AllenOperator._advance",
        "is_right & is_new",
        "is_right",
        BATCHES,
    ),
    Mutant(
        "allen: state is forgotten a microsecond too early",
        "AllenOperator.process",
        "self._watermark_us - window_us + 1",
        "self._watermark_us - window_us + 1_000_001",
        RULES,
    ),
    Mutant(
        "allen: long intervals are held",
        "AllenOperator.process",
        "block = block.filter(pc.less_equal(lengths, window_us))",
        "pass",
        RULES,
    ),
    Mutant(
        "allen: the composite begins where left does",
        "_rows",
        "np.minimum(start_us[lefts], start_us[rights])",
        "start_us[lefts]",
        RULES,
    ),
    Mutant(
        "allen: the composite ends where right does",
        "_rows",
        "np.maximum(end_us[lefts], end_us[rights])",
        "end_us[rights]",
        RULES,
    ),
    Mutant(
        "allen: a batch begins with the last of the one before",
        "cut_pairs",
        "yield first, stop\nfirst = stop",
        "yield first, stop\nfirst = max(stop - 1, first + 1)",
        RULES,
    ),
    Mutant(
        "allen: nothing goes into the next slice",
        "Allen.slicing",
        "LookBack(spec.window_us, on_threads=False)",
        "LookBack(0, on_threads=False)",
        SLICES,
    ),
    Mutant(
        "allen: the edge does not go into the next slice",
        "Allen.slicing",
        "LookBack(spec.window_us, on_threads=False)",
        "LookBack(spec.window_us - 1, on_threads=False)",
        SLICES,
    ),
    Mutant(
        "allen: pairs of intervals that a slice looks back on are found again",
        "AllenOperator._advance",
        "is_new = held.end_us > newer_than_us",
        "is_new = held.end_us > -(2**62)",
        SLICES,
    ),
    Mutant(
        "allen: an interval of one instant is bad",
        "check_intervals",
        "pc.less_equal(start, end)",
        "pc.less(start, end)",
        MESSAGES,
    ),
    Mutant(
        "allen: NULL is no bad time",
        "check_intervals",
        "pc.fill_null(pc.less_equal(start, end), False)",
        "pc.fill_null(pc.less_equal(start, end), True)",
        MESSAGES,
    ),
    Mutant(
        "allen: bad intervals are not counted",
        "check_intervals",
        "raw.filter(is_good), n_bad",
        "raw.filter(is_good), 0",
        MESSAGES,
    ),
    Mutant(
        "allen: a point on the right has the relations of one on the left",
        "_possible",
        "inverse(_POINT_TO_INTERVAL)",
        "_POINT_TO_INTERVAL",
        RULES,
    ),
    Mutant(
        "allen: the latest instant is the start",
        "instant_columns",
        '{"earliest": start, "latest": end, "now": None}',
        '{"earliest": start, "latest": start, "now": None}',
        RULES,
    ),
    Mutant(
        "allen: pairs of derived intervals do not wait for their lag",
        "PairedOperator._advance_behind",
        "self._advance(max(watermark_us - self._lag_us, self._watermark_us))",
        "self._advance(max(watermark_us, self._watermark_us))",
        DERIVED,
    ),
    Mutant(
        "allen: derived intervals are late by the stream's watermark",
        "PairedOperator._in_time",
        "is_in_time = is_derived | (numpy_int64(block.column(TS)) > watermark_us)",
        "is_in_time = numpy_int64(block.column(TS)) > watermark_us",
        DERIVED,
    ),
    Mutant(
        "allen: what is not derived is never late beside what is",
        "PairedOperator._in_time",
        "is_in_time = is_derived | (numpy_int64(block.column(TS)) > watermark_us)",
        "is_in_time = is_derived | ~is_derived",
        DERIVED,
    ),
    Mutant(
        "allen: a pair of derived intervals wakes too early",
        "AllenOperator.pending_us",
        "return None if waiting_us is None else waiting_us + self.spec.lag_us",
        "return waiting_us",
        DERIVED,
    ),
    Mutant(
        "allen: a run without a gap has no lag",
        "lag_us",
        "if spec.kind != RUNS or spec.maximum == spec.minimum:",
        "if spec.kind != RUNS or spec.gap_us is None:",
        DERIVED,
    ),
)
