"""Random interval tables with random relations, for the product and the oracle."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import eventide as ev
from eventide.lang.relations import RELATIONS
from tests.oracle import allen as oracle

LEFT = pa.schema({"key": pa.string(), "from": pa.int64(), "to": pa.int64(), "n": pa.int64()})
RIGHT = pa.schema({"until": pa.int64(), "word": pa.string(), "since": pa.int64(), "key": pa.string()})
POINTS = {"left": ["before", "starts", "during", "met-by", "after", "equals"]}
POINTS["right"] = ["after", "started-by", "contains", "meets", "before", "equals"]


@dataclass(frozen=True, repr=False)
class Case:
    """Two tables, and what is asked of them; times in seconds."""

    left: tuple[dict[str, Any], ...]
    right: tuple[dict[str, Any], ...]
    relations: tuple[str, ...]
    within: int | None
    is_partitioned: bool
    points: str | None = None

    def __repr__(self) -> str:
        shown = [
            " ".join(f"{r[a]}-{r[b]}/{r['key']}" for r in rows)
            for rows, (a, b) in zip((self.left, self.right), self.times, strict=True)
        ]
        asked = f"{'|'.join(self.relations)} within={self.within} partitioned={self.is_partitioned}"
        return f"{asked} points={self.points} [{shown[0]}] [{shown[1]}]"

    @property
    def times(self) -> tuple[tuple[str, str], tuple[str, str]]:
        left = ("from", "from") if self.points == "left" else ("from", "to")
        return left, ("since", "since") if self.points == "right" else ("since", "until")

    @property
    def arguments(self) -> dict[str, Any]:
        left, right = self.times
        return {
            "relations": " | ".join(self.relations),
            "within": None if self.within is None else f"{self.within} seconds",
            "partition_by": "key" if self.is_partitioned else (),
            "left_times": left[0] if self.points == "left" else left,
            "right_times": right[0] if self.points == "right" else right,
        }

    def tables(self) -> tuple[pa.Table, pa.Table]:
        return pa.Table.from_pylist(list(self.left), LEFT), pa.Table.from_pylist(list(self.right), RIGHT)

    def run(self, left: Any, right: Any, **options: Any) -> Any:
        return ev.allen(left, right, **self.arguments, **options)

    def expected(self) -> Counter[tuple[Any, ...]]:
        left, right = self.times
        partition = ["key"] if self.is_partitioned else []
        rows = oracle.relate(
            self.left,
            self.right,
            self.relations,
            within=self.within,
            partition_by=partition,
            left_times=left,
            right_times=right,
        )
        return found(rows)


def found(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(sorted(row.items(), key=lambda item: item[0])) for row in rows)


@st.composite
def cases(draw: st.DrawFn, *, most: int = 8, bounded: bool = False) -> Case:
    last = draw(st.sampled_from([4, 9, 25]))
    keys = draw(st.sampled_from([["a"], ["a", "b", None]]))

    def times() -> tuple[int, int]:
        start = draw(st.integers(0, last))
        return start, draw(st.integers(start, min(start + draw(st.sampled_from([1, 3, last])), last)))

    def some(names: tuple[str, str], label: str) -> tuple[dict[str, Any], ...]:
        rows = []
        for i in range(draw(st.integers(0, most))):
            start, end = times()
            rows.append({"key": draw(st.sampled_from(keys)), names[0]: start, names[1]: end, label: f"{label}{i}"})
        return tuple(rows)

    points = draw(st.sampled_from([None, None, None, "left", "right"]))
    possible = POINTS[points] if points else list(RELATIONS)
    left = tuple(row | {"n": i} for i, row in enumerate(some(("from", "to"), "n")))
    window = st.integers(1, last + 1)
    return Case(
        left=left,
        right=some(("since", "until"), "word"),
        relations=tuple(draw(st.lists(st.sampled_from(possible), min_size=1, unique=True))),
        within=draw(window if bounded else st.none() | window),
        is_partitioned=draw(st.booleans()),
        points=points,
    )
