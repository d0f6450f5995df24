"""Mutants of aggregates over trends: conditions on neighbours, negation, strategies, pairs, windows."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_RULES = "tests/families/trends/test_rules.py::test_"
_WINDOWS = "tests/families/trends/test_windows.py::test_"
RISING = (f"{_RULES}rising_trends",)
COMPARISONS = (f"{_RULES}each_comparison_of_neighbours", f"{_RULES}falling_trends")
EQUAL = (f"{_RULES}a_value_that_nothing_before_is_equal_to",)
MISSING = (f"{_RULES}a_missing_value_is_not_less",)
ANEW = (f"{_RULES}conditions_on_neighbours_begin_anew_in_each_window",)
TIES = (f"{_RULES}tied_events_do_not_follow_one_another",)
TIED_NEGATION = (f"{_RULES}what_is_tied_to_an_event_is_neither_before_nor_after_it",)
UNDONE = (f"{_RULES}a_negation_that_is_undone_later",)
ABSENT_BEFORE = (f"{_RULES}a_negation_that_needs_an_absence_before_it",)
TRAILING = (f"{_RULES}only_the_last_event_decides_a_trailing_negation",)
EDGES = (f"{_RULES}negation_in_a_window_looks_to_its_edges",)
STRATEGIES = (f"{_RULES}tied_earliest_events_branch_under_next", f"{_RULES}every_start_begins_a_chain_under_next")
CONTIGUOUS = (f"{_RULES}contiguity_is_broken_by_any_event_of_the_partition",)
LENGTH = (f"{_RULES}min_length_drops_shorter_trends_but_not_the_chain",)
PAIRS = (f"{_RULES}pairs_are_unordered_and_of_distinct_trends",)
PAIR_LENGTH = (f"{_RULES}a_pair_is_as_long_as_its_trends_together",)
AMBIGUOUS = (f"{_RULES}an_aggregate_of_an_ambiguous_symbol_is_an_error",)
SHARED = (f"{_WINDOWS}windows_that_share_events",)
LANES = (f"{_WINDOWS}windows_that_share_events_with_conditions_on_neighbours",)
SLICES = (f"{_WINDOWS}slices_of_one_window_give_the_values_of_the_whole",)
CLOSED = (f"{_WINDOWS}a_window_is_returned_once_when_the_watermark_passes_its_last_instant",)


TRENDS = (
    # Conditions on neighbours
    Mutant(
        "trends: a condition on neighbours is ignored",
        "Standings.step",
        "allowed = [edge for edge in edges if not self.tests_of(standing.position, edge) & ~passed]",
        "allowed = list(edges)",
        RISING,
    ),
    Mutant(
        "trends: a state that must hold its events has one record",
        "_Maker.make",
        "holds.append(any(by_letter))",
        "holds.append(False)",
        RISING,
    ),
    Mutant(
        "trends: every condition holds where events are scanned",
        "_case",
        "passed = relate(tests, left, right, cols) if tests else 0",
        "passed = tests",
        RISING,
    ),
    Mutant(
        "trends: events of one state are held as one",
        "_hold",
        "for h in range(n_mine, n_held):",
        "for h in range(n_held):",
        RISING,
    ),
    Mutant(
        "trends: a scan extends events of the same time",
        "_walk",
        "for h in range(n_before):",
        "for h in range(n_mine):",
        TIES,
    ),
    Mutant(
        "trends: a query of the index stops before its last node",
        "_sum",
        "while place > 0:",
        "while place > 1:",
        COMPARISONS,
    ),
    Mutant(
        "trends: less is less or equal",
        "rank_events",
        '{"lt": below, "le": up_to, "gt": n - up_to, "ge": n - below}',
        '{"lt": up_to, "le": up_to, "gt": n - up_to, "ge": n - below}',
        COMPARISONS,
    ),
    Mutant("trends: greater is less in the index", "rank_events", "rank = n - 1 - rank", "rank = rank", COMPARISONS),
    Mutant(
        "trends: a comparison that begins with the later event is not turned round",
        "_comparison",
        "Comparison(_TURNED[tree.op], numbers[1], numbers[0])",
        "Comparison(tree.op, numbers[1], numbers[0])",
        COMPARISONS,
    ),
    Mutant(
        "trends: a value is equal to the next greater one",
        "rank_events",
        "reach = np.where(up_to > below, below, -1)",
        "reach = np.where(below < n, below, -1)",
        EQUAL,
    ),
    Mutant(
        "trends: a missing value stands in the index",
        "rank_events",
        "np.where(left_valid, rank, -1)",
        "np.where(left_valid, rank, 0)",
        MISSING,
    ),
    Mutant(
        "trends: the index keeps the events of the window before",
        "_forget_all",
        "current[tree] += 1",
        "current[tree] = 1",
        ANEW,
    ),
    Mutant(
        "trends: the index keeps events that a NOT or another event has passed by",
        "_pass_by",
        "if holds[state] and after[group, state] < 0:",
        "if False:",
        LANES,
    ),
    Mutant(
        "trends: an event that waits is extended by one of the tied earliest",
        "_take",
        "not (taken[entry] < 0 or taken[entry] == row)",
        "not taken[entry] < 0",
        LANES,
    ),
    Mutant(
        "trends: the event that waits with the greatest value is found first",
        "push",
        "while i > 0 and keys[queue, (i - 1) // 2] > key:",
        "while i > 0 and keys[queue, (i - 1) // 2] < key:",
        LANES,
    ),
    Mutant(
        "trends: a queue loses an event as it takes one out",
        "pop",
        "while 2 * i + 1 < n - 1:",
        "while 2 * i + 1 < n - 2:",
        ("tests/families/trends/test_queues.py::test_a_queue_gives_what_is_below_least_first",),
    ),
    Mutant(
        "trends: what is equal to nothing in a batch of windows is equal to the value before",
        "rank_within",
        "elif latest[run] == reach[row]:",
        "elif latest[run] >= 0:",
        (f"{_WINDOWS}a_value_is_equal_to_none_of_another_window",),
    ),
    Mutant(
        "trends: events of other windows have places in a batch",
        "rank_within",
        "if latest[run] != place[row]:",
        "if True:",
        LANES,
    ),
    Mutant(
        "trends: a lane begins with what stood there before",
        "_copy",
        "for k in range(np.uint64(n_behind)):",
        "for k in range(np.uint64(0)):",
        LANES,
    ),
    Mutant(
        "trends: a window is judged one time too late",
        "count_indexed",
        "while a < b and scopes[a, 1] <= row:",
        "while a < b and scopes[a, 1] < row:",
        LANES,
    ),
    Mutant(
        "trends: an event is an extreme where no trend takes it",
        "put_event",
        "if has(records, count + lane):\n    extremes[i + lane] = min(extremes[i + lane], ranks[k, row])",
        "if True:\n    extremes[i + lane] = min(extremes[i + lane], ranks[k, row])",
        (f"{_WINDOWS}extremes_of_windows_that_share_events",),
    ),
    Mutant(
        "trends: windows that hold the same events have the rows of others",
        "ScopeWalk.share_out",
        "at = (batches.of_scope[:, None] * n_sets + np.arange(n_sets)).ravel()",
        "at = np.arange(len(self.scopes) * n_sets) % (n_scopes * n_sets)",
        (f"{_WINDOWS}windows_that_hold_the_same_events_give_the_same_row",),
    ),
    # Negation
    Mutant(
        "trends: what a partial trend watches is not followed",
        "Standings.wait",
        "watches = self.advance(standing.watches, group, since)",
        "watches = standing.watches",
        TIED_NEGATION,
    ),
    Mutant(
        "trends: a NOT sees the events tied to the one before it",
        "Standings.settle",
        "if not standing.duties:\n    return standing",
        "if not standing.duties:\n    return Standing(standing.position, self.advance(standing.watches, group, since))",
        TIED_NEGATION,
    ),
    Mutant(
        "trends: a match of a NOT is never undone behind the step over it",
        "Standings.settle",
        "duties = {self.wait(duty, group, since) for duty in standing.duties}",
        "duties = {self.wait(duty, group, since) or duty for duty in standing.duties}",
        UNDONE,
    ),
    Mutant(
        "trends: a match of a NOT that may be undone forbids nothing",
        "Standings.is_valid_at_end",
        "return not any(self.is_valid_at_end(duty) for duty in standing.duties)",
        "return True",
        UNDONE,
    ),
    Mutant(
        "trends: a trailing NOT is not judged when the window ends",
        "Standings.is_valid_at_end",
        "if any(self._has_happened(track) for _, track in standing.watches):",
        "if False:",
        UNDONE,
    ),
    Mutant(
        "trends: a trailing NOT forbids nothing",
        "Standings.ends_now",
        "watches = tuple((n, tracks[n]) for n in ending.negations)",
        "watches = ()",
        TRAILING,
    ),
    Mutant(
        "trends: a leading NOT forgets what has happened",
        "States.pass_by",
        "return State(START, since), {}",
        "return State(START, state.since), {}",
        EDGES,
    ),
    Mutant(
        "trends: a NOT that begins with a NOT looks back to the trend's begin",
        "States.pass_by",
        "State(state.kind, since, state.length, classes, mixed)",
        "State(state.kind, state.since, state.length, classes, mixed)",
        ABSENT_BEFORE,
    ),
    # Strategies
    Mutant(
        "trends: next goes on after the earliest event",
        "States._stays",
        'return self.strategy == "next" and not took >> self.branches.index(branch) & 1',
        'return self.strategy == "next"',
        STRATEGIES,
    ),
    Mutant(
        "trends: next goes on after the earliest event where events are held",
        "_walk",
        "held_took[h] |= grained[4][case]",
        "held_took[h] |= 0",
        RISING,
    ),
    Mutant(
        "trends: contiguous skips an event",
        "States._stays",
        'self.strategy == "next" and not took >> self.branches.index(branch) & 1',
        "not took >> self.branches.index(branch) & 1",
        CONTIGUOUS,
    ),
    # Lengths and pairs
    Mutant(
        "trends: MIN LENGTH wants one event more",
        "States.verdict",
        "if counts and state.length >= self._min_length:",
        "if counts and state.length > self._min_length:",
        LENGTH,
    ),
    Mutant(
        "trends: MIN LENGTH wants one event more under next",
        "States.end",
        "if state.length < self._min_length:",
        "if state.length <= self._min_length:",
        LENGTH,
    ),
    Mutant(
        "trends: a pair is longer than its events",
        "_choices",
        "sum(kind % n_lengths + 1 for kind in kinds)",
        "sum(kind % n_lengths + 1 for kind in kinds) + 1",
        PAIR_LENGTH,
    ),
    Mutant(
        "trends: a trend is a pair with itself",
        "_choose",
        "left = _less_one(left, counts)",
        "",
        PAIRS,
    ),
    Mutant(
        "trends: of two bindings that differ one counts",
        "States.take",
        "len(ways) > 1",
        "len(ways) > 2",
        AMBIGUOUS,
    ),
    # Windows and panes
    Mutant(
        "trends: events of one time follow one another in a pane",
        "walk_panes",
        "elif slot_us[slot] != ts_us[r]:",
        "elif True:",
        TIES,
    ),
    Mutant(
        "trends: events of one time follow one another where only trends are counted",
        "walk_counts",
        "if slot_us[slot] != ts_us[r]:",
        "if True:",
        TIES,
    ),
    Mutant(
        "trends: no partial trend enters a pane",
        "walk_panes",
        "min(n_rows, panes[pane, 2])",
        "1",
        SHARED,
    ),
    Mutant(
        "trends: no partial trend enters a slice",
        "walk_counts",
        "set_one(cells, base + entered[row] * n_rows + row)",
        "set_one(cells, base + entered[row] * n_rows + row) if row == 0 else None",
        SLICES,
    ),
    Mutant(
        "trends: a slice cuts through events of one time",
        "_slices",
        "np.searchsorted(ts_us, ts_us[wanted])",
        "wanted",
        (f"{_WINDOWS}slices_of_one_window_do_not_cut_through_events_of_one_time",),
    ),
    Mutant(
        "trends: a pane lies in a window more",
        "find_panes",
        "oldest = (ts_us[first] - slide.origin_us - slide.length_us) // slide.slide_us + 1",
        "oldest = (ts_us[first] - slide.origin_us - slide.length_us) // slide.slide_us",
        SHARED,
    ),
    Mutant(
        "trends: the middle of a window's panes stays where it is",
        "plan_windows",
        "for pane in range(hi - 2, lo - 1, -1):\n    n_steps = _add(n_steps, PREPEND, pane, window, out)\nmiddle = hi",
        "for pane in range(hi - 2, lo - 1, -1):\n    n_steps = _add(n_steps, PREPEND, pane, window, out)",
        SHARED,
    ),
    Mutant(
        "trends: a later pane is multiplied from the left",
        "compose_windows",
        "_multiply(memory, right, matrices, pane * size, memory, scratch + size, shape, n, scratch)",
        "_multiply(matrices, pane * size, memory, right, memory, scratch + size, shape, n, scratch)",
        SHARED,
    ),
    Mutant(
        "trends: an earlier pane is multiplied from the right in counts",
        "compose_counts",
        "multiply_cells(matrices, pane * size, memory, (pane + 1) % n_kept * size, n, n, memory, kept)",
        "multiply_cells(memory, (pane + 1) % n_kept * size, matrices, pane * size, n, n, memory, kept)",
        SHARED,
    ),
    Mutant(
        "trends: what a pane adds up counts once for all that enters it",
        "compose",
        "add_product(out[1], o * n_weights + w, left[0], i + r, right[1], m * n_weights + w)",
        "add_product(out[1], o * n_weights + w, left[0], i + r, right[0], m)",
        SHARED,
    ),
    Mutant(
        "trends: a window is returned again",
        "TrendOperator._advance",
        "counted.end - 1 > newer_than_us",
        "counted.end > newer_than_us",
        CLOSED,
    ),
    Mutant(
        "trends: positions begin anew with every micro-batch",
        "TrendOperator._fill_positions",
        "replace(counted, start=counted.start + behind, end=counted.end + behind)",
        "replace(counted, start=counted.start, end=counted.end)",
        (
            "tests/families/trends/test_windows.py::test_windows_over_positions_leave_when_they_are_full_and_their_events_with_them",
        ),
    ),
    Mutant(
        "trends: events of full windows over positions are kept",
        "Positions.forget",
        "gone = np.clip(n_full * windows.slide - self.before, 0, self.sizes)",
        "gone = np.clip(n_full * 0, 0, self.sizes)",
        (
            "tests/families/trends/test_windows.py::test_windows_over_positions_leave_when_they_are_full_and_their_events_with_them",
        ),
    ),
    Mutant(
        "trends: a window waits for the instant behind it",
        "TrendOperator._advance",
        "(counted.end - 1 <= watermark_us)",
        "(counted.end <= watermark_us)",
        CLOSED,
    ),
    Mutant(
        "trends: events of an open window are forgotten",
        "TrendOperator._first_open_us",
        "(behind // slide.slide_us + 1) * slide.slide_us",
        "(behind // slide.slide_us + 2) * slide.slide_us",
        CLOSED,
    ),
)
