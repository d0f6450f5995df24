"""Events that wait for the next one that may follow them, by rank: each is found once, and is gone then.

For skip-till-next and contiguous. A queue is a heap by place, or where places must be equal a list at each of them.
"""

from __future__ import annotations

from typing import Any

from eventide.compilation.njit import njit
from eventide.runtime.kernels.arrays import IntArray


@njit(cache=True, nogil=True, borrows=True)
def push(keys: Any, entries: Any, queue: int, n: int, key: int, entry: int) -> None:
    """Add an entry to a heap of n."""
    i = n
    while i > 0 and keys[queue, (i - 1) // 2] > key:
        keys[queue, i] = keys[queue, (i - 1) // 2]
        entries[queue, i] = entries[queue, (i - 1) // 2]
        i = (i - 1) // 2
    keys[queue, i] = key
    entries[queue, i] = entry


@njit(cache=True, nogil=True, borrows=True)
def pop(keys: Any, entries: Any, queue: int, n: int) -> int:
    """Take out the entry with the least key of a heap of n."""
    least: int = entries[queue, 0]
    key, entry = keys[queue, n - 1], entries[queue, n - 1]
    i = 0
    while 2 * i + 1 < n - 1:
        child = 2 * i + 1
        if child + 1 < n - 1 and keys[queue, child + 1] < keys[queue, child]:
            child += 1
        if keys[queue, child] >= key:
            break
        keys[queue, i] = keys[queue, child]
        entries[queue, i] = entries[queue, child]
        i = child
    keys[queue, i] = key
    entries[queue, i] = entry
    return least


@njit(cache=True, nogil=True, borrows=True)
def chain(heads: Any, stamps: Any, links: Any, queue: int, place: int, entry: int, stamp: int) -> None:
    """Add an entry to the list at a place; a list with another stamp is empty."""
    links[queue, entry] = heads[queue, place] if stamps[queue, place] == stamp else -1
    heads[queue, place] = entry
    stamps[queue, place] = stamp


@njit(cache=True, nogil=True, borrows=True)
def find(found: IntArray, n_found: int, queue: int, reach: int, is_point: bool, queues: Any) -> int:
    """Move the entries that an event may extend from a queue to those `found` at its time: (queue, key, entry) each.

    Returns how many were found. `queues` is (keys, entries, sizes, heads, their stamps, links, stamp of each queue).
    """
    keys, entries, sizes, heads, stamps, links, current = queues
    if is_point:
        if reach < 0 or stamps[queue, reach] != current[queue]:
            return n_found
        entry = heads[queue, reach]
        stamps[queue, reach] = 0
        while entry >= 0:
            found[n_found, 0], found[n_found, 1], found[n_found, 2] = queue, reach, entry
            n_found += 1
            entry = links[queue, entry]
        return n_found
    while sizes[queue] > 0 and keys[queue, 0] < reach:
        found[n_found, 0], found[n_found, 1] = queue, keys[queue, 0]
        found[n_found, 2] = pop(keys, entries, queue, sizes[queue])
        sizes[queue] -= 1
        n_found += 1
    return n_found
