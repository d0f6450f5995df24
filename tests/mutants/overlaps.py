"""Mutants of slices of time that look back on a window."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

TESTS = ("tests/engines/test_overlaps.py",)
BEGINNINGS = ("tests/engines/test_beginnings.py",)

OVERLAPS = (
    Mutant(
        "overlaps: a slice does not look back", "Slice.from_us", "self.first_us - self.back_us", "self.first_us", TESTS
    ),
    Mutant(
        "overlaps: a slice decides again what the one before it has",
        "WatermarkOperator.look_back",
        "self._buffer.append(block)\nself._watermark_us = watermark_us",
        "self._buffer.append(block)",
        TESTS,
    ),
    Mutant(
        "overlaps: an inner slice decides up to the end of time",
        "Slice._decide",
        "operator.process(block, min(self.stop_us - 1, operator.end_us))",
        "operator.finish()",
        TESTS,
    ),
    Mutant(
        "overlaps: NOT inside NOT looks back on one window",
        "Events.slicing",
        "spec.window_us if isinstance(spec, SequenceSpec) else spec.kept_us",
        "spec.window_us",
        TESTS,
    ),
    Mutant(
        "overlaps: a limit on matches counts by slice",
        "Events.slicing",
        "spec.window_us is None or is_exact(spec.max_matches)",
        "spec.window_us is None",
        TESTS,
    ),
    Mutant(
        "overlaps: slices that mostly overlap are made",
        "most_slices",
        'min(n_slices, 1 + int(cost("most_overlap") * length_us // max(1, back_us)))',
        'max(n_slices, 1 + int(cost("most_overlap") * length_us // max(1, back_us)))',
        TESTS,
    ),
    Mutant(
        "overlaps: files are cut by time for any keys",
        "_apart",
        'return Choice(KEYS, "no key is hot")',
        "pass",
        TESTS,
    ),
    Mutant(
        "overlaps: a task does not read what it looks back on",
        "FileInput._between",
        "group.last_us >= from_us",
        "group.last_us >= from_us + 2_000_000",
        TESTS,
    ),
    Mutant(
        "choose: what is forced gives way to costs",
        "_why_few",
        "asked is None",
        "asked != KEYS",
        ("tests/plan/test_choose.py",),
    ),
    Mutant(
        "choose: few events are exchanged",
        "FileInput.why_few",
        'self.n_rows <= cost("few_rows")',
        'self.n_rows < 0 * cost("few_rows")',
        ("tests/plan/test_choose.py",),
    ),
    Mutant(
        "choose: a bound at the first instant makes an empty slice",
        "Times.bounds",
        "found > self.points_us[0]",
        "found >= self.points_us[0]",
        ("tests/plan/test_choose.py",),
    ),
    Mutant(
        "beginnings: a border is taken from one search alone",
        "find_border",
        "found.size > 1 or row < reach.back or behind >= n",
        "row < reach.back or behind >= n",
        BEGINNINGS,
    ),
    Mutant(
        "beginnings: the rank in an instant is lost",
        "Place.row",
        "int(np.searchsorted(ts_us, self.us)) + self.rank",
        "int(np.searchsorted(ts_us, self.us))",
        BEGINNINGS,
    ),
    Mutant(
        "beginnings: a slice does not see the rows behind its last window",
        "find_border",
        "int(ts_us[behind])",
        "us",
        BEGINNINGS,
    ),
    Mutant(
        "beginnings: a slice does not see the rows before its first one",
        "find_border",
        "int(ts_us[row - reach.back])",
        "us",
        BEGINNINGS,
    ),
    Mutant(
        "beginnings: a slice of rows goes on behind its border",
        "_match_partition",
        "stop = rows.progress[state.partition, STOP_ROW]",
        "stop = span[HIGH]",
        BEGINNINGS,
    ),
    Mutant(
        "beginnings: a slice of a builder pattern goes on behind its border",
        "_take_event",
        "row < stop and (limits.skip != ONLY_FIRST or state.n_complete == 0)",
        "limits.skip != ONLY_FIRST or state.n_complete == 0",
        BEGINNINGS,
    ),
    Mutant(
        "beginnings: SKIP TO LAST counts as TO FIRST",
        "_skipped",
        'if spec.skip == "first":',
        'if spec.skip == "last":',
        BEGINNINGS,
    ),
    Mutant(
        "beginnings: matches are numbered by slice",
        "why_whole",
        "if spec.shows_number:",
        "if False:",
        BEGINNINGS,
    ),
)
