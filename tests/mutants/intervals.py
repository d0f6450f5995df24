"""Mutants of derived intervals: runs, spans, aggregates, what is kept between two calls."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_RULES = "tests/families/intervals/test_rules.py::test_"
_STREAMS = "tests/families/intervals/test_streams.py::test_"
_SAME = "tests/families/intervals/test_same_intervals.py::test_"
BATCHES = (f"{_SAME}micro_batches_with_a_restart_after_each_derive_the_intervals_of_one_batch",)
LOCAL = (f"{_SAME}the_embedded_engine_derives_the_oracles_intervals",)
FIRST_EVENT = (
    f"{_RULES}what_relates_an_event_to_the_run_does_not_apply_to_its_first_event",
    f"{_RULES}what_is_about_aggregates_alone_applies_to_the_first_event_too",
)
GAP = (f"{_RULES}successive_events_are_less_than_the_gap_apart",)
MOST = (f"{_RULES}a_run_that_reaches_the_most_closes_and_the_next_event_begins_another",)
LEAST = (f"{_RULES}runs_with_too_few_events_are_dropped",)
BREAKS = (f"{_RULES}an_event_that_breaks_a_run_may_begin_the_next",)
EXCLUDED = (
    f"{_RULES}an_excluded_event_discards_the_open_start",
    f"{_RULES}an_excluded_event_neither_starts_nor_ends_a_span",
)
ENDS = (
    f"{_RULES}an_event_that_ends_a_span_does_not_start_the_next",
    f"{_RULES}a_span_reaches_from_the_earliest_open_start_to_the_next_end",
)
TIME = (f"{_STREAMS}time_closes_a_run_when_no_event_can_be_near_enough",)

_SLICES = "tests/families/intervals/test_slices.py::test_"
SLICES = (f"{_SLICES}slices_put_together_have_the_intervals_of_the_oracle",)

WRITTEN = ("tests/families/intervals/test_streams.py::test_few_changes_of_many_open_intervals_write_few_bytes",)

INTERVALS = (
    Mutant(
        "intervals: relative conditions apply to the first event",
        "applies_to_first",
        "return not any(isinstance(leaf, ValueLeaf) for leaf in relation.resolved.leaves)",
        "return True",
        FIRST_EVENT,
    ),
    Mutant(
        "intervals: aggregate conditions do not apply to the first event",
        "applies_to_first",
        "return not any(isinstance(leaf, ValueLeaf) for leaf in relation.resolved.leaves)",
        "return False",
        FIRST_EVENT,
    ),
    Mutant(
        "intervals: the first event is never tested by aggregates",
        "IntervalRelations.write",
        "begins = [text for text, test in zip(goes_on, self.tests, strict=True) if applies_to_first(test.relation)]",
        "begins = ['' for _ in goes_on]",
        FIRST_EVENT,
    ),
    Mutant(
        "intervals: prev and first are the event itself",
        "_RelationWriter.row",
        "return _ROWS[self._test.slots[slot]]",
        'return "row"',
        LOCAL,
    ),
    Mutant(
        "intervals: an unknown conjunct holds",
        "_RelationWriter.text",
        "self.line(f\"holds = {' and not '.join(self.begun(self._test.tree))}\")",
        "self.line(f\"holds = {' or '.join(self.begun(self._test.tree))}\")",
        (f"{_RULES}a_condition_that_is_unknown_is_not_met",),
    ),
    Mutant(
        "intervals: the type is not asked for",
        "_Lowering._conditions",
        "relations.append(self._one_type(self.options.type))",
        "self._one_type(self.options.type)",
        (f"{_RULES}an_event_of_another_type_ends_a_run",),
    ),
    Mutant(
        "intervals: a sum begins at zero where there was no value, and counts it",
        "taken",
        'f"{x} = {added} if {n} > 0 else {y}"',
        'f"{x} = {added} if {n} > 1 else {y}"',
        LOCAL,
    ),
    Mutant(
        "intervals: NaN is the least",
        "taken",
        'f"{y} < {x} or ({x} != {x} and {y} == {y})"',
        'f"{y} < {x}"',
        (f"{_RULES}nan_is_the_greatest_value",),
    ),
    Mutant(
        "intervals: the mean of squares is not kept",
        "Store.keep_lines",
        'return [f"{cell} = {name}" for name, (cell, _) in self.cells(fold, owner).items()]',
        'return [f"{cell} = {name}" for name, (cell, _) in self.cells(fold, owner).items() if name[0] != "m"]',
        (f"{_RULES}a_deviation_is_exact_where_squares_are_large",),
    ),
    Mutant(
        "intervals: strings have codes without an order",
        "IntervalRelations.fold",
        'index = self.index(value, is_ranked=is_string and leaf.function in ("MIN", "MAX"))',
        "index = self.index(value)",
        (f"{_RULES}a_value_is_an_expression_over_the_events_of_the_interval",),
    ),
    Mutant(
        "intervals: FILTER is ignored",
        "_argument",
        "if not leaf.filtered:\n    return made[0]",
        "return made[0]",
        (f"{_RULES}a_filter_leaves_events_out_of_an_aggregate",),
    ),
    Mutant(
        "intervals: the gap is included",
        "derive_runs",
        "ts_us[row] - ts_us[last] < gap_us",
        "ts_us[row] - ts_us[last] <= gap_us",
        GAP,
    ),
    Mutant(
        "intervals: a run goes one beyond the most",
        "derive_runs",
        "if not holds or count >= maximum:",
        "if not holds or count > maximum:",
        MOST,
    ),
    Mutant("intervals: one event is never a full run", "derive_runs", "if maximum <= 1:", "if maximum < 1:", MOST),
    Mutant(
        "intervals: short runs stay",
        "derive_runs",
        "if count >= minimum:",
        "if count >= 1:",
        LEAST,
    ),
    Mutant(
        "intervals: an event that breaks a run begins none",
        "derive_runs",
        "if holds:\n    continue",
        "continue",
        BREAKS,
    ),
    Mutant(
        "intervals: an excluded event is like any other",
        "derive_spans",
        "if bits & EXCLUDED:",
        "if bits & 0:",
        EXCLUDED,
    ),
    Mutant(
        "intervals: a start in between begins anew",
        "derive_spans",
        "elif opened[slot, COUNT] > 0:",
        "elif opened[slot, COUNT] > 0 and not bits & STARTS:",
        ENDS,
    ),
    Mutant(
        "intervals: a run waits for an instant too long",
        "IntervalOperator.pending_us",
        "soon = min(soon, self._opened.earliest_us + self.spec.gap_us - 1)",
        "soon = min(soon, self._opened.earliest_us + self.spec.gap_us)",
        TIME,
    ),
    Mutant(
        "intervals: time closes a run too early",
        "IntervalOperator._over",
        "return last_us <= watermark_us + 1 - self.spec.gap_us",
        "return last_us <= watermark_us + 2 - self.spec.gap_us",
        TIME,
    ),
    Mutant(
        "intervals: time alone closes nothing",
        "IntervalOperator._is_due",
        "watermark_us == MAX_US or (gap_us is not None and self._opened.earliest_us + gap_us - 1 <= watermark_us)",
        "watermark_us == MAX_US",
        TIME,
    ),
    Mutant(
        "intervals: a span without an end is closed by the end of the input",
        "IntervalOperator._derive_from",
        "if spec.kind == RUNS:",
        "if spec.kind:",
        (f"{_RULES}a_start_without_an_end_is_no_interval",),
    ),
    Mutant(
        "intervals: short runs are closed by the end of the input",
        "IntervalOperator._derive_from",
        "long = left[over & (opened[left, COUNT] >= spec.minimum)]",
        "long = left[over]",
        (f"{_STREAMS}time_closes_a_run_when_no_event_can_be_near_enough", *LOCAL),
    ),
    Mutant(
        "intervals: events are worked off twice",
        "IntervalOperator._advance",
        "if pc.min(ts).as_py() <= newer_than_us:",
        "if pc.min(ts).as_py() < MIN_US:",
        (f"{_STREAMS}events_wait_for_the_watermark_and_come_in_any_order",),
    ),
    Mutant(
        "intervals: ties stay as they come",
        "order_of",
        "if meets_equal(slots[at], ts_us[at], np.full(n_codes, MIN_US)):",
        "if n_codes < 0:",
        (
            f"{_RULES}tied_events_follow_one_another_by_the_sequence",
            f"{_RULES}without_a_sequence_ties_are_ordered_by_the_columns_that_are_read",
        ),
    ),
    Mutant(
        "intervals: a restart forgets which event was the last",
        "Opened.load",
        "opened[slots, FIRST], opened[slots, LAST], opened[slots, COUNT] = first, first + 1, self.counts",
        "opened[slots, FIRST], opened[slots, LAST], opened[slots, COUNT] = first, first, self.counts",
        BATCHES,
    ),
    Mutant(
        "intervals: a restart forgets extreme values",
        "Opened.load",
        "kept[extreme.array][slots, extreme.place] = cols[array][row, first + 2 + i]",
        "kept[extreme.array][slots, extreme.place] = 0",
        BATCHES,
    ),
    Mutant(
        "intervals: a restart forgets which event has the extreme value",
        "Opened.of",
        "rows[:, 2:] = kept[3][slots]",
        "rows[:, 2:] = rows[:, :1]",
        BATCHES,
    ),
    Mutant(
        "intervals: the last event is the first",
        "_rows",
        "pa.array(closed.first if taken.event == FIRST else closed.last)",
        "pa.array(closed.first)",
        (f"{_RULES}a_value_is_an_expression_over_the_events_of_the_interval",),
    ),
    Mutant(
        "intervals: detection does not look at the gap",
        "_detected",
        "at_us = np.minimum(at_us, np.minimum(ts_us[closed.last], MAX_US - spec.gap_us) + spec.gap_us)",
        "pass",
        LOCAL,
    ),
    Mutant(
        "intervals: detection is the last event",
        "derive_runs",
        "out[n_out, COUNT] = count\nout[n_out, BY] = row",
        "out[n_out, COUNT] = count\nout[n_out, BY] = last",
        LOCAL,
    ),
    Mutant(
        "intervals: an end that is also a start settles",
        "settles",
        "(mask & (STARTS | ENDS) == ENDS)",
        "(mask & ENDS == ENDS)",
        SLICES,
    ),
    Mutant(
        "intervals: a stretch begins with the event that settles",
        "stretches",
        "borders.append(low + int(found[0]) + 1)",
        "borders.append(low + int(found[0]))",
        (f"{_SLICES}stretches_end_with_an_event_that_ends_any_run",),
    ),
    Mutant(
        "intervals: a slice keeps its last settling event",
        "IntervalCombiner._inside",
        "(place <= last[group])",
        "(place < last[group])",
        SLICES,
    ),
    Mutant(
        "intervals: shared times are derived apart",
        "IntervalCombiner._inside",
        "settles(spec, numpy_int64(block.column(MASK))) & ~is_shared",
        "settles(spec, numpy_int64(block.column(MASK)))",
        (f"{_SLICES}of_shared_times_every_event_is_left",),
    ),
    # What snapshots write
    Mutant(
        "intervals: what events have touched is not written",
        "IntervalOperator._derive_from",
        "homes[slots] = -1",
        "",
        WRITTEN,
    ),
    Mutant(
        "intervals: small segments are not put together",
        "SavedOpened.save",
        "2 * n_held < self._sizes[number] or n_held <= n_new",
        "2 * n_held < self._sizes[number]",
        WRITTEN,
    ),
    Mutant(
        "intervals: every segment is written anew",
        "SavedOpened.save",
        "2 * n_held < self._sizes[number]",
        "True",
        WRITTEN,
    ),
    Mutant(
        "intervals: outdated intervals of a segment are read",
        "SavedOpened.restore",
        "np.flatnonzero(np.unpackbits(read_array(text, np.uint8), count=part.size))",
        "np.arange(part.size)",
        WRITTEN,
    ),
)
