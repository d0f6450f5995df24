"""How a CSV file is written: the first line names the columns, and every other line has a field for each of them.

DuckDB's sniffer takes a file apart by what most lines have, so that one short line can cost the header. Here the header
decides; the sniffer only tells how quotes are written.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from eventide.engines.names import absolute, duckdb_name
from eventide.errors import InputError
from eventide.runtime.quoting import literal

_DELIMITERS = (",", "\t", ";", "|")
_UNKNOWN_DELIMITERS = "^~:#&@\x01\x1f"
_UNSAID = "(empty)"  # what DuckDB says where a file has no quote, or no escape
_MOST_HEADER_LINES = 100  # a quoted name may hold line breaks
_MOST_LETTERS = 1 << 21  # of a line that DuckDB reads


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is written."""

    delimiter: str
    quote: str
    escape: str
    skip: int  # blank lines before the header


def find_dialect(connection: duckdb.DuckDBPyConnection, file: str) -> tuple[tuple[str, ...], Dialect] | None:
    """The names of the columns, and the dialect; None where no line has anything in it."""
    skip, header, first = _first_lines(file)
    if not header:
        return None
    if "\0" in header or any("\udc80" <= letter <= "\udcff" for letter in header):
        raise _not_utf8(f"the first line of '{file}'")
    try:
        delimiter = max(_DELIMITERS, key=lambda each: _fitness(header, first, each))
        quote, escape = _quotes(connection, file, delimiter)
        names = _unique([name.strip() for name in _fields(header, delimiter, quote, escape)])
    except csv.Error as error:
        raise InputError(f"the first line of '{file}' does not name columns: {error}") from error
    if len(names) == 1:
        _check_delimiter(file, header, first)
    return names, Dialect(delimiter, quote, escape, skip)


def _first_lines(file: str) -> tuple[int, str, str]:
    """How many blank lines there are first, the header, and the line behind it."""
    with pa.input_stream(file, compression="detect") as data:
        # Only the header must be UTF-8 here: DuckDB tells the number of another line that is not.
        lines = io.TextIOWrapper(data, "utf-8-sig", errors="surrogateescape", newline="")
        skip, header = 0, lines.readline(_MOST_LETTERS)
        while header and not header.strip():
            skip, header = skip + 1, lines.readline(_MOST_LETTERS)
        behind = [lines.readline(_MOST_LETTERS)]
        whole = header
        while whole.count('"') % 2 and behind[-1] and len(behind) < _MOST_HEADER_LINES:
            whole += behind[-1]
            behind.append(lines.readline(_MOST_LETTERS))
        return (skip, header, behind[0]) if whole.count('"') % 2 else (skip, whole, behind[-1])


def _fitness(header: str, first: str, delimiter: str) -> tuple[bool, int]:
    """Best is a delimiter that makes as many fields of both lines; of several, the one that makes most."""
    n_names = len(_fields(header, delimiter, '"', '"'))
    try:
        n_values = len(_fields(first, delimiter, '"', '"'))
    except (csv.Error, StopIteration):
        n_values = 0  # a value that is too long for Python, or no line
    return n_names > 1 and n_names == n_values, n_names


def _fields(header: str, delimiter: str, quote: str, escape: str) -> list[str]:
    escaped = None if escape == quote else escape
    reader = csv.reader(
        io.StringIO(header, newline=""),
        delimiter=delimiter,
        quotechar=quote,
        escapechar=escaped,
        doublequote=not escaped,
    )
    return next(reader)


def _quotes(connection: duckdb.DuckDBPyConnection, file: str, delimiter: str) -> tuple[str, str]:
    """The quote, and what stands before a quote inside a quoted value."""
    sniffed = f"sniff_csv({duckdb_name(file)}, delim = {literal(delimiter)}, header = true)"
    try:
        quote, escape = connection.sql(f"SELECT Quote, Escape FROM {sniffed}").fetchall()[0]
    except duckdb.Error:
        quote = escape = _UNSAID  # some line does not fit: reading the file tells which
    # The first rows need not have a quote where a later one has.
    quote = '"' if quote == _UNSAID else quote
    return quote, quote if escape == _UNSAID else escape


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    """Names for columns that have none, and other names for those that stand twice, as DuckDB gives them.

    >>> _unique(["x", "", "X", "x"])
    ('x', 'column1', 'X_1', 'x_2')
    """
    given = {name.lower() for name in names}
    found: dict[str, str] = {}
    for i, name in enumerate(names):
        base = name or f"column{i}"
        others = (f"{base}_{n}" for n in itertools.count(1))
        free = (other for other in others if other.lower() not in found and other.lower() not in given)
        is_free = base.lower() not in found and (bool(name) or base not in given)
        unique = base if is_free else next(free)
        found[unique.lower()] = unique
    return tuple(found.values())


def _check_delimiter(file: str, header: str, first: str) -> None:
    """Refuse one column whose name and value look like several."""
    for letter in _UNKNOWN_DELIMITERS:
        if header.count(letter) == first.count(letter) > 0:
            raise InputError(
                f"'{file}' has one column, called '{header.strip()}': is {letter!r} a delimiter?",
                hint="write the file with one of , ; | and the tab between values",
            )


def _not_utf8(place: str) -> InputError:
    return InputError(
        f"{place} is not UTF-8 text",
        hint="write the file in UTF-8, for example with: iconv -f LATIN1 -t UTF-8 (or -f UTF-16)",
    )


def as_given(name: str, files: Sequence[str]) -> str:
    """The file as the user calls it, by its whole name."""
    return next((file for file in files if absolute(file) == name), name)


def line_error(error: duckdb.Error, files: Sequence[str]) -> InputError | None:
    """The error about a line, by its number; None where DuckDB complains of something else."""
    said = str(error)
    named = re.search(r"^  file = (.*)$", said, re.MULTILINE)
    if named is None:
        return None
    file = as_given(named[1], files)
    if "reached an invalid state" in said:
        hint = r"write the same line break everywhere, for example with: sed 's/\r$//'"
        return InputError(f"the lines of '{file}' end in different ways: \\n, \\r\\n or \\r", hint=hint)
    line = re.search(r"CSV Error on Line: (\d+)", said)
    if line is None:
        return None
    place = f"line {line[1]} of '{file}'"
    if counted := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", said):
        return _fields_error(place, int(counted[1]), int(counted[2]))
    if "unterminated quote" in said:
        hint = "close the quote; write a quote inside a quoted value twice"
        return InputError(f"{place} has a quote that does not end, or text behind one that does", hint=hint)
    if "not utf-8" in said:
        return _not_utf8(place)
    if "Maximum line size" in said:
        return InputError(f"{place} is too long: over 2 MB", hint="is a quote not closed? Parquet takes longer values")
    return None


def _fields_error(place: str, wanted: int, found: int) -> InputError:
    if found > wanted:
        hint = "the first line names all columns; put a value that holds the delimiter in quotes"
        return InputError(f"{place} has more fields than the header, which has {wanted}", hint=hint)
    fields = "1 field" if found == 1 else f"{found} fields"
    hint = "write a delimiter for each value, also for one that is missing"
    return InputError(f"{place} has {fields}, and the header has {wanted}", hint=hint)
