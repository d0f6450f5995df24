"""Which versions of files a run is about: a file that another takes the place of must not be read half and half."""

from __future__ import annotations

import os
from collections.abc import Iterable

from eventide.errors import InputError

Version = tuple[str, tuple[int, int, int]]  # a file; its size, the time of its last change, its number on the disk


def versions_of(files: Iterable[str]) -> tuple[Version, ...]:
    """The files as they are now."""
    try:
        return tuple((file, _version(file)) for file in files)
    except OSError as error:
        raise InputError(f"cannot read '{error.filename}': {error.strerror}") from error


def check_versions(versions: Iterable[Version]) -> None:
    """Refuse what was read when one of the files is not as it was.

    >>> check_versions([("/no/such/file.parquet", (1, 1, 1))])
    Traceback (most recent call last):
    ...
    eventide.errors.InputError: '/no/such/file.parquet' was removed while it was read
    Hint: run it again when nothing writes to the files
    """
    for file, version in versions:
        try:
            is_same = _version(file) == version
            what = "changed"
        except OSError:
            is_same, what = False, "was removed"
        if not is_same:
            raise InputError(f"'{file}' {what} while it was read", hint="run it again when nothing writes to the files")


def _version(file: str) -> tuple[int, int, int]:
    found = os.stat(file)
    return found.st_size, found.st_mtime_ns, found.st_ino
