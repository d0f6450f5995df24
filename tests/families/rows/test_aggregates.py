"""Every aggregate of Spark SQL in MATCH_RECOGNIZE: equal to Spark's, or refused by name."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from eventide.expressions.navigation.aggregates import AGGREGATES, ALIASES, REFUSED
from eventide.lang.keywords import AGGREGATES as CALLED

# NULLs, equal values, one value, none, NaN, infinity, ties.
GROUPS: dict[int, list[tuple[float | None, float | None]]] = {
    1: [(1.0, 1.0), (2.0, 3.0), (None, 5.0), (4.0, None), (4.0, 9.0)],
    2: [(0.1, 1.0), (0.1, 2.0), (0.1, 3.0)],
    3: [(None, 1.0)],
    4: [(5.0, 2.0)],
    5: [(math.nan, 1.0), (1.0, 2.0)],
    6: [(math.inf, 1.0), (1.0, 2.0)],
    7: [(3.0, 2.0), (1.0, 2.0), (1.0, 2.0), (3.0, 2.0), (2.0, 2.0)],
    8: [(-0.25 * n * n, 0.1 * n) for n in range(1, 12)],
}
ROWS = [(g, i, x, y) for g, pairs in GROUPS.items() for i, (x, y) in enumerate(pairs)]


def _decimal(x: float | None) -> Decimal | None:
    return None if x is None or not math.isfinite(x) else Decimal(repr(x)).quantize(Decimal("0.01"))


TABLE = pa.table(
    {
        "g": pa.array([g for g, _, _, _ in ROWS], pa.int32()),
        "i": pa.array([i for _, i, _, _ in ROWS], pa.int32()),
        "x": pa.array([x for _, _, x, _ in ROWS], pa.float64()),
        "y": pa.array([y for _, _, _, y in ROWS], pa.float64()),
        "s": pa.array([None if x is None else "abc"[i % 3] for _, i, x, _ in ROWS]),
        "b": pa.array([None if x is None else x > 1 for _, _, x, _ in ROWS]),
        "d": pa.array([_decimal(x) for _, _, x, _ in ROWS], pa.decimal128(10, 2)),
        "wide": pa.array([_decimal(x) for _, _, x, _ in ROWS], pa.decimal128(30, 10)),
        "tags": pa.array([None if x is None else ["abc"[i % 3], "d"] for _, i, x, _ in ROWS]),
    }
)
EQUAL = """
    count(*) | count(x) | count(x, y) | count(DISTINCT x) | count(DISTINCT x, y) | count_if(b) | count_if(DISTINCT b)
    sum(x) | sum(i) | sum(d) | sum(wide) | sum(DISTINCT x) | sum(DISTINCT d) | sum(x) FILTER (WHERE y > 2)
    try_sum(x) | try_sum(i) | try_sum(d) | avg(x) | avg(i) | avg(d) | avg(wide) | avg(-d) | avg(DISTINCT d) | mean(x)
    avg(d) FILTER (WHERE y > 1) | try_avg(x) | try_avg(d) | min(x) | max(x) | min(s) | max(d) | max(DISTINCT x)
    max_by(s, i) | min_by(s, i) | max_by(x, y) FILTER (WHERE g <> 7) | max_by(s, i, 2) | min_by(i, x, 1)
    any_value(x) | any_value(x) IGNORE NULLS | first_value(x) | first_value(x, true) | last_value(x)
    last_value(s) IGNORE NULLS | first_value(x) FILTER (WHERE y > 2) | array_agg(x) | collect_list(s)
    array_agg(x) RESPECT NULLS | array_agg(x) IGNORE NULLS | array_agg(x) FILTER (WHERE y > 2)
    string_agg(s) | string_agg(s, ',') | listagg(s, '') | listagg(s, NULL) | listagg(s, ', ') FILTER (WHERE y > 1)
    listagg(s, ',') WITHIN GROUP (ORDER BY i DESC) | listagg(s, ',') WITHIN GROUP (ORDER BY x NULLS LAST, i)
    listagg(DISTINCT s, ',') WITHIN GROUP (ORDER BY s) | bool_and(b) | bool_or(b) | every(b) | any(b) | some(b)
    bool_and(b) FILTER (WHERE y > 2) | bit_and(i) | bit_or(i) | bit_xor(i) | mode(x, true)
    mode() WITHIN GROUP (ORDER BY x) | mode() WITHIN GROUP (ORDER BY x DESC) | median(x) | median(i) | median(d)
    percentile(x, 0.3) | percentile(x, array(0.1, 0.5, 0.9)) | percentile(DISTINCT x, 0.3)
    percentile_cont(0.3) WITHIN GROUP (ORDER BY x) | percentile_cont(0.3) WITHIN GROUP (ORDER BY x DESC)
    percentile_disc(0.3) WITHIN GROUP (ORDER BY x) | percentile_disc(0.5) WITHIN GROUP (ORDER BY x DESC)
    percentile_disc(0.0) WITHIN GROUP (ORDER BY i) | percentile_disc(1.0) WITHIN GROUP (ORDER BY i)
    var_pop(x) | var_samp(x) | variance(d) | stddev(x) | std(i) | stddev_samp(x) | stddev_pop(x) | stddev(DISTINCT x)
    skewness(x) | kurtosis(x) | kurtosis(x) FILTER (WHERE y > 1) | corr(x, y) | corr(y, x) | covar_pop(x, y)
    covar_samp(x, y) | covar_samp(DISTINCT x, y) | regr_count(x, y) | regr_avgx(x, y) | regr_avgy(x, y)
    regr_sxx(x, y) | regr_syy(x, y) | regr_sxy(x, y) | regr_slope(x, y) | regr_slope(y, x) | regr_intercept(x, y)
    regr_intercept(y, x) | regr_r2(x, y) | regr_r2(y, x)
"""
EXPRESSIONS = [text.strip() for text in EQUAL.replace("\n", "|").split("|") if text.strip()]
# In Spark the items come in any order.
SETS = [
    "collect_set(x)",
    "collect_set(s)",
    "collect_set(x) RESPECT NULLS",
    "array_agg(DISTINCT s)",
    "collect_union(tags)",
]


def clause(expressions: list[str]) -> str:
    measures = ", ".join(f"{text} AS m{i}" for i, text in enumerate(expressions))
    return f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY g ORDER BY i MEASURES {measures} PATTERN (A+)) ORDER BY g"


def same(found: Any, wanted: Any, is_set: bool = False) -> bool:
    """Whether a value is as good as another: sums of doubles depend on their order in the last digits."""
    if isinstance(found, float) and isinstance(wanted, float):
        return (math.isnan(found) and math.isnan(wanted)) or math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(found, list) and isinstance(wanted, list):
        pairs = (
            zip(sorted(found, key=str), sorted(wanted, key=str), strict=False)
            if is_set
            else zip(found, wanted, strict=False)
        )
        return len(found) == len(wanted) and all(same(a, b) for a, b in pairs)
    return bool(found == wanted)


def same_column(found: pa.Table, wanted: pa.Table, name: str, is_set: bool) -> bool:
    one, other = found.column(name), wanted.column(name)
    is_typed = pa.types.is_list(one.type) or one.type == other.type
    return is_typed and all(same(a, b, is_set) for a, b in zip(one.to_pylist(), other.to_pylist(), strict=True))


def test_the_language_knows_the_same_aggregates_as_the_plan() -> None:
    assert {*AGGREGATES, *ALIASES, *REFUSED} - {"COUNT"} == CALLED
    used = {text.split("(")[0].upper() for text in [*EXPRESSIONS, *SETS]}
    assert used >= {*AGGREGATES, *ALIASES}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("avg(d)", [Decimal("2.750000"), Decimal("0.100000"), None]),
        ("avg(wide)", [Decimal("2.75000000000000"), Decimal("0.10000000000000"), None]),
        ("stddev(x)", [1.5, 0.0, None]),
        ("corr(x, y)", [0.9958705948858222, None, None]),
        ("count(DISTINCT x, y)", [3, 3, 0]),
        ("string_agg(s)", ["abab", "abc", None]),
        ("first_value(x) FILTER (WHERE y > 2)", [2.0, 0.1, None]),
        ("array_agg(x) RESPECT NULLS", [[1.0, 2.0, None, 4.0, 4.0], [0.1, 0.1, 0.1], [None]]),
        ("max_by(s, x, 2)", [["a", "b"], ["a", "b"], None]),
        ("percentile_disc(0.5) WITHIN GROUP (ORDER BY x DESC)", [4.0, 0.1, None]),
    ],
)
def test_values_of_aggregates(text: str, expected: list[Any]) -> None:
    found = [row["m0"] for row in ev.sql(clause([text]), t=TABLE).to_pylist()[:3]]
    assert len(found) == len(expected) and all(map(same, found, expected))


@pytest.mark.parametrize("text", [*EXPRESSIONS, *SETS])
def test_every_aggregate_stands_in_define(text: str) -> None:
    define = f"PATTERN (A+) DEFINE A AS {text} IS NULL OR {text} IS NOT NULL"
    found = ev.sql(clause(["count(*)"]).replace("PATTERN (A+)", define), t=TABLE.slice(0, 5)).to_pylist()
    assert found == [{"g": 1, "m0": 5}]


def test_the_average_of_decimals_is_exact_in_conditions() -> None:
    cents = pa.table({"i": [1, 2, 3], "d": pa.array([Decimal("0.10"), Decimal("0.20"), Decimal("0.30")])})
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY i MEASURES avg(d) AS a PATTERN (A A C) DEFINE C AS avg(d) = 0.2)"
    assert ev.sql(text, t=cents).to_pylist() == [{"a": Decimal("0.200000")}]


@pytest.mark.parametrize("text", ["collect_union(tags)", "collect_union(DISTINCT tags)", "collect_union(u.tags)"])
def test_a_union_of_arrays_has_its_items_in_the_order_of_rows(text: str) -> None:
    tags = [["z", None, "q"], None, ["m", "z"], ["z", "a", "q"], [], ["b", "m"], ["z", None, "q"]]
    rows = pa.table({"i": range(len(tags)), "tags": tags})
    pattern = "PATTERN (A B+) SUBSET u = (A, B)"
    text = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY i MEASURES {text} AS m {pattern} DEFINE B AS i > 0)"
    assert ev.sql(text, t=rows).to_pylist() == [{"m": ["z", "q", "m", "a", "b"]}]


def test_an_average_is_rounded_half_up_away_from_zero() -> None:
    for scale, sign in ((2, 1), (2, -1), (20, -1)):
        values = [Decimal(sign * n).scaleb(-scale) for n in (1, 1, 0)]
        table = pa.table({"d": pa.array(values, pa.decimal128(38 if scale > 2 else 10, scale))})
        text = "SELECT * FROM t MATCH_RECOGNIZE (MEASURES avg(d) AS a PATTERN (A+))"
        assert ev.sql(text, t=table).to_pylist() == [{"a": Decimal(sign * 6667).scaleb(-scale - 4)}]


def test_an_aggregate_out_of_range_is_an_error_and_try_sum_is_null() -> None:
    huge = pa.table({"n": [2**62, 2**62 + 1, 2**62 + 2]})
    text = "SELECT * FROM t MATCH_RECOGNIZE (MEASURES {} AS s PATTERN (A+))"
    with pytest.raises(ev.InputError) as caught:
        ev.sql(text.format("sum(DISTINCT n)"), t=huge)
    assert caught.value.message == "an aggregate of MATCH_RECOGNIZE leaves the range of its type"
    assert ev.sql(text.format("try_sum(n)"), t=huge).to_pylist() == [{"s": None}]


@pytest.mark.spark
def test_every_aggregate_is_that_of_spark(spark: Any) -> None:
    frame = spark.createDataFrame(TABLE).coalesce(1)
    frame.createOrReplaceTempView("aggregated")
    texts, different = [*EXPRESSIONS, *SETS], []
    # DISTINCT beside them makes Spark forget the order of rows in the others.
    plain = [text for text in texts if "DISTINCT" not in text]
    parts = [plain[start : start + 12] for start in range(0, len(plain), 12)]
    for some in [*parts, *([text] for text in texts if "DISTINCT" in text)]:
        items = ", ".join(f"{text} AS m{i}" for i, text in enumerate(some))
        wanted = spark.sql(f"SELECT g, {items} FROM aggregated GROUP BY g ORDER BY g").toArrow()
        found = ev.sql(clause(some), t=TABLE)
        different += [text for i, text in enumerate(some) if not same_column(found, wanted, f"m{i}", text in SETS)]
    assert not different
    # In a task the same text runs on the same engine: a few show that it does.
    few = [*texts[::9], "avg(d)", "avg(wide)"]
    found, there = ev.sql(clause(few), t=TABLE), ev.sql(clause(few), t=frame).toArrow()
    assert all(same_column(there, found, f"m{i}", text in SETS) for i, text in enumerate(few))


@pytest.mark.spark
def test_every_aggregate_of_spark_is_known(spark: Any) -> None:
    registry = spark._jsparkSession.sessionState().functionRegistry()
    names, listed = set(), registry.listFunction().iterator()
    while listed.hasNext():
        name = listed.next()
        information = registry.lookupFunction(name)
        if information.isDefined() and information.get().getGroup() == "agg_funcs":
            names.add(name.funcName().upper())
    assert names - {"FIRST", "LAST"} <= {*AGGREGATES, *ALIASES, *REFUSED}


@pytest.mark.parametrize(
    ("condition", "labels"),
    [
        ("array_agg(CLASSIFIER()) = ARRAY['B', 'A', 'X']", "BAX"),
        ("array_join(array_agg(CLASSIFIER()), '', '') = 'ABX'", "ABX"),
        ("element_at(array_agg(CLASSIFIER()), 2) = 'B'", "ABX"),
        ("size(array_agg(B.id)) = 2", "BBX"),
        ("array_contains(array_agg(B.id), 1) AND count(*) = 3", "BAX"),
        ("array_sort(array_agg(CLASSIFIER())) = array('B', 'B', 'X')", "BBX"),
    ],
)
def test_a_condition_may_look_into_an_array_of_the_rows_so_far(condition: str, labels: str) -> None:
    found = ev.match_recognize(
        order_by="id", pattern="(A | B)* X", define={"X": condition}, measures={"s": "string_agg(CLASSIFIER(), '')"}
    )([{"id": i} for i in (1, 2, 3)])
    assert found.to_pylist() == [{"s": labels}]


@pytest.mark.parametrize(
    ("measure", "value"),
    [("count(CLASSIFIER())", 0), ("array_agg(CLASSIFIER())", []), ("max(CLASSIFIER())", None)],
)
def test_a_pattern_without_labels_has_no_classifier_to_aggregate(measure: str, value: Any) -> None:
    text = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY x MEASURES {measure} AS n PATTERN (()))"
    assert ev.sql(text, t=[{"x": 1}]).to_pylist() == [{"n": value}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max(p)", "max cannot order struct<a: int64>: a NULL inside would come last, on Spark it comes first"),
        (
            "max_by(i, p)",
            "max_by cannot order struct<a: int64>: a NULL inside would come last, on Spark it comes first",
        ),
        ("min(tags)", "min cannot order list<l: string>: a NULL inside would come last, on Spark it comes first"),
        ("min(m)", "there is no order for min of map<string, int64>"),
    ],
)
def test_what_engines_order_otherwise_is_refused_with_the_reason(text: str, message: str) -> None:
    maps = pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))
    rows = pa.table({"i": [1], "p": [{"a": 1}], "tags": [["a"]], "m": maps})
    with pytest.raises(ev.QueryError) as caught:
        ev.sql(f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY i MEASURES {text} AS m PATTERN (A+))", t=rows)
    assert caught.value.message == message
