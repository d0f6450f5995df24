"""Expressions over the events of an interval: read, checked, and split into leaves that can be kept incrementally.

`prev(x)` and `first(x)` are events of the interval, aggregates go over its events so far, a column alone is that of the
event in question: in a condition the one that comes, in a value the last one.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import sqlglot
from sqlglot import exp

from eventide.errors import QueryError
from eventide.expressions.folds import SQUARES
from eventide.expressions.navigation.aggregates import known_aggregate
from eventide.expressions.navigation.calls import Call, read_call
from eventide.expressions.navigation.leaves import AggregateLeaf, FoldLeaf, Leaf, Resolved, Slot, ValueLeaf
from eventide.expressions.navigation.resolve import resolve
from eventide.expressions.typed import Source
from eventide.lang.nodes import copied
from eventide.lang.rows.expressions import refuse_calls
from eventide.lang.tree import Scalar
from eventide.plan.time_column import column_hint

PREV = Slot(shift=-1)
FIRST = Slot(from_first=True)

_REFUSED = {
    "NEXT": "an interval is derived event by event: look back, with prev(x)",
    "RUNNING": "leave it out: aggregates go over the events so far",
    "FINAL": "leave it out: a value is computed when the interval is over",
    "CLASSIFIER": "the events of an interval have no labels",
    "MATCH_NUMBER": "intervals have no numbers",
}
_FOLDED = ("COUNT", "COUNT_IF", "SUM", "AVG", "MIN", "MAX")
_TRUTHS = {"BOOL_AND": "MIN", "BOOL_OR": "MAX"}
_ENDS = {"FIRST_VALUE": FIRST, "ANY_VALUE": FIRST, "LAST_VALUE": Slot()}
_VARIANCES = {
    "VAR_POP": "CASE WHEN n > 0 THEN s / n END",
    "VAR_SAMP": "CASE WHEN n > 1 THEN s / (n - 1) END",
    "STDDEV_POP": "CASE WHEN n > 0 THEN sqrt(s / n) END",
    "STDDEV_SAMP": "CASE WHEN n > 1 THEN sqrt(s / (n - 1)) END",
}
KEPT = (*_FOLDED, *_TRUTHS, *_ENDS, *_VARIANCES)
_SHOWN = "count, count_if, sum, avg, min, max, first, last, stddev, variance, bool_and and bool_or"


def resolve_part(tree: exp.Expression, whole: Scalar, schema: pa.Schema, text: str) -> Resolved:
    """A part of an expression with what it reads of the interval: leaves ValueLeaf and FoldLeaf.

    >>> schema = pa.schema([("temp", pa.float64())])
    >>> text = "avg(temp) > prev(temp)"
    >>> from eventide.lang.rows.expressions import parse_expression
    >>> whole = parse_expression(text, "the condition")
    >>> [type(leaf).__name__ for leaf in resolve_part(whole.tree, whole, schema, text).leaves]
    ['FoldLeaf', 'FoldLeaf', 'ValueLeaf']
    """
    _check(tree, whole, schema, text)
    resolved = resolve(Scalar(tree, whole.text, whole.span), [], {}, schema, text)
    made = _Keeper(resolved, Source(text, whole.span)).made()
    _check_slots(made, Source(text, whole.span), tree)
    return made


def _check(tree: exp.Expression, whole: Scalar, schema: pa.Schema, text: str) -> None:
    source = Source(text, whole.span)
    columns = {name.lower() for name in schema.names}
    refuse_calls(Scalar(tree, whole.text, whole.span), text, _REFUSED, "here")
    for node in tree.walk():
        if isinstance(node, exp.Column) and len(node.parts) > 1 and node.parts[0].name.lower() not in columns:
            first = node.parts[0].name
            raise source.error(f"unknown column '{first}'", source.span_of(node), column_hint(first, schema))
        call = read_call(node) if isinstance(node, exp.Expression) else None
        if call is not None:
            _check_call(call, node, source)


def _check_call(call: Call, node: exp.Expr, source: Source) -> None:
    function = known_aggregate(call.name)
    if function not in KEPT:
        message = f"{call.shown} cannot be kept event by event"
        raise source.error(message, source.span_of(node), f"what can: {_SHOWN}")
    if call.distinct:
        message = f"{call.shown}(DISTINCT ...) cannot be kept event by event"
        raise source.error(message, source.span_of(node), "leave out DISTINCT")
    if call.ignores_nulls and function in _ENDS:
        hint = "leave out IGNORE NULLS, or make the condition hold only where the value is there"
        raise source.error(f"{call.shown} takes no IGNORE NULLS here", source.span_of(node), hint)
    if len(call.arguments) > 1:
        raise source.error(f"{call.shown} takes one argument here", source.span_of(node), f"write {call.shown}(x)")


def _check_slots(resolved: Resolved, source: Source, tree: exp.Expression) -> None:
    """Only three events are known: the one that comes, the one before it, and the first."""
    for leaf in resolved.leaves:
        if not isinstance(leaf, ValueLeaf):
            continue
        slot = replace(leaf.slot, final=False)
        if slot not in (Slot(), PREV, FIRST):
            hint = "write prev(x) for the event before, first(x) for the first of the interval"
            raise source.error("this event of the interval is not kept", source.span_of(tree), hint)


class _Keeper:
    """Aggregates other than count, sum, min and max, over what can be kept."""

    def __init__(self, resolved: Resolved, source: Source) -> None:
        self._resolved = resolved
        self._source = source
        self._leaves: dict[Leaf, int] = {}  # with their numbers

    def made(self) -> Resolved:
        trees = [self._tree(leaf) for leaf in self._resolved.leaves]

        def replaced(node: exp.Expr) -> exp.Expr | None:
            if not isinstance(node, exp.Column):
                return None
            made = copied(trees[int(node.name)])
            made.meta.update(node.meta)
            return made

        return Resolved(copied(self._resolved.tree, replaced), tuple(self._leaves), self._resolved.span)

    def _tree(self, leaf: Leaf) -> exp.Expression:
        if not isinstance(leaf, AggregateLeaf):
            return self._column(leaf)
        value = _argument(leaf)
        if leaf.function in _ENDS:
            return self._column(ValueLeaf(_ENDS[leaf.function], value, leaf.span))
        if leaf.function in _TRUTHS:
            truth = exp.Cast(this=value.copy(), to=exp.DataType.build("boolean"))
            return self._column(FoldLeaf(_TRUTHS[leaf.function], None, truth, False, leaf.span))
        if leaf.function in _VARIANCES:
            number = exp.Cast(this=value.copy(), to=exp.DataType.build("double"))
            read = {
                "n": self._column(FoldLeaf("COUNT", None, value, False, leaf.span)),
                "s": self._column(FoldLeaf(SQUARES, None, number, False, leaf.span)),
            }
            formula = _formula(_VARIANCES[leaf.function])
            return formula.transform(lambda node: read[node.name].copy() if isinstance(node, exp.Column) else node)
        raise self._too_wide(leaf)

    def _too_wide(self, leaf: AggregateLeaf) -> QueryError:
        hint = "cast its argument to DOUBLE, or to a decimal of at most 18 digits"
        return self._source.error(f"{leaf.name} of this type cannot be kept event by event", leaf.span, hint)

    def _column(self, leaf: Leaf) -> exp.Expression:
        number = self._leaves.setdefault(leaf, len(self._leaves))
        return exp.Column(this=exp.to_identifier(str(number), quoted=True))


def _argument(leaf: AggregateLeaf) -> exp.Expression:
    """What an aggregate of one argument reads of an event; NULL where FILTER leaves the event out."""

    def of_event(node: exp.Expression) -> exp.Expression:
        if not isinstance(node, exp.Column):
            return node
        tree = leaf.lists[int(node.name)].tree
        assert tree is not None
        return tree.copy()

    made = [argument.copy().transform(of_event) for argument in leaf.arguments]
    if not leaf.filtered:
        return made[0]
    return exp.Case(ifs=[exp.If(this=made[-1], true=made[0])])


def _formula(text: str) -> exp.Expression:
    made = sqlglot.parse_one(text, read="spark")
    for node in made.walk():
        node.meta.clear()
    assert isinstance(made, exp.Expression)
    return made
