"""Mutants of patterns as joins: borders of windows and buckets, absences, ties."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, tests_of

MAPPING, SEQUENCES, ABSENCES, PATTERNS, COUNTS = tests_of(
    "plan/relational",
    "mapping",
    "mapping same_rows::joins_of_a_sequence_return_the_oracles_rows",
    "mapping same_rows::joins_with_absences_return_the_oracles_rows",
    "mapping same_rows::joins_of_a_pattern_with_and_return_the_oracles_rows",
    "mapping same_rows::trends_of_one_event_counted_by_aggregation_are_those_of_the_operator",
)

RELATIONAL = (
    Mutant(
        "joins: an event at the end of the window belongs to it",
        "_window_texts",
        "width = matches.window.width",
        "width = matches.window.width and matches.window.width + 1",
        SEQUENCES,
    ),
    Mutant(
        "joins: tied events follow one another",
        "_order_texts",
        'yield f"{matches.rank(other)} < {matches.rank(var)}"',
        'yield f"{matches.rank(other)} <= {matches.rank(var)}"',
        SEQUENCES,
    ),
    Mutant(
        "joins: an event meets only those of its own bucket",
        "_bucketed",
        "near = {1: (0, 1), -1: (-1, 0), 0: (-1, 0, 1)}[range_.order]",
        "near = (0,)",
        PATTERNS,
    ),
    Mutant(
        "joins: buckets alone decide, and the window is not tested",
        "_window_texts",
        "width is None",
        "width is not None",
        SEQUENCES,
    ),
    Mutant(
        "joins: what is absent may have the time of the later event",
        "_Writer._running",
        '"UNBOUNDED PRECEDING AND 1 PRECEDING"',
        '"UNBOUNDED PRECEDING AND CURRENT ROW"',
        ABSENCES,
    ),
    Mutant(
        "joins: what is absent may have the time of the earlier event",
        "_edge",
        'return f"{name} <= {matches.last(gap.after, rank)}"',
        'return f"{name} < {matches.last(gap.after, rank)}"',
        ABSENCES,
    ),
    Mutant(
        "joins: a trailing NOT reaches the instant at which its window ends",
        "_edge",
        'return f"{name} >= {matches.first(of.firsts, place)} + {width}"',
        'return f"{name} > {matches.first(of.firsts, place)} + {width}"',
        ABSENCES,
    ),
    Mutant(
        "joins: NOT EXISTS takes what begins with the earlier event",
        "absent",
        'conditions.append(f"{name}_f > {matches.last(gap.after, rank)}")',
        'conditions.append(f"{name}_f >= {matches.last(gap.after, rank)}")',
        ABSENCES,
    ),
    Mutant(
        "joins: a match is in windows that begin after its first event",
        "_Mapping._spread",
        'ends = self.dialect.floor(f"{first} - {origin}", step)',
        'ends = self.dialect.floor(f"{last} - {origin}", step)',
        SEQUENCES,
    ),
    Mutant(
        "joins: a match that no window holds is spread backwards over numbers",
        "_Writer._spread",
        '["first_k <= last_k"]',
        '["first_k <= last_k + 1"]',
        MAPPING,
    ),
    Mutant(
        "joins: a NULL key joins nothing",
        "Dialect.same",
        'f"{left} IS NOT DISTINCT FROM {right}"',
        'f"{left} = {right}"',
        ABSENCES,
    ),
    Mutant(
        "joins: next takes every partner",
        "_earliest",
        'Earliest(relations[0], by, f"{name}_n")',
        "relations[0]",
        SEQUENCES,
    ),
    Mutant(
        "joins: what is open at the end is returned",
        "_Mapping._over",
        "decided is None or self.plan.options.close_at_end",
        "True",
        ABSENCES,
    ),
    Mutant(
        "joins: tied events are counted as if they followed one another",
        "count_iterations",
        'dialect.product("1 + n")',
        'dialect.product("1 + 1")',
        COUNTS,
    ),
)
