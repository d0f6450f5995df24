"""How much memory this process may still take, and rows that are collected within it."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from eventide.errors import InputError

_SHARE = 0.75  # of the available memory that the rows of a result may take
_GROUPS = (
    ("memory.max", "memory.current", "memory.stat"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
)
_HINT = (
    "return fewer rows (WITHIN, a stricter WHERE, RETURN COUNT(*)) or fewer columns, or run it on Spark, "
    "where rows are written as they come: engine='spark'"
)


def collect(batches: Iterable[pa.RecordBatch], most_bytes: int | None = None) -> list[pa.RecordBatch]:
    """All batches, in memory; an error once they take more than `most_bytes`, or most of what is available.

    >>> rows = pa.RecordBatch.from_pydict({"n": [1, 2, 3]})
    >>> collect([rows, rows, rows], most_bytes=30)
    Traceback (most recent call last):
    ...
    eventide.errors.InputError: the result does not fit into memory: 6 rows take 48 bytes, and there is room for ...
    Hint: return fewer rows ...
    """
    held: list[pa.RecordBatch] = []
    n_rows = n_bytes = 0
    try:
        for batch in batches:
            if most_bytes is None:
                # Now, since the events lie in memory by the time that there are rows.
                most_bytes = int(_SHARE * available_bytes())
            held.append(batch)
            n_rows, n_bytes = n_rows + batch.num_rows, n_bytes + batch.nbytes
            if n_bytes > most_bytes:
                room = f"and there is room for {size_text(most_bytes)}"
                raise _too_large(n_rows, n_bytes, room)
    except MemoryError:
        held.clear()
        if not n_rows:
            hint = "memory_limit='1GB' keeps fewer events in memory at once; or run it on Spark: engine='spark'"
            raise InputError("the query needs more memory than there is", hint=hint) from None
        raise _too_large(n_rows, n_bytes, "and there is no more memory") from None
    return held


def _too_large(n_rows: int, n_bytes: int, room: str) -> InputError:
    message = f"the result does not fit into memory: {n_rows:,} rows take {size_text(n_bytes)}, {room}"
    return InputError(message, hint=_HINT)


def size_text(n_bytes: int) -> str:
    """A number of bytes as a person writes it.

    >>> size_text(999), size_text(1_500_000_000)
    ('999 bytes', '1.5 GB')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.1f} {name}"
    return f"{n_bytes} bytes"


def available_bytes() -> int:
    """What this process may still take: of the machine, of its container, and of its own limit.

    >>> available_bytes() > 0
    True
    """
    left = [_of_machine(), _of_container(), _of_process()]
    return max(1, min(size for size in left if size is not None))


def _of_machine() -> int:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _of_container() -> int | None:
    """The rest of the limit of a control group, of version 2 or 1."""
    for names in _GROUPS:
        limit, used, kinds = (_lines(f"/sys/fs/cgroup/{name}") for name in names)
        if limit and used and limit[0].isdigit():
            # Files that were read count as used, and give way.
            words = [line.split() for line in kinds]
            files = sum(int(word[1]) for word in words if word[0] in ("active_file", "inactive_file"))
            return int(limit[0]) - int(used[0]) + files
    return None


def _of_process() -> int | None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    sizes = _lines("/proc/self/statm")
    if limit == resource.RLIM_INFINITY or not sizes:
        return None
    return limit - int(sizes[0].split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
