"""Binding: a parsed query and a schema in, the logical plan out; every name found, every expression typed."""

from __future__ import annotations

from dataclasses import fields, replace

import pyarrow as pa
from sqlglot import exp

from eventide.errors import did_you_mean
from eventide.expressions.arrays import array_call
from eventide.expressions.readings import is_next, readings
from eventide.expressions.typecheck import bind_nexts, columns_of
from eventide.expressions.types import canonical, type_name
from eventide.lang.nodes import every_node
from eventide.lang.positions import span_of
from eventide.lang.tree import Definition, EventQuery, Length, Scalar, Span, Strategy, Window
from eventide.plan.assumed import is_assumed, type_of
from eventide.plan.bind_items import bind_items
from eventide.plan.logical import Match, Scan, Symbol, Trends
from eventide.plan.options import Options
from eventide.plan.places import error_at
from eventide.plan.references import (
    aggregated_symbols,
    collect_symbols,
    hold_counted_symbols,
    name_apart,
    qualify,
    references,
    walk_steps,
    which_event,
)
from eventide.plan.scope import option_column, scope_of_query


def bind(query: EventQuery, options: Options, schema: pa.Schema, *, on_stream: bool = False) -> Match:
    """The logical plan of a query over events of a schema: `Trends` where it returns aggregates over them.

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
    if query.window is None and options.state_ttl is not None:
        query = replace(query, window=Window(Length(options.state_ttl)))
    plan = Match(
        input=Scan.of(scope_of_query(query, options, schema), is_stream=on_stream),
        query=query,
        pattern=query.pattern,
        symbols=collect_symbols(query),
        strategy=query.semantics or Strategy.ANY,
    )
    conditions = _bind_types(plan)
    conjuncts = tuple(_bind_conjunct(conjunct, plan) for conjunct in query.where)
    read = (references(scalar.tree) for scalar in (*conditions.values(), *conjuncts))
    items = bind_items(plan)
    if any(item.aggregates for item in items):
        plan = Trends(**{each.name: getattr(plan, each.name) for each in fields(plan)})
    return replace(
        plan,
        conditions=conditions,
        conjuncts=conjuncts,
        items=items,
        reads=frozenset(reference.column for each in read for reference in each),
    )


def _bind_types(plan: Match) -> dict[str, Scalar]:
    """What makes an event be of each type: its DEFINE, or its name in the type column."""
    query, schema, symbols = plan.query, plan.schema, plan.symbols
    conditions = {each.name.text: _bind_definition(each, plan) for each in query.define}
    type_column = option_column("type", query, plan.options, schema)
    if type_column is None and "type" in schema.names:
        type_column = "type"
    used = dict.fromkeys(symbol.type for symbol in symbols.values())
    for definition in query.define:
        if definition.name.text not in used:
            message = f"type '{definition.name.text}' is defined but not in PATTERN"
            raise error_at(query, definition.name.span, message, did_you_mean(definition.name.text, used))
    for symbol in symbols.values():
        if symbol.type not in conditions:
            conditions[symbol.type] = _in_type_column(symbol, type_column, query, schema)
    return conditions


def _in_type_column(symbol: Symbol, type_column: str | None, query: EventQuery, schema: pa.Schema) -> Scalar:
    span = _step_span(query, symbol.name)
    if type_column is None:
        hint = f"pass type='column', or DEFINE {symbol.type} AS <condition>"
        raise error_at(query, span, f"nothing says which events are of type '{symbol.type}'", hint)
    kind = canonical(schema.field(type_column).type)
    if not (pa.types.is_string(kind) or pa.types.is_null(kind)):
        message = f"the type column '{type_column}' is {type_name(kind)}, not string"
        raise error_at(query, span, message, f"DEFINE {symbol.type} AS {type_column} = ...")
    column = exp.Column(this=exp.Identifier(this=type_column, quoted=True))
    tree = exp.EQ(this=column, expression=exp.Literal.string(symbol.type))
    return Scalar(tree, tree.sql("spark"), span)


def _bind_definition(definition: Definition, plan: Match) -> Scalar:
    """A condition on one event: plain columns, or qualified with the type's own name."""
    condition, name = definition.condition, definition.name
    own = {name.text: Symbol(name.text, name.text, 1, False, False)}
    known = {*(column.lower() for column in plan.schema.names), name.text.lower()}
    for node in every_node(condition.tree):
        foreign = isinstance(node, exp.Column) and node.table and node.parts[0].name.lower() not in known
        if foreign or is_next(node) or isinstance(node, exp.AggFunc):
            hint = f"write {node.name} alone; relate events in WHERE" if foreign else "relate events in WHERE"
            raise error_at(plan.query, span_of(node, condition.span), "DEFINE is about one event", hint)
    tree = qualify(condition.tree, condition.span, plan, lambda column, span: None, own)
    for column in readings(tree):
        column.args.pop("table", None)
    _need_boolean(tree, condition, plan)
    return Scalar(tree, condition.text, condition.span)


def _bind_conjunct(conjunct: Scalar, plan: Match) -> Scalar:
    query, symbols = plan.query, plan.symbols

    def unqualified(column: str, span: Span) -> str | None:
        if len(symbols) == 1:
            return next(iter(symbols))
        if column in plan.partition:
            # All events of a match share the value: one of them speaks for all.
            return next(iter(sorted(symbols.values(), key=lambda symbol: symbol.negated))).name
        raise which_event(query, span, list(symbols))

    tree = hold_counted_symbols(conjunct.tree, conjunct.span, plan)
    tree = qualify(tree, conjunct.span, plan, unqualified)
    _check_single_values(tree, conjunct, plan)
    nodes = every_node(tree)
    nexts = [node for node in nodes if is_next(node)]
    reads = {str(reference.symbol) for reference in references(tree)}
    if nexts:
        _check_next(tree, nexts, conjunct, query)
    for symbol in (symbols[name] for name in symbols if name in reads):
        if symbol.n_steps > 1 and len(reads) > 1 and not nexts:
            message = f"'{symbol.name}' occurs {symbol.n_steps} times in PATTERN: which of them is meant?"
            raise error_at(query, conjunct.span, message, name_apart(symbol))
    for node in (node for node in nodes if isinstance(node, exp.AggFunc)):
        for symbol in aggregated_symbols(node, symbols):
            if not symbol.repeated:
                message = f"an aggregate in WHERE is over a repeated symbol, and '{symbol.name}' binds one event"
                hint = f"write {symbol.name}.column, or repeat it in PATTERN with +"
                raise error_at(query, span_of(node, conjunct.span), message, hint)
    if nexts and not is_assumed(plan.schema):
        bind_nexts(tree, columns_of(plan.schema), query.text, conjunct.span, plan.types)
    _need_boolean(tree, conjunct, plan)
    return Scalar(tree, conjunct.text, conjunct.span)


_INSTEAD = {"size": "COUNT", "cardinality": "COUNT", "array_size": "COUNT", "array_max": "MAX", "array_min": "MIN"}


def _check_single_values(tree: exp.Expression, conjunct: Scalar, plan: Match) -> None:
    """A condition is about each event of a repeated symbol: its columns are arrays in RETURN alone."""
    for column in tree.find_all(exp.Column):
        node = column.parent
        while isinstance(node, exp.Paren):
            node = node.parent
        name = array_call(node)
        if node is None or name is None or not column.table or pa.types.is_nested(plan.schema.field(column.name).type):
            continue
        shown = f"{column.table}.{column.name}"
        if plan.symbols[column.table].repeated:
            message = f"in WHERE {shown} is the value of each event of '{column.table}', not an array"
            hint = f"COUNT, SUM, MIN, MAX and AVG of {shown} look at all of them; in RETURN {shown} is an array"
            if name in _INSTEAD:
                hint = f"write {_INSTEAD[name]}({shown}); in RETURN {shown} is an array"
            raise error_at(plan.query, span_of(node, conjunct.span), message, hint)


def _check_next(tree: exp.Expression, nexts: list[exp.Expr], conjunct: Scalar, query: EventQuery) -> None:
    """One event and the one after it, whatever is said about the two."""
    later = {node.this.expressions[0].name for node in nexts}
    earlier = {column.table for column in tree.find_all(exp.Column) if not _in_next(column)}
    if len(later) != 1 or len(earlier) != 1:
        message = "NEXT relates one event to the next: one symbol and one NEXT(symbol)"
        raise error_at(query, conjunct.span, message, "for example A.price < NEXT(B).price")


def _in_next(column: exp.Column) -> bool:
    call = column.parent
    return call is not None and call.parent is not None and is_next(call.parent)


def _need_boolean(tree: exp.Expression, source: Scalar, plan: Match) -> None:
    dtype = type_of(tree, plan, source.span)
    if dtype is not None and not pa.types.is_boolean(dtype) and not pa.types.is_null(dtype):
        message = f"a condition must be true or false, but this is {type_name(dtype)}"
        raise error_at(plan.query, source.span, message, "compare it with something")


def _step_span(query: EventQuery, symbol: str) -> Span:
    return next(step.span for step, _, _ in walk_steps(query.pattern) if step.symbol == symbol)
