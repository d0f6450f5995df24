"""A limit on the time that planning a query may take, for whoever runs queries that others write.

Planning looks at the limit between its phases and at every token, expression and place of an automaton. Only the time
that this thread computes counts, so that a busy machine changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from eventide.errors import EventideError

_allowed: ContextVar[tuple[float, float] | None] = ContextVar("planning", default=None)  # seconds, and until when


class PlanningTimeError(EventideError):
    """Planning a query takes longer than it may."""


@contextmanager
def planning_within(seconds: float | None) -> Iterator[None]:
    """Planning inside this block takes at most so many seconds, or fails; None: however long it takes.

    >>> with planning_within(0.0):
    ...     check_deadline()
    Traceback (most recent call last):
    ...
    eventide.lang.deadline.PlanningTimeError: planning the query takes more than 0 seconds
    Hint: shorten its conditions or its pattern
    """
    token = _allowed.set(None if seconds is None else (seconds, time.thread_time() + seconds))
    try:
        yield
        check_deadline()
    finally:
        _allowed.reset(token)


def check_deadline() -> None:
    """An error where the time is over."""
    allowed = _allowed.get()
    if allowed is not None and time.thread_time() > allowed[1]:
        message = f"planning the query takes more than {allowed[0]:g} seconds"
        raise PlanningTimeError(message, hint="shorten its conditions or its pattern")
