"""Mutants of the types that events have: files read together, text, columns without a value, units of time."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

FILES = ("tests/inputs/test_file_types.py",)
TEXT = ("tests/inputs/test_text_files.py",)

TYPES = (
    Mutant(
        "types: whole numbers of any length become doubles",
        "FileGroup.holds_exact",
        "if not -_EXACT <= statistics.min <= statistics.max <= _EXACT:",
        "if False:",
        FILES,
    ),
    Mutant(
        "types: the first file's type wins",
        "_wider",
        "return left if type_name(one) == type_name(two) else None",
        "return left",
        FILES,
    ),
    Mutant(
        "types: of two units of time the coarser is taken",
        "_finer",
        "_UNITS.index(left.unit) >= _UNITS.index(right.unit)",
        "_UNITS.index(left.unit) <= _UNITS.index(right.unit)",
        FILES,
    ),
    Mutant(
        "types: the first rows decide about text",
        "find_types",
        "for these in (sampled, relations):",
        "for these in (sampled,):",
        TEXT,
    ),
    Mutant(
        "types: one file fits, so all do",
        "_test",
        "found[name] = holds and found[name] is not False",
        "found[name] = holds or bool(found[name])",
        TEXT,
    ),
    Mutant(
        "types: a quote behind the first rows is a letter",
        "_sniff_csv",
        "quote = '\"' if quote == _UNSAID else quote",
        "quote = '' if quote == _UNSAID else quote",
        TEXT,
    ),
    Mutant(
        "types: a column without a value is no partition",
        "_encode",
        "if pa.types.is_null(column.type):",
        "if False:",
        ("tests/inputs/test_null_columns.py",),
    ),
    Mutant(
        "types: any other unit is likely",
        "Times.likely_unit",
        "if self.last_us >= _EARLIEST_US and self.first_us <= _LATEST_US:",
        "if False:",
        ("tests/inputs/test_times.py",),
    ),
)
