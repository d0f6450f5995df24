"""No PySpark, no Java, workers with another Python: one message each, with the line that mends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eventide.engines.spark import ship
from eventide.engines.spark.errors import user_message
from eventide.engines.spark.session import check_java
from eventide.engines.spark.ship import use_this_python
from eventide.errors import InputError

# Every way to Spark, in a process where the named modules are missing: what is said, and how it ends.
_CALLS = """
import contextlib, io, json, sys
missing = json.loads(sys.argv[1])
for name in missing:
    sys.modules[name] = None
import eventide as ev
from eventide.cli import app as cli

def command(*words):
    sys.argv = ["eventide", *words]
    with contextlib.redirect_stderr(io.StringIO()) as err, contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            cli.main()
        except SystemExit as stop:
            return stop.code, out.getvalue() + err.getvalue()

def raised(call):
    try:
        call()
    except ev.InputError as error:
        return 2, "Error: " + str(error)

options = ["--ts-unit", "s", "--type", "kind"]
query = ev.query("PATTERN A a", ts_unit="s", type="kind")
rows = ev.match_recognize(pattern="A", measures={"x": "A.x"}, order_by="ts")
session = type("Session", (), {"sql": None, "readStream": None})()
calls = [
    command("run", "q.evq", "--input", "e.parquet", "--engine", "spark", *options),
    command("sql", "q.sql", "--table", "t=e.parquet", "--engine", "spark"),
    command("stream", "q.evq", "--from", "folder", "--to", "out", "--format", "json", "--once", *options),
]
if missing:
    calls += [
        raised(lambda: query.run("e.parquet", engine="spark")),
        raised(lambda: query.run("e.parquet", engine="spark", spark=session)),
        raised(lambda: ev.sql("SELECT 1", spark=session)),
        raised(lambda: rows("e.parquet", engine="spark", spark=session)),
        raised(lambda: ev.intervals.threshold("e.parquet", "x > 1", ts_unit="s", engine="spark", spark=session)),
        raised(lambda: ev.allen("e.parquet", "e.parquet", "before", engine="spark", spark=session)),
        raised(lambda: ev.metrics.serve(session)),
        raised(lambda: ev.kafka.read(session, "host:1", "topic", schema="x int")),
    ]
print(json.dumps(calls))
"""


def calls(folder: Path, *missing: str, **environment: str) -> list[tuple[int, str]]:
    (folder / "q.evq").write_text("PATTERN A a")
    (folder / "q.sql").write_text(
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS x PATTERN (A) DEFINE A AS x > 1)"
    )
    (folder / "folder").mkdir()
    pq.write_table(pa.table({"ts": [1], "kind": ["A"], "x": [2]}), folder / "e.parquet")
    clean = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    done = subprocess.run(
        [sys.executable, "-c", _CALLS, json.dumps(missing)],
        cwd=folder,
        env={**clean, "NUMBA_DISABLE_JIT": "1", **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [(code, said) for code, said in json.loads(done.stdout)]


@pytest.mark.parametrize(("module", "name"), [("pyspark", "PySpark"), ("pandas", "pandas")])
def test_without_pyspark_every_way_to_spark_names_the_install_line(tmp_path: Path, module: str, name: str) -> None:
    found = calls(tmp_path, module)
    assert len(found) == 11
    message = f"Error: {name} is not installed, and queries on Spark need it\nHint: pip install 'eventide[spark]'"
    for code, said in found:
        assert code == 2
        assert said.endswith((message, f"{message}\n")) and said.count("Error") == 1


def test_without_java_the_command_line_says_so(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for code, said in calls(tmp_path, PATH=str(tmp_path / "bin")):
        assert code == 2
        assert "Error: Spark did not start: there is no Java\nHint: it needs Java 17 or newer" in said
        assert "Traceback" not in said and said.count("Error") == 1


def test_a_java_home_without_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(InputError, match=f"no Java in JAVA_HOME, which is '{tmp_path}'\nHint: it needs Java 17"):
        check_java()


def session(python: str) -> Any:
    return SimpleNamespace(sparkContext=SimpleNamespace(pythonExec=python))


def executable(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_where_nobody_chose_a_python_the_workers_get_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    spark = session("python3")
    use_this_python(spark)
    assert spark.sparkContext.pythonExec == sys.executable


def test_a_python_without_eventide_that_was_chosen_is_named_with_the_line_that_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ship._has_package.cache_clear()
    other = executable(tmp_path / "python3", "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    for chosen in (other, "python3", str(tmp_path / "none")):
        monkeypatch.setenv("PYSPARK_PYTHON", chosen)
        with pytest.raises(InputError) as raised:
            use_this_python(session(chosen))
        assert f"Spark's workers run with '{chosen}', where Eventide is not installed" in str(raised.value)
        assert 'before the session starts: os.environ["PYSPARK_PYTHON"] = sys.executable' in str(raised.value)


def test_another_python_that_has_eventide_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = executable(tmp_path / "python", f'exec "{sys.executable}" "$@"')
    monkeypatch.setenv("PYSPARK_PYTHON", other)
    spark = session(other)
    use_this_python(spark)
    assert spark.sparkContext.pythonExec == other


def test_a_worker_that_cannot_import_eventide_is_told_in_one_message() -> None:
    trace = "Traceback (most recent call last):\n  File ...\nModuleNotFoundError: No module named '{}'\n\n\tat org.x"
    for module in ("eventide", "eventide.runtime", "numba"):
        said = str(user_message(RuntimeError(trace.format(module))))
        assert said.startswith(f"the Python of Spark's workers has no module '{module.split('.')[0]}'\nHint: ")
    assert user_message(RuntimeError(trace.format("mine"))) is None


@pytest.mark.spark
def test_tasks_of_a_local_session_run_with_the_python_that_runs_now(
    spark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import eventide as ev
    from eventide.engines.spark import run, ship
    from eventide.plan.choose import KEYS, forced

    def where(batches: Any) -> Any:
        import sys as of_worker

        import pyarrow as arrow

        for _ in batches:
            yield arrow.RecordBatch.from_pydict({"python": [of_worker.executable]})

    def as_if_new() -> None:
        monkeypatch.setattr(ship, "_shipped", set())
        monkeypatch.setattr(spark.sparkContext, "pythonExec", "python3")

    def blocks(*given: Any, **named: Any) -> Any:
        taken.append(spark.sparkContext.pythonExec)
        return cut(*given, **named)

    taken: list[str] = []
    cut = run.blocks_by_key
    query = ev.query("PATTERN A a", ts_unit="s", type="kind")
    monkeypatch.delenv("PYSPARK_PYTHON")
    monkeypatch.setattr(run, "blocks_by_key", blocks)
    pq.write_table(pa.table({"ts": [1], "kind": ["A"], "key": ["a"]}), tmp_path / "e.parquet")
    as_if_new()
    keyed = ev.query("PATTERN A a WHERE [key]", ts_unit="s", type="kind")
    with forced(KEYS):
        assert keyed.run(f"{tmp_path}/e.parquet", engine="spark", spark=spark, plan="kernels").count() == 1
    assert taken == [sys.executable], "before the first function is sent"
    as_if_new()
    assert query.run(spark.sql("SELECT 1L AS ts, 'A' AS kind"), plan="kernels").count() == 1
    assert spark.range(1).mapInArrow(where, "python string").first().python == sys.executable
