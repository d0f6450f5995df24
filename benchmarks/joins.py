"""Benchmarks 'join-window' and 'join-asof': trades and quotes joined per key. Peers: DuckDB, Polars, Spark.

Result: the rows, and the sum of prices of both sides, rounded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.limits import scan
from benchmarks.registry import Benchmark, Context, Outcome, Run, UnavailableError, benchmark
from benchmarks.session import start_session

N_KEYS = 1_000
SPACE_US = 2_000  # between two rows of the same side, of all keys
WINDOW_US = 2_000_000  # so that a row has about two partners
_COLUMNS = ("ts", "key", "price")
_FROM = (
    "FROM trades t {}JOIN quotes q ON t.key = q.key WITHIN {} seconds RETURN t.key AS key, t.price AS a, q.price AS b"
)
_TEXTS = {
    "join-window": _FROM.format("", WINDOW_US // 1_000_000),
    "join-asof": _FROM.format("ASOF ", WINDOW_US // 1_000_000),
}

Paths = tuple[Path, Path]


def _tables(context: Context) -> Paths:
    return _side(context, "trades", 1), _side(context, "quotes", 2)


def _side(context: Context, name: str, seed: int) -> Path:
    n = context.events // 2

    def make(path: Path) -> None:
        random = np.random.default_rng(seed)
        # No two rows of a key have one time, so that every peer takes the same one.
        times = np.sort(random.choice(n * SPACE_US, n, replace=False) if n < 100_000 else _apart(random, n))
        columns: dict[str, Any] = {"ts": pa.array(times).cast(pa.timestamp("us")), "key": random.integers(0, N_KEYS, n)}
        pq.write_table(pa.table({**columns, "price": random.integers(1, 1_000, n).astype(np.float64)}), path)

    return context.cached(f"join-{name}-{n}.parquet", make)


def _apart(random: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    return np.cumsum(random.integers(1, 2 * SPACE_US, n))


@benchmark(
    "join-window",
    events=10_000_000,
    summary=f"`{_TEXTS['join-window']}` over two Parquet files of half the rows each, {N_KEYS:,} keys. "
    "Result: the pairs, the sum of their prices.",
)
def window(context: Context) -> Paths:
    return _tables(context)


@benchmark(
    "join-asof",
    events=10_000_000,
    summary=f"`{_TEXTS['join-asof']}` over the same files. Result: the pairs, the sum of their prices.",
)
def asof(context: Context) -> Paths:
    return _tables(context)


def outcome(table: pa.Table) -> Outcome:
    total = table.column("a").to_numpy().sum() + table.column("b").to_numpy().sum()
    return Outcome(table.num_rows, int(total))


def _scan(paths: Paths, context: Context) -> Run:
    return scan(paths, _COLUMNS)


def _bare(join: Any) -> Any:
    """The least that a join of the files in NumPy arrays does: read, order by key, walk, gather."""

    def setup(paths: Paths, context: Context) -> Run:
        def run() -> Outcome:
            sides = []
            for path in paths:
                table = pq.read_table(path, columns=list(_COLUMNS))
                times = table["ts"].cast(pa.int64()).to_numpy()
                order, offsets = by_key(table["key"].to_numpy(), N_KEYS)
                sides.append((offsets, times[order], table["price"].to_numpy()[order]))
            left, right = join(*sides[0][:2], *sides[1][:2], WINDOW_US)
            prices = {"a": sides[0][2][left], "b": sides[1][2][right]}
            return outcome(pa.table(prices))

        return run

    return setup


@numba.njit(nogil=True, cache=False)
def by_key(keys: Any, n_keys: int) -> Any:
    offsets = np.zeros(n_keys + 1, np.int64)
    for key in keys:
        offsets[key + 1] += 1
    offsets = np.cumsum(offsets)
    places, order = offsets[:-1].copy(), np.empty(keys.size, np.int64)
    for i in range(keys.size):
        order[places[keys[i]]] = i
        places[keys[i]] += 1
    return order, offsets


@numba.njit(nogil=True, cache=False)
def _pairs(left_at: Any, left: Any, right_at: Any, right: Any, window: int) -> Any:
    n = 0
    for fill in (False, True):
        if fill:
            one, other = np.empty(n, np.int64), np.empty(n, np.int64)
        else:
            one, other = np.empty(0, np.int64), np.empty(0, np.int64)
        n = 0
        for key in range(left_at.size - 1):
            lo = hi = right_at[key]
            for i in range(left_at[key], left_at[key + 1]):
                while lo < right_at[key + 1] and right[lo] <= left[i] - window:
                    lo += 1
                hi = max(lo, hi)
                while hi < right_at[key + 1] and right[hi] < left[i] + window:
                    hi += 1
                if fill:
                    for j in range(lo, hi):
                        one[n], other[n] = i, j
                        n += 1
                else:
                    n += hi - lo
    return one, other


@numba.njit(nogil=True, cache=False)
def _latest(left_at: Any, left: Any, right_at: Any, right: Any, window: int) -> Any:
    one, other, n = np.empty(left.size, np.int64), np.empty(left.size, np.int64), 0
    for key in range(left_at.size - 1):
        j = right_at[key]
        for i in range(left_at[key], left_at[key + 1]):
            while j < right_at[key + 1] and right[j] <= left[i]:
                j += 1
            if j > right_at[key] and left[i] - right[j - 1] < window:
                one[n], other[n] = i, j - 1
                n += 1
    return one[:n], other[:n]


def _local(text: str) -> Any:
    def setup(paths: Paths, context: Context) -> Run:
        import eventide as ev

        query = ev.query(text)
        return lambda: outcome(query.run(trades=paths[0], quotes=paths[1]))

    return setup


def _spark(text: str) -> Any:
    def setup(paths: Paths, context: Context) -> Run:
        import eventide as ev

        spark = start_session()
        trades, quotes = (spark.read.parquet(str(path)) for path in paths)

        def run() -> Outcome:
            rows = ev.query(text).run(trades=trades, quotes=quotes)
            ((count, total),) = rows.selectExpr("count(*)", "coalesce(sum(a + b), 0)").collect()
            return Outcome(count, int(total))

        return run

    return setup


_BUCKETS = """
WITH t AS (SELECT key, price, epoch_us(ts) AS us, epoch_us(ts) // {w} AS bucket FROM '{left}'),
     q AS (SELECT key, price, epoch_us(ts) AS us, unnest([epoch_us(ts) // {w} - 1, epoch_us(ts) // {w},
           epoch_us(ts) // {w} + 1]) AS bucket FROM '{right}')
SELECT t.key, t.price AS a, q.price AS b FROM t JOIN q
ON t.key = q.key AND t.bucket = q.bucket AND abs(t.us - q.us) < {w}
"""
_AS_OF = """
SELECT t.key, t.price AS a, q.price AS b FROM '{left}' AS t ASOF JOIN '{right}' AS q
ON t.key = q.key AND t.ts >= q.ts WHERE epoch_us(t.ts) - epoch_us(q.ts) < {w}
"""


def _duckdb(text: str) -> Any:
    def setup(paths: Paths, context: Context) -> Run:
        try:
            import duckdb
        except ImportError as error:
            raise UnavailableError("duckdb is not installed") from error
        statement = text.format(left=paths[0], right=paths[1], w=WINDOW_US)
        return lambda: outcome(duckdb.connect().sql(statement).to_arrow_table())

    return setup


def _polars(paths: Paths, context: Context) -> Run:
    try:
        import polars as pl
    except ImportError as error:
        raise UnavailableError("polars is not installed") from error

    def run() -> Outcome:
        trades, quotes = (pl.read_parquet(path, columns=list(_COLUMNS)) for path in paths)
        tolerance = f"{WINDOW_US - 1}us"
        joined = trades.join_asof(quotes, on="ts", by="key", tolerance=tolerance, check_sortedness=False)
        found = joined.filter(pl.col("price_right").is_not_null())
        return outcome(found.select("key", a="price", b="price_right").to_arrow())

    return run


def _register(made: Benchmark, kernel: Any, statement: str) -> None:
    text = _TEXTS[made.name]
    made.limit("PyArrow scan")(_scan)
    made.limit("bare kernel", "one thread; it knows that keys are numbers from 0 on")(_bare(kernel))
    made.subject("Eventide local")(_local(text))
    made.subject("Eventide Spark, DataFrame")(_spark(text))
    made.peer("DuckDB")(_duckdb(statement))


_register(window, _pairs, _BUCKETS)
_register(asof, _latest, _AS_OF)
asof.peer("Polars")(_polars)
