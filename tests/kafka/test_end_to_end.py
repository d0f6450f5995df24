"""Events from a real Kafka broker through a query to another topic, as batch finds them, whatever is in the way."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.kafka.artifacts import ROOT, broker_jars, connector_jars
from tests.kafka.program import HALF, SECRET, events, query
from tests.kafka.records import BROKEN, CHANGED, avro_records, orders

pytestmark = pytest.mark.spark

Facts = dict[str, Any]


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    # Fetched here, so that what cannot be fetched is the test's own message.
    broker_jars(), connector_jars()
    target = tmp_path_factory.mktemp("kafka") / "facts.json"
    command = [sys.executable, "-m", "tests.kafka.program", str(target)]
    # A few hundred events are matched before kernels would be compiled.
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:]
    print(done.stdout)
    found: Facts = json.loads(target.read_text())
    return found


def matches(rows: list[dict[str, Any]]) -> list[list[object]]:
    """Rows of matches, each once, with times as times."""
    by_id = {row["match_id"]: row for row in rows}
    return sorted([key, _time(row["login"]), row["L_user"], row["B_amount"]] for key, row in by_id.items())


def _time(value: Any) -> datetime:
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)


def test_matches_in_the_topic_are_those_of_batch_and_have_their_match_id_as_key(facts: Facts) -> None:
    records = facts["run_through_an_outage"]["matches"]
    rows = [json.loads(value) for _, value in records]
    expected = query().run(events()).to_pylist()
    assert len(expected) > 20
    assert matches(rows) == matches(expected)
    assert [key for key, _ in records] == [row["match_id"] for row in rows]


def test_a_query_outlives_a_broker_that_goes_away(facts: Facts) -> None:
    assert facts["run_through_an_outage"]["survived"]


def test_passwords_of_the_options_are_neither_shown_nor_kept(facts: Facts) -> None:
    told = facts["run_through_an_outage"]["told"]
    assert all(told.values()) and "eventide_matches_total" in told["metrics"]
    assert [name for name, text in told.items() if SECRET in text or SECRET.encode().hex() in text] == []


def test_the_query_that_reads_events_counts_bad_records(facts: Facts) -> None:
    found = facts["run_through_an_outage"]
    assert found["events"] == len(events()) == 2 * HALF + 1
    assert found["bad_records"] == len(BROKEN) + len(CHANGED)


def seen(facts: Facts, topic: str) -> tuple[list[Facts], list[Facts]]:
    """The topic's records, and what the stream made of each, in the same order; each record was seen once."""
    found = facts["run_all_formats"]
    place = ("topic", "partition", "offset", "timestamp_ms")
    rows = {tuple(row[name] for name in place): row["columns"] for row in found["rows"] if row["topic"] == topic}
    assert len(rows) == sum(row["topic"] == topic for row in found["rows"])
    records = [record for record in found["topics"] if record["topic"] == topic]
    assert rows.keys() == {tuple(record[name] for name in place) for record in records}
    return records, [rows[tuple(record[name] for name in place)] for record in records]


def check_bad(records: list[Facts], rows: list[Facts], broken: dict[bytes | None, str]) -> list[Facts]:
    """Exactly the broken records are bad, with their value and the reason; the other rows."""
    bad = {}
    for record, row in zip(records, rows, strict=True):
        if "reason" in row:
            value = base64.b64decode(row["value"]) if "value" in row else None
            assert value == (None if record["value"] is None else bytes.fromhex(record["value"]))
            bad[value] = row["reason"]
    assert bad == broken
    assert sum("reason" in row for row in rows) == len(broken)
    return [row for row in rows if "reason" not in row]


def test_each_json_record_is_an_event_or_bad_also_after_the_schema_changed(facts: Facts) -> None:
    good = check_bad(*seen(facts, "orders"), BROKEN | CHANGED)
    found = [(row["user"], _time(row["ts"]), row["kind"], row.get("amount")) for row in good]
    assert sorted(found, key=str) == sorted((tuple(event.values()) for event in events()), key=str)


def test_each_avro_record_is_an_event_or_bad(facts: Facts) -> None:
    good = check_bad(*seen(facts, "avro"), avro_records(orders(20))[1])
    found = [(row["user"], _time(row["ts"]), row["kind"], row.get("amount")) for row in good]
    assert found == [tuple(event.values()) for event in orders(20)]


def test_raw_records_are_events_with_kafkas_time(facts: Facts) -> None:
    records, rows = seen(facts, "raw")
    good = check_bad(records, rows, {b"\xff": "the value is not UTF-8 text"})
    assert [(row.get("key"), row.get("value")) for row in good] == [("k", "text"), (None, None)]
    assert [_time(row["ts"]).timestamp() for row in good] == [record["timestamp_ms"] / 1000 for record in records[:2]]


def test_records_that_kafka_deleted_before_they_were_read_stop_the_query(facts: Facts) -> None:
    found = facts["lose_data"]
    assert found["before"] is None
    assert "failOnDataLoss" in found["after"] and "lost" in found["after"]


def test_the_example_finds_purchases_and_keeps_bad_records(facts: Facts) -> None:
    found = facts["run_example"]
    rows = [json.loads(value) for value in found["purchases"]]
    assert rows and all(_time(row["login"]) < _time(row["bought"]) for row in rows)
    (bad,) = [json.loads(value) for value in found["shop-bad"]]
    assert base64.b64decode(bad["value"]) == b"junk"
    assert (bad["topic"], bad["reason"]) == ("shop", "the value is no JSON object")


def test_a_broker_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    program = "import sys, tests.kafka.guard as g; sys.exit(g.main([sys.executable, '-c', {sleep!r}]))"
    sleep = f"import os, time; open({str(tmp_path / 'id')!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    code = program.format(sleep=sleep)
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE) as guard:
        while not (tmp_path / "id").exists() or not (tmp_path / "id").read_text():
            assert guard.poll() is None
        assert guard.stdin is not None
        guard.stdin.close()
        assert guard.wait(30) != 0
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "id").read_text()), 0)
