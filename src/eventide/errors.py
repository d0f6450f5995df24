"""The errors a user sees: what is wrong, where it stands in the query text, and what to try."""

from __future__ import annotations

import difflib
import inspect
import re
import warnings
from collections.abc import Iterable

_LONG_LINE = 240  # characters; of a longer line only what is near is shown
_AROUND = 60


def hide_credentials(text: str) -> str:
    """A text in which addresses name no users and passwords.

    >>> hide_credentials("cannot read 's3a://key:secret@bucket/events'")
    "cannot read 's3a://***@bucket/events'"
    """
    return re.sub(r"\S+", _hide_in_word, text) if "://" in text and "@" in text else text


def _hide_in_word(found: re.Match[str]) -> str:
    """Up to the last @, since a password may hold any letter. Texts are long at times: one pass over each word."""
    word = found[0]
    start, at = word.find("://") + 3, word.rfind("@")
    return f"{word[:start]}***{word[at:]}" if start > 2 and ":" in word[start : max(at, start)] else word


class EventideError(Exception):
    """Base of every error that Eventide raises on purpose: what is wrong and, with `hint`, what to try."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        message, hint = hide_credentials(message), None if hint is None else hide_credentials(hint)
        super().__init__(message if hint is None else f"{message}\nHint: {hint}")
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.hint)


def _rebuild(cls: type[EventideError], message: str, hint: str | None) -> EventideError:
    return cls(message, hint=hint)


class InputError(EventideError):
    """The events are wrong: unreadable, missing a column, a time that is NULL.

    >>> raise InputError("column 'ts' is missing", hint="the file has: time, user")
    Traceback (most recent call last):
    ...
    eventide.errors.InputError: column 'ts' is missing
    Hint: the file has: time, user
    """


class UnsupportedError(InputError):
    """The query is right, but this engine or this version cannot run it."""


class OutputError(EventideError):
    """Rows could not be written for a reason that is not the user's mistake: a full disk."""


class StateError(EventideError):
    """The saved state of a stream is not what was written: bytes were altered, lost or exchanged."""


class StreamFailedError(EventideError):
    """A stream ended for a reason that is not the user's mistake: a broker that stays away, a full disk."""


class BrokerAwayError(StreamFailedError):
    """No broker answers; it may come back."""


class QueryError(EventideError):
    """The query is wrong: carries the position, the line with the text underlined, and a hint.

    `start` and `end` are offsets into `text`; `line` and `column` count from 1.

    >>> e = QueryError("unknown column 'prise'", "RETURN A.prise", 9, 14, hint="did you mean 'price'?")
    >>> print(e)
    unknown column 'prise' (line 1, column 10)
      RETURN A.prise
               ^^^^^
    Hint: did you mean 'price'?
    """

    def __init__(self, message: str, text: str, start: int, end: int, *, hint: str | None = None) -> None:
        start = max(0, min(start, len(text)))
        end = max(start, min(end, len(text)))
        self.text = text
        self.start = start
        self.end = end
        self.line = text.count("\n", 0, start) + 1
        line_start = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", start)
        line_text = text[line_start : line_end if line_end >= 0 else len(text)].rstrip("\r")
        self.column = start - line_start + 1
        self.snippet = _snippet(line_text, self.column - 1, max(1, min(end, line_start + len(line_text)) - start))
        super().__init__(f"{message} (line {self.line}, column {self.column})\n{self.snippet}", hint=hint)
        self.message = message

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_query_error, (self.message, self.text, self.start, self.end, self.hint)


def _snippet(line: str, at: int, width: int) -> str:
    """The line, or of a long one what stands around the place, with carets under it."""
    if len(line) > _LONG_LINE:
        start = max(0, at - _AROUND)
        end = min(len(line), at + max(_AROUND, min(width, _LONG_LINE)))
        before, after = "..." if start else "", "..." if end < len(line) else ""
        line, at, width = before + line[start:end] + after, at - start + len(before), min(width, end - at)
    # Tabs stay tabs in the padding, so the carets stand under the text whatever the tab width is.
    padding = "".join("\t" if ch == "\t" else " " for ch in line[:at])
    return f"  {line}\n  {padding}{'^' * width}"


def _rebuild_query_error(message: str, text: str, start: int, end: int, hint: str | None) -> QueryError:
    return QueryError(message, text, start, end, hint=hint)


def is_of_spark(error: BaseException) -> bool:
    """Whether PySpark raised it, or what it stands on; told by name, so that nothing is loaded where Spark is not."""
    return type(error).__module__.split(".")[0] in ("pyspark", "py4j")


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint naming the closest known word, or listing the known words, or None when there are none.

    >>> did_you_mean("prise", ["price", "volume"])
    "did you mean 'price'?"
    >>> did_you_mean("x", ["price", "volume"])
    'known: price, volume'
    """
    names = list(dict.fromkeys(known))
    folded = {name.lower(): name for name in names}
    close = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{folded[close[0]]}'?"
    return f"known: {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}" if names else None


class EventideWarning(UserWarning):
    """What is possible, but hardly meant: an event type that no event has."""


def warn(message: str) -> None:
    """Warn whoever called Eventide, from the line of theirs that did."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == __name__.split(".")[0]:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, EventideWarning, stacklevel=level)
