"""How the time of event patterns grows with the events of one partition: OR, optional steps, NOT at every place.

All of them without WITHIN, on events whose kinds come at random, so that the matches grow with the events alone.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pyarrow as pa

import eventide as ev
from benchmarks.registry import Context, Outcome, Run, benchmark

# By what is asked; where all pairs would match, only those with the first few A are asked for.
QUERIES = {
    "OR": "OR(A a, B b)",
    "SEQ with OR, next": "SEQ(A a, OR(B b, C c)) SEMANTICS next",
    "SEQ with OR, any": "SEQ(A a, OR(B b, C c)) WHERE a.number < 40",
    "?, next": "SEQ(A a, B b?, C c) SEMANTICS next",
    "NOT between, any": "SEQ(A a, NOT B b, C c)",
    "NOT between, next": "SEQ(A a, NOT B b, C c) SEMANTICS next",
    "NOT SEQ between": "SEQ(A a, NOT SEQ(B b, D d), C c)",
    "NOT before the last step": "SEQ(A a, NOT D d, C c, NOT B b, E e)",
    "NOT first": "SEQ(NOT B b, A a, C c)",
    "NOT last": "SEQ(A a, C c, NOT B b)",
}


@benchmark(
    "growth",
    events=1_000_000,
    summary="Event patterns with OR, `?` and NOT in one partition without WITHIN: CPU seconds at an eighth, a quarter, "
    "half and all of the events, and the exponent of the growth from the first to the last.",
)
def growth(context: Context) -> pa.Table:
    rng = np.random.default_rng(7)
    n = context.events
    kind = pa.array(rng.integers(0, 8, n, dtype=np.int32))
    kinds = pa.DictionaryArray.from_arrays(kind, pa.array(list("ABCDEFGH")))
    return pa.table({"ts": np.arange(n), "kind": kinds, "number": np.arange(n)})


@growth.subject("Eventide local")
def _local(table: pa.Table, context: Context) -> Run:
    def run() -> Outcome:
        measured = [_measured(name, table) for name in QUERIES]
        return Outcome(details={"growth": [shown for shown, _ in measured]}, seconds=sum(last for _, last in measured))

    return run


def _measured(name: str, table: pa.Table) -> tuple[dict[str, Any], float]:
    """The line of a query, and its CPU seconds with all events."""
    sizes = [table.num_rows >> k for k in (3, 2, 1, 0)]
    spent, n_rows = [], []
    query = ev.query(f"PATTERN {QUERIES[name]} RETURN a.ts", ts="ts", ts_unit="s", type="kind")
    query.run(table.slice(0, 1000))  # compiles
    for n in sizes:
        began = time.process_time()
        n_rows.append(query.run(table.slice(0, n)).num_rows)
        spent.append(time.process_time() - began)
    seconds = {f"s at {n:,}": f"{cpu:.3f}" for n, cpu in zip(sizes, spent, strict=True)}
    exponent = math.log(spent[-1] / spent[0], sizes[-1] / sizes[0])
    return {"query": name, **seconds, "exponent": f"{exponent:.2f}", "matches": n_rows[-1]}, spent[-1]
