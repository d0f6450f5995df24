"""How long searches search: calls of bounded length, between which Ctrl-C is heard, and a limit of steps.

A step is one event that a search tries to add to one partial match. By default a partition takes at most `STEPS`, or
`STEPS_PER_EVENT` for each of its events where that is more, if the steps of the search may double with every event.
Work that grows with the square of the events stays below up to a million of them, and what doubles is soon stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

import pyarrow as pa

from eventide.errors import InputError
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.limit import UNLIMITED, partition_text
from eventide.runtime.threads import check_stopped

STEPS = 200_000_000  # half a minute of one core: a step takes about 0.15 microseconds
STEPS_PER_EVENT = 1_000_000
FIRST_STEPS = 1 << 16  # of a call, before it is known how long they take
GROWTH = 2
_CALL_SECONDS = 0.1
MANY = 20  # steps of a pattern, from which on their number is as bad as a loop


class TooManyStepsError(Exception):
    """The search of a partition, given by its number, takes more steps than its limit."""

    def __init__(self, partition: int, limit: int) -> None:
        super().__init__(partition, limit)
        self.partition = partition
        self.limit = limit


class Effort:
    """Counts the steps in each partition, up to a limit; partition i has the events from offsets[i] to offsets[i+1].

    >>> import numpy as np
    >>> effort = Effort(100, np.array([0, 4, 9]), may_double=True)
    >>> effort.add(1, 90)
    >>> effort.add(1, 20)
    Traceback (most recent call last):
    ...
    eventide.runtime.effort.TooManyStepsError: (1, 100)
    """

    def __init__(self, most: int | None, offsets: IntArray, *, may_double: bool, most_at_once: int = UNLIMITED) -> None:
        self._most = UNLIMITED if most is None and not may_double else most
        self.most_at_once = most_at_once  # of one call, however quick it is
        self._offsets = offsets
        self._counts: dict[int, int] = {}

    def add(self, partition: int, n_steps: int) -> None:
        """Count the steps of a call that began and ended in one partition; too many are an error."""
        total = self._counts.get(partition, 0) + n_steps
        if total > self.limit_of(partition):
            raise TooManyStepsError(partition, self.limit_of(partition))
        self._counts[partition] = total

    def limit_of(self, partition: int) -> int:
        """The most steps of a partition."""
        if self._most is not None:
            return self._most
        n_events = int(self._offsets[partition + 1] - self._offsets[partition])
        return max(STEPS, STEPS_PER_EVENT * n_events)


class Pace:
    """How many steps the next call of one walk may take: about a tenth of a second's."""

    def __init__(self, effort: Effort) -> None:
        self._effort = effort
        self._n_steps = self._given = FIRST_STEPS
        self._partition: int | None = None
        self._begun = 0.0

    def go_on(self, partition: int, left: int = 0) -> int:
        """Steps for a walk that stands in a partition, at its beginning and whenever it has used up what it had.

        `left` is below 0 where it took more. Here Ctrl-C is heard. An error where nobody waits for the walk any more,
        or where there were too many steps. Those on the way from one partition to another are not counted: a partition
        with too many has many.
        """
        check_stopped()
        now = monotonic()
        if self._partition == partition:
            self._effort.add(partition, self._given - left)
        if self._partition is not None:
            seconds = now - self._begun
            if seconds < _CALL_SECONDS / 2:
                self._n_steps *= GROWTH
            elif seconds > 2 * _CALL_SECONDS:
                self._n_steps = max(1, self._n_steps // GROWTH)
        self._partition, self._begun = partition, now
        self._given = min(self._n_steps, self._effort.most_at_once)
        return self._given


def too_long(block: pa.Table, names: Sequence[str], row: int, limit: int, hint: str) -> InputError:
    """The error about the search in the partition of a block's row."""
    return InputError(
        f"the search in {partition_text(block, names, row)} takes more than {limit:,} steps",
        hint=f"bound it with {hint}, or raise max_steps_per_partition",
    )


def steps_text(most: int | None) -> str:
    """What `explain` says of a spec's limit.

    >>> steps_text(5)
    '5 steps of the search in a partition, as max_steps_per_partition says'
    """
    if most is None:
        each = f"{STEPS:,} steps of the search in a partition, {STEPS_PER_EVENT:,} for each event where that is more"
        return f"{each}; max_steps_per_partition sets another"
    if most == UNLIMITED:
        return "no limit of steps, as max_steps_per_partition says"
    return f"{most:,} steps of the search in a partition, as max_steps_per_partition says"
