"""Benchmarks of windowed aggregation in this process: hops, a slide that does not divide them, windows of events.

Peers: DuckDB and Polars, each with what a user would write, and with partial aggregates by hand.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.joins import by_key
from benchmarks.limits import scan
from benchmarks.registry import Benchmark, Context, Outcome, Run, UnavailableError, benchmark
from benchmarks.sequence import N_KEYS, typed_file

COLUMNS = ("ts", "key", "value")
SECOND_US = 1_000_000
N_EVENTS = 100
_RETURN = "RETURN key, count(*) AS n, sum(value) AS total, min(value) AS least, max(value) AS most"
_TEXTS = {
    "windows-hop": f"FROM events GROUP BY key WITHIN 60 seconds SLIDE 10 seconds {_RETURN}",
    "windows-any-slide": f"FROM events GROUP BY key WITHIN 60 seconds SLIDE 7 seconds {_RETURN}",
    "windows-events": f"FROM events GROUP BY key WITHIN {N_EVENTS} EVENTS SLIDE 1 EVENT "
    "RETURN key, sum(value) AS total, max(value) AS most",
}


def _summary(name: str, result: str) -> str:
    return f"`{_TEXTS[name]}` over one Parquet file in time order with {N_KEYS:,} keys. Result: {result}."


@benchmark(
    "windows-hop", events=10_000_000, summary=_summary("windows-hop", "the windows, and the events in all of them")
)
def hop(context: Context) -> Path:
    return typed_file(context)


@benchmark(
    "windows-any-slide",
    events=10_000_000,
    summary=_summary("windows-any-slide", "the windows, and the events in all of them"),
)
def any_slide(context: Context) -> Path:
    return typed_file(context)


@benchmark(
    "windows-events",
    events=10_000_000,
    summary=_summary("windows-events", "the windows, and the sum of their sums and greatest values, rounded"),
)
def events(context: Context) -> Path:
    return typed_file(context)


def _counted(table: pa.Table) -> Outcome:
    return Outcome(table.num_rows, pc.sum(table.column("n")).as_py())


def _summed(table: pa.Table) -> Outcome:
    total = pc.sum(table.column("total")).as_py() + pc.sum(table.column("most")).as_py()
    return Outcome(table.num_rows, round(total / 1e6))


def _local(text: str, outcome: Any) -> Any:
    def setup(path: Path, context: Context) -> Run:
        import eventide as ev

        query = ev.query(text)
        return lambda: outcome(query.run(str(path)))

    return setup


def _scan(path: Path, context: Context) -> Run:
    return scan(path, COLUMNS)


# --- the least that a kernel does -------------------------------------------------------------------------------


def _arrays(path: Path) -> tuple[Any, Any, Any]:
    table = pq.read_table(path, columns=list(COLUMNS))
    key = table["key"].to_numpy()
    return table["ts"].cast(pa.int64()).to_numpy(), key, table["value"].to_numpy()


def _panes(size_us: int, slide_us: int) -> Any:
    """Panes of the greatest common divisor would be many, so a slide has two where the window ends inside it."""
    rest = size_us % slide_us

    def setup(path: Path, context: Context) -> Run:
        n_threads = os.cpu_count() or 1

        def run() -> Outcome:
            ts, key, value = _arrays(path)
            per_slide = 2 if rest else 1
            first = ts[0] // slide_us * per_slide
            n_panes = (ts[-1] // slide_us + 1) * per_slide - first
            shares = np.linspace(0, ts.size, n_threads + 1).astype(np.int64)
            made = [_new_panes(n_panes) for _ in range(n_threads)]
            with ThreadPoolExecutor(n_threads) as pool:
                parts = [slice(shares[i], shares[i + 1]) for i in range(n_threads)]
                work = [
                    pool.submit(_fill, ts[part], key[part], value[part], slide_us, rest, first, made[i])
                    for i, part in enumerate(parts)
                ]
                for each in work:
                    each.result()
            whole = made[0]
            for other in made[1:]:
                _merge(whole, other)
            width = size_us // slide_us * per_slide + (1 if rest else 0)
            return Outcome(*_slide(whole, width, per_slide, first))

        return run

    return setup


def _new_panes(n_panes: int) -> Any:
    panes = np.zeros((N_KEYS, n_panes, 4))
    panes[:, :, 2], panes[:, :, 3] = np.inf, -np.inf
    return panes


@numba.njit(nogil=True, cache=False)
def _fill(ts: Any, key: Any, value: Any, slide: int, rest: int, first: int, panes: Any) -> None:
    lo, hi, pane = 0, 0, 0
    for i in range(ts.size):
        if ts[i] < lo or ts[i] >= hi:
            whole = ts[i] // slide
            lo, hi, pane = whole * slide, (whole + 1) * slide, whole
            if rest > 0:
                pane = 2 * whole
                if ts[i] - lo >= rest:
                    lo, pane = lo + rest, pane + 1
                else:
                    hi = lo + rest
            pane -= first
        at = panes[key[i], pane]
        at[0] += 1.0
        at[1] += value[i]
        at[2] = min(at[2], value[i])
        at[3] = max(at[3], value[i])


@numba.njit(nogil=True, cache=False)
def _merge(whole: Any, other: Any) -> None:
    for key in range(whole.shape[0]):
        for pane in range(whole.shape[1]):
            if other[key, pane, 0] > 0.0:
                whole[key, pane, 0] += other[key, pane, 0]
                whole[key, pane, 1] += other[key, pane, 1]
                whole[key, pane, 2] = min(whole[key, pane, 2], other[key, pane, 2])
                whole[key, pane, 3] = max(whole[key, pane, 3], other[key, pane, 3])


@numba.njit(nogil=True, cache=False)
def _slide(panes: Any, width: int, per_slide: int, first: int) -> Any:
    """The windows that hold an event, each with its four values, and the events in all of them."""
    n, n_in = 0, 0
    begin = -(-(first - width + 1) // per_slide)
    stop = (first + panes.shape[1] - 1) // per_slide + 1
    out = np.empty((panes.shape[0] * (stop - begin), 4))
    for key in range(panes.shape[0]):
        for window in range(begin, stop):
            lo = max(window * per_slide - first, 0)
            hi = min(window * per_slide - first + width, panes.shape[1])
            out[n, 0], out[n, 1], out[n, 2], out[n, 3] = 0.0, 0.0, np.inf, -np.inf
            for pane in range(lo, hi):
                out[n, 0] += panes[key, pane, 0]
                out[n, 1] += panes[key, pane, 1]
                out[n, 2] = min(out[n, 2], panes[key, pane, 2])
                out[n, 3] = max(out[n, 3], panes[key, pane, 3])
            if out[n, 0] > 0.0:
                n_in += np.int64(out[n, 0])
                n += 1
    return n, n_in


# --- peers ------------------------------------------------------------------------------------------------------

_HOP = """
SELECT key, start, count(*) AS n, sum(value) AS total, min(value) AS least, max(value) AS most FROM (
  SELECT key, value, unnest(range((epoch_us(ts) - {size}) // {slide} * {slide} + {slide},
                                  epoch_us(ts) // {slide} * {slide} + 1, {slide})) AS start FROM '{path}')
GROUP BY key, start
"""
_HOP_OF_PANES = """
WITH panes AS (SELECT key, epoch_us(ts) // {pane} AS pane, count(*) AS n, sum(value) AS total, min(value) AS least,
                      max(value) AS most FROM '{path}' GROUP BY ALL)
SELECT key, start, sum(n)::BIGINT AS n, sum(total) AS total, min(least) AS least, max(most) AS most FROM (
  SELECT *, unnest(range((pane * {pane} - {size}) // {slide} * {slide} + {slide},
                         pane * {pane} // {slide} * {slide} + 1, {slide})) AS start FROM panes)
GROUP BY key, start
"""
_EVENTS = f"""
SELECT key, sum(value) OVER w AS total, max(value) OVER w AS most FROM '{{path}}'
WINDOW w AS (PARTITION BY key ORDER BY ts ROWS BETWEEN CURRENT ROW AND {N_EVENTS - 1} FOLLOWING)
"""


def _duckdb(statement: str, outcome: Any, size: int = 60, slide: int = 10) -> Any:
    def setup(path: Path, context: Context) -> Run:
        try:
            import duckdb
        except ImportError as error:
            raise UnavailableError("duckdb is not installed") from error
        lengths = {"size": size * SECOND_US, "slide": slide * SECOND_US, "pane": int(np.gcd(size, slide)) * SECOND_US}
        text = statement.format(path=path, **lengths)
        return lambda: outcome(duckdb.connect().sql(text).to_arrow_table())

    return setup


def _polars(setup_of: Any) -> Any:
    def setup(path: Path, context: Context) -> Run:
        try:
            import polars as pl
        except ImportError as error:
            raise UnavailableError("polars is not installed") from error
        return setup_of(pl, path)  # type: ignore[no-any-return]

    return setup


def _aggregates(pl: Any, value: str = "value") -> list[Any]:
    column = pl.col(value)
    return [pl.len().alias("n"), column.sum().alias("total"), column.min().alias("least"), column.max().alias("most")]


def _polars_dynamic(size: int, slide: int) -> Any:
    def made(pl: Any, path: Path) -> Run:
        def run() -> Outcome:
            frame = pl.scan_parquet(path).select(COLUMNS)
            windows = frame.group_by_dynamic(
                "ts", every=f"{slide}s", period=f"{size}s", group_by="key", start_by="window"
            )
            windows.agg(*_aggregates(pl)).collect().to_arrow()
            return Outcome()  # it has no windows that begin before the first event

        return run

    return _polars(made)


def _polars_panes(size: int, slide: int) -> Any:
    pane = int(np.gcd(size, slide)) * SECOND_US

    def made(pl: Any, path: Path) -> Run:
        def run() -> Outcome:
            frame = pl.scan_parquet(path).select("key", "value", pane=pl.col("ts").cast(pl.Int64) // pane)
            panes = frame.group_by("key", "pane").agg(*_aggregates(pl)).collect()
            starts = [
                panes.with_columns(start=(pl.col("pane") * pane // (slide * SECOND_US) - back))
                for back in range(-(-size // slide))
            ]
            expanded = pl.concat(starts).filter(
                pl.col("pane") * pane < pl.col("start") * slide * SECOND_US + size * SECOND_US
            )
            totals = [pl.col("n").sum(), pl.col("total").sum(), pl.col("least").min(), pl.col("most").max()]
            return _counted(expanded.group_by("key", "start").agg(*totals).to_arrow())

        return run

    return _polars(made)


def _polars_events(pl: Any, path: Path) -> Run:
    def run() -> Outcome:
        # Polars looks back: in reverse order of time that is what follows.
        frame = pl.read_parquet(path, columns=list(COLUMNS)).reverse()
        value = pl.col("value")
        made = frame.select(
            "key",
            total=value.rolling_sum(N_EVENTS, min_samples=1).over("key"),
            most=value.rolling_max(N_EVENTS, min_samples=1).over("key"),
        )
        return _summed(made.to_arrow())

    return run


@numba.njit(nogil=True, cache=False)
def _of_events(order: Any, offsets: Any, value: Any, size: int) -> Any:
    """Sums by difference, greatest values by a queue that falls: of every event and those that follow it."""
    n, total_of_all, most_of_all = order.size, 0.0, 0.0
    sums, extremes = np.empty(n), np.empty(n)
    queue = np.empty(n, np.int64)
    for key in range(offsets.size - 1):
        lo, hi = offsets[key], offsets[key + 1]
        head, tail, total = 0, 0, 0.0
        for i in range(hi - 1, lo - 1, -1):
            at = value[order[i]]
            total += at
            if i + size < hi:
                total -= value[order[i + size]]
            while tail > head and value[order[queue[tail - 1]]] <= at:
                tail -= 1
            queue[tail] = i
            tail += 1
            while queue[head] >= i + size:
                head += 1
            sums[i], extremes[i] = total, value[order[queue[head]]]
            total_of_all += total
            most_of_all += extremes[i]
    return total_of_all + most_of_all


def _bare_events(path: Path, context: Context) -> Run:
    def run() -> Outcome:
        _, key, value = _arrays(path)
        order, offsets = by_key(key, N_KEYS)
        return Outcome(key.size, round(_of_events(order, offsets, value, N_EVENTS) / 1e6))

    return run


def _register(made: Benchmark, slide: int) -> None:
    made.limit("PyArrow scan")(_scan)
    made.limit("bare kernel", "all cores; it knows that keys are numbers from 0 on")(
        _panes(60 * SECOND_US, slide * SECOND_US)
    )
    made.subject("Eventide local")(_local(_TEXTS[made.name], _counted))
    made.peer("DuckDB")(_duckdb(_HOP, _counted, 60, slide))
    made.peer("DuckDB, panes by hand")(_duckdb(_HOP_OF_PANES, _counted, 60, slide))
    made.peer("Polars", "without the windows that begin before the first event")(_polars_dynamic(60, slide))
    made.peer("Polars, panes by hand")(_polars_panes(60, slide))


_register(hop, 10)
_register(any_slide, 7)
events.limit("PyArrow scan")(_scan)
events.limit("bare kernel", "one thread")(_bare_events)
events.subject("Eventide local")(_local(_TEXTS["windows-events"], _summed))
events.peer("DuckDB")(_duckdb(_EVENTS, _summed))
events.peer("Polars")(_polars(_polars_events))
