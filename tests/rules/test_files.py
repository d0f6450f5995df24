"""Which files are rules, and how Spark's source turns them into offsets and changes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import eventide as ev
from eventide.engines.rule_files import Rules, make_differ, make_marker, make_reader
from tests.rules.bucket import OPTIONS, SCHEMA


def read(path: Path, before: Rules | None = None) -> Rules:
    return make_reader()(str(path), before or {})


def test_files_by_their_endings_with_options_beside_them(tmp_path: Path) -> None:
    for name, text in {
        "b.query": "PATTERN A",
        "a.sql": "SELECT 1",
        "c.evq": "PATTERN C",
        "a.json": '{"state_ttl": "1 day"}',
        ".hidden.query": "x",
        "_half.query": "x",
        "notes.txt": "x",
        "lonely.json": "{}",
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder.query.d").mkdir()
    found = read(tmp_path)
    assert list(found) == ["a", "b", "c"]
    assert found["c"] == {"query": "PATTERN C", "options": None}
    assert found["a"] == {"query": "SELECT 1", "options": '{"state_ttl": "1 day"}'}
    assert found["b"] == {"query": "PATTERN A", "options": None}


def test_an_empty_file_is_one_that_is_being_written(tmp_path: Path) -> None:
    (tmp_path / "a.query").write_text("  \n")
    (tmp_path / "b.query").write_text("")
    before = {"a": {"query": "PATTERN A", "options": None}}
    assert read(tmp_path, before) == before


def test_a_folder_that_is_gone_leaves_the_rules_as_they_were(tmp_path: Path) -> None:
    before = {"a": {"query": "PATTERN A", "options": None}}
    assert read(tmp_path / "gone", before) == before


def test_a_file_that_cannot_be_read_is_a_rule_with_a_problem(tmp_path: Path) -> None:
    (tmp_path / "a.query").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "b.query").write_text("PATTERN A")
    (tmp_path / "b.sql").write_text("SELECT 1")
    found = read(tmp_path)
    assert "UnicodeDecodeError" in found["a"]["unreadable"]
    assert found["b"]["unreadable"] == "there are b.query and b.sql"
    (tmp_path / "b.evq").write_text("PATTERN B")
    assert read(tmp_path)["b"]["unreadable"] == "there are b.evq and b.query and b.sql"


def test_a_folder_whose_files_are_no_rules_is_an_error_and_an_empty_one_is_not(tmp_path: Path) -> None:
    rules = ev.RuleSet(tmp_path, ts_unit="s", type="kind")
    events = [{"ts": 1, "kind": "A"}]
    assert rules.check(events) == {} and rules.run(events).num_rows == 0
    (tmp_path / "_draft.evq").write_text("PATTERN A")
    assert rules.run(events).num_rows == 0
    (tmp_path / "rise.txt").write_text("PATTERN A")
    for call in (rules.check, rules.run):
        with pytest.raises(ev.InputError, match=r"for example rise\.txt is not") as caught:
            call(events)
        assert ".evq, .query or .sql" in str(caught.value.hint)
    (tmp_path / "rise.evq").write_text("PATTERN A")
    assert rules.run(events)["rule"].to_pylist() == ["rise"]


def test_one_file_holds_all_rules_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({"b": {"query": "y"}, "a": {"query": "x"}}))
    assert list(read(path)) == ["a", "b"]


def test_changes_are_what_differs() -> None:
    before = {"a": {"query": "1", "options": None}, "b": {"query": "2", "options": None}}
    after = {"b": {"query": "2", "options": "{}"}, "c": {"query": "3", "options": None}}
    assert make_differ()(before, after) == {"a": None, "b": after["b"], "c": after["c"]}
    assert make_differ()(after, after) == {}


@pytest.fixture
def reader(tmp_path: Path) -> Any:
    pytest.importorskip("pyspark")
    from eventide.engines.spark.rules_source import make_source

    source = make_source()({"path": str(tmp_path), "labels": "[0, 4]"})
    return source.streamReader(None)


def test_the_offset_is_the_whole_set_and_a_batch_reads_what_changed(tmp_path: Path, reader: Any) -> None:
    start = reader.initialOffset()
    assert reader.latestOffset(start, None) == start
    (tmp_path / "b.query").write_text("PATTERN B")
    first = reader.latestOffset(start, None)
    (tmp_path / "a.query").write_text("PATTERN A")
    (tmp_path / "b.query").unlink()
    second = json.loads(json.dumps(reader.latestOffset(first, None)))
    (tmp_path / "a.query").unlink()  # what is replayed does not depend on the folder
    (partition,) = reader.partitions(first, second)
    rows = list(reader.read(partition))
    assert [row[:2] for row in rows] == [(0, None), (4, None)]
    assert {json.dumps(json.loads(row[2]), sort_keys=True) for row in rows} == {
        json.dumps({"a": {"query": "PATTERN A", "options": None}, "b": None}, sort_keys=True)
    }
    assert reader.partitions(second, second) == []


def test_equal_sets_are_equal_as_texts(tmp_path: Path, reader: Any) -> None:
    for name in ("c", "a", "b"):
        (tmp_path / f"{name}.query").write_text(f"PATTERN {name}")
    first = reader.latestOffset(reader.initialOffset(), None)
    (tmp_path / "a.query").unlink()
    (tmp_path / "a.query").write_text("PATTERN a")
    assert json.dumps(reader.latestOffset(first, None)) == json.dumps(first)


def test_a_run_with_an_end_takes_the_rules_as_they_are_at_its_start(tmp_path: Path, reader: Any) -> None:
    reader.prepareForTriggerAvailableNow()
    (tmp_path / "a.query").write_text("PATTERN A")
    first = reader.latestOffset(reader.initialOffset(), None)
    (tmp_path / "b.query").write_text("PATTERN B")
    assert reader.latestOffset(first, None) == first and list(first["rules"]) == ["a"]


def test_a_file_of_rules_is_read_while_a_living_process_has_signed(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    from eventide.engines.spark.rules_source import is_read, make_source

    path = tmp_path / "rules.json"
    path.write_text("{}")
    (tmp_path / "rules.json.readers").mkdir()
    assert not is_read(str(path))
    ended = subprocess.Popen(["true"])
    ended.wait()
    (tmp_path / "rules.json.readers" / str(ended.pid)).touch()
    assert not is_read(str(path)) and not list((tmp_path / "rules.json.readers").iterdir())
    reader: Any = make_source()({"path": str(path), "labels": "[0]"}).streamReader(None)
    reader.latestOffset(reader.initialOffset(), None)
    assert is_read(str(path))
    reader.stop()
    assert not is_read(str(path))


def test_the_source_travels_without_the_package(reader: Any) -> None:
    from pyspark import cloudpickle

    from eventide.engines.spark.rules_source import make_source

    # What is imported by name would have to be there, where Spark runs the source.
    assert b"eventide.engines" not in _imports(cloudpickle.dumps(make_source()))


def test_what_runs_buckets_travels_without_the_package() -> None:
    from pyspark import cloudpickle

    from eventide.engines.rules import share
    from eventide.engines.spark.bucket import make_processor
    from eventide.engines.spark.rules_bucket import RuleBucket, RuleWork

    work = RuleWork(share(SCHEMA, OPTIONS), 4, None)
    pickled = cloudpickle.dumps(make_processor(work, RuleBucket, None))
    assert not any(name.startswith(b"eventide") for name in _imports(pickled).splitlines())


def _imports(pickled: bytes) -> bytes:
    """The modules that are imported when this is unpickled."""
    import pickletools

    names: list[bytes] = []
    strings: list[str] = []
    for code, argument, _ in pickletools.genops(pickled):
        if code.name in ("SHORT_BINUNICODE", "BINUNICODE", "MEMOIZE") and isinstance(argument, str):
            strings.append(argument)
        elif code.name == "STACK_GLOBAL":
            names.append(strings[-2].encode())
        elif code.name == "GLOBAL":
            names.append(str(argument).encode())
    return b"\n".join(names)


def written(query: str, **more: Any) -> dict[str, Any]:
    return {"query": query, "options": None, **more}


def failure(bucket: int, query: str, problem: str) -> dict[str, Any]:
    return {"bucket": bucket, "rule": "a", "problem": problem, **written(query)}


def test_a_rule_that_failed_stays_so_until_it_is_written_anew() -> None:
    mark = make_marker()
    failed = mark({"a": written("x"), "b": written("x")}, {}, [failure(5, "x", "late"), failure(2, "x", "first")])
    assert failed == {"a": written("x", failed="first"), "b": written("x")}
    assert mark({"a": written("x"), "b": written("x")}, failed, []) == failed
    # A file that is being written anew is read as it was, with what failed.
    assert mark(failed, failed, []) == failed
    assert mark({"a": written("y")}, failed, []) == {"a": written("y")}
    assert mark({"a": written("x")}, {"a": written("y")}, []) == {"a": written("x")}


def test_a_failure_of_a_text_that_was_replaced_meanwhile_is_nobodys() -> None:
    assert make_marker()({"a": written("y")}, {"a": written("x")}, [failure(0, "x", "!")]) == {"a": written("y")}
    other = failure(0, "y", "!") | {"options": "{}"}
    assert make_marker()({"a": written("y")}, {}, [other]) == {"a": written("y")}


def test_the_source_takes_each_failure_once(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    from eventide.engines.spark.rules_source import make_source

    (tmp_path / "a.query").write_text("x")
    failures = tmp_path / "failures"
    failures.write_text(json.dumps(failure(0, "x", "of an earlier run")) + "\n")
    reader = make_source()({"path": str(tmp_path), "labels": "[0]", "failures": str(failures)}).streamReader(None)
    started = reader.latestOffset({"rules": {}}, None)
    assert started == {"rules": {"a": written("x")}}
    with failures.open("a") as file:
        file.write(json.dumps(failure(0, "x", "now")) + "\n")
    failed = reader.latestOffset(started, None)
    assert failed == {"rules": {"a": written("x", failed="now")}}
    (partition,) = reader.partitions(started, failed)
    assert json.loads(partition.value[1]) == {"a": written("x", failed="now")}
    assert reader.latestOffset(failed, None) == failed
    (tmp_path / "a.query").write_text("x again")
    anew = reader.latestOffset(failed, None)
    (tmp_path / "a.query").write_text("x")
    assert reader.latestOffset(anew, None) == started


def test_a_set_of_texts_is_no_folder() -> None:
    with pytest.raises(ev.EventideError, match="a rule set reads a folder, found dict"):
        ev.RuleSet({"a": "PATTERN A a"})  # type: ignore[arg-type]
