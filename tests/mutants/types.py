"""Mutants of the types that events have: files read together, text, columns without a value, units of time."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, tests_of

FILES, TEXT, LINES, NUMBERS = tests_of(
    "inputs",
    "file_types",
    "text_files",
    "csv_lines",
    "exact_numbers",
)

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
        '((sampled, forms), (relations, forms | {"VARCHAR"} if with_text else forms))',
        "((sampled, forms), )",
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
        "_quotes",
        "quote = '\"' if quote == _UNSAID else quote",
        "quote = '' if quote == _UNSAID else quote",
        TEXT,
    ),
    Mutant(
        "types: a whole number beside a fraction is rounded",
        "is_altered",
        'f"CASE WHEN {is_whole} THEN NOT {is_exact} ELSE isinf(TRY_CAST({text} AS DOUBLE)) AND NOT '
        "contains({text}, 'Inf') END\"",
        'f"CASE WHEN {is_whole} THEN false ELSE isinf(TRY_CAST({text} AS DOUBLE)) AND NOT '
        "contains({text}, 'Inf') END\"",
        NUMBERS,
    ),
    Mutant(
        "types: a number beyond all doubles is infinite",
        "is_altered",
        'f"CASE WHEN {is_whole} THEN NOT {is_exact} ELSE isinf(TRY_CAST({text} AS DOUBLE)) AND NOT '
        "contains({text}, 'Inf') END\"",
        "f\"CASE WHEN {is_whole} THEN NOT {is_exact} ELSE false AND NOT contains({text}, 'Inf') END\"",
        NUMBERS,
    ),
    Mutant(
        "types: whole numbers of 39 digits are doubles",
        "find_types",
        '"VARCHAR" if of_column[0] == _LONG else of_column[0]',
        '"DOUBLE" if of_column[0] == _LONG else of_column[0]',
        NUMBERS,
    ),
    Mutant(
        "types: a number inside an array is rounded",
        "_check_inside",
        "if not inside:",
        "if True:",
        NUMBERS,
    ),
    Mutant(
        "types: columns of text are not read to their ends",
        "csv_files",
        "find_types(connection, [group.as_text({}) for group in groups], kinds, with_text=True)",
        "find_types(connection, [group.as_text({}) for group in groups], kinds)",
        LINES,
    ),
    Mutant(
        "types: the delimiter is a comma",
        "find_dialect",
        "max(_DELIMITERS, key=lambda each: _fitness(header, first, each))",
        "max(_DELIMITERS[:1], key=lambda each: _fitness(header, first, each))",
        LINES,
    ),
    Mutant(
        "types: the delimiter that makes most names wins",
        "_fitness",
        "n_names > 1",
        "False",
        LINES,
    ),
    Mutant(
        "types: a blank line of one column is a row",
        "TextFiles.as_text",
        "if len(self.names) > 1:",
        "if True:",
        LINES,
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
        "likely_unit",
        "if last * _UNIT_NS[unit] >= _EARLIEST_NS and first * _UNIT_NS[unit] <= _LATEST_NS:",
        "if False:",
        ("tests/inputs/test_times.py",),
    ),
    Mutant(
        "types: no number counts nanoseconds",
        "likely_unit",
        "for other, other_ns in _UNIT_NS.items():",
        "for other, other_ns in list(_UNIT_NS.items())[:3]:",
        ("tests/inputs/test_times.py",),
    ),
    Mutant(
        "types: a column of an index is one that nobody has",
        "column_hint",
        'holder == "pandas" and index is not None and name.lower() in index.lower().split("\\n")',
        'False and name.lower() in index.lower().split("\\n")',
        ("tests/inputs/test_first_steps.py",),
    ),
)
