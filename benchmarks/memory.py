"""Peak resident memory of a process with all its descendants (JVM, Python workers), read from /proc.

Pages that processes share are counted once for each, so the figure is an upper bound.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path

_SAMPLE_S = 0.05
_TREE_S = 0.5
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def descendants(pid: int) -> list[int]:
    """`pid` and every process below it."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                # The command stands in parentheses and may itself hold spaces and parentheses.
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(entry))
    found = [pid]
    for process in found:
        found.extend(children.get(process, ()))
    return found


def resident_bytes(pids: list[int]) -> int:
    """Resident memory of the processes that still exist, together."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError, IndexError, ValueError):
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    return total


class PeakMemory:
    """Context manager: `peak_bytes` afterwards is the most that the tree below `pid` held in the block."""

    def __init__(self, pid: int) -> None:
        self.peak_bytes = 0
        self._pid = pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        with contextlib.suppress(OSError):
            Path(f"/proc/{self._pid}/clear_refs").write_text("5")  # starts the high-water mark anew
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.peak_bytes = max(self.peak_bytes, _high_water_bytes(self._pid))

    def _watch(self) -> None:
        pids, known_at = [self._pid], -_TREE_S
        while not self._stop.is_set():
            if time.monotonic() - known_at > _TREE_S:
                pids, known_at = descendants(self._pid), time.monotonic()
            self.peak_bytes = max(self.peak_bytes, resident_bytes(pids))
            self._stop.wait(_SAMPLE_S)


def _high_water_bytes(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
