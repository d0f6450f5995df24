"""Wrong situation queries: one message that says what, underlines where, and tells what to try."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.errors import EventideError, InputError, QueryError, UnsupportedError
from eventide.lang import SituationQuery
from tests.situations.lanes import lanes

Command = Callable[..., tuple[int, str, str]]

EVENTS = pa.Table.from_pylist(
    [{"ts": ts, "car": 1, "speed": 60 + ts, "accel": 9.0, "name": "x", "long": Decimal("1" * 25)} for ts in range(5)]
)
DEFINE = "DEFINE A AS speed > 61, B AS accel > 8 "
ONE_EVENT = "the condition of a situation is about one event"
RUN = "ev.intervals.homogeneous takes conditions on a run of events, and ev.allen relates its intervals"
DURATION = "a duration is FOR AT LEAST 5 seconds, FOR AT MOST 1 minute, or FOR BETWEEN 5 seconds AND 1 minute"
KEPT = (
    "what can be kept: first, last, any_value (also IGNORE NULLS), count, count_if, sum, avg, min, max, min_by, max_by,"
    " stddev, variance, skewness, kurtosis, corr, covar_pop, covar_samp, regr_..., bool_and, bool_or and bit_..."
)
RELATIONS = (
    "the relations are before, meets, overlaps, starts, during, finishes, equals, after, met-by, overlapped-by,"
    " started-by, contains, finished-by"
)
USAGE = "write A overlaps B AND B before C"
ALTERNATIVES = "alternatives are written A meets|overlaps B"


def error_of(text: str, **options: Any) -> EventideError:
    with pytest.raises(EventideError) as caught:
        ev.query(text, **({"ts_unit": "s"} | options)).run(EVENTS)
    return caught.value


def check(text: str, message: str, underlined: str, hint: str | None) -> None:
    error = error_of(text)
    assert isinstance(error, QueryError)
    assert (error.message, text[error.start : error.end], error.hint) == (message, underlined, hint)
    assert "^" * max(1, len(underlined)) in str(error)


@pytest.mark.parametrize(
    ("condition", "message", "underlined", "hint"),
    [
        ("sped > 61", "unknown column 'sped'", "sped", "did you mean 'speed'?"),
        ("C.speed > 61", ONE_EVENT, "C.speed", "write speed alone; PATTERN relates situations"),
        ("B.speed > 61", ONE_EVENT, "B.speed", "write speed alone; PATTERN relates situations"),
        ("avg(speed) > 61", ONE_EVENT, "avg(speed)", RUN),
        ("speed > prev(speed)", ONE_EVENT, "prev(speed)", RUN),
        ("speed > NEXT(A).speed", ONE_EVENT, "NEXT(A).speed", RUN),
        ("speed", "a condition must be true or false, but this is bigint", "speed", "compare it with something"),
        ("speed > 61 FOR 5 seconds", "expected AT LEAST, AT MOST or BETWEEN after FOR, found '5'", "5", DURATION),
        ("speed > 61 AT MOST 5 seconds", "FOR is missing before AT MOST", "AT MOST", DURATION),
        ("speed > 61 FOR AT LEAST 5", "the length 5 has no unit", "5", DURATION),
        ("speed > 61 FOR AT LEAST 0 s", "a length must be more than zero", "0 s", DURATION),
        ("speed > 61 FOR AT LEAST 5 secnds", "unknown unit 'secnds'", "secnds", "did you mean 'seconds'?"),
        (
            "speed > 61 FOR AT LEAST 5 s AND AT MOST 7 s",
            "unexpected 'AND' after the duration",
            "AND",
            DURATION,
        ),
        (
            "speed > 61 FOR BETWEEN 5 seconds AND 2 seconds",
            "no situation lasts at least 5 seconds and at most 2 seconds",
            "5 seconds AND 2 seconds",
            "the shorter one stands first",
        ),
    ],
)
def test_a_wrong_definition_is_underlined(condition: str, message: str, underlined: str, hint: str | None) -> None:
    check(f"DEFINE A AS {condition}, B AS accel > 8 PATTERN A overlaps B", message, underlined, hint)


@pytest.mark.parametrize(
    ("pattern", "message", "underlined", "hint"),
    [
        ("A overlap B", "there is no relation 'overlap'", "overlap", "did you mean 'overlaps'?"),
        ("A precedes B", "there is no relation 'precedes'", "precedes", "did you mean 'before'?"),
        ("A xyz B", "there is no relation 'xyz'", "xyz", RELATIONS),
        ("A xyz|meets B", "there is no relation 'xyz'", "xyz", RELATIONS),
        ("A is during B", "there is no relation 'is'", "is", "leave out 'is'"),
        ("A overlaps | B", "there is no relation 'B'", "B", RELATIONS),
        ("A overlaps|", "expected a relation, found the end of the query", "", RELATIONS),
        ("A overlaps", "expected a situation after the relation, found the end of the query", "", USAGE),
        ("A met-by", "expected a situation after the relation, found the end of the query", "", USAGE),
        ("A overlaps (B)", "expected a situation after the relation, found '('", "(", USAGE),
        ("(A overlaps B)", "expected a situation, found '('", "(", USAGE),
        ("overlaps B", "expected a situation before the relation, found 'overlaps'", "overlaps", USAGE),
        ("overlaps(A, B)", "expected a situation before the relation, found 'overlaps'", "overlaps", USAGE),
        ("A overlaps B WITHIN 5", "the length 5 has no unit", "5", "write for example: WITHIN 5 seconds"),
        ("A met by B", "there is no relation 'met'", "met", "did you mean 'met-by'?"),
        ("A overlaps C", "the situation 'C' is not defined", "C", "known: A, B"),
        ("A overlaps or meets B", "expected a situation after the relation, found 'or'", "or", ALTERNATIVES),
        ("A before B AND B meets, before A", "expected a situation after the relation, found ','", ",", ALTERNATIVES),
        (
            "NOT A overlaps B",
            "NOT has no place in a query that relates situations",
            "NOT",
            "name the relations that may hold: A before|meets B",
        ),
        (
            "A overlaps B WHERE A.speed > 5",
            "WHERE has no place in a query that relates situations",
            "WHERE",
            "a condition stands in DEFINE: DEFINE A AS speed > 70 AND lane = 1",
        ),
        (
            "A overlaps B WITHIN 5 EVENTS",
            "a number of events has no place in the WITHIN of situations",
            "5 EVENTS",
            "write WITHIN 5 minutes: a match is returned once",
        ),
        ("A overlaps B PARTITION BY cat", "unknown column 'cat'", "cat", "did you mean 'car'?"),
    ],
)
def test_a_wrong_pattern_is_underlined(pattern: str, message: str, underlined: str, hint: str) -> None:
    check(f"{DEFINE}PATTERN {pattern}", message, underlined, hint)


@pytest.mark.parametrize("pattern", ["Check overlaps", "SEQ(A overlaps, B meets)", "A before+"])
def test_an_event_pattern_may_have_symbols_that_are_named_like_relations(pattern: str) -> None:
    assert not isinstance(ev.query(f"PATTERN {pattern}").tree, SituationQuery)


@pytest.mark.parametrize(
    ("returned", "message", "underlined", "hint"),
    [
        ("avg(speed)", "which situation's 'speed'?", "speed", "write A.speed or B.speed"),
        ("speed", "which situation's 'speed'?", "speed", "write first(A.speed) or first(B.speed)"),
        (
            "A.speed",
            "which event's 'A.speed'?",
            "A.speed",
            "a situation has many events: write first(A.speed) or another aggregate",
        ),
        ("avg(A.sped)", "unknown column 'sped'", "sped", "did you mean 'speed'?"),
        ("avg(C.speed)", "the situation 'C' is not defined", "C", "known: A, B"),
        ("count(C.*)", "the situation 'C' is not defined", "C", "known: A, B"),
        ("count(C)", "the situation 'C' is not defined", "C", "known: A, B"),
        ("count(speed)", "which situation's 'speed'?", "speed", "write A.speed or B.speed"),
        ("start(X)", "the situation 'X' is not defined", "X", "known: A, B"),
        ("end(X)", "the situation 'X' is not defined", "X", "known: A, B"),
        ("end(A.speed)", "end takes one situation", "end(A.speed)", "write end(A)"),
        ("start(A, B)", "start takes one situation", "start(A, B)", "write start(A)"),
        ("A.end", "unknown column 'end'", "A.end", "write end(A)"),
        (
            "A",
            "'A' is a situation, not a value",
            "A",
            "write start(A), end(A), or an aggregate of one of its columns",
        ),
        ("count(*)", "which situation's events are counted?", "count(*)", "write count(A.*)"),
        ("median(A.speed)", "median cannot be kept event by event", "median(A.speed)", KEPT),
        ("round(median(A.speed))", "median cannot be kept event by event", "median(A.speed)", KEPT),
        ("mode(A.speed)", "mode cannot be kept event by event", "mode(A.speed)", KEPT),
        ("percentile(A.speed, 0.5)", "percentile cannot be kept event by event", "percentile(A.speed, 0.5)", KEPT),
        ("collect_list(A.speed)", "collect_list cannot be kept event by event", "collect_list(A.speed)", KEPT),
        (
            "approx_count_distinct(A.speed)",
            "approx_count_distinct cannot be kept event by event",
            "approx_count_distinct(A.speed)",
            KEPT,
        ),
        (
            "histogram_numeric(A.speed, 3)",
            "histogram_numeric cannot be kept event by event",
            "histogram_numeric(A.speed, 3)",
            KEPT,
        ),
        (
            "try_sum(A.speed)",
            "there is no try_sum here",
            "try_sum(A.speed)",
            "write sum: too large a sum is an error",
        ),
        (
            "count(DISTINCT A.speed)",
            "DISTINCT would need all values of a situation",
            "count(DISTINCT A.speed)",
            KEPT,
        ),
        (
            "max_by(A.speed, A.ts, 2)",
            "max_by takes two values of each event",
            "max_by(A.speed, A.ts, 2)",
            "for example max_by(B.x, B.y)",
        ),
        (
            "corr(A.speed, B.speed)",
            "an aggregate goes over the events of one situation",
            "corr(A.speed, B.speed)",
            "name its situation: avg(A.x)",
        ),
        (
            "corr(A.speed, A.name)",
            "corr needs a number, but this is string",
            "corr(A.speed, A.name)",
            "count, min, max, first and last take other types",
        ),
        ("bit_and(A.accel)", "bit_and needs a whole number, but this is double", "bit_and(A.accel)", None),
        ("bool_and(A.speed)", "bool_and needs a condition, but this is bigint", "bool_and(A.speed)", None),
        (
            "sum(A.speed) IGNORE NULLS",
            "IGNORE NULLS has no place here",
            "sum(A.speed)",
            "aggregates leave out NULLs; first, last and any_value take IGNORE NULLS",
        ),
        (
            "first(A.speed) FILTER (WHERE A.speed > 2)",
            "FILTER would leave NULLs to first",
            "first(A.speed) FILTER (WHERE A.speed > 2)",
            "write first(A.x, true) FILTER (WHERE ...), which passes over NULLs, too",
        ),
        (
            "count(A.*) FILTER (WHERE B.speed > 2)",
            "an aggregate goes over the events of one situation",
            "count(A.*) FILTER (WHERE B.speed > 2)",
            "count(A.*) FILTER (WHERE A.x > 5) counts events of A",
        ),
        (
            "avg(A.speed + B.speed)",
            "an aggregate goes over the events of one situation",
            "avg(A.speed + B.speed)",
            "name its situation: avg(A.x)",
        ),
        (
            "avg(A.name)",
            "avg needs a number, but this is string",
            "avg(A.name)",
            "count, min, max, first and last take other types",
        ),
        (
            "sum(A.long)",
            "sum takes decimals of at most 18 digits",
            "sum(A.long)",
            "cast it to DECIMAL(18, 0) or to DOUBLE",
        ),
    ],
)
def test_what_cannot_be_returned_is_underlined(returned: str, message: str, underlined: str, hint: str) -> None:
    check(f"{DEFINE}PATTERN A overlaps B RETURN {returned}", message, underlined, hint)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"type": "name"}, "there are no event types\nHint: leave out type"),
        ({"match_id": True}, "a situation query has no match_id\nHint: leave out match_id"),
        ({"state_ttl": "1 hour"}, "a situation query is bounded by WITHIN\nHint: leave out state_ttl"),
        ({"posible": True}, "there is no option 'posible'\nHint: did you mean 'possible'?"),
        ({"possible": "maybe"}, "possible is true or false, found 'maybe'"),
    ],
)
def test_options_that_mean_nothing_here_are_refused(options: dict[str, Any], message: str) -> None:
    assert message in str(error_of(f"{DEFINE}PATTERN A overlaps B", **options))


def test_an_option_in_the_text_is_underlined() -> None:
    text = f"{DEFINE}PATTERN A overlaps B OPTIONS (match_id = true)"
    check(text, "a situation query has no match_id", "match_id = true", "leave out match_id")


def test_an_option_of_situations_is_refused_elsewhere() -> None:
    error = error_of("PATTERN SEQ(A, B)", possible=True)
    assert error.message == "possible is for situation queries, and this pattern has no relation such as 'before'"


def test_calls_that_situations_do_not_have_are_refused() -> None:
    query = ev.query(f"{DEFINE}PATTERN A overlaps B", ts_unit="s")
    with pytest.raises(UnsupportedError, match=r"diagnose is for event patterns\nHint: .* q\.situations"):
        query.diagnose(EVENTS)
    with pytest.raises(InputError, match="a situation query reads one input"):
        query.run(A=EVENTS, B=EVENTS)
    with pytest.raises(UnsupportedError, match="only a query that relates situations has any"):
        ev.query("PATTERN SEQ(A, B)").situations(EVENTS)


@pytest.mark.parametrize("source", [5, "events.parquet", EVENTS, {"ts": 1}])
def test_live_input_that_is_no_blocks_is_refused(source: Any) -> None:
    query = ev.query(f"{DEFINE}PATTERN A overlaps B", ts_unit="s")
    with pytest.raises(InputError, match=f"live input comes in blocks, found {type(source).__name__}"):
        query.live(source)


@pytest.mark.parametrize("workers", [0, 1.5, True])
def test_a_number_of_workers_is_from_one_on(workers: Any) -> None:
    with pytest.raises(EventideError, match=f"max_workers is a number from 1 on, found {workers}"):
        ev.query(f"{DEFINE}PATTERN A overlaps B", ts_unit="s").live([], max_workers=workers)


@pytest.mark.spark
def test_a_stream_without_a_window_is_refused(spark: Any) -> None:
    frame = spark.readStream.format("rate").load().selectExpr("timestamp AS ts", "value > 1 AS a", "value > 2 AS b")
    query = ev.query("DEFINE A AS a, B AS b PATTERN A overlaps B")
    assert "refused: without a WITHIN clause every situation stays relevant for ever" in query.explain(frame)
    with pytest.raises(UnsupportedError) as caught:
        query.run(frame)
    assert caught.value.message.endswith("without a WITHIN clause every situation stays relevant for ever")
    assert caught.value.hint == "add a WITHIN clause, such as WITHIN 1 hour"


# --- the terminal -----------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    events = lanes(a=".#####......", b="...######...")
    pq.write_table(pa.Table.from_pylist(events), tmp_path / "events.parquet")
    query = tmp_path / "query.evq"
    query.write_text("DEFINE Alpha AS a FOR AT LEAST 2 seconds,\n       Beta AS b\nPATTERN Alpha overlaps Beta\n")
    return str(query), str(tmp_path / "events.parquet")


def test_the_terminal_checks_and_runs_a_query_file(files: tuple[str, str], eventide: Command) -> None:
    query, events = files
    code, out, _ = eventide("check", query)
    assert code == 0 and "       Beta AS b\n" in out
    code, out, _ = eventide("run", query, "--input", events, "--ts-unit", "s", "--json", "--explain")
    assert (code, out) == (
        0,
        '{"Alpha_start": 1, "Alpha_end": 6, "Beta_start": 3, "Beta_end": null, "detected_at": 6}\n',
    )


def test_a_table_that_goes_to_a_file_has_its_names_whole(files: tuple[str, str], eventide: Command) -> None:
    query, events = files
    names = ", ".join(f"count(Beta.*) AS a_rather_long_name_{i}" for i in range(6))
    Path(query).write_text(f"{Path(query).read_text()}RETURN {names}")
    code, out, _ = eventide("run", query, "--input", events, "--ts-unit", "s")
    assert code == 0 and all(f"a_rather_long_name_{i}" in out for i in range(6))


def test_the_terminal_underlines_what_is_wrong(files: tuple[str, str], eventide: Command) -> None:
    query, events = files
    Path(query).write_text(Path(query).read_text().replace("AS b", "AS wrong"))
    code, out, err = eventide("check", query, "--input", events, "--ts-unit", "s")
    assert (code, out) == (2, "")
    assert err.startswith(
        "Error: unknown column 'wrong' (line 2, column 16)\n         Beta AS wrong\n                 ^^^^^\nHint: "
    )
