"""Mutants of table functions of windows: the borders of expanded windows, and which SELECT the operator answers."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, tests_of

ROWS, GROUPS, AGREES, EXPANDED, BAD, NO_TIME, MOVED = tests_of(
    "families/statement",
    "window_rows::expanded_rows_are_the_oracles",
    "window_rows::groups_of_windows_are_the_oracles",
    "windows::what_the_operator_answers_equals_the_rows_of_the_sql_engine",
    "windows::what_the_operator_cannot_say_is_expanded_and_explain_says_why",
    "windows::bad_functions_are_refused_with_their_place",
    "windows::an_event_without_a_time_is_an_error_unless_it_is_dropped",
    "windows::an_offset_moves_the_windows",
)

STATEMENT_WINDOWS = (
    Mutant(
        "expanded windows: the one that ends at an event holds it",
        "_series",
        "first = f\"{_floor(f'{at} - {size}', step, offset, dialect)} + {step}\"",
        "first = f\"{_floor(f'{at} - {size} - 1', step, offset, dialect)} + {step}\"",
        ROWS,
    ),
    Mutant(
        "expanded windows: the one that begins at an event does not hold it",
        "_series",
        "return first, _floor(at, step, offset, dialect), step, border, f'{border} + {size}'",
        "return first, _floor(f'{at} - 1', step, offset, dialect), step, border, f'{border} + {size}'",
        ROWS,
    ),
    Mutant(
        "expanded windows: the last one is left out of the series",
        "DuckDB.series",
        "f'unnest(range({first}, {last} + 1, {step}))'",
        "f'unnest(range({first}, {last}, {step}))'",
        ROWS,
    ),
    Mutant(
        "expanded windows: times before 1970 are rounded towards it",
        "DuckDB.modulo",
        "return f'((({number}) % {divisor} + {divisor}) % {divisor})'",
        "return f'(({number}) % {divisor})'",
        ROWS,
    ),
    Mutant(
        "expanded windows: an offset does not move them",
        "_floor",
        "f'{number} - {offset % step}'",
        "f'{number}'",
        ROWS + MOVED,
    ),
    Mutant(
        "expanded windows: one that grows begins where its last event is",
        "_series",
        "_floor(f'{border} - 1', size, offset, dialect)",
        "_floor(border, size, offset, dialect)",
        ROWS,
    ),
    Mutant(
        "expanded sessions: an event a gap behind belongs to the session",
        "_sessions",
        "f'CASE WHEN {before} IS NULL OR {at} - {before} >= {gap} THEN 1 ELSE 0 END'",
        "f'CASE WHEN {before} IS NULL OR {at} - {before} > {gap} THEN 1 ELSE 0 END'",
        ROWS,
    ),
    Mutant(
        "expanded windows: an event without a time has no window, and nobody says so",
        "expanded",
        "if not drop:",
        "if False:",
        NO_TIME,
    ),
    Mutant(
        "grouped windows: those that grow are told apart by their start",
        "_Reader._group_by",
        "self.function.windowing.kind != 'time' and not windows >= {'window_start', 'window_end'}",
        "False",
        ("tests/families/statement/test_windows.py::test_windows_that_grow_are_told_apart_by_both_ends",),
    ),
    Mutant(
        "grouped windows: sessions of all events are sessions of each group",
        "_Reader._group_by",
        "self.function.windowing.kind == 'session' and partition != set(self.groups)",
        "False",
        EXPANDED,
    ),
    Mutant(
        "grouped windows: HAVING reads columns where results have their names",
        "_Reader.read",
        "self._inline_aliases()",
        "",
        AGREES,
    ),
    Mutant(
        "grouped windows: a condition on windows is one on events",
        "_Reader._reads_windows",
        "any(node.name.lower() in WINDOW_COLUMNS for node in condition.find_all(exp.Column))",
        "False",
        AGREES,
    ),
    Mutant(
        "grouped windows: the operator does not hear of the offset",
        "Filling._grouped",
        "function.offset or None",
        "None",
        GROUPS,
    ),
    Mutant(
        "table functions: a negative length is positive",
        "_length",
        "if key != 'OFFSET':",
        "if False:",
        BAD,
    ),
)
