"""State that a changed query cannot go on with is refused with what changed; what may change goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from eventide.errors import InputError
from eventide.families.allen.lower import Relating
from eventide.families.allen.relations import parse_relations
from eventide.families.builder.lower import prepare_detection
from eventide.families.intervals.lower import Deriving, Runs
from eventide.families.registry import family_named, make_operator
from eventide.plan.options import Options
from eventide.plan.physical import Physical
from eventide.runtime.changes import changes

SCHEMA = pa.schema(
    [("ts", pa.int64()), ("user", pa.string()), ("kind", pa.string()), ("x", pa.int32()), ("y", pa.int32())]
)


INT = pa.int32()


def schema(**types: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(field.name, types.get(field.name, field.type)) for field in SCHEMA])


def events(
    text: str = "PATTERN SEQ(A a, B b) WHERE b.x > a.x WITHIN 10 seconds RETURN a.x, b.y AS z",
    over: pa.Schema = SCHEMA,
    **options: Any,
) -> Physical:
    given = {"ts": "ts", "ts_unit": "s", "type": "kind", "partition_by": "user"} | options
    return ev.query(text, **given).plan(over)


def trends(**options: Any) -> Physical:
    return events("PATTERN A a+ SEMANTICS any WITHIN 10 seconds SLIDE 5 seconds RETURN COUNT(*), SUM(a.x)", **options)


def situations(over: pa.Schema = SCHEMA, least: str = "3 seconds", **options: Any) -> Physical:
    text = f"DEFINE A AS x > 1 FOR AT LEAST {least}, B AS y > 1 PATTERN A overlaps B WITHIN 1 minute"
    return ev.query(text, ts="ts", ts_unit="s", partition_by="user", **options).plan(over)


def rows(over: pa.Schema = SCHEMA, **changed: Any) -> Physical:
    given: dict[str, Any] = {
        "pattern": "A B+",
        "define": {"B": "x > PREV(x)"},
        "measures": {"n": "count(B.*)"},
        "order_by": "ts",
        "within": "5 minutes",
        "ts_unit": "s",
    }
    made = ev.match_recognize(**(given | changed))
    return made._plan(made.options, over, "spark", on_stream=True)


def detection(over: pa.Schema = SCHEMA, within: str = "20 seconds", **changed: Any) -> Physical:
    pattern = ev.Pattern.begin("a", "kind = 'it. (A'").followed_by("b", "x > a.x").one_or_more().within(within)
    given: dict[str, Any] = {"partition_by": ("user",), "ts": "ts", "ts_unit": "s", "select": (("n", "count(b.*)"),)}
    return prepare_detection(pattern.tree, over, Options(**(given | changed)))


def intervals(over: pa.Schema = SCHEMA, minimum: int = 2, value: str = "avg(x)", **changed: Any) -> Physical:
    options = Options.of(**({"ts": "ts", "ts_unit": "s", "partition_by": "user"} | changed))
    return family_named("intervals").prepare(Deriving(Runs("x > 1", minimum), (("m", value),)), options, over)


def allen(relations: str = "before", y: pa.DataType = INT, within: int = 20, ts_unit: str = "s") -> Physical:
    one = pa.schema([("from", pa.int64()), ("to", pa.int64()), ("y", y)])
    relating = Relating(
        relations=parse_relations(relations),
        window_us=within * 1_000_000,
        partition_by=(),
        left_times=("from", "to"),
        right_times=("from", "to"),
    )
    return family_named("allen").prepare(relating, Options(ts_unit=ts_unit), (one, one))


def restore(old: Physical, new: Physical) -> None:
    make_operator(new.spec).restore(make_operator(old.spec).snapshot())


CHANGED: list[tuple[Callable[[], tuple[Physical, Physical]], list[str]]] = [
    (
        lambda: (events(), events("PATTERN SEQ(A a, B b) WHERE b.x > a.x WITHIN 20 seconds RETURN a.x, b.y AS z")),
        ["WITHIN 10 seconds became WITHIN 20 seconds"],
    ),
    (
        lambda: (events(), events("PATTERN SEQ(A a, C b) WITHIN 10 seconds RETURN a.x, b.y AS z")),
        [
            "PATTERN SEQ(A a, B b) became PATTERN SEQ(A a, C b)",
            "WHERE b.x > a.x was removed",
            "types A: `kind` = 'A'; B: `kind` = 'B' became types A: `kind` = 'A'; C: `kind` = 'C'",
        ],
    ),
    (lambda: (events(), events(ts_unit="ms")), ["time ts s became time ts ms"]),
    (lambda: (events(), events(partition_by=["kind"])), ["partition user became partition kind"]),
    (lambda: (events(), events(match_id=True)), ["option match_id (True) was added"]),
    (lambda: (events(), events(over=schema(x=pa.float64()))), ["column x: int became double"]),
    (
        lambda: (events(), events(over=schema(x=pa.int64(), user=pa.int64()))),
        ["column user: string became bigint", "column x: int became bigint"],
    ),
    (lambda: (trends(), trends(counts="double")), ["option counts (double) was added"]),
    (lambda: (trends(), trends(over=schema(x=pa.int64()))), ["column x: int became bigint"]),
    (
        lambda: (situations(), situations(least="4 seconds")),
        [
            "DEFINE A AS x > 1 FOR AT LEAST 3 seconds, B AS y > 1 became "
            "DEFINE A AS x > 1 FOR AT LEAST 4 seconds, B AS y > 1"
        ],
    ),
    (lambda: (situations(), situations(possible=True)), ["possible True was added"]),
    (lambda: (situations(), situations(over=schema(y=pa.int16()))), ["column y: int became smallint"]),
    (lambda: (rows(), rows(within="6 minutes")), ["WITHIN 5 minutes became WITHIN 6 minutes"]),
    (lambda: (rows(), rows(rows="all")), ["ONE ROW PER MATCH became ALL ROWS PER MATCH SHOW EMPTY MATCHES"]),
    (lambda: (rows(), rows(ts_unit="ms")), ["option ts_unit: s became ms"]),
    (lambda: (rows(), rows(match_id=True)), ["match_id was added"]),
    (lambda: (rows(), rows(over=schema(x=pa.float32()))), ["column x: int became float"]),
    (lambda: (detection(), detection(within="30 seconds")), ["within('20 seconds') became within('30 seconds')"]),
    (lambda: (detection(), detection(partition_by=("kind",))), ["option partition_by: user became kind"]),
    (lambda: (detection(), detection(ts_unit="ms")), ["option ts_unit: s became ms"]),
    (lambda: (detection(), detection(sequence="y")), ["option sequence (y) was added"]),
    (
        lambda: (detection(), detection(select=(("n", "sum(b.y)"),))),
        ["option select: n = count(b.*) became n = sum(b.y)"],
    ),
    (lambda: (detection(), detection(skip="past_last")), ["skip past_last was added"]),
    (lambda: (detection(), detection(over=schema(x=pa.int64()))), ["column x: int became bigint"]),
    (
        lambda: (detection(select=()), detection(SCHEMA.append(pa.field("w", pa.date32())), select=())),
        ["column w (date) was added"],
    ),
    (lambda: (intervals(), intervals(minimum=3)), ["OCCURRENCES 2.. became OCCURRENCES 3.."]),
    (lambda: (intervals(), intervals(value="max(x)")), ["VALUE avg(x) AS m became VALUE max(x) AS m"]),
    (lambda: (intervals(), intervals(ts_unit="us")), ["option ts_unit: s became us"]),
    (lambda: (intervals(), intervals(over=schema(x=pa.float64()))), ["column x: int became double"]),
    (lambda: (allen(), allen("meets")), ["ALLEN before became ALLEN meets"]),
    (lambda: (allen(), allen(within=30)), ["WITHIN 20 seconds became WITHIN 30 seconds"]),
    (lambda: (allen(), allen(ts_unit="ms")), ["option ts_unit: s became ms"]),
    (
        lambda: (allen(), allen(y=pa.string())),
        ["column left.y: int became string", "column right.y: int became string"],
    ),
]


@pytest.mark.parametrize(("pair", "said"), CHANGED)
def test_a_changed_query_is_refused_with_what_changed(
    pair: Callable[[], tuple[Physical, Physical]], said: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        restore(*pair())
    first, *lines = str(caught.value).splitlines()
    assert first == "the saved state belongs to another query:"
    assert [line.strip() for line in lines[:-1]] == said
    assert "new checkpoint" in lines[-1]


def test_the_columns_order_is_part_of_the_state() -> None:
    swapped = pa.schema([SCHEMA.field(name) for name in ("ts", "user", "kind", "y", "x")])
    for old, new in (
        (detection(select=()), detection(swapped, select=())),
        (situations(), situations(over=swapped)),
    ):
        with pytest.raises(InputError, match=r"the order of the columns: .*x, y became .*y, x"):
            restore(old, new)


@pytest.mark.parametrize(
    "pair",
    [
        lambda: (events(), events(allowed_lateness="5 seconds")),
        lambda: (events(), events(on_bad_event="drop", max_matches_per_partition=10)),
        lambda: (trends(), trends(on_overflow="null")),
        lambda: (events(), events(over=SCHEMA.append(pa.field("new", pa.string())))),
        lambda: (rows(), rows(over=SCHEMA.append(pa.field("new", pa.string())))),
        lambda: (intervals(), intervals(over=schema(y=pa.string()))),
        lambda: (events(), events("pattern seq(A a, B b)  where b.x > a.x within 10 s return a.x, b.y as z")),
        lambda: (detection(), detection(allowed_lateness=5, on_bad_event="drop", max_matches_per_partition=7)),
    ],
)
def test_what_the_state_does_not_depend_on_may_change(pair: Callable[[], tuple[Physical, Physical]]) -> None:
    restore(*pair())


def test_calls_of_a_pattern_are_told_apart_whatever_their_conditions_hold() -> None:
    old = """begin('a', "x = '.)('").next('b', 'y = \\'q.r\\'').within('1 minute')"""
    new = """begin('a', "x = '.)('").next('b', 'y = \\'q.s\\'').optional().within('1 minute')"""
    assert changes(old, new, {}, {}) == ["""next('b', 'y = \\'q.r\\'') became next('b', 'y = \\'q.s\\'').optional()"""]
    assert changes(old, old.replace(".within('1 minute')", ""), {}, {}) == ["within('1 minute') was removed"]
    group = "begin(begin('x').next('{}')).one_or_more().next('b')"
    found = changes(group.format("y"), group.format("z"), {}, {})
    assert found == ["begin(begin('x').next('y')) became begin(begin('x').next('z'))"]


def test_the_message_of_a_task_reaches_the_user_whole() -> None:
    from eventide.engines.spark.errors import user_message

    with pytest.raises(InputError) as caught:
        restore(events(), situations())
    wrapped = RuntimeError(f"Job aborted\neventide.errors.InputError: {caught.value}\n\n\tat org.apache.spark.X")
    assert user_message(wrapped) == str(caught.value)
