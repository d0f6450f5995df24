"""Mutants of the types that events have: files read together, text, columns without a value, units of time."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

FILES = ("tests/inputs/test_file_types.py",)
TEXT = ("tests/inputs/test_text_files.py",)
FILE_TYPES = "engines/file_types.py"
TEXT_TYPES = "engines/local/text_types.py"

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
        "for these in (sampled, relations):",
        "for these in (sampled,):",
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
        "engines/local/text_files.py",
        "quote = '\"' if quote == _UNSAID else quote",
        "quote = '' if quote == _UNSAID else quote",
        TEXT,
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
