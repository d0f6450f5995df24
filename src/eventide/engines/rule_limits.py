"""What the owner of a rule set allows every rule, whoever writes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from eventide.engines.local.memory import size_text
from eventide.engines.local.run import size_bytes
from eventide.errors import EventideError, InputError
from eventide.families.registry import family_of
from eventide.plan.options import Options
from eventide.plan.physical import Physical
from eventide.runtime.protocol import Operator


@dataclass(frozen=True, slots=True)
class Limits:
    """Of every rule; None: no limit, or the default one of matches or steps."""

    max_matches: int | None = None  # in one partition
    memory_bytes: int | None = None  # that a rule may hold in one bucket, or that its rows take in the embedded engine
    planning_seconds: float | None = None  # from text to compiled code
    max_steps: int | None = None  # of a search in one partition

    @classmethod
    def of(
        cls, max_matches_per_partition: Any, memory_limit: Any, planning_limit: Any, max_steps_per_partition: Any = None
    ) -> Limits:
        """From what a user writes.

        >>> Limits.of(1000, "64MB", "5 seconds")
        Limits(max_matches=1000, memory_bytes=64000000, planning_seconds=5.0, max_steps=None)
        """
        given = Options.of(
            max_matches_per_partition=max_matches_per_partition, max_steps_per_partition=max_steps_per_partition
        )
        return cls(
            given.max_matches_per_partition,
            None if memory_limit is None else size_bytes(memory_limit),
            None if planning_limit is None else seconds_of("planning_limit", planning_limit),
            given.max_steps_per_partition,
        )

    def applied(self, physical: Physical) -> Physical:
        """The plan of a rule under the limits of matches and of steps, or under its own where these are lower."""
        family = family_of(physical.spec)
        if self.max_steps is not None:
            physical = replace(physical, spec=family.with_steps(physical.spec, self.max_steps))
        if self.max_matches is None:
            return physical
        spec = family.with_limit(physical.spec, self.max_matches)
        return replace(physical, max_rows=self.max_matches) if spec is None else replace(physical, spec=spec)

    def check_memory(self, operator: Operator, rows: pa.RecordBatch | None = None) -> None:
        """An error where a rule holds too much."""
        if self.memory_bytes is None:
            return
        held = operator.memory_bytes() + (0 if rows is None else rows.nbytes)
        if held > self.memory_bytes:
            most = size_text(self.memory_bytes)
            raise InputError(
                f"the rule holds {size_text(held)} in memory, and the rule set allows {most}",
                hint="a shorter WITHIN, a stricter WHERE or fewer columns, or a higher memory_limit of the rule set",
            )


NO_LIMITS = Limits()


def seconds_of(name: str, length: Any) -> float:
    """A length of time in seconds."""
    try:
        return (Options.of(state_ttl=length).state_ttl or 0) / 1e6
    except EventideError:
        raise EventideError(f"{name}={length!r} is not a duration", hint="for example '10 seconds'") from None
