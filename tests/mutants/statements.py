"""Mutants of statements around MATCH_RECOGNIZE: what they may reach, and what they mean in this process."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

DATABASE = "engines/database.py"
DOORS = ("tests/engines/test_doors.py",)
DOORS_OF_TEXT = "lang/doors.py"
LITERALS = ("tests/plan/expressions/test_literals.py",)
ROWS = ("tests/rows/test_statement_rows.py",)
SQL = ("tests/rows/test_sql.py",)

STATEMENTS = (
    Mutant(
        "statements: the confined connection reads files",
        DATABASE,
        'database.execute("SET enable_external_access = false")',
        "pass",
        DOORS,
    ),
    Mutant(
        "statements: settings of the confined connection can change",
        DATABASE,
        'database.execute("SET lock_configuration = true")',
        "pass",
        DOORS,
    ),
    Mutant("statements: extensions are fetched", DATABASE, '"autoinstall_known_extensions": False', "", DOORS),
    Mutant(
        "statements: the case of a forbidden name matters",
        DOORS_OF_TEXT,
        "node.name.lower() if isinstance(node, exp.Anonymous)",
        "node.name if isinstance(node, exp.Anonymous)",
        DOORS,
    ),
    Mutant(
        "statements: a table function is asked of DuckDB",
        "plan/statements/queries.py",
        "not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier)",
        "not isinstance(node, exp.Table)",
        DOORS,
    ),
    Mutant(
        "statements: NULLs stand where DuckDB puts them",
        "plan/statements/scalars.py",
        'nulls = "FIRST" if item.args.get("nulls_first") else "LAST"',
        'nulls = "LAST"',
        ROWS,
    ),
    Mutant(
        "statements: HAVING and ORDER BY look at columns before results",
        "plan/statements/queries.py",
        "late = scope.seeing(items, first=True)",
        "late = scope.seeing(items, first=False)",
        ROWS,
    ),
    Mutant(
        "statements: a full join shows the left side's column only",
        "plan/statements/tables.py",
        '"FULL JOIN": Value(both, dtype)',
        '"FULL JOIN": one.value',
        ROWS,
    ),
    Mutant(
        "statements: any_value leaves NULLs out",
        "plan/statements/aggregates.py",
        'Call(f"first({sql})"',
        'Call(f"any_value({sql})"',
        ROWS,
    ),
    Mutant(
        "statements: a common table sees itself",
        "plan/statements/queries.py",
        "if is_recursive and isinstance(body, exp.Union):",
        "if isinstance(body, exp.Union):",
        ROWS,
    ),
    Mutant(
        "statements: of a divisor the sign is left out",
        "plan/statements/spark_text.py",
        'while tokens[at].text in ("+", "-", "~"):',
        'while tokens[at].text in ("~",):',
        ROWS,
    ),
    Mutant(
        "statements: a column is named twice in another case",
        "lang/rows/parse.py",
        "if column.text.lower() in items:",
        "if column.text in items:",
        SQL,
    ),
    Mutant(
        "literals: a number that is too great is infinity",
        "plan/expressions/literals.py",
        "if math.isinf(value):",
        "if math.isnan(value):",
        LITERALS,
    ),
    Mutant(
        "literals: infinity is a name in DuckDB's text",
        "plan/expressions/write_sql.py",
        "if not math.isfinite(value):",
        "if math.isnan(value):",
        LITERALS,
    ),
)
