"""Mutants of aggregates over trends: NOT with conditions, sets of trends, detected_at, sums bit by bit."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_RULES = "tests/families/trends/test_rules.py::test_"
_NUMBERS = "tests/families/trends/test_numbers.py::test_"
BETWEEN = (f"{_RULES}a_condition_inside_a_negation_decides_what_is_absent",)
REPEATED = (f"{_RULES}a_condition_inside_a_repetition_that_is_absent",)
AT_EDGES = (f"{_RULES}a_condition_inside_a_negation_at_the_edges_of_a_window",)
FURTHER_BACK = (f"{_RULES}a_step_further_back_is_open_where_a_later_one_is_not",)
NESTED = (f"{_RULES}negations_inside_a_negation_with_conditions",)
SETS = (f"{_RULES}three_sides_take_three_different_trends",)
SET_EVENTS = (f"{_RULES}sets_of_trends_count_their_events",)
DETECTED = (f"{_RULES}without_a_window_of_time_results_are_detected_at_the_last_event_that_a_symbol_takes",)
CANCELLED = (f"{_NUMBERS}a_sum_fits_although_its_positive_part_does_not",)
COUNTED = (f"{_NUMBERS}nulls_in_place_of_numbers_past_their_range_are_counted",)
RESTARTED = (f"{_NUMBERS}nulls_of_micro_batches_are_counted_across_restarts",)


TRENDS_ABSENCES = (
    # Conditions inside NOT
    Mutant(
        "trends: a match of a NOT ends at the time that it forbids",
        "find_latest_starts",
        "ints[base + 1 + number, r] = latest - floor if latest >= 0 else -1",
        "ints[base + 1 + number, r] = ended - floor if ended >= 0 else -1",
        BETWEEN,
    ),
    Mutant(
        "trends: what begins with an event forbids the step from it",
        "write_relations",
        'f"cols[0][{ranks}, left] >= cols[0][{ranks + 1 + i}, right]"',
        'f"cols[0][{ranks}, left] > cols[0][{ranks + 1 + i}, right]"',
        (f"{_RULES}a_negation_with_conditions_beside_conditions_on_the_trend",),
    ),
    Mutant(
        "trends: a test of what is absent is turned round in the index",
        "comparisons_of",
        'Comparison("ge", n, n + 1 + i)',
        'Comparison("le", n, n + 1 + i)',
        FURTHER_BACK,
    ),
    Mutant(
        "trends: an earlier start takes the place of a later one in a tree",
        "_insert",
        "nodes[edge_first[e] + node - 1] = max(nodes[edge_first[e] + node - 1], start)\nnode += node & -node",
        "nodes[edge_first[e] + node - 1] = min(nodes[edge_first[e] + node - 1] % 1000, start)\nnode += node & -node",
        BETWEEN,
    ),
    Mutant(
        "trends: conditions inside a NOT are not looked at",
        "_automaton",
        "bits = tests.get((symbols[i], symbols[target]), 0)",
        "bits = 0",
        (*BETWEEN, *REPEATED),
    ),
    Mutant(
        "trends: a match of a NOT ends in any of its positions",
        "_is_free",
        "return False",
        "return True",
        (*BETWEEN, *REPEATED),
    ),
    Mutant(
        "trends: a NOT with conditions at the end forbids nothing",
        "Standings._behind",
        "return None if absence is not None and not mask >> absence.trail & 1 else frozenset()",
        "return frozenset()",
        AT_EDGES,
    ),
    Mutant(
        "trends: a NOT with conditions at the beginning forbids nothing",
        "Standings.start",
        "[edge for edge in starts if all(mask >> self.absences[n].lead & 1 for n in self._absent(edge))]",
        "[edge for edge in starts ]",
        AT_EDGES,
    ),
    Mutant(
        "trends: what is absent at a window's edges is looked for in the whole partition",
        "TrendSpec.looks_to_edges",
        "return any(absence.lead >= 0 or absence.trail >= 0 for absence in self.absences)",
        "return False",
        AT_EDGES,
    ),
    Mutant(
        "trends: a NOT around one with conditions is followed without it",
        "find_absences",
        "if inside[n] & found or _has_test(program, n, pairs):",
        "if _has_test(program, n, pairs):",
        NESTED,
    ),
    Mutant(
        "trends: a NOT behind a match of a NOT does not undo it",
        "_is_free",
        "if absent[i] >> n & 1 and latest[n] > up_to:",
        "if absent[i] >> n & 1 and latest[n] > up_to and up_to < 0:",
        NESTED,
    ),
    Mutant(
        "trends: a NOT before a match of a NOT does not undo it",
        "_is_free",
        "if absent[i] >> n & 1 and latest[n] > up_to:",
        "if absent[i] >> n & 1 and latest[n] > up_to and up_to >= 0:",
        NESTED,
    ),
    # Sets of trends
    Mutant(
        "trends: a set may be of any trends",
        "_choices",
        "sum(kind % n_lengths + 1 for kind in kinds) >= least and _can_be_assigned(roles)",
        "sum(kind % n_lengths + 1 for kind in kinds) >= least",
        SETS,
    ),
    Mutant(
        "trends: a trend is in a set twice",
        "_choose",
        "left = _less_one(left, counts)",
        "",
        SETS,
    ),
    Mutant(
        "trends: the trends of a set have an order",
        "_choose",
        "ways = factorial(n)",
        "ways = 1",
        SETS,
    ),
    Mutant(
        "trends: a trend is in all sets of its kind",
        "_add_sets",
        "rest = _choose(_less_one(totals.counts[i], counts), n - 1, counts)",
        "rest = _choose(totals.counts[i], n, counts)",
        SET_EVENTS,
    ),
    # detected_at
    Mutant(
        "trends: results are detected at an event that no symbol takes",
        "count_by_walks",
        "np.where(ordered.mask != 0, np.arange(ordered.mask.size), 0)",
        "np.where(ordered.mask >= 0, np.arange(ordered.mask.size), 0)",
        DETECTED,
    ),
    Mutant(
        "trends: panes are detected at an event that no symbol takes",
        "find_last",
        "values[row] >= 0",
        "values[row] >= -1",
        DETECTED,
    ),
    # Overflow
    Mutant(
        "trends: a sum of which a part is past the range stays lost",
        "TrendOperator._count_exactly",
        "loses_sums(counted.records, inputs, self.spec.counts)",
        "False and loses_sums(counted.records, inputs, self.spec.counts)",
        CANCELLED,
    ),
    Mutant(
        "trends: every bit counts once",
        "_difference",
        "1 << part.shift",
        "1 << part.shift // 64 * 64",
        CANCELLED,
    ),
    Mutant(
        "trends: one overflow is counted for a column",
        "TrendOperator._results",
        "self._n_overflows += len(beyond)",
        "self._n_overflows += bool(beyond)",
        COUNTED,
    ),
    Mutant(
        "trends: a restart forgets how many numbers were past their range",
        "TrendOperator._take_counters",
        'self._n_overflows = head["overflows"]',
        "self._n_overflows = 0",
        RESTARTED,
    ),
)
