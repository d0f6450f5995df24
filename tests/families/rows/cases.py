"""Random MATCH_RECOGNIZE clauses with random rows, as text that the product and the oracle both read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.families.rows.conformance import comparable
from tests.oracle.rows.clause import run as oracle
from tests.oracle.rows.matches import SkipError

LABELS = "ABC"
COLUMNS = ("p", "id", "x", "s")
TYPES = {"p": pa.int32(), "id": pa.int64(), "x": pa.int32(), "s": pa.string()}


@dataclass(frozen=True)
class Case:
    """A clause and the rows that it runs over."""

    clause: str
    rows: tuple[tuple[Any, ...], ...]
    features: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def sql(self) -> str:
        return f"SELECT * FROM t MATCH_RECOGNIZE (\n{self.clause}\n)"

    def table(self) -> pa.Table:
        columns = list(zip(*self.rows, strict=True)) or [[] for _ in COLUMNS]
        return pa.table({name: pa.array(values, TYPES[name]) for name, values in zip(COLUMNS, columns, strict=True)})

    def expected(self) -> Counter[tuple[Any, ...]] | None:
        """The rows by the oracle; None: AFTER MATCH SKIP has nowhere to go."""
        try:
            return comparable(oracle(self.clause, COLUMNS, self.rows, unit_us=1_000_000)[1])
        except SkipError:
            return None


def patterns() -> st.SearchStrategy[str]:
    quantifier = st.sampled_from(["", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{2,}?", "{,2}"])
    leaves = st.sampled_from([*LABELS, *LABELS, *LABELS, "()", "^", "$"])

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.lists(inner, min_size=2, max_size=3).map(" ".join),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({' | '.join(parts)})"),
            st.tuples(inner, quantifier).map(lambda pair: f"({pair[0]}){pair[1]}"),
            st.lists(inner, min_size=2, max_size=2).map(lambda parts: f"PERMUTE({', '.join(parts)})"),
        )

    labelled = st.tuples(st.sampled_from(LABELS), quantifier).map("".join)
    return st.recursive(st.one_of(labelled, leaves), grow, max_leaves=5).filter(
        lambda p: any(label in p for label in LABELS)
    )


CONDITIONS = [
    "x > 1",
    "x IS NOT NULL",
    "s = 'a'",
    "x < PREV(x)",
    "x >= PREV(x, 2)",
    "x <= NEXT(x)",
    "PREV(x) IS NULL",
    "x > A.x",
    "x = FIRST(x)",
    "x <> LAST(B.x, 1)",
    "x > PREV(LAST(A.x), 1)",
    "count(*) < 3",
    "count(B.*) <= 1",
    "sum(x) < 5",
    "sum(A.x) >= x",
    "avg(B.x) < 2 OR x = 0",
    "max(x) - min(x) <= 2",
    "PREV(CLASSIFIER()) = 'A'",
    "LAST(CLASSIFIER(), 1) <> 'B'",
    "MATCH_NUMBER() < 3",
    "x > coalesce(C.x, 1)",
    "U.x <= x",
    "x + A.x > 2 AND s <> 'b'",
    "upper(s) = 'A' OR x > FIRST(A.x)",
]
# No compiled code can hold these.
INTERPRETED = ["max(CLASSIFIER()) = 'B'", "count(DISTINCT x) < 3", "max(x - MATCH_NUMBER()) < 2"]

MEASURES = [
    "MATCH_NUMBER() AS m0",
    "CLASSIFIER() AS m1",
    "x AS m2",
    "A.x AS m3",
    "FINAL LAST(B.x) AS m4",
    "FIRST(x, 1) AS m5",
    "PREV(x) AS m6",
    "NEXT(FIRST(A.id)) AS m7",
    "count(*) AS m8",
    "FINAL count(B.*) AS m9",
    "sum(x) AS m10",
    "FINAL avg(A.x) AS m11",
    "max(s) AS m12",
    "min(B.x) AS m13",
    "array_agg(x) AS m14",
    "FINAL array_agg(CLASSIFIER()) AS m15",
    "coalesce(A.x, -1) + 1 AS m16",
    "LAST(CLASSIFIER(), 1) AS m17",
    "NEXT(CLASSIFIER()) AS m18",
    "sum(MATCH_NUMBER()) AS m19",
    "U.x AS m20",
    "'k' AS m21",
    "PREV(LAST(U.id, 1), 1) AS m22",
    "FINAL max(U.x) AS m23",
]

SKIPS = ["", "AFTER MATCH SKIP PAST LAST ROW", "AFTER MATCH SKIP TO NEXT ROW"]
SKIPS_TO = ["AFTER MATCH SKIP TO FIRST {}", "AFTER MATCH SKIP TO LAST {}", "AFTER MATCH SKIP TO {}"]
# After the first key, which streams take for the time.
ORDERS = ["", " DESC", " NULLS LAST", " DESC NULLS FIRST", ", x DESC", ", s NULLS LAST, x"]
ROWS = [
    "",
    "ONE ROW PER MATCH",
    "ALL ROWS PER MATCH",
    "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
]


@st.composite
def cases(draw: st.DrawFn, *, max_rows: int = 9) -> Case:
    pattern = draw(patterns())
    present = [label for label in LABELS if label in pattern]
    rows = draw(st.sampled_from(ROWS))
    if "UNMATCHED" not in rows and draw(st.integers(0, 3)) == 0:
        label = draw(st.sampled_from(present))
        pattern = pattern.replace(label, f"{{- {label} -}}", 1)
    conditions = st.sampled_from([*CONDITIONS, *CONDITIONS, *INTERPRETED])
    known = {"A.": "A", "B.": "B", "C.": "C", "U.": "U"}
    usable = {*present, "U"}

    def fits(text: str) -> bool:
        return all(name in usable for mark, name in known.items() if mark in text)

    define = {label: draw(conditions.filter(fits)) for label in present if draw(st.integers(0, 4)) > 0}
    # Without measures, ONE ROW PER MATCH may have no column.
    measures = draw(st.lists(st.sampled_from(MEASURES).filter(fits), min_size=1, max_size=5, unique=True))
    skip = draw(st.sampled_from([*SKIPS, *SKIPS, *SKIPS_TO])).format(draw(st.sampled_from([*present, "U"])))
    within = draw(st.sampled_from(["", "", "", " WITHIN 3 seconds"]))
    order = "ORDER BY id" + ("" if within else draw(st.sampled_from(ORDERS)))
    lines = [
        draw(st.sampled_from(["PARTITION BY p", ""])),
        order,
        f"MEASURES {', '.join(measures)}" if measures else "",
        rows,
        skip,
        f"PATTERN ({pattern}){within}",
        f"SUBSET U = ({', '.join(draw(st.permutations(present))[:2])})",
        "DEFINE " + ", ".join(f"{label} AS {condition}" for label, condition in define.items()) if define else "",
    ]
    n = draw(st.sampled_from([max_rows, max_rows - 2, max_rows, 1, 0, 4]))
    ids = draw(st.permutations(range(n)))
    if draw(st.booleans()):
        # Tied: neighbours in time have the same one, whatever their places.
        width = draw(st.integers(2, 4))
        ids = [i // width for i in ids]
    nullable = draw(st.booleans()) and not within
    made = [
        (
            draw(st.sampled_from([1, 1, 2, None])),
            None if nullable and i == 0 else i,
            draw(st.sampled_from([0, 1, 2, 3, 1, 2, None])),
            draw(st.sampled_from(["a", "b", "a", None])),
        )
        for i in ids
    ]
    features = [rows or "ONE ROW PER MATCH", " ".join(skip.split()[2:5]), "WITHIN" if within else "no window"]
    features += ["tied" if len(set(ids)) < n else "no ties"]
    features += ["interpreted" if set(define.values()) & set(INTERPRETED) else "compiled"]
    return Case("\n".join(line for line in lines if line), tuple(made), tuple(f for f in features if f))
