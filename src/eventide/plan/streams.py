"""Whether a plan can run over input without an end, and what of it is different there."""

from __future__ import annotations

from dataclasses import replace

from eventide.errors import UnsupportedError
from eventide.families.registry import family_of
from eventide.plan.physical import Physical


def for_stream(physical: Physical) -> Physical:
    """The plan as a stream runs it; what no stream could run is an error that says what is missing."""
    spec = family_of(physical.spec).on_stream(physical.spec)
    if physical.closes_at_end:
        raise no_end()
    return replace(physical, spec=spec)


def no_end() -> UnsupportedError:
    """The error about `close_at_end` on a stream."""
    message = "close_at_end is for bounded input: a stream has no end that could close what is open"
    return UnsupportedError(message, hint="leave it out")
