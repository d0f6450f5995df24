"""The allow-list: functions and casts whose results are equal on Catalyst (ANSI mode) and on DuckDB.

One row per function: how it is written in a query, its sqlglot node and that node's fields in order, the class each
argument must have, the result, and its text on DuckDB ({0} is the first argument). On Spark a function is written as it
is. tests/expressions/test_allow_list_equal.py runs every row on both engines, with the session time zone UTC.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.types import TIMESTAMP


@dataclass(frozen=True, slots=True)
class Function:
    """One row of the allow-list; without a `node`, what sqlglot does not know by its name.

    Classes: "double" takes any number, "integer" any integer, "date" and "timestamp" take dates and timestamps,
    "string" and "boolean" themselves; the argument is cast to the class before the call. The last `optional` arguments
    may be missing; `duckdb` has then one text per count. Inexact functions may differ by `MOST_ULPS`.
    """

    name: str
    node: type[exp.Expression] | None
    fields: tuple[str, ...]
    params: tuple[str, ...]
    result: pa.DataType
    duckdb: str | tuple[str, ...]
    optional: int = 0
    exact: bool = True

    def duckdb_text(self, args: list[str]) -> str:
        """The call on DuckDB.

        >>> FUNCTIONS["LENGTH"].duckdb_text(["x"])
        'CAST(length(x) AS INTEGER)'
        """
        if isinstance(self.duckdb, str):
            return self.duckdb.format(*args)
        return self.duckdb[len(args) - (len(self.params) - self.optional)].format(*args)


# Units in the last place by which an inexact function may differ: Java's own definition leaves its results open by one
# to two and a half, and so do libraries of C. CBRT is off the list: DuckDB and Java differ on every second value.
MOST_ULPS = 4

_INT, _LONG, _DOUBLE, _STRING, _BOOL = pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.bool_()
_ONE, _TWO = ("this",), ("this", "expression")

# Characters whose upper or lower case differs between the two (ß, ligatures, Greek with iota, İ, final sigma, letters
# of the newest Unicode version): there the local engine stops instead of answering differently.
_NO_UPPER = (
    r"[\x{{DF}}\x{{149}}\x{{19B}}\x{{1F0}}\x{{264}}\x{{390}}\x{{3B0}}\x{{587}}\x{{1C8A}}\x{{1E96}}-\x{{1E9A}}"
    r"\x{{1F50}}-\x{{1FFF}}\x{{A7CD}}-\x{{A7DB}}\x{{FB00}}-\x{{FB17}}\x{{10D70}}-\x{{10D85}}\x{{16EBB}}-\x{{16ED3}}]"
)
_NO_LOWER = r"[\x{{130}}\x{{3A3}}\x{{1C89}}\x{{A7CB}}-\x{{A7DC}}\x{{10D50}}-\x{{10D65}}\x{{16EA0}}-\x{{16EB8}}]"


def _cased(function: str, unsafe: str) -> str:
    message = f"{function.upper()} of this text differs between the engines, run it on Spark: "
    return f"CASE WHEN regexp_matches({{0}}, '{unsafe}') THEN error('{message}' || {{0}}) ELSE {function}({{0}}) END"


def _double(name: str, node: type[exp.Expression], duckdb: str, exact: bool = False) -> Function:
    return Function(name, node, _ONE, ("double",), _DOUBLE, duckdb, exact=exact)


def _part(name: str, node: type[exp.Expression], of: str) -> Function:
    return Function(name, node, _ONE, (of,), _INT, f"CAST({name.lower()}({{0}}) AS INTEGER)")


_LIST = (
    # numbers
    _double("SQRT", exp.Sqrt, "sqrt({0})", exact=True),
    _double("EXP", exp.Exp, "exp({0})"),
    _double("LN", exp.Ln, "CASE WHEN {0} <= 0 THEN NULL ELSE ln({0}) END"),
    _double("LOG2", exp.Log, "CASE WHEN {0} <= 0 THEN NULL ELSE log2({0}) END"),
    _double("LOG10", exp.Log, "CASE WHEN {0} <= 0 THEN NULL ELSE log10({0}) END"),
    _double("SIN", exp.Sin, "sin({0})"),
    _double("COS", exp.Cos, "cos({0})"),
    _double("TAN", exp.Tan, "tan({0})"),
    _double("ASIN", exp.Asin, "asin({0})"),
    _double("ACOS", exp.Acos, "acos({0})"),
    _double("ATAN", exp.Atan, "atan({0})"),
    _double("SINH", exp.Sinh, "sinh({0})"),
    _double("COSH", exp.Cosh, "cosh({0})"),
    _double("TANH", exp.Tanh, "tanh({0})"),
    _double("DEGREES", exp.Degrees, "degrees({0})", exact=True),
    _double("RADIANS", exp.Radians, "radians({0})", exact=True),
    _double(
        "SIGN",
        exp.Sign,
        "CASE WHEN isnan({0}) THEN {0} WHEN {0} > 0 THEN 1::DOUBLE WHEN {0} < 0 THEN -1::DOUBLE ELSE {0} END",
        exact=True,
    ),
    Function(
        "POWER",
        exp.Pow,
        _TWO,
        ("double", "double"),
        _DOUBLE,
        "CASE WHEN isnan({1}) OR (abs({0}) = 1 AND isinf({1})) THEN {0} + 'nan'::DOUBLE ELSE pow({0}, {1}) END",
        exact=False,
    ),
    Function("ATAN2", exp.Atan2, _TWO, ("double", "double"), _DOUBLE, "atan2({0} + 0.0, {1} + 0.0)", exact=False),
    Function("ISNAN", exp.IsNan, _ONE, ("double",), _BOOL, "coalesce(isnan({0}), false)"),
    Function("NANVL", exp.Nanvl, _TWO, ("double", "double"), _DOUBLE, "CASE WHEN isnan({0}) THEN {1} ELSE {0} END"),
    # strings
    Function("UPPER", exp.Upper, _ONE, ("string",), _STRING, _cased("upper", _NO_UPPER)),
    Function("LOWER", exp.Lower, _ONE, ("string",), _STRING, _cased("lower", _NO_LOWER)),
    Function("LENGTH", exp.Length, _ONE, ("string",), _INT, "CAST(length({0}) AS INTEGER)"),
    Function("TRIM", exp.Trim, _TWO, ("string",) * 2, _STRING, ("trim({0}, ' ')", "trim({0}, {1})"), 1),
    Function("LTRIM", exp.Trim, _TWO, ("string",) * 2, _STRING, ("ltrim({0}, ' ')", "ltrim({0}, {1})"), 1),
    Function("RTRIM", exp.Trim, _TWO, ("string",) * 2, _STRING, ("rtrim({0}, ' ')", "rtrim({0}, {1})"), 1),
    Function(
        "SUBSTRING",
        exp.Substring,
        ("this", "start", "length"),
        ("string", "integer", "integer"),
        _STRING,
        (
            "substring({0}, CASE WHEN {1} = 0 THEN 1 ELSE {1} END)",
            "substring({0}, CASE WHEN {1} = 0 THEN 1 ELSE {1} END, CASE WHEN {2} < 0 THEN 0 ELSE {2} END)",
        ),
        1,
    ),
    Function(
        "LEFT",
        exp.Left,
        _TWO,
        ("string", "integer"),
        _STRING,
        "left({0}, CASE WHEN {1} < 0 THEN 0 ELSE {1} END)",
    ),
    Function(
        "RIGHT",
        exp.Right,
        _TWO,
        ("string", "integer"),
        _STRING,
        "right({0}, CASE WHEN {1} < 0 THEN 0 ELSE {1} END)",
    ),
    Function("STARTSWITH", exp.StartsWith, _TWO, ("string",) * 2, _BOOL, "starts_with({0}, {1})"),
    Function("ENDSWITH", exp.EndsWith, _TWO, ("string",) * 2, _BOOL, "suffix({0}, {1})"),
    Function("CONTAINS", exp.Contains, _TWO, ("string",) * 2, _BOOL, "contains({0}, {1})"),
    Function(
        "REPLACE",
        exp.Replace,
        ("this", "expression", "replacement"),
        ("string",) * 3,
        _STRING,
        "replace({0}, {1}, {2})",
    ),
    Function(
        "INSTR",
        exp.StrPosition,
        ("this", "substr"),
        ("string",) * 2,
        _INT,
        "CAST(instr({0}, {1}) AS INTEGER)",
    ),
    # dates and timestamps
    _part("YEAR", exp.Year, "date"),
    _part("QUARTER", exp.Quarter, "date"),
    _part("MONTH", exp.Month, "date"),
    _part("WEEKOFYEAR", exp.WeekOfYear, "date"),
    _part("DAYOFYEAR", exp.DayOfYear, "date"),
    _part("DAYOFMONTH", exp.DayOfMonth, "date"),
    _part("DAY", exp.Day, "date"),
    Function("DAYOFWEEK", exp.DayOfWeek, _ONE, ("date",), _INT, "CAST(dayofweek({0}) + 1 AS INTEGER)"),
    Function("WEEKDAY", None, (), ("date",), _INT, "CAST(isodow({0}) - 1 AS INTEGER)"),
    _part("HOUR", exp.Hour, "timestamp"),
    _part("MINUTE", exp.Minute, "timestamp"),
    _part("SECOND", exp.Second, "timestamp"),
    Function("LAST_DAY", exp.LastDay, _ONE, ("date",), pa.date32(), "last_day({0})"),
    Function("DATEDIFF", exp.DateDiff, _TWO, ("date", "date"), _INT, "CAST({0} - {1} AS INTEGER)"),
    Function("DATE_ADD", exp.TsOrDsAdd, _TWO, ("date", "integer"), pa.date32(), "({0} + CAST({1} AS INTEGER))"),
    Function(
        "ADD_MONTHS",
        exp.AddMonths,
        _TWO,
        ("date", "integer"),
        pa.date32(),
        "CAST({0} + to_months({1}) AS DATE)",
    ),
    Function(
        "UNIX_SECONDS",
        exp.UnixSeconds,
        _ONE,
        ("timestamp",),
        _LONG,
        # Rounded down, where DuckDB rounds towards zero.
        "((epoch_us({0}) - (epoch_us({0}) % 1000000 + 1000000) % 1000000) // 1000000)",
    ),
    Function("UNIX_MICROS", exp.UnixMicros, _ONE, ("timestamp",), _LONG, "epoch_us({0})"),
    Function(
        "DATE_TRUNC",
        exp.TimestampTrunc,
        ("unit", "this"),
        ("unit", "timestamp"),
        TIMESTAMP,
        "date_trunc({0}, {1})",
    ),
)

FUNCTIONS = {function.name: function for function in _LIST}

# Written in the language itself rather than as one node: known, but typed by rules of their own.
SPECIAL_FORMS = (
    "ABS", "ARRAY", "ARRAY_CONTAINS", "ARRAY_JOIN", "ARRAY_MAX", "ARRAY_MIN", "ARRAY_SORT", "CARDINALITY", "CASE",
    "CAST", "CEIL", "COALESCE", "CONCAT", "CONCAT_WS", "ELEMENT_AT", "EXTRACT", "FLOOR", "GREATEST", "IF", "IFNULL",
    "ISNOTNULL", "ISNULL", "LEAST", "NULLIF", "NVL", "NVL2", "PMOD", "REGEXP_LIKE", "ROUND", "SIZE", "SORT_ARRAY",
    "UNIX_TIMESTAMP",
)  # fmt: skip

TRUNC_UNITS = (
    "YEAR",
    "QUARTER",
    "MONTH",
    "WEEK",
    "DAY",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MILLISECOND",
    "MICROSECOND",
)
_EXTRACT = {"YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE"}
_TRIMS = {"LEADING": "LTRIM", "TRAILING": "RTRIM"}
_LOGS = {"2": "LOG2", "10": "LOG10"}
_BY_NODE = {function.node: function.name for function in _LIST if function.node not in (None, exp.Trim, exp.Log)}


def function_of(node: exp.Expression) -> tuple[Function, list[exp.Expression]] | None:
    """The row of the allow-list that a node calls, and its arguments; None when it is not on the list.

    >>> import sqlglot
    >>> row, args = function_of(sqlglot.parse_one("ltrim(a)", read="spark"))
    >>> row.name, [a.sql() for a in args]
    ('LTRIM', ['a'])
    """
    if isinstance(node, exp.Extract):
        name = node.this.name.upper()
        return (FUNCTIONS[name], [node.expression]) if name in _EXTRACT else None
    if isinstance(node, exp.Log):
        base, argument = node.this, node.expression
        name = _LOGS.get(base.name if isinstance(base, exp.Literal) else "", "")
        return (FUNCTIONS[name], [argument]) if name and argument is not None else None
    if isinstance(node, exp.Anonymous):
        called = FUNCTIONS.get(node.name.upper())
        return None if called is None or called.node is not None else (called, node.expressions)
    if isinstance(node, exp.Trim):
        found = FUNCTIONS[_TRIMS.get(node.args.get("position") or "", "TRIM")]
    else:
        row = FUNCTIONS.get(_BY_NODE.get(type(node), ""))
        if row is None or not _is_plain(node, row):
            return None
        found = row
    return found, [a for a in (node.args.get(f) for f in found.fields) if a is not None]


def _is_plain(node: exp.Expression, row: Function) -> bool:
    # A field beyond the listed ones changes the meaning: DATEDIFF with a unit, INSTR with a start.
    if isinstance(node, exp.TsOrDsAdd):
        return node.args.get("unit") is None or node.args["unit"].name.upper() == "DAY"
    if isinstance(node, exp.TimestampTrunc):
        return node.args["unit"].name.upper() in TRUNC_UNITS and not node.args.get("zone")
    return all(value is None or field in row.fields for field, value in node.args.items())
