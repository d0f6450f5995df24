"""DataFrames of pandas-on-Spark are those of Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import eventide as ev

PATTERN = ev.Pattern.begin("a", "kind = 'A'").followed_by("b", "kind = 'B'")
SITUATIONS = ev.query("DEFINE A AS kind = 'A', B AS kind = 'B' PATTERN A meets B", ts_unit="s")
RUNS: dict[str, Callable[[Any], Any]] = {
    "query": ev.query("PATTERN SEQ(A a, B b) RETURN a.ts", ts_unit="s", type="kind").run,
    "one by type": lambda frame: ev.query("PATTERN SEQ(A a, B b) RETURN a.ts", ts_unit="s").run(A=frame, B=frame),
    "sql": lambda frame: ev.sql("SELECT ts FROM t WHERE kind = 'A'", t=frame),
    "clause": ev.match_recognize(order_by="ts", pattern="A", define={"A": "kind = 'A'"}, measures={"t": "A.ts"}),
    "builder": lambda frame: ev.detect(frame, PATTERN, ts_unit="s").matches,
    "intervals": lambda frame: ev.intervals.threshold(frame, "kind = 'A'", ts_unit="s"),
    "allen": lambda frame: ev.allen(frame, frame, "before", start="ts", end="ts", ts_unit="s"),
}


@pytest.mark.spark
def test_every_entry_takes_them(spark: Any, tmp_path: Path) -> None:
    given = spark.createDataFrame([(1, "A"), (2, "B")], "ts long, kind string").pandas_api()
    for name, run in RUNS.items():
        assert run(given).columns, name
    assert RUNS["query"](given).toArrow().to_pylist() == [{"a_ts": 1, "detected_at": 2}]
    assert SITUATIONS.situations(given).num_rows == 2
    (tmp_path / "one.query").write_text("PATTERN SEQ(A a, B b) WITHIN 5 seconds RETURN a.ts")
    rules = ev.RuleSet(tmp_path, ts_unit="s", type="kind")
    assert rules.check(given) == {}
    assert "rule" in rules.run(given).columns
    with pytest.raises(ev.InputError, match="only a stream has late events"):
        ev.query("PATTERN A a", ts_unit="s", type="kind").late(given)
