"""CPU seconds to plan conditions of thousands of terms, the least of three rounds; beside it sqlglot's own reading.

python tools/long_conditions.py
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pyarrow as pa
import sqlglot

from eventide.errors import QueryError
from eventide.families.registry import family_named
from eventide.lang import parse
from eventide.plan.options import Options

SCHEMA = pa.schema({"ts": pa.int64(), "kind": pa.string(), "x": pa.int64(), "s": pa.string()})
FORMS: dict[str, Callable[[int], str]] = {
    "a.x=0 OR a.x=1 OR ...": lambda n: "WHERE " + " OR ".join(f"a.x={i}" for i in range(n)),
    "a.x>0 AND a.x>1 AND ...": lambda n: "WHERE " + " AND ".join(f"a.x>{i}" for i in range(n)),
    "a.x IN (0, 1, ...)": lambda n: f"WHERE a.x IN ({', '.join(map(str, range(n)))})",
    "a.s || a.s || ...": lambda n: f"RETURN {' || '.join(['a.s'] * n)} AS y",
    "(a.x + a.x + ...) + (a.x + ...": lambda n: f"RETURN {' + '.join([_sum(100)] * (n // 100))} AS y",
}


def _sum(n: int) -> str:
    return f"({' + '.join(['a.x'] * n)})"


def seconds(run: Callable[[], object]) -> float:
    """The least CPU time of three rounds."""
    rounds = []
    for _ in range(3):
        gc.collect()
        start = time.thread_time()
        run()
        rounds.append(time.thread_time() - start)
    return min(rounds)


def main() -> None:
    """Print one line per form and number of terms."""
    for name, form in FORMS.items():
        for n in (1_000, 5_000, 10_000):
            text = f"PATTERN SEQ(A a, B b) {form(n)}"

            def plan(text: str = text) -> None:
                family_named("events").prepare(parse(text), Options(type="kind", ts_unit="s"), SCHEMA)

            try:
                print(f"{name:<32} {n:>6} {seconds(plan):>6.2f}")
            except QueryError as error:
                print(f"{name:<32} {n:>6}  {error.message}")
    text = " OR ".join(f"a.x={i}" for i in range(10_000))
    print(f"{'sqlglot, a.x=0 OR a.x=1 ...':<32} {10_000:>6} {seconds(lambda: sqlglot.parse_one(text)):>6.2f}")


if __name__ == "__main__":
    main()
