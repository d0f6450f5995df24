"""Mutants of windows that are returned early, and of aggregates in place of events."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

EARLY = ("tests/families/windows/test_early.py",)
SENT = ("tests/families/windows/test_combining.py",)

WINDOWS_EARLY = (
    Mutant(
        "early windows: the beginning of time is a step of it",
        "EarlyOperator._advance",
        "before_us is not None and self._tick_us > before_us and self._has_new",
        "(before_us is None or self._tick_us > before_us) and self._has_new",
        EARLY,
    ),
    Mutant(
        "early windows: a window without new events is returned again",
        "EarlyOperator._batch",
        "pc.equal(made.column(made.num_columns - 1), self._turn)",
        "pc.greater_equal(made.column(made.num_columns - 1), 0)",
        EARLY,
    ),
    Mutant(
        "early windows: a stream is woken one step too late",
        "EarlyOperator.pending_us",
        "self._tick_us + self.spec.every_us - 1",
        "self._tick_us + self.spec.every_us",
        EARLY,
    ),
    Mutant(
        "aggregates in place of events are sent however large they are",
        "Smaller.__call__",
        "made.nbytes > self._most * block.nbytes",
        "made.nbytes < 0",
        SENT,
    ),
)
