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
from eventide.errors import EventideError, InputError, UnsupportedError
from eventide.lang import SituationQuery
from tests.families.situations.lanes import lanes
from tests.lang.corpus import check_message, each_message, read_pairs

Command = Callable[..., tuple[int, str, str]]

EVENTS = pa.Table.from_pylist(
    [{"ts": ts, "car": 1, "speed": 60 + ts, "accel": 9.0, "name": "x", "long": Decimal("1" * 25)} for ts in range(5)]
)
DEFINE = "DEFINE A AS speed > 61, B AS accel > 8 "


def error_of(text: str, **options: Any) -> EventideError:
    with pytest.raises(EventideError) as caught:
        ev.query(text, **({"ts_unit": "s"} | options)).run(EVENTS)
    return caught.value


@each_message(read_pairs("../plan/situations_invalid.txt"))
def test_the_whole_message(text: str, message: str) -> None:
    check_message(lambda: ev.query(text, ts_unit="s").run(EVENTS), message)


@pytest.mark.parametrize("pattern", ["Check overlaps", "SEQ(A overlaps, B meets)", "A before+"])
def test_an_event_pattern_may_have_symbols_that_are_named_like_relations(pattern: str) -> None:
    assert not isinstance(ev.query(f"PATTERN {pattern}").tree, SituationQuery)


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
    told = "refused: without a WITHIN clause every situation stays relevant for ever; add a WITHIN clause"
    assert told in query.explain(frame)
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
