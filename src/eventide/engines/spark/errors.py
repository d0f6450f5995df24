"""Our own message out of a PySpark exception, so that a user sees it without two stack traces around it."""

from __future__ import annotations

import re

_RAISED = re.compile(r"^eventide\.errors\.\w+: ", re.MULTILINE)
# What Spark puts after a Python traceback: its own error state, the JVM's stack, its log of the stream.
_AFTER = re.compile(r"^(?: ?SQLSTATE: |\s+at [\w.$]+|JVM stacktrace|=== Streaming Query ===|$)", re.MULTILINE)


def user_message(exception: BaseException) -> str | None:
    """What Eventide said inside a task, hint included; None when the exception is about something else.

    >>> user_message(RuntimeError("...\\neventide.errors.InputError: no time\\nHint: fill it in\\n\\n\\tat a.b"))
    'no time\\nHint: fill it in'
    >>> user_message(RuntimeError("out of memory")) is None
    True
    """
    found = list(_RAISED.finditer(str(exception)))
    if not found:
        return None
    message = str(exception)[found[-1].end() :]
    end = _AFTER.search(message)
    return (message if end is None else message[: end.start()]).strip()
