"""The command line: what is printed where, what is written, and the exit code."""

from __future__ import annotations

import datetime as dt
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

QUERY = "PATTERN SEQ(Login L, Buy B) WHERE [user] WITHIN 10 seconds RETURN user, B.amount OPTIONS (type = 'kind')"
ROWS = [
    {"user": "ann", "B_amount": 30, "detected_at": "2024-01-01T00:00:04"},
    {"user": "bob", "B_amount": 5, "detected_at": "2024-01-01T00:00:05"},
]
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with `query.txt` and `events.parquet`."""
    start = dt.datetime(2024, 1, 1)
    events = pa.table(
        {
            "ts": [start + dt.timedelta(seconds=s) for s in (1, 2, 4, 5, 30)],
            "user": ["ann", "bob", "ann", "bob", "ann"],
            "kind": ["Login", "Login", "Buy", "Buy", "Buy"],
            "amount": [None, None, 30, 5, 7],
        }
    )
    pq.write_table(events, tmp_path / "events.parquet")
    (tmp_path / "query.txt").write_text(QUERY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def process(*words: str, check: bool = False) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "eventide", *words]
    return subprocess.run(command, capture_output=True, text=True, check=check)


# --- what is printed ---------------------------------------------------------------------------------------


def test_rows_as_json_alone_on_standard_output(folder: Path, eventide: Command) -> None:
    code, out, err = eventide("run", "query.txt", "--input", "events.parquet", "--json")
    assert code == 0
    assert sorted(map(json.loads, out.splitlines()), key=lambda row: row["user"]) == ROWS
    assert err == "running on the local engine ...\n"


def test_rows_as_a_table(folder: Path, eventide: Command) -> None:
    code, out, err = eventide("run", "query.txt", "--input", "events.parquet")
    assert code == 0
    assert "│ ann  │ 30       │ 2024-01-01 00:00:04 │" in out
    assert out.splitlines()[-1].startswith("2 rows (")
    assert err == "running on the local engine ...\n"


def test_what_is_open_at_the_end_is_returned_on_request(folder: Path, eventide: Command) -> None:
    text = "PATTERN SEQ(Buy b, NOT Login l) WHERE [user] WITHIN 20 seconds RETURN b.amount OPTIONS (type = 'kind')"
    (folder / "query.txt").write_text(text)
    words = ("run", "query.txt", "--input", "events.parquet", "--json")
    for flags, amounts in (((), [5, 30]), (("--close-at-end",), [5, 7, 30])):
        code, out, _ = eventide(*words, *flags)
        assert code == 0
        assert sorted(json.loads(line)["b_amount"] for line in out.splitlines()) == amounts


def test_the_embedded_engine_has_two_names(folder: Path, eventide: Command) -> None:
    code, out, err = eventide("run", "query.txt", "--input", "events.parquet", "--json", "--engine", "embedded")
    assert code == 0 and len(out.splitlines()) == 2
    assert err == "running on the local engine ...\n"


def test_a_long_result_is_cut_and_says_so(folder: Path, eventide: Command) -> None:
    (folder / "query.txt").write_text("PATTERN A DEFINE A AS n >= 0 RETURN A.n")
    pq.write_table(pa.table({"ts": pa.array(range(2_500), pa.timestamp("s")), "n": range(2_500)}), "many.parquet")
    code, out, _ = eventide("run", "query.txt", "--input", "many.parquet")
    assert code == 0
    assert "2,500 rows, the first 20 shown (" in out
    assert len(out.splitlines()) < 30


def test_values_of_all_kinds_are_shown(folder: Path, eventide: Command) -> None:
    at = dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.UTC)
    values = {
        "price": pa.array([Decimal("1.50")], pa.decimal128(9, 2)),
        "tags": [["a", None]],
        "place": [{"city": "Köln", "at": at}],
        "raw": [b"\x00\xff"],
        "ratio": [float("nan")],
        "mark": ["[bold]x[/bold]"],
        "none": pa.nulls(1, pa.int32()),
    }
    pq.write_table(pa.table({"ts": pa.array([at], pa.timestamp("ms", "UTC")), **values}), "one.parquet")
    returned = ", ".join(f"A.{name} AS {name}" for name in values)
    (folder / "query.txt").write_text(f"PATTERN A DEFINE A AS true RETURN {returned}")
    code, out, _ = eventide("run", "query.txt", "--input", "one.parquet", "--json")
    assert code == 0
    assert json.loads(out) == {
        "price": "1.50",
        "tags": ["a", None],
        "place": {"city": "Köln", "at": "2024-02-29T12:30:00+00:00"},
        "raw": "AP8=",
        "ratio": "NaN",
        "mark": "[bold]x[/bold]",
        "none": None,
        "detected_at": "2024-02-29T12:30:00+00:00",
    }
    code, out, _ = eventide("run", "query.txt", "--input", "one.parquet")
    joined = "".join(line.replace("│", "").replace(" ", "") for line in out.splitlines())
    assert code == 0
    assert "1.50" in joined and "0x00ff" in joined and "nan" in joined and "NULL" in joined
    # A cell may be folded, but nothing of it is taken for markup.
    assert "[bold]" in joined or "[bol" in joined
    for name, expected in (("out.csv", '"[""a"", null]"'), ("out.jsonl", '"raw": "AP8="')):
        code, _, _ = eventide("run", "query.txt", "--input", "one.parquet", "--output", name)
        assert code == 0
        assert expected in (folder / name).read_text()


def test_times_that_python_has_no_form_for_are_shown(folder: Path, eventide: Command) -> None:
    far = pa.array([253_402_300_800, -62_135_596_801], pa.timestamp("s"))
    deep = pa.StructArray.from_arrays([far, far.cast(pa.timestamp("s", "UTC"))], ["a", "b"])
    pq.write_table(pa.table({"ts": far, "at": far, "deep": deep}), "far.parquet")
    (folder / "query.txt").write_text("PATTERN A DEFINE A AS true RETURN A.at AS at, A.deep AS deep")
    code, out, _ = eventide("run", "query.txt", "--input", "far.parquet", "--json")
    assert code == 0
    found = sorted((json.loads(line) for line in out.splitlines()), key=lambda row: len(row["at"]))
    assert [row["at"][:13] for row in found] == ["0000-12-31T23", "10000-01-01T0"]
    assert found[1]["deep"]["a"].startswith("10000-01-01T00:00:00")
    assert found[1]["deep"]["b"].startswith("10000-01-01T00:00:00")
    code, out, _ = eventide("run", "query.txt", "--input", "far.parquet")
    assert code == 0 and "10000-01-01" in out.replace("│", "").replace("\n", "").replace(" ", "")


def test_the_plan_goes_beside_the_rows(folder: Path, eventide: Command) -> None:
    code, out, err = eventide("run", "query.txt", "--input", "events.parquet", "--explain", "--json")
    assert code == 0
    assert len(out.splitlines()) == 2
    assert "Distribution\n  local (5 events): partitions by user" in err
    code, out, err = eventide("run", "query.txt", "--input", "events.parquet", "--explain")
    assert code == 0
    assert out.startswith("Query\n  PATTERN SEQ(Login L, Buy B)\n")
    assert "Query" not in err


def test_on_a_terminal_progress_is_not_a_plain_line(folder: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "eventide", "run", "query.txt", "--input", "events.parquet", "--json"]
    environment = {**os.environ, "TERM": "xterm"}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, text=True, check=True, env=environment)
    os.close(theirs)
    assert len(done.stdout.splitlines()) == 2
    assert b"running on the local engine ...\n" not in os.read(ours, 10_000)
    os.close(ours)


def test_a_reader_that_has_enough_is_no_error(folder: Path) -> None:
    pq.write_table(pa.table({"ts": pa.array(range(90_000), pa.timestamp("s")), "type": ["A"] * 90_000}), "many.parquet")
    (folder / "query.txt").write_text("PATTERN A")
    line = f"{sys.executable} -m eventide run query.txt --input many.parquet --json | head -1"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 1
    assert "Traceback" not in done.stderr and "Broken" not in done.stderr


# --- check -------------------------------------------------------------------------------------------------


def test_check_without_events_checks_the_syntax(folder: Path, eventide: Command) -> None:
    code, out, err = eventide("check", "query.txt")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "Query"
    assert "needs the events' columns" in out
    (folder / "query.txt").write_text("PATTERN SEQ(A, B\nWITHIN 5 minutes")
    code, out, err = eventide("check", "query.txt")
    assert (code, out) == (2, "")
    assert err == (
        "Error: '(' is never closed (line 1, column 12)\n"
        "  PATTERN SEQ(A, B\n"
        "             ^\n"
        "Hint: add the missing ')'\n"
    )


def test_check_with_events_binds(folder: Path, eventide: Command) -> None:
    code, out, _ = eventide("check", "query.txt", "--input", "events.parquet")
    assert code == 0
    assert "sequence matcher, 2 steps" in out
    (folder / "query.txt").write_text("PATTERN SEQ(Login L, Buy B)\nWHERE B.amuont > 1")
    code, out, err = eventide("check", "query.txt", "--input", "events.parquet", "--type", "kind")
    assert (code, out) == (2, "")
    assert err == (
        "Error: unknown column 'amuont' (line 2, column 9)\n"
        "  WHERE B.amuont > 1\n"
        "          ^^^^^^\n"
        "Hint: did you mean 'amount'?\n"
    )


def test_check_without_events_finds_what_is_wrong_whatever_they_are(folder: Path, eventide: Command) -> None:
    (folder / "query.txt").write_text("PATTERN SEQ(A, B) WHERE zz.x > 1")
    code, out, err = eventide("check", "query.txt")
    assert (code, out) == (2, "")
    assert err.startswith("Error: unknown symbol 'zz' (line 1, column 25)\n")
    (folder / "query.txt").write_text("PATTERN SEQ(A a+, B b) RETURN COMPLETE TRENDS")
    code, out, err = eventide("check", "query.txt")
    assert (code, err) == (0, "")
    assert "RETURN COMPLETE TRENDS cannot run yet" in out


# --- the user's mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["check", "none.txt"], "cannot read the query file 'none.txt': No such file or directory"),
        (["check", "."], "cannot read the query file '.': Is a directory"),
        (["check", "events.parquet"], "cannot read the query file 'events.parquet': it is not UTF-8 text"),
        (["run", "query.txt", "--input", "none.parquet"], "there is no file 'none.parquet'"),
        (["run", "query.txt", "--input", "none/*.csv"], "there is no file 'none/*.csv'"),
        (["run", "query.txt", "--input", "broken.parquet"], "cannot read 'broken.parquet': "),
        (["run", "query.txt", "--input", "empty"], "the folder 'empty' holds no data files"),
        (["run", "query.txt", "--input", "query.txt"], "cannot tell the format of 'query.txt'"),
        (["run", "query.txt", "--input", "events.parquet", "--ts", "tz"], "ts: unknown column 'tz'"),
        (["run", "query.txt", "--input", "events.parquet", "--ts-unit", "h"], "ts_unit='h' is not possible"),
        (["run", "query.txt", "--input", "events.parquet", "--type", "kind"], "option 'type' is given twice"),
        (["run", "query.txt", "--input", "events.parquet", "--engine", "flink"], "there is no engine 'flink'"),
        (["run", "query.txt"], "Missing option '--input'"),
        (["run", "query.txt", "--input", "events.parquet", "--fast"], "No such option: --fast"),
        (["run", "query.txt", "--input", "events.parquet", "--output", "x.xls"], "cannot write 'x.xls'"),
        (["run", "query.txt", "--input", "events.parquet", "--output", "no/x.csv"], "the folder 'no' does not exist"),
        (["run", "query.txt", "--input", "events.parquet", "--output", "dir.csv"], "'dir.csv' is a folder"),
        (["walk"], "No such command 'walk'"),
        (["generate", "planes", "--events", "5", "--output", "x.parquet"], "planes"),
        (["generate", "cars", "--events", "-5", "--output", "x.parquet"], "-5"),
        (["generate", "cars", "--events", "many", "--output", "x.parquet"], "Invalid value for '--events'"),
        (["generate", "cars", "--events", "5", "--output", "no/x.parquet"], "no"),
        (
            ["generate", "cars", "--events", "5", "--output", "x.csv"],
            "cannot write 'x.csv'\nHint: end the name in",
        ),
        (["run", "query.txt", "--input", "nothing.csv"], "'nothing.csv' is empty: it has no columns"),
        (["generate", "cars", "--events", "5", "--output", "x.parquet", "--set", "n"], "--set takes name=value"),
        (["generate", "cars", "--events", "5", "--output", "x.parquet", "--set", "n=1"], "'n'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_mistake_is_one_message_and_exit_code_2(
    folder: Path, eventide: Command, words: list[str], message: str
) -> None:
    (folder / "broken.parquet").write_bytes(b"PAR1 this is no parquet file PAR1")
    (folder / "empty").mkdir()
    (folder / "nothing.csv").write_text("")
    (folder / "dir.csv").mkdir()
    before = sorted(folder.rglob("*"))
    code, out, err = eventide(*words)
    assert (code, out) == (2, "")
    error = err.removeprefix("running on the local engine ...\n").removeprefix(f"generating {5:,} events ...\n")
    error = error.removeprefix("generating -5 events ...\n")
    assert error.startswith("Error: ")
    assert message in error
    assert "Traceback" not in err
    assert sorted(folder.rglob("*")) == before


def test_a_mistake_leaves_no_stack_trace_in_a_process(folder: Path) -> None:
    (folder / "query.txt").write_text("PATTERN SEQ(Login L, Buy B) WHERE L.usr = B.user")
    done = process("check", "query.txt", "--input", "events.parquet", "--type", "kind")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "Error: unknown column 'usr' (line 1, column 37)\n"
        "  PATTERN SEQ(Login L, Buy B) WHERE L.usr = B.user\n"
        "                                      ^^^\n"
        "Hint: did you mean 'user'?\n"
    )


def test_anything_else_is_exit_code_1(folder: Path) -> None:
    code = "import eventide.cli.app as c, eventide.api.events as a; a.query = lambda *x, **y: 1 / 0; c.main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "check", "query.txt"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr


def test_without_words_the_commands_are_shown() -> None:
    done = process()
    assert "run" in done.stdout + done.stderr and "generate" in done.stdout + done.stderr
    assert process("--help", check=True).returncode == 0


# --- files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.jsonl"])
def test_rows_are_written_whole(folder: Path, eventide: Command, name: str) -> None:
    import eventide as ev

    (folder / name).write_text("what was here before")
    code, out, err = eventide("run", "query.txt", "--input", "events.parquet", "--output", name)
    assert (code, out) == (0, "")
    assert f"2 rows written to {name} in " in err
    written = ev.query("PATTERN A DEFINE A AS true RETURN A.user, A.B_amount", ts="detected_at").run(folder / name)
    assert sorted(written.select([0, 1]).to_pydict()["A_user"]) == ["ann", "bob"]
    assert sorted(path.name for path in folder.iterdir()) == ["events.parquet", name, "query.txt"]
    assert (folder / name).stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.jsonl"])
def test_what_goes_wrong_leaves_the_old_file(
    folder: Path, eventide: Command, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    old = folder / name
    old.write_text("what was here before")
    bad = pq.read_table("events.parquet").set_column(0, "ts", pa.array([1, None, 3, 4, 5], pa.timestamp("s")))
    pq.write_table(bad, "bad.parquet")
    code, _, err = eventide("run", "query.txt", "--input", "bad.parquet", "--output", name)
    assert code == 2
    assert "'ts' is NULL in the event with user = 'bob', amount = NULL" in err
    (folder / "wrong.txt").write_text(QUERY.replace("B.amount", "B.amuont"))
    assert eventide("run", "wrong.txt", "--input", "events.parquet", "--output", name)[0] == 2

    def fail(source: object, target: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    code, _, err = eventide("run", "query.txt", "--input", "events.parquet", "--output", name)
    assert code == 1
    assert err.endswith(f"Error: cannot write '{name}': disk full\nHint: what was there before is kept\n")
    assert old.read_text() == "what was here before"
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_generate_writes_what_run_reads(folder: Path, eventide: Command) -> None:
    code, out, err = eventide("generate", "stocks", "--events", "1000", "--output", "ticks.parquet", "--seed", "3")
    assert (code, out) == (0, "")
    assert err == "generating 1,000 events ...\n1,000 events written to ticks.parquet\n"
    assert pq.read_metadata("ticks.parquet").num_rows == 1000


# --- on Spark ----------------------------------------------------------------------------------------------


@pytest.mark.spark
def test_the_spark_engine_gives_the_same_rows_and_the_same_messages(folder: Path) -> None:
    done = process("run", "query.txt", "--input", "events.parquet", "--json", "--engine", "spark", check=True)
    assert sorted(map(json.loads, done.stdout.splitlines()), key=lambda row: row["user"]) == ROWS


@pytest.mark.spark
def test_on_spark_a_mistake_is_one_message_too(folder: Path) -> None:
    bad = pq.read_table("events.parquet").set_column(0, "ts", pa.array([1, None, 3, 4, 5], pa.timestamp("s")))
    pq.write_table(bad, "bad.parquet")
    done = process("run", "query.txt", "--input", "bad.parquet", "--engine", "spark")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Error: an event has no time: 'ts' is NULL in the event with user = 'bob', amount = NULL\n" in done.stderr
    assert "Traceback" not in done.stderr and "ERROR" not in done.stderr and "\tat " not in done.stderr


# --- texts from elsewhere, and other commands ---------------------------------------------------------------

SQL = """SELECT user, n FROM {} MATCH_RECOGNIZE (
    PARTITION BY user ORDER BY ts MEASURES count(*) AS n PATTERN (L B) DEFINE L AS kind = 'Login', B AS kind = 'Buy')"""


def test_a_query_comes_from_the_command_or_from_standard_input(
    folder: Path, eventide: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--input", "events.parquet", "--json"]
    _, expected, _ = eventide("run", "query.txt", *words)
    assert eventide("run", "-c", QUERY, *words)[:2] == (0, expected)
    monkeypatch.setattr(sys, "stdin", io.StringIO(QUERY))
    assert eventide("run", "-", *words)[:2] == (0, expected)
    code, _, err = eventide("run", "query.txt", "-c", QUERY, *words)
    assert code == 2 and "a query file, 'query.txt', and -c are both given" in err
    code, _, err = eventide("run", *words)
    assert code == 2 and "Missing argument 'QUERY_FILE'\nHint: a file with one query, - for standard input" in err


def test_options_of_a_query_are_options_of_the_command(folder: Path, eventide: Command) -> None:
    text = "PATTERN SEQ(Login L, Buy B) RETURN user, B.amount"
    words = ["--input", "events.parquet", "--type", "kind", "--partition-by", "user", "--json"]
    code, out, _ = eventide("run", "-c", text, *words)
    assert (code, len(out.splitlines())) == (0, 3)


def test_a_query_file_is_not_read_beyond_what_a_query_may_have(folder: Path, eventide: Command) -> None:
    with (folder / "huge.txt").open("w") as file:
        file.seek(1 << 32)  # a hole: four gigabytes that take no room
        file.write("x")
    code, out, err = eventide("check", "huge.txt")
    assert (code, out) == (2, "")
    assert "the query file 'huge.txt' is longer than 100,000 characters" in err


def test_the_version_is_printed(eventide: Command) -> None:
    from importlib.metadata import version

    assert eventide("--version") == (0, f"eventide {version('eventide')}\n", "")


def test_without_words_there_is_help_and_no_error() -> None:
    done = process()
    assert done.returncode == 2
    assert "Error" not in done.stdout + done.stderr
    assert "Commands:\n  run" in done.stdout + done.stderr


COMMANDS = ["run", "sql", "stream", "check", "explain", "diagnose", "timeline", "warm", "generate"]


@pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS)], ids=["eventide", *COMMANDS])
def test_help_is_readable_at_80_columns(words: list[str], eventide: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = eventide(*words, "--help")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    # A flag has no value, what can be given several times is no Python type, and nothing is cut off.
    for sign in ("<bool>", "list[", "range>", "\N{HORIZONTAL ELLIPSIS}"):
        assert sign not in out
    assert re.search(r"\w\.\.\.", out.replace("[ARGS]...", "")) is None
    assert all(name in out for name in COMMANDS) if not words else "Options:\n" in out


def test_sql_is_checked_and_explained(folder: Path, eventide: Command) -> None:
    (folder / "rows.sql").write_text(SQL.format("events"))
    (folder / "trades.sql").write_text(SQL.format("trades"))
    code, out, _ = eventide("check", "rows.sql")
    assert code == 0
    assert out.startswith("Query\n  SELECT user, n FROM events MATCH_RECOGNIZE (\n")
    assert "Logical plan\n  MATCH_RECOGNIZE over events\n    PARTITION BY user\n" in out
    assert "needs the tables' columns: pass them to explain by name, or with --table name=path" in out
    for words in (["rows.sql", "--input", "events.parquet"], ["trades.sql", "--table", "trades=events.parquet"]):
        for command in ("check", "explain"):
            code, out, _ = eventide(command, *words)
            assert code == 0
            assert "Program\n" in out and "0  label L" in out
    code, out, err = eventide("sql", "rows.sql", "--table", "events=events.parquet", "--explain", "--json")
    assert code == 0
    assert "0  label L" in err
    assert list(map(json.loads, out.splitlines())) == [{"user": "ann", "n": 2}, {"user": "bob", "n": 2}]
    code, _, err = eventide("check", "-c", SQL.format("events").replace("kind =", "knd ="), "--input", "events.parquet")
    assert code == 2 and "did you mean 'kind'?" in err
    code, _, err = eventide("check", "rows.sql", "--input", "events.parquet", "--type", "kind")
    assert code == 2 and "--type is for queries, and rows.sql is SQL" in err
    code, _, err = eventide("check", "query.txt", "--table", "events=events.parquet")
    assert code == 2 and "--table is for SQL statements" in err


def test_run_says_how_sql_is_run(folder: Path, eventide: Command) -> None:
    (folder / "rows.sql").write_text(SQL.format("events"))
    code, out, err = eventide("run", "rows.sql", "--input", "events.parquet")
    assert (code, out) == (2, "")
    assert err == (
        "Error: rows.sql is SQL, and run takes a query\nHint: eventide sql rows.sql --table events=events.parquet\n"
    )


def test_explain_shows_the_plan_of_a_query_for_an_engine(folder: Path, eventide: Command) -> None:
    code, out, _ = eventide("explain", "query.txt", "--input", "events.parquet")
    assert code == 0
    assert "Distribution\n  local (5 events): partitions by user" in out
    code, out, _ = eventide("explain", "query.txt", "--input", "events.parquet", "--engine", "spark")
    assert code == 0
    assert "Distribution\n  spark" in out


def test_diagnose_says_why_there_is_no_match(folder: Path, eventide: Command) -> None:
    wrong = QUERY.replace("[user]", "[user] AND B.amount > 20")
    code, out, _ = eventide("diagnose", "-c", wrong, "--input", "events.parquet")
    assert code == 0
    assert "1 of 2 partitions have no match." in out and "user = bob: no match" in out
    assert "failed   B at 2024-01-01 00:00:05: B.amount > 20" in out
    code, out, _ = eventide("diagnose", "-c", wrong, "--input", "events.parquet", "--partitions", "1")
    assert code == 0 and out.endswith("\n... and 1 more partition\n\n--partitions 2 tells about all of them\n")
    rows = SQL.format("events").replace("'Buy'", "'Sell'")
    code, out, _ = eventide("diagnose", "-c", rows, "--input", "events.parquet")
    assert code == 0
    assert "2 of 2 partitions have no match." in out
    nested = SQL.format("(SELECT * FROM events)")
    code, _, err = eventide("diagnose", "-c", nested, "--input", "events.parquet")
    assert code == 2 and "diagnose is for a MATCH_RECOGNIZE over a table, not over" in err


def test_timeline_draws_a_page(folder: Path, eventide: Command) -> None:
    text = "PARTITION BY user DEFINE A AS amount IS NULL, B AS amount > 0 PATTERN A meets B"
    words = ["--input", "events.parquet", "--partition", "user=ann", "--values", "amount"]
    code, out, err = eventide("timeline", "-c", text, *words, "--output", "page.html")
    assert (code, out) == (0, "")
    assert err.endswith("drawn in page.html\n")
    assert "A: amount IS NULL" in (folder / "page.html").read_text()
    code, _, err = eventide("timeline", "-c", text, *words, "--output", "page.png")
    assert code == 2 and "end the name in .html" in err
    code, _, err = eventide(
        "timeline", "-c", text, "--input", "events.parquet", "--partition", "ann", "--output", "x.svg"
    )
    assert code == 2 and "--partition takes column=value, found 'ann'" in err
    code, _, err = eventide("timeline", "-c", SQL, "--input", "events.parquet", "--output", "x.svg")
    assert code == 2 and "the query is SQL, and a timeline shows a query" in err


@pytest.mark.parametrize("name", ["seed", "events", "output", "name"])
def test_what_is_an_option_of_generate_is_no_parameter(folder: Path, eventide: Command, name: str) -> None:
    words = ["generate", "cars", "--events", "5", "--output", "x.parquet", "--set", f"{name}=1"]
    code, _, err = eventide(*words)
    assert code == 2
    assert f"'{name}' is not a parameter of a generator" in err


@pytest.mark.parametrize("text", ["SELECT FROM WHERE", "SELECT nope( FROM t", "SELECT 1; SELECT 2"])
def test_sql_without_tables_is_checked_as_text(folder: Path, eventide: Command, text: str) -> None:
    code, out, err = eventide("check", "-c", text)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ") and "^" in err


def test_the_limit_of_matches_is_an_option(folder: Path, eventide: Command) -> None:
    words = ["run", "query.txt", "--input", "events.parquet", "--json", "--max-matches-per-partition"]
    assert eventide(*words, "unlimited")[0] == 0
    code, _, err = eventide(*words, "0")
    assert code == 2 and "max_matches_per_partition" in err
    many = "PATTERN SEQ(Buy a, Buy b) OPTIONS (type = kind)"
    code, _, err = eventide("run", "-c", many, "--input", "events.parquet", "--max-matches-per-partition", "1")
    assert code == 2 and "max_matches_per_partition" in err


def test_times_that_nothing_has_a_form_for_are_numbers(folder: Path, eventide: Command) -> None:
    far = pa.table({"ts": pa.array([0], pa.timestamp("us")), "at": pa.array([2**62], pa.timestamp("us"))})
    pq.write_table(far.append_column("day", pa.array([2**24], pa.date32())), "far.parquet")
    code, out, _ = eventide("sql", "-c", "SELECT at, day FROM t", "--table", "t=far.parquet", "--json")
    assert (code, json.loads(out)) == (0, {"at": 2**62, "day": 2**24})


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            ["-c", "PATTERN Login l", "--input", "numbers.csv", "--type", "kind"],
            "Hint: give --ts-unit 's', 'ms' or 'us'",
        ),
        (["-c", "PATTERN Login l", "--input", "untimed.csv", "--type", "kind"], "Hint: pass --ts 'column'"),
        (["-c", "PATTERN Login l", "--input", "events.parquet"], "Hint: pass --type 'column', or DEFINE Login AS"),
    ],
)
def test_hints_name_the_flags_of_the_command_line(folder: Path, eventide: Command, words: list[str], hint: str) -> None:
    (folder / "numbers.csv").write_text("ts,kind\n1,Login\n")
    (folder / "untimed.csv").write_text("at,kind\n1,Login\n")
    for command in ("run", "check", "diagnose"):
        code, _, err = eventide(command, *words)
        assert code == 2
        assert hint in err


def test_a_check_without_events_says_which_flag_names_them(folder: Path, eventide: Command) -> None:
    code, out, _ = eventide("check", "query.txt")
    assert code == 0
    assert "needs the events' columns: name the events with --input" in out


def test_one_row_is_one_row(folder: Path, eventide: Command) -> None:
    words = ("run", "-c", QUERY.replace("[user]", "[user] AND B.amount > 20"), "--input", "events.parquet")
    assert eventide(*words)[1].splitlines()[-1].startswith("1 row (")
    assert "1 row written to rows.csv in " in eventide(*words, "--output", "rows.csv")[2]
