"""How Ctrl-C and SIGTERM stop the command: at once while it loads, by an exception as soon as it works."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

SAID = "stopped; nothing was written"
CODES = {128 + signal.SIGINT, 128 + signal.SIGTERM}  # 130 and 143, as shells have them


def stop_at_once() -> None:
    """There is nothing to clean up yet, and libraries may catch an exception that comes while they load."""
    _handle(_leave, _leave)


def stop_by_exception() -> None:
    """From here on, what is half written is removed on the way out, as after any error."""
    _handle(signal.default_int_handler, lambda number, frame: sys.exit(128 + number))


def _leave(number: int, frame: Any) -> None:
    with suppress(OSError):  # nobody reads it
        os.write(2, f"{SAID}\n".encode())
    os._exit(128 + number)


def _handle(interrupt: Callable[..., Any], terminate: Callable[..., Any]) -> None:
    with suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGINT, interrupt)
        signal.signal(signal.SIGTERM, terminate)
