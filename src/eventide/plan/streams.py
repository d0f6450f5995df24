"""Whether a plan can run over input without an end, and what of it is different there."""

from __future__ import annotations

from dataclasses import replace

from eventide.errors import UnsupportedError
from eventide.operators.patterns.spec import PatternSpec
from eventide.operators.sequence import SequenceSpec
from eventide.operators.situations.spec import SituationSpec
from eventide.operators.trends.spec import TrendSpec
from eventide.plan.physical import Physical


def for_stream(physical: Physical) -> Physical:
    """The plan as a stream runs it; what no stream could run is an error that says what is missing."""
    spec = physical.spec
    if isinstance(spec, TrendSpec):
        if spec.count_windows is not None and not spec.fills_positions:
            raise UnsupportedError(
                "a stream cannot add up windows that count events: the partitions of a group fill them at any time",
                hint="return the partition columns, or use windows of time, such as WITHIN 1 hour SLIDE 10 minutes",
            )
        # An error would stop the stream for good.
        physical = replace(physical, spec=replace(spec, on_overflow=spec.on_overflow or "null"))
    if isinstance(spec, SituationSpec) and spec.window_us is None:
        raise UnsupportedError(
            "a stream cannot run this query: without a WITHIN clause every situation stays relevant for ever",
            hint="add a WITHIN clause, such as WITHIN 1 hour",
        )
    counts_events = isinstance(spec, TrendSpec) and spec.count_windows is not None
    if isinstance(spec, SequenceSpec | PatternSpec | TrendSpec) and spec.window_us is None and not counts_events:
        raise UnsupportedError(
            "a stream cannot run this query: without a WITHIN clause every event stays relevant for ever",
            hint="add a WITHIN clause, such as WITHIN 1 hour, or give state_ttl='1 hour', which bounds every match so",
        )
    if physical.closes_at_end:
        raise no_end()
    return physical


def no_end() -> UnsupportedError:
    """The error about `close_at_end` on a stream."""
    message = "close_at_end is for bounded input: a stream has no end that could close what is open"
    return UnsupportedError(message, hint="leave it out")
