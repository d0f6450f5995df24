"""Mutants of windows: borders of panes, windows and sessions, positions, stacks, and what comes out when."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, tests_of

RULES, SAME, BATCHES, PIECES = tests_of(
    "families/windows",
    "rules",
    "same_windows::the_embedded_engine_returns_the_oracles_windows",
    "same_windows::micro_batches_with_a_restart_after_each_return_the_oracles_windows",
    "same_windows::files_in_pieces_return_the_oracles_windows",
)

WINDOWS = (
    # Panes
    Mutant(
        "windows: the border of a window inside a slide belongs to the pane before it",
        "assign_slots",
        "if at - lo >= rest:",
        "if at - lo > rest:",
        SAME,
    ),
    Mutant(
        "windows: the end of a slide belongs to its pane",
        "assign_slots",
        "at < lo or at >= hi",
        "at < lo or at > hi",
        RULES,
    ),
    Mutant(
        "windows: panes that are put together have another border than panes of events",
        "panes_of",
        "since - whole * windows.slide >= windows.rest",
        "since - whole * windows.slide > windows.rest",
        (*SAME, *BATCHES),
    ),
    Mutant(
        "windows: a slide that does not divide the window has one pane",
        "Windows.panes_per_slide",
        "self.kind == TIME and self.size % self.slide",
        "self.kind == TIME and self.size % self.slide == 1",
        SAME,
    ),
    # Spans
    Mutant(
        "windows: the oldest window of a pane is left out",
        "find_spans",
        "-((width - 1 - pane[lo]) // per_slide)",
        "-((width - 2 - pane[lo]) // per_slide)",
        RULES,
    ),
    Mutant(
        "windows: a window holds the pane behind it",
        "find_spans",
        "pane[hi] < end",
        "pane[hi] <= end",
        RULES,
    ),
    Mutant(
        "windows: a window holds the pane before it",
        "find_spans",
        "pane[lo] < begin",
        "pane[lo] < begin - 1",
        RULES,
    ),
    Mutant(
        "windows: a growing window holds the step behind it",
        "find_growing_spans",
        "pane[hi] <= window",
        "pane[hi] <= window + 1",
        RULES,
    ),
    Mutant(
        "windows: growing windows begin with the step",
        "find_growing_spans",
        "begin = window // steps * steps",
        "begin = window",
        RULES,
    ),
    # Sessions
    Mutant(
        "windows: a session goes on after its gap",
        "assign_sessions",
        "first_us[row] - last >= gap_us",
        "first_us[row] - last > gap_us",
        RULES,
    ),
    Mutant(
        "windows: a session ends with the row that began last",
        "assign_sessions",
        "last = max(last, last_us[row])",
        "last = last_us[row]",
        RULES,
    ),
    Mutant(
        "windows: a session is over before its gap has passed",
        "WindowOperator._close_sessions",
        "is_closed = last_us <= self._watermark_us + 1",
        "is_closed = last_us <= self._watermark_us + 2_000_001",
        BATCHES,
    ),
    Mutant(
        "windows: a session that was returned is returned again",
        "WindowOperator._close_sessions",
        "np.flatnonzero(is_closed & ((last_us > before_us + 1) | (not has_end)))",
        "np.flatnonzero(is_closed)",
        BATCHES,
    ),
    # Positions
    Mutant(
        "windows: positions begin anew with every call",
        "CountOperator._advance",
        "before = np.where(sizes > 0, positions.before[code], 0)",
        "before = np.where(sizes > 0, 0, 0)",
        RULES,
    ),
    Mutant(
        "windows: a window that is not full is returned before the end",
        "CountOperator._advance",
        "(before + sizes - size) // slide + 1",
        "(before + sizes - size) // slide + 2",
        BATCHES,
    ),
    # Stacks
    Mutant(
        "windows: a sum keeps what has left the window",
        "slide_whole",
        "total -= values[lo]",
        "total -= 0",
        RULES,
    ),
    Mutant(
        "windows: what is right of the middle is counted twice",
        "slide_rows",
        "right[0] = 0.0",
        "right[0] = right[0]",
        SAME,
    ),
    Mutant(
        "windows: the greatest value outlives its window",
        "slide_extremes",
        "while head < tail and queue[head] < begin:",
        "while head < tail and queue[head] < begin - 1:",
        RULES,
    ),
    # When
    Mutant(
        "windows: a window is returned an instant before its end",
        "windows.operator:window_after",
        "(watermark_us + 1 - windows.origin - length) // windows.slide + 1",
        "(watermark_us + 2 - windows.origin - length) // windows.slide + 1",
        ("tests/families/windows/test_rules.py::test_a_window_waits_for_its_last_instant",),
    ),
    Mutant(
        "windows: events that WHERE leaves out are counted where strings are codes",
        "WindowOperator.take",
        "if self.spec.is_filtered:",
        "if False:",
        PIECES,
    ),
    Mutant(
        "windows: HAVING leaves nothing out",
        "local.run:_evaluate",
        "'' if physical.having is None else f' WHERE {_duckdb(physical.having)}'",
        "''",
        RULES,
    ),
)
