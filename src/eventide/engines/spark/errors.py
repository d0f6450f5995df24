"""What went wrong on Spark, in a line or two: our own message without two stack traces around it, or Spark's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from eventide.errors import BrokerAwayError, EventideError

_RAISED = re.compile(r"^eventide\.errors\.\w+: ", re.MULTILINE)
_MISSING = re.compile(
    r"^ModuleNotFoundError: No module named '(eventide|numba|llvmlite|numpy|pyarrow|duckdb|pandas|sqlglot)\b",
    re.MULTILINE,
)
# What Spark puts after a Python traceback: its own error state, the JVM's stack, its log of the stream.
_AFTER = re.compile(r"^(?: ?SQLSTATE: |\s+at [\w.$]+|JVM stacktrace|=== Streaming Query ===|$)", re.MULTILINE)
# A broker that is away, a connection that broke. A missing topic or a wrong password stays what it is.
_PASSING = re.compile(
    r"org\.apache\.kafka\.common\.errors\."
    r"(?:\w*Timeout|Disconnect|Network|BrokerNotAvailable|LeaderNotAvailable|NotLeader\w*|NotEnoughReplicas\w*"
    r"|Coordinator\w+|Retriable|RetriableCommitFailed)Exception"
    r"|java\.net\.(?:Connect|SocketTimeout|Socket|NoRouteToHost|UnknownHost)Exception"
    r"|java\.util\.concurrent\.TimeoutException"
    r"|Connection refused|No route to host|Temporary failure in name resolution"
    r"|Failed to construct kafka consumer|Failed to create new KafkaAdminClient|No resolvable bootstrap urls"
)
_NO_TOPIC = "This server does not host this topic-partition"
_FAILED = re.compile(r"^\[STREAM_FAILED\] Query .*? terminated with exception: ", re.DOTALL)
_CLASS = re.compile(r"^(?:\[[A-Z_.]+\] |(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error): )+")
_TAIL = re.compile(
    r"\s*(?:SQLSTATE: \w+|=== Streaming Query ===|JVM stacktrace:|Driver stacktrace:|\n\s+at ).*", re.DOTALL
)
_PYTHON = re.compile(r"^\w[\w.]*(?:Error|Exception|Interrupt)?: .*$", re.MULTILINE)


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


def is_passing(error: BaseException) -> bool:
    """Whether the same stream, started again, may well continue.

    >>> is_passing(RuntimeError("org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node"))
    True
    >>> is_passing(RuntimeError("eventide.errors.InputError: an event has no time; Connection refused"))
    False
    """
    if isinstance(error, BrokerAwayError):
        return True
    if isinstance(error, EventideError) or user_message(error) is not None:
        return False
    return any(_PASSING.search(text) for text in (str(error), *_java_causes(error)))


def is_missing_topic(error: BaseException) -> bool:
    """Whether the broker does not know a topic.

    >>> is_missing_topic(RuntimeError("Exception: This server does not host this topic-partition."))
    True
    """
    return any(_NO_TOPIC in text for text in (str(error), *_java_causes(error)))


def reason_of(error: BaseException) -> str:
    """What went wrong, without stack traces: our own message, or the innermost that Spark has.

    >>> text = "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [NO_SUCH] no file x SQLSTATE: 42"
    >>> reason_of(RuntimeError(text))
    'no file x'
    """
    ours = user_message(error)
    if ours is not None:
        return ours
    text = _FAILED.sub("", str(error).strip()).partition("=== Streaming Query ===")[0]
    if "Traceback (most recent call last)" in text:
        raised = [line for line in _PYTHON.findall(text) if not line.startswith(("Traceback", "File "))]
        if raised:
            return _TAIL.sub("", raised[-1])
    causes = [_CLASS.sub("", cause) for cause in _java_causes(error) if _PASSING.search(cause)]
    text = _CLASS.sub("", _TAIL.sub("", causes[-1] if causes else text).strip())
    return text.splitlines()[0] if text else type(error).__name__


def pause_seconds(n_failed: int) -> int:
    """How long to wait after a number of failures in a row.

    >>> [pause_seconds(n) for n in (1, 2, 3, 6, 7, 99)]
    [1, 2, 4, 32, 60, 60]
    """
    return min(1 << min(n_failed - 1, 10), 60)


def _java_causes(error: BaseException) -> Iterator[str]:
    """The exceptions of the JVM behind one of PySpark's, outermost first."""
    cause: Any = getattr(error, "_origin", None)
    for _ in range(20):
        if cause is None:
            return
        try:
            yield str(cause.toString())
            cause = cause.getCause()
        except Exception:  # the JVM is gone
            return
