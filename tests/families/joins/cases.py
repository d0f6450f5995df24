"""Random tables with random joins, for the product and the oracle."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import eventide as ev
from tests.oracle import joins as oracle

LEFT = pa.schema({"key": pa.string(), "at": pa.int64(), "n": pa.int64(), "x": pa.int64(), "seq": pa.int64()})
RIGHT = pa.schema({"x": pa.int64(), "key": pa.string(), "at": pa.int64(), "word": pa.string(), "seq": pa.int64()})
FAR = float("inf")
# In Spark SQL, and what it is in Python; NULL is not true.
CONDITIONS: dict[str, Any] = {
    "a.x <= b.x": lambda a, b: None not in (a["x"], b["x"]) and a["x"] <= b["x"],
    "a.x + b.x = 2 OR a.n = 0": lambda a, b: (None not in (a["x"], b["x"]) and a["x"] + b["x"] == 2) or a["n"] == 0,
    "a.n % 2 = 0": lambda a, b: a["n"] % 2 == 0,
    "b.x IS NULL OR b.x > 0": lambda a, b: b["x"] is None or b["x"] > 0,
    "b.word <> 'w1' AND a.x IS NOT NULL": lambda a, b: b["word"] != "w1" and a["x"] is not None,
}
FILTERS: dict[str, Any] = {
    "a.n <> 1": lambda a, b: a["n"] != 1,
    "b.x IS NULL": lambda a, b: b is None or b["x"] is None,
    "coalesce(b.x, 1) >= a.x": lambda a, b: (
        a["x"] is not None and (1 if b is None or b["x"] is None else b["x"]) >= a["x"]
    ),
}


@dataclass(frozen=True)
class Case:
    """Two tables, and what is asked of them; times in seconds. `within` is (before, after), or None."""

    left: tuple[dict[str, Any], ...]
    right: tuple[dict[str, Any], ...]
    kind: str = "inner"
    asof: str | None = None
    within: tuple[int | None, int | None] | None = None
    is_keyed: bool = True
    condition: str | None = None
    where: str | None = None
    all_ties: bool = False
    sequence: bool = False
    closes: bool = True

    def text(self) -> str:
        words = [self.kind, *(["asof", self.asof] if self.asof else []), *(["all"] if self.all_ties else [])]
        text = f"FROM l a {' '.join(words)} JOIN r b"
        conditions = [
            *(["a.key = b.key"] if self.is_keyed else []),
            *([f"({self.condition})"] if self.condition else []),
        ]
        if conditions:
            text += f" ON {' AND '.join(conditions)}"
        if self.where:
            text += f" WHERE {self.where}"
        if self.within is not None:
            before, after = self.within
            if before == after:
                text += f" WITHIN {after} seconds"
            elif None not in self.within:
                text += f" WITHIN {before} seconds BEFORE AND {after} seconds AFTER"
            else:
                text += f" WITHIN {after} seconds AFTER" if before is None else f" WITHIN {before} seconds BEFORE"
        shown = (
            "a.key AS k, a.n AS n"
            if self.kind in ("semi", "anti")
            else "a.key AS k, a.n AS n, b.word AS word, b.at AS t"
        )
        return f"{text} RETURN {shown}"

    def query(self, **options: Any) -> ev.Query:
        given = {"ts": "at", "close_at_end": self.closes or None, "sequence": "seq" if self.sequence else None}
        return ev.query(self.text(), **{**given, **options})

    def tables(self) -> tuple[pa.Table, pa.Table]:
        return pa.Table.from_pylist(list(self.left), LEFT), pa.Table.from_pylist(list(self.right), RIGHT)

    def run(self, **options: Any) -> Counter[tuple[Any, ...]]:
        left, right = self.tables()
        return found(self.query(ts_unit="s", **options).run(l=left, r=right).to_pylist())

    def expected(self) -> Counter[tuple[Any, ...]]:
        asked: dict[str, Any] = {"ts": "at", "on": [("key", "key")] if self.is_keyed else []}
        if self.condition:
            asked["condition"] = CONDITIONS[self.condition]
        if self.asof:
            within = FAR if self.within is None else self.within[0]
            asked |= {"within": within, "all_ties": self.all_ties, "order": self.order}
            results = oracle.as_of(self.left, self.right, self.kind, self.asof, **asked)
        else:
            before, after = (FAR, FAR) if self.within is None else self.within
            sequence = "seq" if self.sequence else None
            results = oracle.band(
                self.left, self.right, self.kind, before=before, after=after, sequence=sequence, **asked
            )
        times = [row["at"] for row in (*self.left, *self.right)]
        # Without WITHIN there is no time to wait for: the tables are all there is.
        is_over = self.closes or self.within is None
        results = oracle.until(results, None if is_over else max(times, default=0))
        if self.where:
            results = [each for each in results if FILTERS[self.where](each[0], each[1])]
        return found([self.row(*each) for each in results])

    def order(self, row: dict[str, Any]) -> Any:
        """Of tied right rows: by the sequence, then by the columns that are read, in the order of the table."""
        names = [*(["seq"] if self.sequence else []), *(["x"] if self.reads_x else []), "word"]
        return [(row[name] is not None, row[name] if row[name] is not None else 0) for name in names]

    @property
    def reads_x(self) -> bool:
        return "b.x" in f"{self.condition} {self.where}"

    def row(self, left: dict[str, Any], right: dict[str, Any] | None, decided: int | None) -> dict[str, Any]:
        row = {"k": left["key"], "n": left["n"], "detected_at": decided}
        if self.kind in ("semi", "anti"):
            return row
        return row | {"word": right and right["word"], "t": right and right["at"]}


def found(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(sorted(row.items(), key=lambda item: item[0])) for row in rows)


def few_texts(case: Case) -> Case:
    """The case without what is compiled for it alone."""
    return replace(case, condition=None, where=None)


@st.composite
def cases(draw: st.DrawFn, *, most: int = 8, bounded: bool = False) -> Case:
    last = draw(st.sampled_from([3, 9, 25]))
    keys = draw(st.sampled_from([["a"], ["a", "b", None]]))
    small = st.sampled_from([None, 0, 1, 2])

    def some(letter: str) -> tuple[dict[str, Any], ...]:
        rows = []
        for i in range(draw(st.integers(0, most))):
            row = {"key": draw(st.sampled_from(keys)), "at": draw(st.integers(0, last)), "x": draw(small)}
            rows.append(
                row | {"seq": draw(small), "n": i} if letter == "n" else row | {"seq": draw(small), "word": f"w{i}"}
            )
        return tuple(rows)

    left, right = some("n"), some("w")
    kind = draw(st.sampled_from(["inner", "inner", "left", "semi", "anti"]))
    asof = draw(st.sampled_from([None, None, "backward", "forward", "nearest"]))
    length = st.integers(1, last + 2)
    same = length.map(lambda w: (w, w))
    ways = (
        same if asof else same | st.tuples(length, length) | st.tuples(st.none(), length) | st.tuples(length, st.none())
    )
    within = draw(ways if bounded else st.none() | ways)
    sequence = draw(st.booleans()) and (asof is not None or (within is not None and None in within))
    filters = [name for name in FILTERS if "b." not in name] if kind in ("semi", "anti") else list(FILTERS)
    return Case(
        left=left,
        right=right,
        kind=kind,
        asof=asof,
        within=within,
        is_keyed=draw(st.booleans()),
        condition=draw(st.none() | st.sampled_from(list(CONDITIONS))),
        where=draw(st.none() | st.sampled_from(filters)),
        all_ties=asof is not None and kind in ("inner", "left") and draw(st.booleans()),
        sequence=sequence,
        closes=draw(st.booleans()),
    )
