"""Where compiled code is kept: a folder that nobody but the user can read or write, or none.

Machine code from here runs in the user's name. So a folder that someone else owns or may write to is not used. A
temporary folder that users share is never tried.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_INSIDE = "code"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def places() -> tuple[str, ...]:
    """The folders to try: EVENTIDE_CACHE_DIR, then `eventide` in the user's cache."""
    named = os.environ.get("EVENTIDE_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    # Without a home the text comes back as it is, and would name a folder in the current one.
    default = () if base.startswith("~") else (os.path.join(base, "eventide"),)
    return (*((named,) if named else ()), *default)


def private_folder(place: str) -> Path:
    """The folder inside a place that holds the code, made if need be; OSError says why it cannot be trusted."""
    outside = Path(place)
    outside.mkdir(parents=True, exist_ok=True, mode=0o700)
    _check(outside.stat(), _OTHERS_WRITE, "others may write to it")
    inside = outside / _INSIDE
    inside.mkdir(exist_ok=True, mode=0o700)
    _check(inside.lstat(), _OTHERS, f"its folder '{_INSIDE}' is open to others")
    return inside


def _check(found: os.stat_result, forbidden: int, complaint: str) -> None:
    if not stat.S_ISDIR(found.st_mode):
        raise OSError("it is not a folder")
    if not is_ours(found):
        raise OSError("it belongs to another user")
    if os.name == "posix" and found.st_mode & forbidden:
        raise OSError(complaint)


def is_ours(found: os.stat_result) -> bool:
    """Whether the user of this process owns a file; where the system has no owners, yes."""
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
