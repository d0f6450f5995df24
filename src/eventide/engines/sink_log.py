"""The log of a folder that a Spark stream writes: the files of the batches that are done, and no others.

`_spark_metadata` has a file for each batch, named by its number. The first line is the version, every other a JSON
record of a file that the batch added or deleted. Now and then a file `9.compact` says again what all batches up to
that number said.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from urllib.parse import unquote, urlparse

from eventide.errors import InputError

_LOG = "_spark_metadata"
_BATCH = re.compile(r"(\d+)(\.compact)?")
_VERSION = "v1"


def logged_files(folder: str) -> list[str]:
    """The data files that count, in order of their names."""
    files: dict[str, None] = {}
    deleted: set[str] = set()
    for batch in _batches(folder):
        for path, action in _records(folder, batch):
            if action == "delete":
                deleted.add(path)
            else:
                files[path] = None
    found = sorted(_place(folder, path) for path in files if path not in deleted)
    if not found:
        raise InputError(f"the folder '{folder}' holds no data files: its {_LOG} names none")
    return found


def _batches(folder: str) -> list[str]:
    """The log files to read: the last compact one, and those behind it."""
    found = [match for name in os.listdir(os.path.join(folder, _LOG)) if (match := _BATCH.fullmatch(name))]
    compact = max((int(match[1]) for match in found if match[2]), default=None)
    behind = sorted(int(match[1]) for match in found if not match[2] and (compact is None or int(match[1]) > compact))
    first = 0 if compact is None else compact + 1
    if behind != list(range(first, first + len(behind))):
        missing = next(number for number in range(first, behind[-1]) if number not in behind)
        raise _broken(folder, f"batch {missing} is missing")
    return [*([] if compact is None else [f"{compact}.compact"]), *map(str, behind)]


def _records(folder: str, batch: str) -> Iterator[tuple[str, str]]:
    with open(os.path.join(folder, _LOG, batch), encoding="utf-8") as file:
        version, *lines = file.read().splitlines() or [""]
    if version != _VERSION:
        raise _broken(folder, f"'{batch}' begins with {version!r}, not with '{_VERSION}'")
    for line in filter(None, lines):
        try:
            record = json.loads(line)
            path, action = record["path"], record["action"]
        except (ValueError, KeyError, TypeError) as error:
            raise _broken(folder, f"'{batch}' has a line that is not a record: {line[:80]}") from error
        if not record.get("isDir"):
            yield path, action


def _place(folder: str, path: str) -> str:
    """Where a logged file is: in the folder, which may have moved since, under the longest name that is there."""
    parts = PurePosixPath(unquote(urlparse(path).path)).parts
    for n in range(len(parts) - 1):
        inside = os.path.join(folder, *parts[n + 1 :])
        if os.path.isfile(inside):
            return inside
    raise _broken(folder, f"the file '{parts[-1]}' is gone")


def _broken(folder: str, what: str) -> InputError:
    return InputError(
        f"the log of '{folder}', {_LOG}, does not tell which files count: {what}",
        hint="bring the folder back as the stream left it",
    )
