"""Queues of events that wait: the heap against the standard library's, the lists against plain ones."""

from __future__ import annotations

import heapq
from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eventide.families.trends.kernel_queues import chain, find, push
from tests.budget import budgeted

N = 40
ADDED_AND_FOUND = st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=N)


@budgeted()
@given(ADDED_AND_FOUND)
def test_a_queue_gives_what_is_below_least_first(steps: list[tuple[bool, int]]) -> None:
    keys, entries, sizes = (np.zeros(shape, np.int64) for shape in ((1, N), (1, N), 1))
    nothing = np.zeros((1, 1), np.int64)
    queues = (keys, entries, sizes, nothing, nothing, nothing, np.ones(1, np.int64))
    found = np.zeros((N, 3), np.int64)
    heap: list[tuple[int, int]] = []
    for entry, (is_added, number) in enumerate(steps):
        if is_added:
            push(keys, entries, 0, sizes[0], number, entry)
            sizes[0] += 1
            heapq.heappush(heap, (number, entry))
            continue
        n_found = find(found, 0, 0, number, False, queues)
        expected = [heapq.heappop(heap) for _ in range(sum(key < number for key, _ in heap))]
        assert found[:n_found, 1].tolist() == [key for key, _ in expected]
        assert sorted(map(tuple, found[:n_found, 1:].tolist())) == expected
    assert sizes[0] == len(heap)


@budgeted()
@given(ADDED_AND_FOUND)
def test_a_queue_of_equal_values_gives_those_at_a_place_once(steps: list[tuple[bool, int]]) -> None:
    heads, stamps, links = (np.zeros((1, N), np.int64) for _ in range(3))
    nothing, current = np.zeros((1, 1), np.int64), np.ones(1, np.int64)
    queues = (nothing, nothing, np.zeros(1, np.int64), heads, stamps, links, current)
    found = np.zeros((N, 3), np.int64)
    lists: dict[int, list[int]] = defaultdict(list)
    for entry, (is_added, place) in enumerate(steps):
        if is_added:
            chain(heads, stamps, links, 0, place, entry, current[0])
            lists[place].append(entry)
        else:
            n_found = find(found, 0, 0, place, True, queues)
            assert sorted(found[:n_found, 2].tolist()) == lists.pop(place, [])
    current[0] += 1
    assert all(find(found, 0, 0, place, True, queues) == 0 for place in range(10))
