"""`eventide warm`: compile ahead what all queries of a kind share, for example while a container image is built.

Each kind of query runs once over a few events; what Numba compiles for that is kept. A condition between events is
compiled when a query with that condition first runs: whoever wants that ahead, too, runs the query itself once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from eventide.api import intervals
from eventide.api.allen import allen
from eventide.api.detect import detect
from eventide.api.events import query
from eventide.api.joins import join
from eventide.api.pattern import Pattern
from eventide.api.sql import sql
from eventide.compilation.cache import kept_code
from eventide.errors import InputError

# Out of order and of several keys, so that sorting and grouping are compiled, too.
_EVENTS = [{"ts": (i * 7) % 40, "kind": "ABC"[i % 3], "key": f"k{i % 2}", "x": i % 5} for i in range(40)]
_STRATEGIES = ("any", "next", "contiguous")
_PATTERNS = (
    "PATTERN SEQ(A a, B b) WHERE [key] AND a.x < b.x SEMANTICS {} WITHIN 5 seconds RETURN a.x",
    "PATTERN SEQ(A a, NOT C c, B b+) WHERE [key] AND c.x > a.x SEMANTICS {} WITHIN 5 seconds RETURN a.x, b.x",
    "PATTERN AND(A a, OR(B b, C c)) WHERE [key] SEMANTICS {} WITHIN 5 seconds RETURN a.x",
)
_TRENDS = (
    "PATTERN SEQ(A a+, B b) WHERE [key] SEMANTICS {} WITHIN 8 seconds SLIDE 4 seconds RETURN COUNT(*), SUM(a.x)",
    "PATTERN SEQ(A a+, NOT C c, B b) WHERE [key] AND a.x < NEXT(a).x SEMANTICS {} WITHIN 8 seconds RETURN COUNT(*)",
)
_ROWS = """SELECT * FROM events MATCH_RECOGNIZE (
    PARTITION BY key ORDER BY ts MEASURES FIRST(A.x) AS first, count(B.x) AS n
    PATTERN (A B+ C?) DEFINE A AS kind = 'A', B AS x > PREV(x), C AS x > avg(B.x))"""
_WINDOWS = (
    "GROUP BY key WITHIN 8 seconds SLIDE 3 seconds RETURN key, count(*), sum(x), max(x), first(x), stddev(x)",
    "GROUP BY key WITHIN 4 EVENTS SLIDE 1 EVENT RETURN key, count(*), sum(x), max(x), stddev(x)",
    "GROUP BY key SESSION 2 seconds EMIT EVERY 5 seconds RETURN key, count(*), avg(x)",
    "GROUP BY key WITHIN 4 seconds EMIT EMPTY RETURN key, count(*), sum(x)",
)
_SITUATIONS = """PARTITION BY key DEFINE P AS x > 1, Q AS kind = 'A' FOR AT LEAST 1 second
    PATTERN P overlaps|before Q WITHIN 9 seconds RETURN avg(P.x) AS level"""


def warm() -> None:
    """Compile ahead what queries of each kind share, and keep it: for container images and new machines."""
    files = kept_code()
    if files is None:
        hint = "set EVENTIDE_CACHE_DIR to a folder of your own, made with mkdir -m 700"
        raise InputError("there is no folder in which compiled code can be kept", hint=hint)
    for kind, run in kinds().items():
        started = time.perf_counter()
        run()
        print(f"{kind}: {time.perf_counter() - started:.1f} s", file=sys.stderr, flush=True)
    print(f"compiled code is kept in {files.root}", file=sys.stderr)


def kinds() -> dict[str, Callable[[], Any]]:
    """What to run for each kind of query."""
    return {
        "event patterns": lambda: _queries(_PATTERNS),
        "aggregates over trends": lambda: _queries(_TRENDS),
        "MATCH_RECOGNIZE": lambda: sql(_ROWS, ts_unit="s", events=_EVENTS),
        "builder patterns": _detect,
        "situations": lambda: query(_SITUATIONS, ts_unit="s").run(_EVENTS),
        "intervals": _intervals,
        "Allen's relations": _relate,
        "joins": _join,
        "windows": _windows,
    }


def _queries(texts: tuple[str, ...]) -> None:
    for text in texts:
        for strategy in _STRATEGIES:
            query(text.format(strategy), ts_unit="s", type="kind").run(_EVENTS)


def _windows() -> None:
    for text in _WINDOWS:
        query(text, ts_unit="s").run(_EVENTS)


def _detect() -> Any:
    steps = Pattern.begin("a", "kind = 'A'").followed_by("b", "kind = 'B' AND x > a.x").within("5 seconds")
    return detect(_EVENTS, steps, partition_by="key", ts="ts", ts_unit="s")


def _intervals() -> Any:
    return intervals.threshold(_EVENTS, "x >= 2", value="avg(x)", partition_by="key", ts="ts", ts_unit="s")


def _relate() -> Any:
    found = _intervals()
    return allen(found, found, "overlaps | during | before", within="5 seconds", partition_by="key", ts_unit="s")


def _join() -> Any:
    for asof in (None, "backward"):
        join(_EVENTS, _EVENTS, on="key", within="5 seconds", asof=asof, ts_unit="s")
    return join(_EVENTS, _EVENTS, on="key", within="5 seconds", where="left.x < right.x", ts_unit="s")
