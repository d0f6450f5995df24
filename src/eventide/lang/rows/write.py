"""`RowQuery` in, canonical text out: one clause per line, in the standard's order."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.generators.spark import SparkGenerator

from eventide.errors import QueryError
from eventide.lang.durations import write_length
from eventide.lang.rows.clauses import clause_at
from eventide.lang.rows.expressions import SCOPES, read_expression
from eventide.lang.rows.names import write_column, write_label
from eventide.lang.rows.patterns import labels_of
from eventide.lang.rows.tree import (
    Anchor,
    Choice,
    Concat,
    Excluded,
    Label,
    Permute,
    Quantified,
    RowPattern,
    RowQuery,
    SortItem,
)
from eventide.lang.tokens import match_brackets, tokenize
from eventide.lang.tree import Scalar
from eventide.lang.write import LONG, one_line_of, write_quantifier


def write_clause(query: RowQuery) -> str:
    """The text between the parentheses of MATCH_RECOGNIZE: `parse_clause(write_clause(query)) == query`.

    >>> from eventide.lang.rows.parse import parse_clause
    >>> print(write_clause(parse_clause("order by ts pattern (a b{1,}) define b as b.x>prev(x)")))
    ORDER BY ts
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (A B+)
    DEFINE B AS B.x > PREV(x)
    """
    lines: list[str] = []
    labels = {label.name for label in labels_of(query.pattern)} | {subset.name.text for subset in query.subset}

    def clause(keyword: str, parts: list[str]) -> None:
        if parts:
            lines.append(f"{keyword} {', '.join(parts)}")

    clause("PARTITION BY", [write_column(column.text) for column in query.partition_by])
    clause("ORDER BY", [_sort_item(item) for item in query.order_by])
    clause("MEASURES", [f"{_scalar(item.value, labels)} AS {write_column(item.alias.text)}" for item in query.measures])
    lines.append(query.rows.value)
    skip = f" {write_label(query.skip.label.text)}" if query.skip.label else ""
    lines.append(f"AFTER MATCH SKIP {query.skip.to.value}{skip}")
    lines.append(f"PATTERN ({write_pattern(query.pattern)})")
    clause("WITHIN", [write_length(query.within)] if query.within else [])
    clause(
        "SUBSET",
        [
            f"{write_label(subset.name.text)} = ({', '.join(write_label(member.text) for member in subset.members)})"
            for subset in query.subset
        ],
    )
    clause("DEFINE", [f"{write_label(item.label.text)} AS {_scalar(item.condition, labels)}" for item in query.define])
    return "\n".join(lines)


def write_pattern(pattern: RowPattern) -> str:
    """A pattern as it stands between the parentheses of PATTERN.

    >>> write_pattern(Quantified(Concat((Label("A"), Label("b"))), 2, None, reluctant=True))
    '(A `b`){2,}?'
    """
    match pattern:
        case Label(name):
            return write_label(name)
        case Anchor(at_end):
            return "$" if at_end else "^"
        case Excluded(part):
            return f"{{- {write_pattern(part)} -}}"
        case Permute(parts):
            return f"PERMUTE({', '.join(map(write_pattern, parts))})"
        case Quantified(part, minimum, maximum, reluctant):
            inner = _grouped(part, (Quantified, Concat, Choice))
            return f"{inner}{write_quantifier(minimum, maximum)}{'?' if reluctant else ''}"
        case Concat(parts):
            return " ".join(_grouped(part, (Concat, Choice)) for part in parts) or "()"
        case Choice(parts):
            return " | ".join(_grouped(part, (Choice,)) for part in parts)


def _grouped(pattern: RowPattern, loose: tuple[type[RowPattern], ...]) -> str:
    text = write_pattern(pattern)
    return f"({text})" if isinstance(pattern, loose) and text != "()" else text


def _sort_item(item: SortItem) -> str:
    nulls = {None: "", True: " NULLS FIRST", False: " NULLS LAST"}[item.nulls_first]
    return f"{write_column(item.column.text)}{' DESC' if item.descending else ''}{nulls}"


# --- expressions ------------------------------------------------------------------------------------------


class _RowGenerator(SparkGenerator):
    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        if expression.name in SCOPES and len(expression.expressions) == 1:
            return f"{expression.name} {self.sql(expression.expressions[0])}"
        return super().anonymous_sql(expression)


def _scalar(scalar: Scalar, labels: set[str]) -> str:
    """The expression in Spark SQL; as the user wrote it where it is long, or would read back as another tree."""
    line = scalar.line or one_line_of(scalar.text)
    if len(scalar.text) > LONG:
        return line
    text = _generate(scalar.tree)
    for candidate in (text, line):
        if candidate == scalar.line or _reads_back(candidate, scalar.tree, labels):
            return candidate
    return f"({text or scalar.text})"


def _generate(tree: exp.Expression) -> str:
    generator = _RowGenerator(
        dialect=Spark(), normalize_functions=False, comments=False, unsupported_level=ErrorLevel.IGNORE
    )
    try:
        return generator.generate(tree)
    except (LookupError, SqlglotError):  # sqlglot parses `regexp_replace(x, y)`, and cannot write it
        return ""


def _reads_back(text: str, tree: exp.Expression, labels: set[str]) -> bool:
    try:
        tokens = tokenize(text)
        match_brackets(text, tokens)
        if read_expression(text, tokens[:-1], tokens[-1], "the expression", labels).tree != tree:
            return False
    except QueryError:
        return False
    depth = 0
    for idx, token in enumerate(tokens):
        depth += token.text in ("(", "[")
        depth -= token.text in (")", "]")
        if depth == 0 and (clause_at(tokens, idx) or token.word == "AS"):
            return False
    return True
