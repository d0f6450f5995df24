"""The aggregates of Spark SQL in MATCH_RECOGNIZE: what each takes, its type, and its text on DuckDB.

A text is a query over `{rows}`: the arguments of each row as columns x and y, the keys of WITHIN GROUP as k0, k1, ...
Where rows are sorted or DISTINCT, i is the place of a row.
tests/families/rows/test_aggregates.py runs every one on Spark, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from eventide.expressions.types import duckdb_type
from eventide.runtime.aggregate_types import average_type, sum_type
from eventide.runtime.quoting import literal

Types = Sequence[pa.DataType]

# Classes of arguments that are constants.
FRACTION, TEXT, FLAG, SIZE = "a number from 0 to 1", "a text", "true or false", "a whole number from 1 up"
CONSTANTS = (FRACTION, TEXT, FLAG, SIZE)


@dataclass(frozen=True, slots=True)
class Use:
    """How a query uses an aggregate: types of the arguments, constants, and what its clauses say.

    `order` has for each key of WITHIN GROUP how it sorts, such as "DESC NULLS LAST".
    """

    types: tuple[pa.DataType, ...]
    constants: tuple[Any, ...] = ()
    order: tuple[str, ...] = ()
    distinct: bool = False
    ignores_nulls: bool = False


Write = Callable[[Use], str]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate.

    `usage` is what follows its name. Classes of arguments: "number" is cast to double, "numeric" stays as it is, then
    "integer", "boolean", "string", "array", "orderable" and "any"; or a constant. The last `optional` may be missing.
    `keys` says how many keys WITHIN GROUP may have at least and at most; with `key`, the class of one, that is the
    value itself. `nulls` says what happens to NULL where IGNORE NULLS and RESPECT NULLS may stand and do not.
    """

    usage: str
    params: tuple[str, ...]
    result: Callable[[Use], pa.DataType]
    write: Write
    optional: int = 0
    variadic: bool = False
    keys: tuple[int, int] = (0, 0)
    key: str = ""
    nulls: str = ""  # "ignored" or "kept"
    sorts: bool = False  # by something else than the order of rows, which comes next

    def classes(self, n: int, grouped: bool) -> tuple[str, ...]:
        """The classes of n arguments that are no constants; `grouped`: WITHIN GROUP has the value.

        >>> AGGREGATES["MAX_BY"].classes(2, False), AGGREGATES["PERCENTILE_CONT"].classes(1, True)
        (('any', 'orderable'), ('number',))
        """
        if grouped and self.key:
            return (self.key,)
        read = tuple(param for param in self.params if param not in CONSTANTS)
        return (read + read[-1:] * n)[:n]


# --- types ------------------------------------------------------------------------------------------------


def _always(dtype: pa.DataType) -> Callable[[Use], pa.DataType]:
    return lambda use: dtype


def _first(use: Use) -> pa.DataType:
    return use.types[0]


def _list(use: Use) -> pa.DataType:
    return pa.list_(use.types[0])


def _one_or_list(use: Use) -> pa.DataType:
    return _list(use) if use.constants else _first(use)


def _fractions(use: Use) -> pa.DataType:
    return pa.list_(pa.float64()) if isinstance(use.constants[0], tuple) else pa.float64()


_DOUBLE, _BIGINT, _BOOLEAN, _STRING = map(_always, (pa.float64(), pa.int64(), pa.bool_(), pa.string()))

# --- texts ------------------------------------------------------------------------------------------------


def _plain(expression: str, present: str = "") -> Write:
    text = f"SELECT {expression} FROM {{rows}}" + (f" WHERE {present}" if present else "")
    return lambda use: text


def _ordered(expression: str) -> Write:
    """In the order of the rows; DISTINCT forgets it, and keeps the place of each value's first row."""

    def write(use: Use) -> str:
        by = " ORDER BY i" if use.distinct else ""
        present = " WHERE x IS NOT NULL" if use.ignores_nulls else ""
        return f"SELECT {expression.format(by=by)} FROM {{rows}}{present}"

    return write


def _union(use: Use) -> str:
    """Each item at its first place in the order of the rows; NULL is none."""
    by = " ORDER BY i" if use.distinct else ""
    flat = f"SELECT flatten(list(x{by})) AS v FROM {{rows}} WHERE x IS NOT NULL"
    items = f"SELECT unnest(v) AS e, generate_subscripts(v, 1) AS k FROM ({flat})"
    first = f"SELECT e, min(k) AS k FROM ({items}) WHERE e IS NOT NULL GROUP BY e"
    return f"SELECT coalesce(list(e ORDER BY k), []) FROM ({first})"


def _joined(use: Use) -> str:
    separator = literal(use.constants[0] if use.constants else "")
    by = ", ".join([*(f"k{i} {how}" for i, how in enumerate(use.order)), *(["i"] if use.order or use.distinct else [])])
    return f"SELECT string_agg(x, {separator}{f' ORDER BY {by}' if by else ''}) FROM {{rows}}"


def _sum(use: Use) -> str:
    return f"SELECT CAST(sum(x) AS {duckdb_type(sum_type(use.types[0]))}) FROM {{rows}}"


def _try_sum(use: Use) -> str:
    return f"SELECT TRY_CAST(sum(x) AS {duckdb_type(sum_type(use.types[0]))}) FROM {{rows}}"


def _average(use: Use) -> str:
    """Of decimals exactly, rounded half up: DuckDB divides them as doubles."""
    dtype = use.types[0]
    if not pa.types.is_decimal(dtype):
        return "SELECT avg(CAST(x AS DOUBLE)) FROM {rows}"
    result = average_type(dtype)
    one = 10 ** (result.scale - dtype.scale)
    # Without its point a decimal is its whole number of units; text turns it back, whatever its size.
    units = "SELECT CAST(replace(CAST(sum(x) AS VARCHAR), '.', '') AS HUGEINT) AS s, count(x) AS n FROM {rows}"
    parts = f"SELECT s, n, abs(s) // n AS q, abs(s) % n AS r FROM ({units})"
    rounded = f"SELECT s, CAST(q * {one} + (r * {2 * one} + n) // (2 * n) AS VARCHAR) AS t FROM ({parts})"
    padded = f"SELECT s, repeat('0', greatest(0, {result.scale + 1} - length(t))) || t AS t FROM ({rounded})"
    sign = "CASE WHEN s < 0 THEN '-' ELSE '' END"
    text = f"{sign} || left(t, length(t) - {result.scale}) || '.' || right(t, {result.scale})"
    return f"SELECT CAST({text} AS {duckdb_type(result)}) FROM ({padded})"


def _try_average(use: Use) -> str:
    return _average(use).replace("SELECT CAST(CASE", "SELECT TRY_CAST(CASE", 1)


def _moments(result: str) -> Write:
    """Of n values the sums m2, m3, m4 of powers of their distances from the mean."""
    values = _centered("SELECT list(x) AS x FROM {rows} WHERE x IS NOT NULL", "x")
    powers = ", ".join(f"list_sum(list_transform(x, lambda e: e ** {k})) AS m{k}" for k in (3, 4))
    sums = f"SELECT len(x) AS n, list_dot_product(x, x) AS m2, {powers} FROM ({values})"
    return lambda use: f"SELECT {result} FROM ({sums})"


def _pairs(result: str) -> Write:
    """Of n pairs without NULL the means mx, my and the sums of products of distances from them: sxx, syy, sxy."""
    present = "x IS NOT NULL AND y IS NOT NULL"
    values = _centered(f"SELECT list(x) AS x, list(y) AS y FROM {{rows}} WHERE {present}", "x", "y")
    products = ", ".join(f"list_dot_product({a}, {b}) AS s{a}{b}" for a, b in ("xx", "yy", "xy"))
    sums = f"SELECT coalesce(len(x), 0) AS n, mx, my, {products} FROM ({values})"
    return lambda use: f"SELECT {result} FROM ({sums})"


def _centered(values: str, *lists: str) -> str:
    """The lists as distances from their means, and the means, mx of x.

    First the first value is taken off: of equal values all distances are zero then, as in Spark. Each step is a query
    of its own, or DuckDB would compute the mean again for every value.
    """

    def step(query: str, *items: str) -> str:
        return f"SELECT {', '.join(item.format(x) for x in lists for item in items)} FROM ({query})"

    first = step(values, "{0}", "{0}[1] AS f{0}")
    moved = step(first, "list_transform({0}, lambda e: e - f{0}) AS {0}", "f{0}")
    mean = step(moved, "{0}", "f{0}", "list_avg({0}) AS a{0}")
    return step(mean, "list_transform({0}, lambda e: e - a{0}) AS {0}", "f{0} + a{0} AS m{0}")


def _sorted_values(use: Use) -> str:
    return f"SELECT list(x ORDER BY x {use.order[0] if use.order else 'ASC'}) AS v FROM {{rows}} WHERE x IS NOT NULL"


def _percentile(use: Use) -> str:
    """Between the two values around the place, as Spark weighs them."""

    def at(fraction: float) -> str:
        place = f"((len(v) - 1) * {fraction!r}::DOUBLE)"
        low, high = f"floor({place})", f"ceil({place})"
        below, above = f"v[CAST({low} AS BIGINT) + 1]", f"v[CAST({high} AS BIGINT) + 1]"
        between = f"{below} + ({place} - {low}) * ({above} - {below})"
        return f"CASE WHEN {below} = {above} THEN {below} ELSE {between} END"

    return _at_fractions(use, at)


def _percentile_of_values(use: Use) -> str:
    return _at_fractions(use, lambda fraction: f"v[greatest(1, CAST(ceil({fraction!r}::DOUBLE * len(v)) AS BIGINT))]")


def _at_fractions(use: Use, at: Callable[[float], str]) -> str:
    given = use.constants[0] if use.constants else 0.5
    if isinstance(given, tuple):
        return f"SELECT CASE WHEN v IS NOT NULL THEN [{', '.join(map(at, given))}] END FROM ({_sorted_values(use)})"
    return f"SELECT {at(given)} FROM ({_sorted_values(use)})"


def _mode(use: Use) -> str:
    """Of values as frequent as each other the first in their order: Spark takes any without WITHIN GROUP."""
    counts = "SELECT x, count(*) AS c FROM {rows} WHERE x IS NOT NULL GROUP BY x"
    return f"SELECT first(x ORDER BY c DESC, x {use.order[0] if use.order else 'ASC'}) FROM ({counts})"


def _by(function: str, direction: str) -> Write:
    def write(use: Use) -> str:
        if not use.constants:
            return f"SELECT {function}(x, y) FROM {{rows}}"
        return f"SELECT list(x ORDER BY y {direction}, i)[:{use.constants[0]}] FROM {{rows}} WHERE y IS NOT NULL"

    return write


def _count(use: Use) -> str:
    present = " AND ".join(f"{column} IS NOT NULL" for column in columns(len(use.types)))
    return f"SELECT count(*) FROM {{rows}} WHERE {present}"


def columns(n: int) -> list[str]:
    """The names of `{rows}`'s columns for the arguments.

    >>> columns(2)
    ['x', 'y']
    """
    return ["x", "y", *(f"z{i}" for i in range(2, n))][:n]


def _number(expression: Write) -> Aggregate:
    return Aggregate("(x)", ("number",), _DOUBLE, expression)


def _two_numbers(expression: Write) -> Aggregate:
    return Aggregate("(y, x)", ("number", "number"), _DOUBLE, expression)


def _bits(function: str) -> Aggregate:
    return Aggregate("(x)", ("integer",), _first, _plain(f"{function}(x)"))


def _truth(function: str) -> Aggregate:
    return Aggregate("(condition)", ("boolean",), _BOOLEAN, _plain(f"{function}(x)"))


def _one_value(expression: str) -> Aggregate:
    return Aggregate("(x [, ignore_nulls])", ("any", FLAG), _first, _ordered(expression), optional=1, nulls="kept")


def _of_group(usage: str, write: Write) -> Aggregate:
    return Aggregate(usage, (FRACTION,), _fractions, write, keys=(1, 1), key="number")


# --- the list ---------------------------------------------------------------------------------------------

AGGREGATES: dict[str, Aggregate] = {
    "COUNT": Aggregate("(x, ...)", ("any",), _BIGINT, _count, optional=1, variadic=True),
    "COUNT_IF": Aggregate("(condition)", ("boolean",), _BIGINT, _plain("count(*)", "x")),
    "SUM": Aggregate("(x)", ("numeric",), lambda use: sum_type(use.types[0]), _sum),
    "TRY_SUM": Aggregate("(x)", ("numeric",), lambda use: sum_type(use.types[0]), _try_sum),
    "AVG": Aggregate("(x)", ("numeric",), lambda use: average_type(use.types[0]), _average),
    "TRY_AVG": Aggregate("(x)", ("numeric",), lambda use: average_type(use.types[0]), _try_average),
    "MIN": Aggregate("(x)", ("orderable",), _first, _plain("min(x)")),
    "MAX": Aggregate("(x)", ("orderable",), _first, _plain("max(x)")),
    "MIN_BY": Aggregate(
        "(x, y [, k])", ("any", "orderable", SIZE), _one_or_list, _by("arg_min_null", "ASC"), 1, sorts=True
    ),
    "MAX_BY": Aggregate(
        "(x, y [, k])", ("any", "orderable", SIZE), _one_or_list, _by("arg_max_null", "DESC"), 1, sorts=True
    ),
    "ANY_VALUE": _one_value("first(x{by})"),
    "FIRST_VALUE": _one_value("first(x{by})"),
    "LAST_VALUE": _one_value("last(x{by})"),
    "ARRAY_AGG": Aggregate("(x)", ("any",), _list, _ordered("coalesce(list(x{by}), [])"), nulls="ignored"),
    "COLLECT_SET": Aggregate("(x)", ("any",), _list, _ordered("coalesce(list(x{by}), [])"), nulls="ignored"),
    "COLLECT_UNION": Aggregate("(array)", ("array",), _first, _union),
    "STRING_AGG": Aggregate(
        "(x [, separator]) [WITHIN GROUP (ORDER BY y)]",
        ("string", TEXT),
        _STRING,
        _joined,
        optional=1,
        keys=(0, 9),
        sorts=True,
    ),
    "BOOL_AND": _truth("bool_and"),
    "BOOL_OR": _truth("bool_or"),
    "BIT_AND": _bits("bit_and"),
    "BIT_OR": _bits("bit_or"),
    "BIT_XOR": _bits("bit_xor"),
    "MODE": Aggregate("(x)", ("orderable", FLAG), _first, _mode, optional=1, keys=(0, 1), key="orderable"),
    "MEDIAN": Aggregate("(x)", ("number",), _DOUBLE, _percentile),
    "PERCENTILE": Aggregate("(x, percentage)", ("number", FRACTION), _fractions, _percentile),
    "PERCENTILE_CONT": _of_group("(percentage) WITHIN GROUP (ORDER BY x)", _percentile),
    "PERCENTILE_DISC": _of_group("(percentage) WITHIN GROUP (ORDER BY x)", _percentile_of_values),
    "VAR_POP": _number(_moments("m2 / n")),
    "VAR_SAMP": _number(_moments("m2 / nullif(n - 1, 0)")),
    "STDDEV_POP": _number(_moments("sqrt(m2 / n)")),
    "STDDEV_SAMP": _number(_moments("sqrt(m2 / nullif(n - 1, 0))")),
    "SKEWNESS": _number(_moments("sqrt(n) * m3 / nullif(sqrt(m2 * m2 * m2), 0)")),
    "KURTOSIS": _number(_moments("n * m4 / nullif(m2 * m2, 0) - 3")),
    "COVAR_POP": _two_numbers(_pairs("sxy / n")),
    "COVAR_SAMP": _two_numbers(_pairs("sxy / nullif(n - 1, 0)")),
    "CORR": _two_numbers(_pairs("sxy / nullif(sqrt(sxx * syy), 0)")),
    "REGR_COUNT": Aggregate("(y, x)", ("number", "number"), _BIGINT, _pairs("n")),
    "REGR_AVGX": _two_numbers(_plain("avg(y)", "x IS NOT NULL AND y IS NOT NULL")),
    "REGR_AVGY": _two_numbers(_plain("avg(x)", "x IS NOT NULL AND y IS NOT NULL")),
    "REGR_SXX": _two_numbers(_pairs("syy")),
    "REGR_SYY": _two_numbers(_pairs("sxx")),
    "REGR_SXY": _two_numbers(_pairs("sxy")),
    "REGR_SLOPE": _two_numbers(_pairs("sxy / nullif(syy, 0)")),
    "REGR_INTERCEPT": _two_numbers(_pairs("mx - sxy / nullif(syy, 0) * my")),
    "REGR_R2": _two_numbers(_pairs("CASE WHEN syy = 0 THEN NULL WHEN sxx = 0 THEN 1 ELSE sxy * sxy / (sxx * syy) END")),
}

ALIASES = {
    "MEAN": "AVG",
    "COLLECT_LIST": "ARRAY_AGG",
    "STD": "STDDEV_SAMP",
    "STDDEV": "STDDEV_SAMP",
    "VARIANCE": "VAR_SAMP",
    "EVERY": "BOOL_AND",
    "ANY": "BOOL_OR",
    "SOME": "BOOL_OR",
    "LISTAGG": "STRING_AGG",
}

_APPROXIMATE = "its approximation is Spark's own"
_SKETCH = "it makes a sketch in Spark's own format"
_KEEP = "keep the values with array_agg(x), and sketch them on Spark afterwards"
_GROUPING = "it belongs to GROUP BY with GROUPING SETS, CUBE or ROLLUP"
_VARIANT = "there are no variants here"

# Aggregates of Spark SQL that cannot be computed here as Spark does: why, and what to use instead.
REFUSED: dict[str, tuple[str, str]] = {
    "APPROX_COUNT_DISTINCT": (_APPROXIMATE, "count exactly: count(DISTINCT x)"),
    "APPROX_PERCENTILE": (_APPROXIMATE, "compute it exactly: percentile(x, 0.5)"),
    "PERCENTILE_APPROX": (_APPROXIMATE, "compute it exactly: percentile(x, 0.5)"),
    "HISTOGRAM_NUMERIC": (_APPROXIMATE, "count the values of each range: count_if(x BETWEEN 0 AND 10)"),
    "APPROX_TOP_K": (_APPROXIMATE, "take the most frequent value, mode(x), or all of them, array_agg(x)"),
    **dict.fromkeys(
        (
            "APPROX_TOP_K_ACCUMULATE",
            "APPROX_TOP_K_COMBINE",
            "BITMAP_AND_AGG",
            "BITMAP_CONSTRUCT_AGG",
            "BITMAP_OR_AGG",
            "COUNT_MIN_SKETCH",
            "HLL_SKETCH_AGG",
            "HLL_UNION_AGG",
            "KLL_MERGE_AGG_BIGINT",
            "KLL_MERGE_AGG_DOUBLE",
            "KLL_MERGE_AGG_FLOAT",
            "KLL_SKETCH_AGG_BIGINT",
            "KLL_SKETCH_AGG_DOUBLE",
            "KLL_SKETCH_AGG_FLOAT",
            "THETA_INTERSECTION_AGG",
            "THETA_SKETCH_AGG",
            "THETA_UNION_AGG",
            "TUPLE_INTERSECTION_AGG_DOUBLE",
            "TUPLE_INTERSECTION_AGG_INTEGER",
            "TUPLE_SKETCH_AGG_DOUBLE",
            "TUPLE_SKETCH_AGG_INTEGER",
            "TUPLE_UNION_AGG_DOUBLE",
            "TUPLE_UNION_AGG_INTEGER",
        ),
        (_SKETCH, _KEEP),
    ),
    "MEASURE": ("it belongs to metric views", "name the aggregate itself: sum(x)"),
    "GROUPING": (_GROUPING, "group the result after {query}"),
    "GROUPING_ID": (_GROUPING, "group the result after {query}"),
    "SCHEMA_OF_VARIANT_AGG": (_VARIANT, "compute it after {query}"),
}


# Names of other engines, and Spark's.
FOREIGN = {
    "ARBITRARY": "any_value",
    "ARG_MAX": "max_by",
    "ARG_MIN": "min_by",
    "APPROX_DISTINCT": "count(DISTINCT x)",
    "GROUP_CONCAT": "string_agg",
    "QUANTILE": "percentile",
}


def known_aggregate(name: str) -> str | None:
    """The key in `AGGREGATES` of an aggregate's name, in upper case; None when it has none.

    >>> known_aggregate("MEAN"), known_aggregate("GROUPING")
    ('AVG', None)
    """
    name = ALIASES.get(name, name)
    return name if name in AGGREGATES else None
