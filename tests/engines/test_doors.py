"""What a query text cannot reach: files, Java, settings, the network; by any spelling, in every family."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.engines.database import connect, connect_confined

EVENTS = [{"ts": 1, "kind": "A", "x": 1, "s": "a"}, {"ts": 2, "kind": "B", "x": 2, "s": "b"}]
CLAUSE = "MATCH_RECOGNIZE (ORDER BY ts MEASURES count(*) AS n PATTERN (A+))"

# What stands in FROM, with {} for a file that is there.
SOURCES = [
    "read_csv('{}')",
    "read_csv_auto('{}')",
    "READ_TEXT('{}')",
    "read_blob('{}')",
    "read_json('{}')",
    "read_parquet(['{}'])",
    "sniff_csv('{}')",
    "parquet_metadata('{}')",
    "glob('{}*')",
    "query('SELECT * FROM ''{}''')",
    "query(\"SELECT * FROM read_text('{}')\")",
    "query(\"SELECT * FROM glob('{}*')\")",
    "query_table('{}')",
    "duckdb_secrets()",
    "duckdb_settings()",
    "pragma_database_list()",
    "'{}'",
    '"{}"',
    "`{}`",
    "csv.`{}`",
    "read_csv('http://127.0.0.1:9/x.csv')",
    "'http://127.0.0.1:9/x.parquet'",
    "information_schema.tables",
    "sqlite_scan('{}', 't')",
    "arrow_scan(1, 2, 3)",
    "TABLE(read_text('{}'))",
    "IDENTIFIER('{}')",
]
AROUND = [
    "SELECT * FROM {}",
    "SELECT * FROM (SELECT * FROM {}) AS q",
    "WITH c AS (SELECT * FROM {}) SELECT * FROM c",
    "SELECT * FROM t JOIN {} AS q ON true",
    "SELECT x FROM t WHERE x IN (SELECT 1 FROM {})",
    "SELECT (SELECT max(1) FROM {}) AS m FROM t",
    "SELECT x FROM t UNION ALL SELECT 1 FROM {}",
    "SELECT * FROM (SELECT * FROM {}) MATCH_RECOGNIZE (MEASURES count(*) AS n PATTERN (A+))",
    "SELECT * FROM {} MATCH_RECOGNIZE (MEASURES count(*) AS n PATTERN (A+))",
    "SELECT n FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES count(*) AS n PATTERN (A)"
    " DEFINE A AS x > (SELECT count(*) FROM {}))",
]
SCALARS = [
    "read_text('{}')",
    "getenv('HOME')",
    "current_setting('TimeZone')",
    "getvariable('x')",
    "current_database()",
    "pg_typeof(x)",
    "nextval('x')",
    "hash(x)",
    "error('x')",
    "md5(s)",
]


@pytest.fixture
def secret(tmp_path: pathlib.Path) -> str:
    file = tmp_path / "SECRET.csv"
    file.write_text("x,s\n1,hidden\n")
    return str(file)


def hidden_as(secret: str, source: str) -> str:
    """The secret in a file of the form that the source reads."""
    rows = [{"x": 1, "s": "hidden"}]
    file = pathlib.Path(secret)
    if "json" in source:
        file = file.with_suffix(".json")
        file.write_text(json.dumps(rows))
    elif "parquet" in source:
        file = file.with_suffix(".parquet")
        pq.write_table(pa.Table.from_pylist(rows), file)
    return str(file)


@pytest.mark.parametrize("source", SOURCES)
def test_a_statement_in_this_process_reads_only_the_tables_that_it_was_given(secret: str, source: str) -> None:
    file = hidden_as(secret, source)
    for around in AROUND:
        with pytest.raises(ev.EventideError) as caught:
            ev.sql(around.replace("{}", source.replace("{}", file)), t=EVENTS)
        assert "hidden" not in str(caught.value)
        assert "Permission" not in str(caught.value), "refused by DuckDB only"
        assert "extension" not in str(caught.value).lower(), "DuckDB looked for one"


@pytest.mark.parametrize("scalar", SCALARS)
def test_a_statement_in_this_process_calls_only_functions_of_the_list(secret: str, scalar: str) -> None:
    for around in ("SELECT {} AS v FROM t", "SELECT x FROM t WHERE {} IS NULL", "SELECT max(x) FROM t GROUP BY {}"):
        with pytest.raises(ev.QueryError, match=r"cannot compute|unknown function"):
            ev.sql(around.replace("{}", scalar.replace("{}", secret)), t=EVENTS)


@pytest.mark.parametrize(
    "text",
    [
        "COPY (SELECT 1) TO '{}.out'",
        "ATTACH '{}.db' AS other",
        "INSTALL httpfs",
        "LOAD httpfs",
        "PRAGMA database_list",
        "SET enable_external_access = true",
        "CREATE TABLE y AS SELECT 1",
        "SELECT * INTO y FROM t",
        "SELECT 1; COPY t TO '{}.out'",
        "EXPORT DATABASE '{}.out'",
        "DESCRIBE t",
        "CALL pragma_version()",
    ],
)
def test_only_queries_run(secret: str, text: str) -> None:
    with pytest.raises(ev.EventideError):
        ev.sql(text.replace("{}", secret), t=EVENTS)
    assert [path.name for path in pathlib.Path(secret).parent.iterdir()] == ["SECRET.csv"]


def test_the_connection_of_statements_is_closed_even_where_the_list_has_a_hole(secret: str) -> None:
    connection = connect_confined()
    for source in SOURCES[:13]:
        with pytest.raises(duckdb.Error):
            connection.sql(f"SELECT * FROM {source.replace('{}', secret)}").fetchall()
    for text in ("INSTALL httpfs", "LOAD httpfs", f"ATTACH '{secret}.db'", f"COPY (SELECT 1) TO '{secret}.out'"):
        with pytest.raises(duckdb.Error):
            connection.execute(text)
    for setting in ("enable_external_access = true", "lock_configuration = false", "TimeZone = 'Asia/Tokyo'"):
        with pytest.raises(duckdb.Error, match="locked"):
            connection.execute(f"SET {setting}")


def test_of_the_files_around_a_named_one_none_can_be_read(tmp_path: pathlib.Path, secret: str) -> None:
    named, other = str(tmp_path / "named.parquet"), str(tmp_path / "other.parquet")
    for file in (named, other):
        pq.write_table(pa.table({"x": [1, 2]}), file)
    connection = connect_confined([named])
    assert connection.sql(f"SELECT sum(x) FROM read_parquet('{named}')").fetchall() == [(3,)]
    for text in (f"read_parquet('{other}')", f"read_parquet('{tmp_path}/*.parquet')", f"read_text('{secret}')"):
        with pytest.raises(duckdb.Error, match="disabled by configuration"):
            connection.sql(f"SELECT * FROM {text}").fetchall()


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_files_that_are_named_as_inputs_are_read(tmp_path: pathlib.Path, ending: str) -> None:
    folder = tmp_path / "it's here"
    folder.mkdir()
    table = pa.table({"ts": [1, 2, 3], "x": [3, 2, 5]})
    if ending == "parquet":
        pq.write_table(table, folder / "a.parquet")
    elif ending == "csv":
        (folder / "a.csv").write_text("ts,x\n1,3\n2,2\n3,5\n")
    else:
        (folder / "a.jsonl").write_text('{"ts": 1, "x": 3}\n{"ts": 2, "x": 2}\n{"ts": 3, "x": 5}\n')
    text = f"SELECT m.n, sum(t.x) AS total FROM t, t {CLAUSE} AS m GROUP BY m.n"
    for path in (folder, folder / f"a.{ending}", str(folder / "*")):
        assert ev.sql(text, t=path).to_pylist() == [{"n": 3, "total": 10}]


def test_no_connection_fetches_extensions_or_takes_variables_for_tables() -> None:
    rows = pa.table({"x": [1]})
    for connection in (connect(), connect_confined()):
        settings = dict(connection.sql("SELECT name, value FROM duckdb_settings()").fetchall())
        assert settings["autoinstall_known_extensions"] == settings["autoload_known_extensions"] == "false"
        assert settings["allow_persistent_secrets"] == "false"
        with pytest.raises(duckdb.CatalogException):
            connection.sql("SELECT * FROM rows")
    assert rows.num_rows == 1


def test_times_need_no_extension_that_is_not_built_in() -> None:
    loaded = "SELECT extension_name FROM duckdb_extensions() WHERE loaded AND install_mode = 'STATICALLY_LINKED'"
    assert {name for (name,) in connect().sql(loaded).fetchall()} >= {"icu", "json", "parquet"}


# --- functions that lead to Java and to files on Spark ------------------------------------------------------

CALLS = [
    "reflect('java.lang.System', 'getenv', 'PATH')",
    "REFLECT ('java.lang.System', 'getenv', 'PATH')",
    "`reflect`('java.lang.System', 'getenv', 'PATH')",
    "`Java_Method`('java.lang.System', 'getenv', 'PATH')",
    "java_method/* a */('java.lang.System', 'getenv', 'PATH')",
    "builtin.reflect('java.lang.System', 'getenv', 'PATH')",
    "system.builtin.try_reflect('java.lang.System', 'getenv', 'PATH')",
    "`system`.`builtin`.`reflect`('java.lang.System', 'getenv', 'PATH')",
    "upper(concat('a', coalesce(reflect('java.lang.System', 'getenv', 'PATH'), 'b')))",
    "CASE WHEN true THEN try_reflect('java.lang.System', 'getenv', 'PATH') END",
    "from_protobuf(CAST('a' AS BINARY), 'a', '/etc/passwd')",
]
FAMILIES: dict[str, Callable[[str], Any]] = {
    "query, result": lambda call: ev.query(f"PATTERN A a RETURN {call} AS h", ts_unit="s", type="kind"),
    "query, condition": lambda call: ev.query(f"PATTERN A a WHERE {call} = 'x'", ts_unit="s", type="kind"),
    "query, between events": lambda call: ev.query(f"PATTERN SEQ(A a, B b) WHERE a.s < {call} || b.s", ts_unit="s"),
    "query, aggregate": lambda call: ev.query(f"PATTERN A+ a RETURN COUNT(*), MAX({call})", ts_unit="s", type="kind"),
    "situations": lambda call: ev.query(f"DEFINE P AS {call} = 'x', Q AS x > 1 PATTERN P overlaps Q", ts_unit="s"),
    "builder": lambda call: ev.detect(EVENTS, ev.Pattern.begin("a", f"{call} = 'x'"), ts="ts", ts_unit="s"),
    "builder, select": lambda call: ev.detect(EVENTS, ev.Pattern.begin("a"), ts="ts", ts_unit="s", select={"h": call}),
    "rows": lambda call: ev.match_recognize(pattern="A", order_by="ts", measures={"h": call})(EVENTS),
    "rows, condition": lambda call: ev.match_recognize(pattern="A", define={"A": f"{call} = 'x'"})(EVENTS),
    "intervals": lambda call: ev.intervals.homogeneous(EVENTS, f"{call} = 'x'", ts_unit="s"),
    "intervals, value": lambda call: ev.intervals.homogeneous(EVENTS, "x > 0", value=f"max({call})", ts_unit="s"),
    "statement": lambda call: ev.sql(f"SELECT {call} AS h FROM t", t=EVENTS),
    "statement, around": lambda call: ev.sql(f"SELECT n FROM t {CLAUSE} WHERE {call} = 'x'", t=EVENTS),
    "statement, inside": lambda call: ev.sql(
        f"SELECT n FROM (SELECT * FROM t WHERE {call} = 'x') {CLAUSE}", t=EVENTS
    ),
    "statement, subquery": lambda call: ev.sql(
        f"SELECT n FROM t MATCH_RECOGNIZE (MEASURES count(*) AS n PATTERN (A) DEFINE A AS s = (SELECT {call}))",
        t=EVENTS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_no_family_calls_java_or_reads_files(family: str) -> None:
    for call in CALLS:
        with pytest.raises(ev.QueryError) as caught:
            FAMILIES[family](call)
        assert "is not allowed in a query: it" in caught.value.message, call
        marked = caught.value.text[caught.value.start : caught.value.end].lower()
        assert any(name in marked for name in ("reflect", "java_method", "from_protobuf"))


def test_a_rule_that_calls_java_is_refused_alone(tmp_path: pathlib.Path) -> None:
    (tmp_path / "bad.query").write_text(f"PATTERN A a RETURN {CALLS[0]} AS h")
    (tmp_path / "good.query").write_text("PATTERN A a WITHIN 1 minute RETURN a.x")
    rules = ev.RuleSet(tmp_path, ts_unit="s", type="kind")
    assert "reflect is not allowed in a query" in str(rules.check(EVENTS)["bad"])
    found = {row["rule"]: row["row"] for row in rules.run(EVENTS).to_pylist()}
    assert found["bad"] is None and found["good"] is not None


@pytest.mark.spark
def test_a_statement_on_spark_calls_no_java_and_reads_no_path(spark: Any, secret: str) -> None:
    frame = spark.createDataFrame(EVENTS)
    frame.createOrReplaceTempView("seen")
    texts = [f"SELECT {call} AS h FROM t" for call in CALLS]
    texts += ["SELECT IDENTIFIER('ref' || 'lect')('java.lang.System', 'getenv', 'PATH') AS h FROM t"]
    texts += [f"SELECT * FROM {source}" for source in (f"csv.`{secret}`", f"CSV.`{secret}`", f"text.`{secret}`")]
    texts += [f"SELECT * FROM `org.apache.spark.sql.execution.datasources.csv.CSVFileFormat`.`{secret}`"]
    texts += [f"SELECT * FROM (SELECT * FROM text.`{secret}`) {CLAUSE}", f"SELECT * FROM IDENTIFIER('text.`{secret}`')"]
    texts += ["SELECT TRANSFORM(x) USING 'cat' AS (y) FROM t", "SELECT * FROM read_files('/etc')"]
    texts += [
        "SELECT * FROM t; DROP VIEW seen",
        "DROP VIEW seen",
        "FROM t INSERT OVERWRITE DIRECTORY '/tmp/x' SELECT *",
    ]
    for text in texts:
        with pytest.raises(ev.EventideError) as caught:
            ev.sql(text, t=frame)
        refused = ("is not allowed in", "by its path", "ev.sql runs", "unexpected", "cannot be read")
        assert any(words in str(caught.value) for words in refused), text
    assert ev.sql("SELECT count(*) AS n FROM seen", spark=spark).collect()[0].n == 2
