"""The limit's kernel and the peers' plain Python against the definition of skip-till-next, ties included."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.chain import Chain, count_chains
from benchmarks.sequence import CHAIN, match_group
from benchmarks.stream import advance_runs

from eventide.generate import sample

COLUMNS = ["ts", "key", "kind", "value"]


def naive(table: pa.Table, chain: Chain) -> tuple[int, int]:
    """By definition: from every start, all tied earliest events that can extend the partial match."""
    ts = table["ts"].cast(pa.int64()).to_pylist()
    rows = list(zip(ts, *(table[name].to_pylist() for name in COLUMNS[1:]), strict=True))
    count = checksum = 0

    def earliest(candidates: list) -> list:
        first = min((row[0] for row in candidates), default=None)
        return [row for row in candidates if row[0] == first]

    for a in rows:
        if not (a[2] == "A" and a[3] < chain.a_below):
            continue
        near = [r for r in rows if r[1] == a[1] and a[0] < r[0] < a[0] + chain.window_us]
        for b in earliest([r for r in near if r[2] == "B" and r[3] > chain.b_above and r[3] > a[3]]):
            for c in earliest([r for r in near if r[2] == "C" and r[3] < chain.c_below and r[0] > b[0]]):
                count += 1
                checksum += c[0] - a[0]
    return count, checksum


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("ties", [0.0, 0.6])
def test_kernel_equals_the_definition(seed: int, ties: float) -> None:
    chain = Chain(a_below=60.0, b_above=20.0, c_below=80.0, window_us=30_000)
    events = sample("typed", 400, seed, keys=3, ties=ties, kinds=("D", "C", "A", "B")).select(COLUMNS)
    expected = naive(events, chain)
    assert expected[0] > 10
    for chunk_events in (400, 7):
        chunks = events.to_batches(max_chunksize=chunk_events)
        for threads in (1, 2):
            assert count_chains(chunks, chain, n_keys=3, threads=threads, n_runs=1) == expected


def test_matches_of_a_small_stream_by_hand() -> None:
    events = pa.table(
        {
            "ts": pa.array([1, 2, 3, 3, 4, 4, 9], pa.int64()).cast(pa.timestamp("us")),
            "key": pa.array([0] * 7, pa.int32()),
            "kind": ["A", "A", "B", "B", "C", "C", "C"],
            "value": [10.0, 10.0, 50.0, 50.0, 1.0, 1.0, 1.0],
        }
    )
    chain = Chain(60.0, 30.0, 70.0, window_us=3)
    # The first A ends out of the window (4 - 1 is not below 3); the second branches to 2 Bs and 2 Cs.
    assert count_chains(events.to_batches(), chain, n_keys=1) == (4, 8)


def test_peers_in_python_equal_the_kernel() -> None:
    table = sample("typed", 6000, keys=2, ties=0.3, mean_gap_us=200_000).select(COLUMNS)
    expected = count_chains(table.to_batches(), CHAIN, n_keys=2)
    assert expected[0] > 100
    ts = table["ts"].cast(pa.int64()).to_pylist()
    rows = list(zip(ts, *(table[name].to_pylist() for name in COLUMNS[1:]), strict=True))
    found: list[tuple[int, int]] = []
    for _, group in groupby(sorted(rows, key=lambda row: row[1]), key=lambda row: row[1]):
        runs: list = []
        for t, _, kind, value in group:
            runs = advance_runs(runs, found, t, kind, value)
    assert (len(found), sum(c - a for a, c in found)) == expected
    shuffled = table.take(np.random.default_rng(0).permutation(len(table)))
    groups = [match_group(shuffled.filter(pa.compute.equal(shuffled["key"], key))) for key in (0, 1)]
    total = pa.concat_tables(groups).to_pydict()
    assert (sum(total["n"]), sum(total["us"])) == expected
