"""One line for whoever waits: the first query of a kind compiles for many seconds, and nothing else would say so."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time

from numba.core import event

from eventide.compilation.cache import CodeCache, kept_code

_log = logging.getLogger("eventide.compilation")
_LONG_SECONDS = 1.0
_TEXT = "Eventide compiles what this kind of query needs, which may take half a minute."
_KEPT = " The code is kept, and later runs start at once."
_QUIET = " (EVENTIDE_QUIET=1 hides this line.)"


class Notice(event.Listener):  # type: ignore[misc]
    """Numba tells it when compiling begins and ends; the line comes once, after a second of that in all."""

    def __init__(self) -> None:
        self._depth = 0  # a function is compiled with those that it calls inside
        self._seconds = 0.0
        self._began = 0.0
        self._timer: threading.Timer | None = None
        self._is_given = False

    def on_start(self, event: event.Event) -> None:
        if not _is_ours(event):
            return
        self._depth += 1
        if self._depth == 1 and not self._is_given:
            self._began = time.monotonic()
            self._timer = threading.Timer(max(0.0, _LONG_SECONDS - self._seconds), self._give)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: event.Event) -> None:
        if not _is_ours(event):
            return
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._seconds += time.monotonic() - self._began

    def _give(self) -> None:
        self._is_given = True
        text = _TEXT + ("" if kept_code() is None else _KEPT)
        _log.info(text)
        if someone_looks():
            print(text + _QUIET, file=sys.stderr, flush=True)


def _is_ours(event: event.Event) -> bool:
    """The user's program may compile functions of its own."""
    return isinstance(event.data["dispatcher"]._cache, CodeCache)


def someone_looks() -> bool:
    """Whether lines are read as they come: by a terminal or a notebook, where the user has not asked for quiet."""
    if os.environ.get("EVENTIDE_QUIET", "0") not in ("", "0"):
        return False
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
