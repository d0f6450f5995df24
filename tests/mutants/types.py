"""Mutants of the types that events have: files read together, text, columns without a value, units of time."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

FILES = ("tests/inputs/test_file_types.py",)
TEXT = ("tests/inputs/test_text_files.py",)
FILE_TYPES = "engines/file_types.py"
TEXT_TYPES = "engines/local/text_types.py"
CSV_LINES = "engines/local/csv_lines.py"
LINES = ("tests/inputs/test_csv_lines.py",)
NUMBERS = ("tests/inputs/test_exact_numbers.py",)

TYPES = (
    Mutant(
        "types: whole numbers of any length become doubles",
        FILE_TYPES,
        "if not -_EXACT <= statistics.min <= statistics.max <= _EXACT:",
        "if False:",
        FILES,
    ),
    Mutant(
        "types: the first file's type wins",
        FILE_TYPES,
        "return left if type_name(one) == type_name(two) else None",
        "return left",
        FILES,
    ),
    Mutant(
        "types: of two units of time the coarser is taken",
        FILE_TYPES,
        "_UNITS.index(left.unit) >= _UNITS.index(right.unit)",
        "_UNITS.index(left.unit) <= _UNITS.index(right.unit)",
        FILES,
    ),
    Mutant(
        "types: the first rows decide about text",
        TEXT_TYPES,
        '(relations, forms | {"VARCHAR"} if with_text else forms)):',
        "):",
        TEXT,
    ),
    Mutant(
        "types: one file fits, so all do",
        TEXT_TYPES,
        "found[name] = holds and found[name] is not False",
        "found[name] = holds or bool(found[name])",
        TEXT,
    ),
    Mutant(
        "types: a quote behind the first rows is a letter",
        CSV_LINES,
        "quote = '\"' if quote == _UNSAID else quote",
        "quote = '' if quote == _UNSAID else quote",
        TEXT,
    ),
    Mutant(
        "types: a whole number beside a fraction is rounded",
        TEXT_TYPES,
        "THEN NOT {is_exact}",
        "THEN false",
        NUMBERS,
    ),
    Mutant(
        "types: a number beyond all doubles is infinite",
        TEXT_TYPES,
        "ELSE isinf(TRY_CAST({text} AS DOUBLE)) AND",
        "ELSE false AND",
        NUMBERS,
    ),
    Mutant(
        "types: whole numbers of 39 digits are doubles",
        TEXT_TYPES,
        '"VARCHAR" if of_column[0] == _LONG else',
        '"DOUBLE" if of_column[0] == _LONG else',
        NUMBERS,
    ),
    Mutant(
        "types: a number inside an array is rounded",
        "engines/local/text_files.py",
        "    if not inside:",
        "    if True:",
        NUMBERS,
    ),
    Mutant(
        "types: columns of text are not read to their ends",
        "engines/local/text_files.py",
        "kinds, with_text=True)",
        "kinds)",
        LINES,
    ),
    Mutant(
        "types: the delimiter is a comma",
        CSV_LINES,
        "delimiter = max(_DELIMITERS, key=",
        "delimiter = max(_DELIMITERS[:1], key=",
        LINES,
    ),
    Mutant(
        "types: the delimiter that makes most names wins",
        CSV_LINES,
        "return n_names > 1 and",
        "return False and",
        LINES,
    ),
    Mutant(
        "types: a blank line of one column is a row",
        "engines/local/text_files.py",
        "if len(self.names) > 1:",
        "if True:",
        LINES,
    ),
    Mutant(
        "types: a column without a value is no partition",
        "operators/partitions.py",
        "if pa.types.is_null(column.type):",
        "if False:",
        ("tests/inputs/test_null_columns.py",),
    ),
    Mutant(
        "types: any other unit is likely",
        "engines/likely_unit.py",
        "if last * _UNIT_NS[unit] >= _EARLIEST_NS and first * _UNIT_NS[unit] <= _LATEST_NS:",
        "if False:",
        ("tests/inputs/test_times.py",),
    ),
    Mutant(
        "types: no number counts nanoseconds",
        "engines/likely_unit.py",
        "for other, other_ns in _UNIT_NS.items():",
        "for other, other_ns in list(_UNIT_NS.items())[:3]:",
        ("tests/inputs/test_times.py",),
    ),
    Mutant(
        "types: a column of an index is one that nobody has",
        "plan/holder.py",
        'if holder == "pandas" and index is not None and name.lower()',
        "if False and name.lower()",
        ("tests/inputs/test_first_steps.py",),
    ),
)
