"""The numbers that decide how a query is run, and where each of them comes from. `plan/choose.py` weighs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

MEASURED, GUESSED = "measured", "guessed"


@dataclass(frozen=True, slots=True)
class Cost:
    """One number: what it means, and whether it was measured."""

    value: float
    origin: str
    meaning: str


_COSTS = {
    "few_rows": Cost(2_000_000, MEASURED, "events in files: one core is done with them before an exchange, of 0.5 s"),
    "few_bytes": Cost(32 << 20, GUESSED, "bytes of a DataFrame: one task is done before others have begun"),
    "few_events": Cost(200_000, GUESSED, "events in this process: one thread is done before others have begun"),
    "rows_per_slice": Cost(2_000_000, GUESSED, "events, the most that one task should hold at once"),
    "most_shared": Cost(
        0.1,
        GUESSED,
        "share of the events whose times several tasks have: these are sent on, as no task can combine them",
    ),
    "most_read": Cost(
        1.5, GUESSED, "times the events that tasks read in all, where slices overlap; else they exchange"
    ),
    "most_overlap": Cost(0.5, GUESSED, "share of all time that slices may look back on"),
    "least_frequent": Cost(0.5, GUESSED, "share of the events that a combiner must stand for, where no key is hot"),
    "most_combined": Cost(
        1.0, GUESSED, "bytes in place of one byte of a task's first events; with more, events are sent"
    ),
    "events_per_stretch": Cost(10_000, GUESSED, "events: one task has matched them before another has begun"),
    "most_rare": Cost(0.01, GUESSED, "share of the wanted events that a step may have, for others to be kept near it"),
    "least_wanted": Cost(
        0.2, MEASURED, "share of the events that are wanted: to exchange one costs 8 times what reading it again does"
    ),
    "most_near": Cost(100_000, GUESSED, "events of a step that are collected, so that others near them are kept"),
    "most_kept": Cost(0.5, GUESSED, "share of the events of a sample that may be kept, as near to some of a step"),
    "scanned_us": Cost(0.12, MEASURED, "microseconds of CPU for an event that a scan of Spark reads"),
    "exchanged_us": Cost(1.25, MEASURED, "microseconds of CPU for an event that a join of Spark exchanges and sorts"),
    "in_blocks_us": Cost(1.0, MEASURED, "microseconds of CPU for an event that goes to an operator in a block"),
    "fixed_joins_s": Cost(0.5, MEASURED, "seconds of a warm job of Spark's own operators"),
    "fixed_kernels_s": Cost(0.75, MEASURED, "seconds of a warm job with Python workers"),
    "cold_python_s": Cost(8, MEASURED, "seconds until the first Python workers of a session have loaded the package"),
    "most_copies": Cost(16, GUESSED, "stretches of time whose tasks may all have the events from the first on"),
}


def cost(name: str) -> float:
    """The number of that name."""
    return _COSTS[name].value


def costs() -> dict[str, Cost]:
    """The whole table."""
    return dict(_COSTS)


@contextmanager
def costing(**values: float) -> Iterator[None]:
    """Inside, some numbers are others: for tests and benchmarks.

    >>> with costing(few_rows=0):
    ...     cost("few_rows")
    0
    """
    before = costs()
    _COSTS.update({name: replace(before[name], value=value) for name, value in values.items()})
    try:
        yield
    finally:
        _COSTS.update(before)
