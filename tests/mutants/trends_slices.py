"""Mutants of slices of time: matrices across tasks and micro-batches, and how events are shared out."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SLICES = "tests/families/trends/test_slices.py::test_"
ORDER = (f"{_SLICES}slices_are_multiplied_in_order_of_time",)
TIES = (f"{_SLICES}events_of_one_time_in_two_slices_do_not_follow_one_another",)
OVER = (f"{_SLICES}a_matrix_does_not_reach_over_events_of_others",)
LAST = (f"{_SLICES}the_last_event_of_all_slices_says_when_it_was_detected",)
EXTREMES = (f"{_SLICES}extremes_and_sums_go_through_slices",)
INFINITE = (f"{_SLICES}an_infinite_value_in_a_slice_is_a_result_and_no_overflow",)
WAITING = (f"{_SLICES}events_that_the_watermark_has_not_passed_stay_events",)
MATRICES = (f"{_SLICES}a_window_that_only_matrices_hold_is_waited_for_and_forgotten",)
COMPACT = (f"{_SLICES}matrices_of_one_pane_become_one",)
APART = (f"{_SLICES}matrices_of_different_panes_stay_apart",)
STATE = (f"{_SLICES}the_state_of_a_stream_follows_the_panes_not_the_events",)
FEW = (f"{_SLICES}few_events_stay_events",)
SHARED_OUT = (f"{_SLICES}files_are_shared_out_by_key_or_by_time",)
REASONS = (f"{_SLICES}a_pattern_that_needs_its_events_has_no_slices_and_says_why",)


TRENDS_SLICES = (
    Mutant(
        "slices: they are multiplied in the order in which they come",
        "Slicer._in_order",
        "order = np.lexsort((ts_us, codes))",
        "order = np.argsort(codes, kind='stable')",
        ORDER,
    ),
    Mutant(
        "slices: events of a time that others share become a matrix",
        "Slicer.combine",
        'frequent[np.searchsorted(line.ts_us, lo) : np.searchsorted(line.ts_us, hi, side="right")] = False',
        "pass",
        TIES,
    ),
    Mutant(
        "slices: a matrix reaches over a shared time",
        "_cut",
        "first = np.unique(np.concatenate([begins, places[(places > 0) & (places < n)]]))",
        "first = begins",
        OVER,
    ),
    Mutant(
        "slices: events that stayed events reach over a matrix",
        "Slicer._between",
        "begins = order < slices.num_rows",
        "begins = order < 0",
        (f"{_SLICES}events_that_stayed_events_do_not_reach_over_a_matrix",),
    ),
    Mutant(
        "slices: the first slice says when it was detected",
        "Slicer.compose",
        "np.maximum.at(last_us, key, numpy_int64(table.column(LAST))[order])",
        "np.maximum.at(last_us, key[:1], numpy_int64(table.column(LAST))[order])",
        LAST,
    ),
    Mutant(
        "slices: the last event of a pair is its first",
        "find_times",
        "ts_us[last[pair_key[p]]]",
        "ts_us[first[pair_key[p]]]",
        LAST,
    ),
    Mutant(
        "slices: a greatest value travels as the least",
        "write_matrices",
        "codes = len(distinct[i]) - 1 - ranks if greatest else ranks",
        "codes = ranks",
        EXTREMES,
    ),
    Mutant(
        "slices: a slice forgets that a value was infinite",
        "Slicer._matrices",
        "finite = pc.all(pc.is_finite(taken)).as_py() is not False",
        "finite = True",
        INFINITE,
    ),
    Mutant(
        "slices: few events become a matrix, too",
        "mark_frequent",
        "out[r] = counts[key[r]] >= least",
        "out[r] = counts[key[r]] >= 0",
        FEW,
    ),
    Mutant(
        "slices: counts of the pane before are added",
        "mark_frequent",
        "counts[key[r]] = 0",
        "pass",
        (f"{_SLICES}panes_are_counted_each_by_itself",),
    ),
    Mutant(
        "slices: the first matrix of a pane is left out when they become one",
        "multiply_runs",
        "for i in range(borders[run] + 1, borders[run + 1]):",
        "for i in range(borders[run] + 2, borders[run + 1]):",
        COMPACT,
    ),
    Mutant(
        "slices: matrices of all panes become one",
        "Slicer.compact",
        "(np.diff(key) != 0) | (np.diff(oldest) != 0) | (np.diff(newest) != 0)",
        "np.diff(key) != 0",
        APART,
    ),
    Mutant(
        "slices: matrices of all groups become one",
        "Slicer.compact",
        "(np.diff(key) != 0) | (np.diff(oldest) != 0) | (np.diff(newest) != 0)",
        "(np.diff(oldest) != 0) | (np.diff(newest) != 0)",
        COMPACT,
    ),
    Mutant(
        "slices: a micro-batch makes matrices of events that may have others before them",
        "TrendOperator._fold",
        "events = self._buffer.take_out(self._watermark_us)",
        "events = self._buffer.take_out(MAX_US)",
        WAITING,
    ),
    Mutant(
        "slices: what is left of a segment is forgotten",
        "EventBuffer.take_out",
        "self.append(concatenate(left))",
        "pass",
        WAITING,
    ),
    Mutant(
        "slices: nothing waits where only matrices are held",
        "TrendOperator.pending_us",
        "found = [held.earliest_after(first_open_us - 1) for held in (self._buffer, self._slices)]",
        "found = [held.earliest_after(first_open_us - 1) for held in (self._buffer,)]",
        MATRICES,
    ),
    Mutant(
        "slices: matrices are never forgotten",
        "TrendOperator.process",
        "for held in (self._buffer, self._slices):",
        "for held in (self._buffer,):",
        MATRICES,
    ),
    Mutant(
        "slices: the state keeps the events",
        "TrendOperator._fold",
        "if self._slicer is None or self.spec.slide is None or self._watermark_us <= MIN_US:",
        "if True:",
        STATE,
    ),
    Mutant(
        "slices: conditions on neighbours are lost in matrices",
        "slice_tables",
        "if spec.tests:",
        "if False:",
        REASONS,
    ),
    Mutant(
        "slices: no key is ever hot",
        "hot",
        "min(2 / n_buckets, 0.5)",
        "1",
        SHARED_OUT,
    ),
    Mutant(
        "slices: row groups that overlap are taken for ordered ones",
        "FileInput.in_order",
        'n_shared > cost("most_shared") * self.n_rows',
        "False",
        SHARED_OUT,
    ),
    Mutant(
        "slices: rare pairs are combined",
        "_combined",
        'if laid is not None and not is_hot and frequent >= cost("least_frequent"):',
        "if laid is not None and not is_hot:",
        SHARED_OUT,
    ),
    Mutant(
        "slices: two literals hold at once",
        "_values",
        "alike.setdefault(atom[0], {}).setdefault(value, []).append(atom)",
        "alike.setdefault(atom[0], {}).setdefault('', []).append(atom)",
        ("tests/families/trends/test_slices.py::test_the_letters_that_conditions_leave",),
    ),
)
