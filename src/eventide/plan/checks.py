"""What one event must satisfy for a symbol, condition by condition, and what it reads there."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from eventide.expressions.readings import is_next
from eventide.expressions.relate import conjuncts
from eventide.expressions.split import EventValue, Split, split
from eventide.lang.positions import span_of
from eventide.lang.tree import Scalar, Span
from eventide.plan.logical import Match
from eventide.plan.references import references


@dataclass(frozen=True, slots=True)
class Shown:
    """A value that a condition reads: how the user wrote it, of which symbol's event, which column."""

    text: str
    symbol: str | None  # None: of the event that is looked at
    column: str
    is_next: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """One condition on one event; `literal` is a text that it compares a column with."""

    text: str
    duckdb: str
    reads: tuple[Shown, ...]
    is_type: bool = False
    literal: tuple[str, str] | None = None


def symbol_checks(plan: Match, parts: Split) -> dict[str, tuple[Check, ...]]:
    """For every symbol: what makes an event be of its type, then the conjuncts of WHERE on it alone.

    >>> import pyarrow as pa
    >>> from eventide.lang import parse
    >>> from eventide.plan.bind import bind
    >>> from eventide.plan.options import Options
    >>> schema = pa.schema([("ts", pa.timestamp("us")), ("kind", pa.string()), ("price", pa.int64())])
    >>> plan = bind(parse("PATTERN SEQ(A, Buy b) WHERE b.price > 5"), Options(type="kind"), schema)
    >>> made = symbol_checks(plan, split(plan.conjuncts, ["A", "b"], schema, plan.query.text))
    >>> [check.text for check in made["b"]]
    ["kind = 'Buy'", 'b.price > 5']
    """
    made: dict[str, tuple[Check, ...]] = {}
    for symbol in plan.symbols.values():
        checks = _type_checks(plan, symbol.type)
        for local in parts.locals:
            if local.symbol in (None, symbol.name):
                checks.append(_check(plan, local.value, local.value.source.span, f"{symbol.name}."))
        made[symbol.name] = tuple(checks)
    return made


def _type_checks(plan: Match, kind: str) -> list[Check]:
    condition = plan.conditions[kind]
    defined = any(definition.name.text == kind for definition in plan.query.define)
    if not defined:
        value = _value(condition, plan)
        (column,) = (column.name for column in value.expression.find_all(exp.Column))
        shown = Shown(column, None, column)
        return [Check(f"{column} = '{kind}'", value.duckdb, (shown,), is_type=True, literal=(column, kind))]
    checks = []
    for tree in conjuncts(condition.tree):
        span = span_of(tree, condition.span)
        checks.append(_check(plan, _value(Scalar(tree, condition.text, span), plan), span, ""))
    return checks


def _check(plan: Match, value: EventValue, span: Span, prefix: str) -> Check:
    names = dict.fromkeys(column.name for column in value.expression.find_all(exp.Column))
    reads = tuple(Shown(f"{prefix}{name}", None, name) for name in names)
    return Check(shown_text(plan, span), value.duckdb, reads, literal=compared_text(value.expression))


def _value(condition: Scalar, plan: Match) -> EventValue:
    return split([condition], ["event"], plan.schema, plan.query.text, plan.types).locals[0].value


def compared_text(tree: exp.Expr) -> tuple[str, str] | None:
    """The column and the text of `column = 'text'`."""
    if not isinstance(tree, exp.EQ):
        return None
    for column, literal in ((tree.this, tree.expression), (tree.expression, tree.this)):
        if isinstance(column, exp.Column) and isinstance(literal, exp.Literal) and literal.is_string:
            return column.name, literal.this
    return None


def read_parts(tree: exp.Expr) -> list[exp.Expr]:
    """The parts of a condition on rows whose values explain it: columns, navigations, aggregates.

    >>> import sqlglot
    >>> [part.sql() for part in read_parts(sqlglot.parse_one("abs(x) > PREV(y, 2) + avg(a.z)"))]
    ['x', 'PREV(y, 2)', 'AVG(a.z)']
    """
    # What is no scalar function to sqlglot is a navigation or an aggregate.
    if isinstance(tree, exp.AggFunc | exp.Column | exp.Anonymous):
        return [tree]
    return [part for child in tree.iter_expressions() for part in read_parts(child)]


def shown_text(plan: Match, span: Span) -> str:
    """A part of the query's text in one line."""
    return " ".join(plan.query.text[span.start : span.end].split())


def related_reads(plan: Match, span: Span) -> tuple[Shown, ...]:
    """What the conjunct that stands at a span reads of the events that it relates, outside aggregates."""
    (tree,) = (conjunct.tree for conjunct in plan.conjuncts if conjunct.span == span)
    later = {(node.this.expressions[0].name, node.expression.name): None for node in tree.walk() if is_next(node)}
    plain = _without(tree)
    reads = [Shown(f"{r.symbol}.{r.column}", r.symbol, r.column) for r in references(plain)]
    reads += [Shown(f"NEXT({symbol}).{column}", symbol, column, True) for symbol, column in later]
    return tuple(reads)


def _without(tree: exp.Expression) -> exp.Expression:
    """The tree without its NEXT references and its aggregates."""
    made = tree.transform(lambda node: exp.Null() if is_next(node) or isinstance(node, exp.AggFunc) else node)
    assert isinstance(made, exp.Expression)
    return made
