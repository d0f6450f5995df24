"""Mutants of statements around MATCH_RECOGNIZE: what they may reach, and what they mean in this process."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, tests_of

CONFINED, DOORS, UNKNOWN, DIALECTS = tests_of(
    "engines",
    "doors::the_connection_of_statements_is_closed_even_where_the_list_has_a_hole",
    "doors::no_family_calls_java_or_reads_files",
    "unknown_functions::an_unknown_function_is_named_in_this_process",
    "unknown_functions::a_statement_knows_no_function_of_another_dialect",
)
MEANING, DIVISORS, SQL, NAMES = tests_of(
    "families/statement",
    "rows::the_meaning_is_sparks_in_this_process",
    "rows::what_makes_a_division_by_zero_null_is_put_around_whole_divisors",
    "sql::a_column_is_named_once_in_any_case",
    "names::a_column_whose_name_is_not_known_needs_as",
)
TOO_GREAT = ("tests/expressions/test_literals.py::test_a_number_that_is_too_great_is_refused_with_its_place",)
FUNCTIONS = ("tests/plan/test_function_messages.py::test_what_cannot_stand_there_is_named_as_it_is_written",)

STATEMENT = (
    Mutant(
        "statements: a column whose name is not known has a name of ours",
        "_Writer._name",
        "if name is None and is_shown(tree):",
        "if name is None and False:",
        NAMES,
    ),
    Mutant(
        "statements: a number with an exponent is its own name",
        "Names._literal",
        "written == node.this and _NUMBER.fullmatch(written)",
        "written == node.this",
        NAMES,
    ),
    Mutant(
        "statements: functions of other dialects are known",
        "write_statement",
        "check_spelt(tree, text)",
        "",
        DIALECTS,
    ),
    Mutant(
        "functions: in this process nobody asks who has a function",
        "for_engine",
        "with asking(_nobody):",
        "with asking(lambda name: True):",
        UNKNOWN,
    ),
    Mutant(
        "functions: a repeated symbol's column is an array in WHERE",
        "_check_single_values",
        "if plan.symbols[column.table].repeated:",
        "if plan.symbols[column.table].negated:",
        FUNCTIONS,
    ),
    Mutant(
        "functions: a call of two values is underlined without its bracket",
        "place",
        "isinstance(node, exp.Binary) and not is_named and not _is_call(node)",
        "isinstance(node, exp.Binary) and not _is_call(node)",
        FUNCTIONS,
    ),
    Mutant(
        "statements: the confined connection reads files",
        "_confined",
        'database.execute("SET enable_external_access = false")',
        "pass",
        CONFINED,
    ),
    Mutant(
        "statements: settings of the confined connection can change",
        "_confined",
        'database.execute("SET lock_configuration = true")',
        "pass",
        CONFINED,
    ),
    Mutant(
        "statements: the case of a forbidden name matters",
        "check_node",
        "node.name.lower()",
        "node.name",
        DOORS,
    ),
    Mutant(
        "statements: NULLs stand where DuckDB puts them",
        "direction",
        'nulls = "FIRST" if item.args.get("nulls_first") else "LAST"',
        'nulls = "LAST"',
        MEANING,
    ),
    Mutant(
        "statements: HAVING and ORDER BY look at columns before results",
        "_Writer._select",
        "late = scope.seeing(items, first=True)",
        "late = scope.seeing(items, first=False)",
        MEANING,
    ),
    Mutant(
        "statements: a full join shows the left side's column only",
        "merge",
        "Value(both, dtype)",
        "one.value",
        MEANING,
    ),
    Mutant(
        "statements: any_value leaves NULLs out",
        "_call",
        'f"first({sql})"',
        'f"any_value({sql})"',
        MEANING,
    ),
    Mutant(
        "statements: a common table sees itself",
        "_Writer._entry",
        "if is_recursive and isinstance(body, exp.Union):",
        "if isinstance(body, exp.Union):",
        MEANING,
    ),
    Mutant(
        "statements: of a divisor the sign is left out",
        "_operand_end",
        'while tokens[at].text in ("+", "-", "~"):',
        'while tokens[at].text in ("~",):',
        DIVISORS,
    ),
    Mutant(
        "statements: a column is named twice in another case",
        "_sort_items",
        "if column.text.lower() in items:",
        "if column.text in items:",
        SQL,
    ),
    Mutant(
        "literals: a number that is too great is infinity",
        "_double",
        "if math.isinf(value):",
        "if math.isnan(value):",
        TOO_GREAT,
    ),
)
