"""Binding: a parsed query and a schema in, the logical plan out; every name found, every expression typed."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from sqlglot import exp

from eventide.errors import EventideError, QueryError, did_you_mean
from eventide.lang.positions import span_of
from eventide.lang.tree import EventQuery, Name, Scalar, Span, Strategy
from eventide.operators.times import TimeType
from eventide.plan.bind_items import bind_items
from eventide.plan.bound import Bound, Symbol
from eventide.plan.expressions.typecheck import typecheck
from eventide.plan.expressions.types import type_name
from eventide.plan.options import Options
from eventide.plan.references import find_column, is_next, qualify, references
from eventide.plan.symbols import collect_symbols, walk_steps


def bind(query: EventQuery, options: Options, schema: pa.Schema) -> Bound:
    """The logical plan of a query over events of a schema.

    >>> from eventide.lang import parse
    >>> schema = pa.schema([("ts", pa.timestamp("us")), ("kind", pa.string()), ("price", pa.float64())])
    >>> bind(parse("PATTERN SEQ(A, B) WHERE A.prise > 1 RETURN B.price"), Options(type="kind"), schema)
    Traceback (most recent call last):
    ...
    eventide.errors.QueryError: unknown column 'prise' (line 1, column 27)
      PATTERN SEQ(A, B) WHERE A.prise > 1 RETURN B.price
                                ^^^^^
    Hint: did you mean 'price'?
    """
    ts, time_type = _bind_time(options, schema)
    symbols = collect_symbols(query)
    partition = _bind_partition(query, options, schema)
    return Bound(
        query=query,
        options=options,
        schema=schema,
        ts=ts,
        time_type=time_type,
        sequence=_option_column("sequence", options.sequence, schema),
        partition=partition,
        pattern=query.pattern,
        symbols=symbols,
        conditions=_bind_types(query, options, schema, symbols),
        conjuncts=tuple(_bind_conjunct(c, query, schema, symbols, partition) for c in query.where),
        strategy=query.semantics or Strategy.ANY,
        items=bind_items(query, schema, symbols, partition, ts),
    )


def _option_column(option: str, name: str | None, schema: pa.Schema) -> str | None:
    if name is None or name in schema.names:
        return name
    folded = [known for known in schema.names if known.lower() == name.lower()]
    if len(folded) == 1:
        return folded[0]
    hint = did_you_mean(name, schema.names)
    raise EventideError(f"{option}='{name}': the events have no such column\nHint: {hint}")


def _bind_time(options: Options, schema: pa.Schema) -> tuple[str, TimeType]:
    name = _option_column("ts", options.ts, schema)
    if name is None:
        name = "ts" if "ts" in schema.names else None
        times = [field.name for field in schema if pa.types.is_timestamp(field.type)]
        if name is None and len(times) == 1:
            name = times[0]
        if name is None:
            found = f"could be {' or '.join(times)}" if times else "the events have no timestamp column"
            raise EventideError(f"which column holds the time? {found}\nHint: pass ts='column'")
    kind = schema.field(name).type
    if pa.types.is_integer(kind):
        if options.ts_unit is None:
            raise EventideError(
                f"the time column '{name}' holds integers, and nothing says their unit\n"
                "Hint: pass ts_unit='s', 'ms' or 'us'"
            )
        return name, TimeType(kind, options.ts_unit)
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        raise EventideError(
            f"the time column '{name}' is {type_name(kind)}\n"
            "Hint: it must be a timestamp, a date, or an integer with ts_unit="
        )
    if options.ts_unit is not None:
        raise EventideError(f"ts_unit is for integers; the time column '{name}' is {type_name(kind)}")
    return name, TimeType(kind)


def _bind_partition(query: EventQuery, options: Options, schema: pa.Schema) -> tuple[str, ...]:
    """PARTITION BY, GROUP BY and equality predicates, each column once."""
    names: list[str] = []
    if query.partition_by:
        names += [find_column(name.text, schema, query, name.span) for name in query.partition_by]
    else:
        found = (_option_column("partition_by", name, schema) for name in options.partition_by)
        names += [name for name in found if name is not None]
    names += [find_column(name.text, schema, query, name.span) for name in (*query.group_by, *query.same)]
    for name in dict.fromkeys(names):
        kind = schema.field(name).type
        if pa.types.is_nested(kind):
            raise EventideError(f"cannot partition by '{name}': it is {type_name(kind)}")
    return tuple(dict.fromkeys(names))


def _bind_types(
    query: EventQuery, options: Options, schema: pa.Schema, symbols: Mapping[str, Symbol]
) -> dict[str, Scalar]:
    """What makes an event be of each type: its DEFINE, or its name in the type column."""
    conditions: dict[str, Scalar] = {}
    for definition in query.define:
        name = definition.name
        if name.text in conditions:
            raise QueryError(f"type '{name.text}' is defined twice", query.text, name.span.start, name.span.end)
        conditions[name.text] = _bind_definition(definition.condition, name, query, schema)
    type_column = _option_column("type", options.type, schema)
    if type_column is None and "type" in schema.names:
        type_column = "type"
    for symbol in symbols.values():
        if symbol.type in conditions:
            continue
        span = _step_span(query, symbol.name)
        if type_column is None:
            defined = [definition.name.text for definition in query.define]
            hint = did_you_mean(symbol.type, defined) if defined else None
            if hint is None or not hint.startswith("did you mean"):
                hint = f"pass type='column', or DEFINE {symbol.type} AS <condition>"
            raise QueryError(
                f"nothing says which events are of type '{symbol.type}'",
                query.text,
                span.start,
                span.end,
                hint=hint,
            )
        kind = schema.field(type_column).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
            raise QueryError(
                f"the type column '{type_column}' is {type_name(kind)}, not string",
                query.text,
                span.start,
                span.end,
                hint=f"DEFINE {symbol.type} AS {type_column} = ...",
            )
        column = exp.Column(this=exp.Identifier(this=type_column, quoted=True))
        tree = exp.EQ(this=column, expression=exp.Literal.string(symbol.type))
        conditions[symbol.type] = Scalar(tree, tree.sql("spark"), span)
    used = {symbol.type for symbol in symbols.values()}
    for definition in query.define:
        if definition.name.text not in used:
            span = definition.name.span
            raise QueryError(
                f"type '{definition.name.text}' is defined but not in PATTERN",
                query.text,
                span.start,
                span.end,
                hint=did_you_mean(definition.name.text, used),
            )
    return conditions


def _bind_definition(condition: Scalar, name: Name, query: EventQuery, schema: pa.Schema) -> Scalar:
    """A condition on one event: plain columns, or qualified with the type's own name."""
    own = {name.text: Symbol(name.text, name.text, 1, False, False)}

    def plain(column: str, span: Span) -> str | None:
        return None

    tree = qualify(condition.tree, condition.span, query, schema, own, plain)
    for node in tree.walk():
        if is_next(node):
            span = span_of(node, condition.span)
            raise QueryError(
                "DEFINE is about one event",
                query.text,
                span.start,
                span.end,
                hint="relate events in WHERE",
            )
    for column in tree.find_all(exp.Column):
        column.set("table", None)
    _need_boolean(tree, condition, query, schema)
    return Scalar(tree, condition.text, condition.span)


def _bind_conjunct(
    conjunct: Scalar,
    query: EventQuery,
    schema: pa.Schema,
    symbols: Mapping[str, Symbol],
    partition: tuple[str, ...],
) -> Scalar:
    def unqualified(column: str, span: Span) -> str | None:
        if len(symbols) == 1:
            return next(iter(symbols))
        if column in partition:
            # All events of a match share the value: one of them speaks for all.
            return next(symbol.name for symbol in symbols.values() if not symbol.negated)
        raise QueryError(
            f"which event's '{column}'?",
            query.text,
            span.start,
            span.end,
            hint="write " + " or ".join(f"{symbol}.{column}" for symbol in list(symbols)[:4]),
        )

    tree = qualify(conjunct.tree, conjunct.span, query, schema, symbols, unqualified)
    for reference in references(tree):
        symbol = symbols[str(reference.symbol)]
        if symbol.n_steps > 1 and len({r.symbol for r in references(tree)}) > 1 and not _only_next(tree):
            raise QueryError(
                f"'{symbol.name}' stands {symbol.n_steps} times in PATTERN: which of them is meant?",
                query.text,
                conjunct.span.start,
                conjunct.span.end,
                hint=f"give each its own name: {symbol.type} {symbol.name}1, {symbol.type} {symbol.name}2",
            )
    _need_boolean(tree, conjunct, query, schema)
    return Scalar(tree, conjunct.text, conjunct.span)


def _only_next(tree: exp.Expression) -> bool:
    """Whether the conjunct concerns adjacent events, which are distinct whatever they are called."""
    return any(is_next(node) for node in tree.walk())


def _need_boolean(tree: exp.Expression, source: Scalar, query: EventQuery, schema: pa.Schema) -> None:
    if any(isinstance(node, exp.AggFunc) for node in tree.walk()):
        return  # aggregates of a Kleene symbol are typed where they are planned
    typed_tree = _without_next(tree)
    dtype = typecheck(typed_tree, lambda column: schema.field(column.name), query.text, source.span)
    if dtype is not None and not pa.types.is_boolean(dtype) and not pa.types.is_null(dtype):
        raise QueryError(
            f"a condition must be true or false, but this is {type_name(dtype)}",
            query.text,
            source.span.start,
            source.span.end,
            hint="compare it with something",
        )


def _without_next(tree: exp.Expression) -> exp.Expression:
    """`NEXT(s).c` as `s.c`: the same type."""

    def plain(node: exp.Expression) -> exp.Expression:
        if not is_next(node):
            return node
        symbol = node.this.expressions[0].this.copy()
        return exp.Column(this=node.expression.copy(), table=symbol)

    return tree.copy().transform(plain)


def _step_span(query: EventQuery, symbol: str) -> Span:
    return next(step.span for step, _, _ in walk_steps(query.pattern) if step.symbol == symbol)
