"""Our own message out of a PySpark exception, so that a user sees it without two stack traces around it."""

from __future__ import annotations

import re

_RAISED = re.compile(r"^eventide\.errors\.\w+: ", re.MULTILINE)
_MISSING = re.compile(
    r"^ModuleNotFoundError: No module named '(eventide|numba|llvmlite|numpy|pyarrow|duckdb|pandas|sqlglot)\b",
    re.MULTILINE,
)
# What Spark puts after a Python traceback: its own error state, the JVM's stack, its log of the stream.
_AFTER = re.compile(r"^(?: ?SQLSTATE: |\s+at [\w.$]+|JVM stacktrace|=== Streaming Query ===|$)", re.MULTILINE)


def user_message(exception: BaseException) -> str | None:
    """What Eventide said inside a task, or that a task could not import it; None when it is about something else.

    >>> user_message(RuntimeError("...\\neventide.errors.InputError: no time\\nHint: fill it in\\n\\n\\tat a.b"))
    'no time\\nHint: fill it in'
    >>> user_message(RuntimeError("out of memory")) is None
    True
    >>> print(user_message(RuntimeError("...\\nModuleNotFoundError: No module named 'numba'\\n")))
    the Python of Spark's workers has no module 'numba'
    Hint: install eventide there, or set PYSPARK_PYTHON to a Python that has it before the session starts
    """
    missing = _MISSING.search(str(exception))
    if missing is not None:
        hint = "install eventide there, or set PYSPARK_PYTHON to a Python that has it before the session starts"
        return f"the Python of Spark's workers has no module '{missing[1]}'\nHint: {hint}"
    found = list(_RAISED.finditer(str(exception)))
    if not found:
        return None
    message = str(exception)[found[-1].end() :]
    end = _AFTER.search(message)
    return (message if end is None else message[: end.start()]).strip()
