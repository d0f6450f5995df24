"""Mutants of slices of time that look back on a window."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

TESTS = ("tests/engines/test_overlaps.py",)
BEGINNINGS = ("tests/engines/test_beginnings.py",)
BORDERS = "operators/borders.py"
LOOK_BACK = "operators/look_back.py"
HOLDING = "operators/holding.py"
CHOICE = "engines/distribution.py"
THREADS = "engines/overlaps.py"

OVERLAPS = (
    Mutant("overlaps: a slice does not look back", LOOK_BACK, "self.first_us - self.back_us)", "self.first_us)", TESTS),
    Mutant(
        "overlaps: a slice decides again what the one before it has",
        HOLDING,
        "        self._buffer.append(block)\n        self._watermark_us = watermark_us",
        "        self._buffer.append(block)",
        TESTS,
    ),
    Mutant(
        "overlaps: an inner slice decides up to the end of time",
        LOOK_BACK,
        "operator.process(block, min(part.stop_us - 1, operator.end_us))",
        "operator.finish()",
        TESTS,
    ),
    Mutant(
        "overlaps: NOT inside NOT looks back on one window",
        LOOK_BACK,
        "spec.kept_us if isinstance(spec, PatternSpec) else spec.window_us",
        "spec.window_us",
        TESTS,
    ),
    Mutant("overlaps: a limit on matches counts by slice", LOOK_BACK, " or is_exact(spec.max_matches):", ":", TESTS),
    Mutant(
        "overlaps: slices that mostly overlap are made",
        THREADS,
        "return min(n_slices, 1 + int(",
        "return max(n_slices, 1 + int(",
        TESTS,
    ),
    Mutant(
        "overlaps: files are cut by time for any keys", CHOICE, 'return Choice(KEYS, "no key is hot")', "pass", TESTS
    ),
    Mutant(
        "overlaps: a task does not read what it looks back on",
        CHOICE,
        "group.last_us >= part.from_us",
        "group.last_us >= part.from_us + 2_000_000",
        TESTS,
    ),
    Mutant(
        "beginnings: a border is taken from one search alone",
        BORDERS,
        "if found.size > 1 or",
        "if",
        BEGINNINGS,
    ),
    Mutant("beginnings: the rank in an instant is lost", BORDERS, "us)) + self.rank", "us))", BEGINNINGS),
    Mutant(
        "beginnings: a slice does not see the rows behind its last window",
        BORDERS,
        "int(ts_us[behind]) + 1)",
        "us + 1)",
        BEGINNINGS,
    ),
    Mutant(
        "beginnings: a slice does not see the rows before its first one",
        BORDERS,
        "int(ts_us[row - reach.back])",
        "us",
        BEGINNINGS,
    ),
    Mutant(
        "beginnings: a slice of rows goes on behind its border",
        "kernels/rows.py",
        "stop = progress[state[PARTITION], STOP_ROW]",
        "stop = hi",
        BEGINNINGS,
    ),
    Mutant(
        "beginnings: a slice of a builder pattern goes on behind its border",
        "kernels/detection.py",
        "begins = row < stop and (",
        "begins = (",
        BEGINNINGS,
    ),
    Mutant(
        "beginnings: SKIP TO LAST counts as TO FIRST",
        "operators/rows/attempts.py",
        'if spec.skip == "first":',
        'if spec.skip == "last":',
        BEGINNINGS,
    ),
    Mutant(
        "beginnings: matches are numbered by slice",
        "operators/rows/attempts.py",
        "if spec.shows_number:",
        "if False:",
        BEGINNINGS,
    ),
)
