"""The types of columns that are written as text: by one rule, from all values of all files.

Goes in: relations of text columns, and the kinds that each column may have. Comes out: the first kind, in the order
of `KINDS`, whose form all values of a column have, and what must be known besides of these values. Spark and DuckDB
read these forms alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from eventide.runtime.quoting import quoted

_DATE = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_TIME = "([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6}0*)?)?"  # finer times stay text: nothing is cut off
_ZONE = " ?(Z|UTC|[+-][0-9]{2}(:[0-9]{2})?)"
_NUMBER = "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|NaN|-?Inf(inity)?"
_SAMPLE_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class _Form:
    """How values of a kind are written; `holds` must also hold of each, and stands for its text as `{}`."""

    pattern: str
    holds: str = "true"


_LONG = "whole numbers of more digits than a DECIMAL has: they stay text"
# Every form takes what an earlier one of its family takes: a whole number is a double, a date is a timestamp.
_FORMS = {
    "BOOLEAN": _Form("(?i)true|false"),
    "BIGINT": _Form("[+-]?[0-9]+", "TRY_CAST({} AS BIGINT) IS NOT NULL"),
    "DECIMAL": _Form("[+-]?0*[0-9]{1,38}"),
    _LONG: _Form("[+-]?[0-9]+"),
    "DOUBLE": _Form(_NUMBER),
    "DATE": _Form(_DATE, "TRY_CAST({} AS DATE) IS NOT NULL"),
    "TIMESTAMP": _Form(f"{_DATE}([ T]{_TIME})?", "TRY_CAST({} AS TIMESTAMP) IS NOT NULL"),
    "TIMESTAMPTZ": _Form(f"{_DATE}([ T]{_TIME}({_ZONE})?)?", "TRY_CAST({} AS TIMESTAMPTZ) IS NOT NULL"),
}
KINDS = (*_FORMS, "VARCHAR")
TEXT_KINDS = ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "VARCHAR")
NUMBER_KINDS = ("DECIMAL", _LONG, "DOUBLE")
NO_VALUE = '"NULL"'  # DuckDB's type of a column in which nothing stands
_EXACT_DIGITS = 15  # a double holds all whole numbers of so many digits


def is_altered(text: str) -> str:
    """The SQL condition that a number, given as an expression of text, is none that a double holds.

    A whole number must be the double itself. A fraction, or a number with an exponent, means the nearest double, which
    is not infinite.

    >>> numbers = ["9007199254740992", " 9007199254740993 ", "3.141592653589793238", "1e300", "1e400", "-Inf", "000"]
    >>> altered = f"SELECT list_filter(?, lambda number: {is_altered('number')})"
    >>> duckdb.execute(altered, [numbers]).fetchall()
    [([' 9007199254740993 ', '1e400'],)]
    """
    digits = f"ltrim(trim({text}), '+-0')"
    is_whole = f"length({text}) > {_EXACT_DIGITS} AND regexp_full_match({text}, ' *[+-]?[0-9]+ *')"
    is_exact = f"format('{{:.0f}}', TRY_CAST({digits} AS DOUBLE)) = {digits}"
    return (
        f"CASE WHEN {is_whole} THEN NOT {is_exact} "
        f"ELSE isinf(TRY_CAST({text} AS DOUBLE)) AND NOT contains({text}, 'Inf') END"
    )


@dataclass(slots=True)
class Found:
    """What the values of all files tell."""

    types: dict[str, str]  # of DuckDB, by column
    altered: set[str]  # columns with a number that their type, DOUBLE, does not hold
    has_breaks: bool = False  # whether a text has a line break inside


def find_types(
    connection: duckdb.DuckDBPyConnection,
    relations: Sequence[str],
    kinds: Mapping[str, Sequence[str]],
    *,
    with_text: bool = False,
) -> Found:
    """The type of each column of `kinds`; a relation has some of these columns, all as text.

    With `with_text`, also the columns that stay text are read to their ends.

    >>> from eventide.engines.database import connect
    >>> values = "(VALUES ('1', '2026-01-01', '5'), ('2.5', '2026-01-01T10:00:00.5', NULL)) AS t(x, since, n)"
    >>> find_types(connect(), [f"(SELECT * FROM {values})"], {"x": KINDS, "since": KINDS, "n": KINDS}).types
    {'x': 'DOUBLE', 'since': 'TIMESTAMP', 'n': 'BIGINT'}
    """
    columns = [set(connection.sql(f"SELECT * FROM {relation}").columns) for relation in relations]
    left = {name: list(of_column) for name, of_column in kinds.items()}
    sampled = [f"(SELECT * FROM {relation} LIMIT {_SAMPLE_ROWS})" for relation in relations]
    found = Found({}, set())
    valued: set[str] = set()
    forms = set(_FORMS)
    for these, tries in ((sampled, forms), (relations, forms | {"VARCHAR"} if with_text else forms)):
        # A kind at a time: most columns have the first that the sample leaves them, after one pass over all rows.
        tested = {name: of_column[0] for name, of_column in left.items() if of_column[0] in tries}
        while tested:
            fits = _test(connection, these, columns, tested, found)
            valued |= {name for name, holds in fits.items() if holds is not None}
            failed = [name for name, holds in fits.items() if holds is False and tested[name] in _FORMS]
            for name in failed:
                left[name].pop(0)
            tested = {name: left[name][0] for name in failed if left[name][0] in tries}
    types = {name: "VARCHAR" if of_column[0] == _LONG else of_column[0] for name, of_column in left.items()}
    found.altered = {name for name in found.altered if types[name] == "DOUBLE"}
    types |= {name: NO_VALUE for name, kind in types.items() if kind in _FORMS and name not in valued}
    digits = _count_digits(connection, relations, columns, [name for name in types if types[name] == "DECIMAL"])
    found.types = types | {name: f"DECIMAL({n_digits},0)" for name, n_digits in digits.items()}
    return found


def _test(
    connection: duckdb.DuckDBPyConnection,
    relations: Sequence[str],
    columns: Sequence[set[str]],
    tested: Mapping[str, str],
    besides: Found,
) -> dict[str, bool | None]:
    """Whether all values of a column have the form of its kind; None where it has no value."""
    found: dict[str, bool | None] = dict.fromkeys(tested)
    for relation, names in zip(relations, columns, strict=True):
        mine = [name for name in tested if name in names]
        if not mine:
            continue
        doubles = [name for name in mine if tested[name] == "DOUBLE"]
        items = [_condition(quoted(name), tested[name]) for name in mine]
        items += [f"bool_or({is_altered(quoted(name))})" for name in doubles]
        row = connection.sql(f"SELECT {', '.join(items)} FROM {relation}").fetchall()[0]
        for name, holds in zip(mine, row[: len(mine)], strict=True):
            if holds is not None:
                found[name] = holds and found[name] is not False
        besides.altered |= {name for name, altered in zip(doubles, row[len(mine) :], strict=True) if altered}
        besides.has_breaks |= any(found[name] is False for name in mine if tested[name] == "VARCHAR")
    return found


def _condition(column: str, kind: str) -> str:
    if kind == "VARCHAR":
        test = f"NOT contains({column}, chr(10)) AND NOT contains({column}, chr(13))"
    else:
        form = _FORMS[kind]
        test = f"regexp_full_match({column}, ' *({form.pattern}) *') AND {form.holds.format(column)}"
    return f"bool_and({test}) FILTER ({column} IS NOT NULL)"


def _count_digits(
    connection: duckdb.DuckDBPyConnection, relations: Sequence[str], columns: Sequence[set[str]], wide: Sequence[str]
) -> dict[str, int]:
    """How many digits the longest number has."""
    digits = dict.fromkeys(wide, 1)
    for relation, names in zip(relations, columns, strict=True):
        mine = [name for name in wide if name in names]
        if mine:
            items = ", ".join(f"max(length(ltrim(trim({quoted(name)}), '+-0')))" for name in mine)
            row = connection.sql(f"SELECT {items} FROM {relation}").fetchall()[0]
            digits |= {name: max(digits[name], found or 1) for name, found in zip(mine, row, strict=True)}
    return digits
