"""Rules on Spark: a stream whose rules change between micro-batches and across restarts, batches, and a table."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev
from tests.rules.bucket import OPTIONS, Stream, table

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark

SQL_SCHEMA = "user string, ts timestamp, kind string, amount int"
AB = "PATTERN SEQ(A a, B b) WITHIN 50 ms RETURN a.user, a.ts AS x, b.ts AS y"
AC = AB.replace("B b", "C b")
ROWS = (
    "SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES FIRST(A.ts) AS x, LAST(B.ts) AS y "
    "PATTERN (A B) WITHIN INTERVAL '50' MILLISECOND DEFINE A AS kind = 'A', B AS kind = 'B')"
)
FILES = [
    pa.concat_tables([table([(0, "A"), (9, "B"), (12, "A")], "u"), table([(3, "A"), (5, "C")], "v")]),
    pa.concat_tables([table([(20, "B"), (30, "C")], "u"), table([(25, "C"), (31, "A")], "v")]),
    pa.concat_tables([table([(40, "C"), (41, "B")], "u"), table([(42, "B"), (43, "C")], "v")]),
    table([(500, "X")], "w"),
]
Steps = list[dict[str, str | None]]
STEPS: Steps = [
    {"ab": AB, "broken": "PATTRN", "rows": ROWS},
    {"ac": AC, "broken": None},
    {"ab": AB + " -- in other words", "ac": AC.replace("50 ms", "30 ms")},
    {},
]


def write_rules(folder: Path, changes: dict[str, str | None]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in changes.items():
        path = folder / f"{name}.query"
        if text is None:
            path.unlink()
        else:
            (folder / ".new").write_text(text)
            (folder / ".new").rename(path)


def write_file(folder: Path, number: int) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(FILES[number], folder / f".{number}.parquet")
    os.rename(folder / f".{number}.parquet", folder / f"{number}.parquet")


class Running:
    """A query over `base/in`, to `base/out`.

    On a busy machine Spark gives up on a Python that starts slowly: then it is started again, as anybody would.
    """

    def __init__(self, spark: Any, base: Path, rules: Any) -> None:
        source = spark.readStream.schema(SQL_SCHEMA).parquet(str(base / "in"))
        found = rules.run(source)
        assert found.columns == ["rule", "detected_at", "match_id", "row", "problem"]
        writer = found.writeStream.format("parquet").option("path", str(base / "out"))
        self._writer = writer.option("checkpointLocation", str(base / "checkpoint"))
        self.query = self._writer.start()
        self.progress: list[Any] = []

    def settle(self) -> None:
        """Work off what is there."""
        for _ in range(5):
            try:
                self.query.processAllAvailable()
                break
            except Exception as error:
                if "failed to connect" not in str(error):
                    raise
            self.progress += self.query.recentProgress
            self.query = self._writer.start()
        self.progress += self.query.recentProgress

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.query.stop()


def rows_of(found: Any) -> Counter[Any]:
    return Counter((row["rule"], row["match_id"], row["row"], row["problem"]) for row in found)


def expected() -> Counter[Any]:
    """What one bucket gives that sees the same files with the same changes."""
    stream = Stream()
    return rows_of(row for events, changes in zip(FILES, STEPS, strict=True) for row in stream.step(events, **changes))


def test_rules_change_while_a_stream_runs_and_across_a_crash(spark: Any, tmp_path: Path) -> None:
    rules_folder = tmp_path / "rules"
    write_rules(rules_folder, STEPS[0])
    write_file(tmp_path / "in", 0)
    rules = ev.RuleSet(rules_folder, **OPTIONS)
    with Running(spark, tmp_path, rules) as running:
        running.settle()
        write_rules(rules_folder, STEPS[1])
        running.settle()
        write_file(tmp_path / "in", 1)
        running.settle()
    metrics = [metric for progress in running.progress for metric in progress.observedMetrics.values()]
    from eventide.engines.spark.counters import Counters

    counted = [Counters.parse(text) for metric in metrics for text in getattr(metric, "counters", ())]
    assert {counters.rule for counters in counted if counters.events} == {"ab", "ac", "rows"}
    # As if the process had ended before the last batch was committed: it is run again, with the rules of then.
    last = max((tmp_path / "checkpoint" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink()
    write_rules(rules_folder, STEPS[2])
    write_file(tmp_path / "in", 2)
    with Running(spark, tmp_path, ev.RuleSet(rules_folder, **OPTIONS)) as running:
        running.settle()
        write_file(tmp_path / "in", 3)
        running.settle()
    found = spark.read.parquet(str(tmp_path / "out"))
    assert rows_of(row.asDict() for row in found.collect()) == expected()
    typed = rules.rows(found, "ab")
    assert typed.dtypes == [
        ("a_user", "string"),
        ("x", "timestamp"),
        ("y", "timestamp"),
        ("detected_at", "timestamp"),
        ("match_id", "string"),
    ]
    assert typed.where("x IS NULL OR y <> detected_at").count() == 0 < typed.count()


def test_limits_of_the_set_hold_in_every_task_of_a_batch(spark: Any, tmp_path: Path) -> None:
    many = "PATTERN A a+ WITHIN 1 hour RETURN a.amount OPTIONS (max_matches_per_partition = unlimited)"
    write_rules(tmp_path / "rules", {"ab": AB, "many": many})
    events = pa.concat_tables([table([(i, "A") for i in range(12)] + [(13, "B")], user) for user in "uv"])
    rules = ev.RuleSet(tmp_path / "rules", n_buckets=2, max_matches_per_partition=500, **OPTIONS)
    found = rules.run(spark.createDataFrame(events)).collect()
    assert sum(row["rule"] == "ab" for row in found) == 24
    problems = [row["problem"] for row in found if row["problem"] is not None]
    assert problems and all("has more than 500 matches" in problem for problem in problems)


def test_a_rule_that_fails_in_one_bucket_is_off_in_all_from_the_next_batch_on_and_said_once(
    spark: Any, tmp_path: Path
) -> None:
    # Users of several buckets; the cast fails for the letters of some of them.
    once = "PATTERN SEQ(A a, B b) WHERE CAST(a.user AS INT) >= 0 WITHIN 50 ms RETURN a.user"
    users = [str(number) for number in range(8)]
    bad = ["x", "y", "z"]

    def file_of(number: int, some: list[str]) -> None:
        start_ms = 1000 * number
        events = [table([(start_ms, "A"), (start_ms + 1, "B"), (start_ms + 900, "X")], user) for user in some]
        FILES[number] = pa.concat_tables(events)
        write_file(tmp_path / "in", number)

    kept = list(FILES)
    write_rules(tmp_path / "rules", {"once": once, "ab": AB})
    try:
        file_of(0, users)
        with Running(spark, tmp_path, ev.RuleSet(tmp_path / "rules", n_buckets=4, **OPTIONS)) as running:
            running.settle()
            file_of(1, bad)
            running.settle()
            file_of(2, users)
            running.settle()
            counted = ev.metrics.of(running.query)["rules"]["once"]
        # As if the driver had been killed before the batch was committed that heard of the failure.
        forget_commits(tmp_path / "checkpoint", 2)
        with Running(spark, tmp_path, ev.RuleSet(tmp_path / "rules", n_buckets=4, **OPTIONS)) as running:
            running.settle()
            write_rules(tmp_path / "rules", {"once": once + " -- again"})
            file_of(3, users)
            running.settle()
    finally:
        FILES[:] = kept
    found = [row.asDict() for row in spark.read.parquet(str(tmp_path / "out")).collect()]
    mine = [row for row in found if row["rule"] == "once"]
    assert [row["problem"].split(":")[0] for row in mine if row["problem"]] == ["the events cannot be read"]
    starts = Counter(row["detected_at"].second - 20 for row in mine if not row["problem"])
    assert starts == {0: len(users), 3: len(users)}
    assert len([row for row in found if row["rule"] == "ab"]) == 3 * len(users) + len(bad)
    assert counted["problems"] == 1


def forget_commits(checkpoint: Path, n: int) -> None:
    """What a kill leaves behind: the last batches planned and not finished."""
    for path in sorted((checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))[-n:]:
        path.unlink()
        path.with_name(f".{path.name}.crc").unlink()


def test_a_batch_gives_the_rows_of_the_embedded_engine(spark: Any, tmp_path: Path) -> None:
    write_rules(tmp_path, {"ab": AB, "rows": ROWS, "broken": "PATTRN"})
    failing = AB.replace("WITHIN", "WHERE CAST(a.kind AS INT) < 1 WITHIN")
    write_rules(tmp_path, {"failing": failing})
    rules = ev.RuleSet(tmp_path, n_buckets=1, **OPTIONS)
    events = pa.concat_tables(FILES)
    found = rules.run(spark.createDataFrame(events))
    assert rows_of(row.asDict() for row in found.collect()) == rows_of(rules.run(events).to_pylist())
    typed, local = rules.rows(found, "rows").toArrow(), rules.rows(rules.run(events), "rows")
    assert typed.column_names == local.column_names == ["user", "x", "y", "match_id"]
    assert Counter(map(str, typed.to_pylist())) == Counter(map(str, local.to_pylist()))


def test_a_table_of_rules_is_followed_while_a_query_reads_it(spark: Any, tmp_path: Path) -> None:
    from eventide.engines.spark.rules_source import is_read

    def write_table(rows: list[tuple[str | None, ...]]) -> None:
        spark.createDataFrame(rows, "name string, query string, options string").createOrReplaceTempView("rules_table")

    write_table([("ab", AB, None), ("twice", AB, None), ("twice", AC, None)])
    write_file(tmp_path / "in", 0)
    rules = ev.RuleSet(table="rules_table", spark=spark, poll="300 ms", **OPTIONS)
    with Running(spark, tmp_path, rules) as running:
        running.settle()
        write_table([("ac", AC, '{"max_matches_per_partition": 100}')])
        copy = Path(rules._mirror.path)
        assert is_read(str(copy))
        wait_for(lambda: "ac" in json.loads(copy.read_text()))
        running.settle()
        for number in (1, 2, 3):  # the A that a C follows is in the first of them, the C in the second
            write_file(tmp_path / "in", number)
            running.settle()
    found = [row.asDict() for row in spark.read.parquet(str(tmp_path / "out")).collect()]
    assert {row["rule"]: row["problem"] for row in found} == {
        "ab": None,
        "ac": None,
        "twice": "the rule cannot be read: the table has 'twice' twice",
    }
    wait_for(lambda: not is_read(str(copy)))
    rules.stop()


def wait_for(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.1)
