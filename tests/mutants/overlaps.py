"""Mutants of slices of time that look back on a window."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

TESTS = ("tests/engines/test_overlaps.py",)
LOOK_BACK = "operators/look_back.py"
HOLDING = "operators/holding.py"
CHOICE = "engines/distribution.py"
THREADS = "engines/overlaps.py"

OVERLAPS = (
    Mutant("overlaps: a slice does not look back", LOOK_BACK, "self.first_us - back_us)", "self.first_us)", TESTS),
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
        "operator.process(block, part.stop_us - 1)",
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
    Mutant("overlaps: a limit on matches counts by slice", LOOK_BACK, " or spec.max_matches is not None:", ":", TESTS),
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
        "first_us = part.first_us - back_us",
        "first_us = part.first_us",
        TESTS,
    ),
)
