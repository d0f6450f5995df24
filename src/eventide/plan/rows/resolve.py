"""Expressions of DEFINE and MEASURES: navigation, CLASSIFIER, MATCH_NUMBER and aggregates become leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError, did_you_mean
from eventide.lang.positions import span_of
from eventide.lang.tree import Scalar, Span
from eventide.plan.rows.aggregates import aggregate_name
from eventide.plan.rows.leaves import (
    AggregateLeaf,
    FoldLeaf,
    LabelLeaf,
    Leaf,
    ListLeaf,
    NumberLeaf,
    Resolved,
    Slot,
    ValueLeaf,
)

_NAVIGATION = ("PREV", "NEXT", "FIRST", "LAST")
_MODES = ("RUNNING", "FINAL")
FOLDED = {exp.Count: "COUNT", exp.Sum: "SUM", exp.Min: "MIN", exp.Max: "MAX", exp.Avg: "AVG"}


def resolve(
    scalar: Scalar,
    labels: Sequence[str],
    unions: Mapping[str, tuple[int, ...]],
    schema: pa.Schema,
    text: str,
    *,
    defines: int | None = None,
) -> Resolved:
    """The expression with its leaves; `unions` are the SUBSETs, `defines` the label of a DEFINE condition.

    >>> from eventide.lang.scalars import parse_scalar
    >>> schema = pa.schema([("price", pa.float64())])
    >>> done = resolve(parse_scalar("price < A.price"), ["A", "B"], {}, schema, "price < A.price", defines=1)
    >>> done.tree.sql("spark"), [leaf.slot.members for leaf in done.leaves]
    ('`0` < `1`', [None, (0,)])
    """
    resolver = _Resolver(scalar, labels, unions, schema, text, defines)
    return Resolved(resolver.expression(scalar.tree.copy(), "RUNNING"), tuple(resolver.leaves), scalar.span)


class _Resolver:
    def __init__(
        self,
        scalar: Scalar,
        labels: Sequence[str],
        unions: Mapping[str, tuple[int, ...]],
        schema: pa.Schema,
        text: str,
        defines: int | None,
    ) -> None:
        self.scalar = scalar
        self.labels = list(labels)
        self.members = {name: (i,) for i, name in enumerate(labels)} | dict(unions)
        self.columns = {name.lower(): name for name in schema.names}
        self.schema = schema
        self.text = text
        self.defines = defines
        self.leaves: list[Leaf] = []

    def error(self, message: str, node: exp.Expr, hint: str | None = None) -> QueryError:
        span = span_of(node, self.scalar.span)
        return QueryError(message, self.text, span.start, span.end, hint=hint)

    def span(self, node: exp.Expr) -> Span:
        return span_of(node, self.scalar.span)

    def leaf(self, leaf: Leaf, node: exp.Expr) -> exp.Expression:
        """A column that stands for the leaf, at the place of `node`."""
        if leaf not in self.leaves:
            self.leaves.append(leaf)
        span = self.span(node)
        made = exp.Column(this=exp.to_identifier(str(self.leaves.index(leaf)), quoted=True))
        made.meta.update(start=span.start, end=span.end - 1)
        return made

    # --- the walk -------------------------------------------------------------------------------------------

    def expression(self, node: exp.Expression, mode: str) -> exp.Expression:
        """The node with everything it reads replaced by leaves."""
        name = _name(node)
        if name in _MODES:
            return self._mode(node, name)
        if name in _NAVIGATION:
            return self._navigation(node, mode)
        if name == "CLASSIFIER":
            return self._classifier(node, Slot(self._classified(node), final=mode == "FINAL"))
        if name == "MATCH_NUMBER":
            return self.leaf(NumberLeaf(), node)
        if isinstance(node, (exp.AggFunc, exp.Filter)) or aggregate_name(node) is not None:
            return self._aggregate(node, mode)
        if isinstance(node, exp.Column):
            label, tree = self._column(node)
            return self.leaf(ValueLeaf(self._slot(label), tree, self.span(node)), node)
        for child in list(node.iter_expressions()):
            if isinstance(child, exp.Expression) and not isinstance(child, (exp.DataType, exp.Var, exp.Identifier)):
                made = self.expression(child, mode)
                if made is not child:
                    child.replace(made)
        return node

    def _mode(self, node: exp.Expression, name: str) -> exp.Expression:
        (inner,) = node.expressions
        aggregates = isinstance(inner, (exp.AggFunc, exp.Filter)) or aggregate_name(inner) is not None
        if _name(inner) not in (*_NAVIGATION[2:], "CLASSIFIER") and not aggregates:
            hint = f"write {name} LAST(x), {name} FIRST(x) or {name} of an aggregate"
            raise self.error(f"{name} stands before something else than FIRST, LAST or an aggregate", node, hint)
        if name == "FINAL" and self.defines is not None:
            hint = "DEFINE is decided row by row: leave out FINAL"
            raise self.error("FINAL cannot stand in DEFINE: the end of the match is not known there", node, hint)
        return self.expression(inner, name)

    def _navigation(self, node: exp.Expression, mode: str) -> exp.Expression:
        """PREV, NEXT, FIRST or LAST, with FIRST or LAST inside PREV or NEXT."""
        shift, from_first, offset, inner = 0, False, 0, node
        if _name(inner) in ("PREV", "NEXT"):
            shift = self._offset(inner, default=1) * (-1 if _name(inner) == "PREV" else 1)
            inner = inner.expressions[0]
            if _name(inner) in _MODES:
                if _name(inner) == "FINAL" and self.defines is not None:
                    raise self.error("FINAL cannot stand in DEFINE: the end of the match is not known there", inner)
                mode, inner = _name(inner), inner.expressions[0]
        if _name(inner) in ("FIRST", "LAST"):
            from_first = _name(inner) == "FIRST"
            offset = self._offset(inner, default=0)
            inner = inner.expressions[0]
        self._check_inside(inner, node)
        label = self._one_label(inner, node)
        # Only the last row of the label that a DEFINE condition is about is known without a look back.
        members = self._members(label) if from_first or offset else self._slot(label).members
        slot = Slot(members, from_first, offset, shift, mode == "FINAL")
        return self._read(inner, slot, node)

    def _read(self, inner: exp.Expression, slot: Slot, node: exp.Expression) -> exp.Expression:
        """The expression `inner` at a row; NULL where there is no such row."""
        dynamic = [part for part in inner.walk() if _name(part) in ("CLASSIFIER", "MATCH_NUMBER")]
        if not dynamic:
            return self.leaf(ValueLeaf(slot, self._plain(inner), self.span(inner)), node)

        def rewrite(part: exp.Expression) -> exp.Expression:
            if isinstance(part, exp.Column):
                return self.leaf(ValueLeaf(slot, self._column(part)[1], self.span(part)), part)
            if _name(part) == "CLASSIFIER":
                return self._classifier(part, slot)
            return self.leaf(NumberLeaf(), part) if _name(part) == "MATCH_NUMBER" else part

        made = inner.transform(rewrite)
        if _name(inner) == "CLASSIFIER":
            return made
        exists = exp.Not(this=exp.Is(this=self.leaf(LabelLeaf(slot), node), expression=exp.Null()))
        return exp.Case(ifs=[exp.If(this=exists, true=made)])

    def _classifier(self, node: exp.Expression, slot: Slot) -> exp.Expression:
        """The label's name, by its number."""
        if slot.is_current and self.defines is not None:
            return exp.Literal.string(self.labels[self.defines])
        number = self.leaf(LabelLeaf(slot), node)
        named = slot.members if slot.members is not None and not slot.shift else range(len(self.labels))
        ifs = [exp.If(this=exp.Literal.number(i), true=exp.Literal.string(self.labels[i])) for i in named]
        return exp.Case(this=number, ifs=ifs)

    def _aggregate(self, node: exp.Expression, mode: str) -> exp.Expression:
        """Count, sum, minimum and maximum are folded, an average is a sum divided by a count, others are lists."""
        aggregate, condition = node, None
        if isinstance(node, exp.Filter):
            aggregate, condition = node.this, node.expression.this
        final, label = mode == "FINAL", self._one_label(node, node)
        members, span = self._members(label), self.span(node)
        arguments, distinct = _arguments(aggregate)
        if isinstance(aggregate, exp.CountIf):
            condition = arguments[0] if condition is None else exp.and_(condition, arguments[0])
            arguments = []
        folded = {kind: name for kind, name in FOLDED.items() if isinstance(aggregate, kind)}
        function = "COUNT" if isinstance(aggregate, exp.CountIf) else next(iter(folded.values()), None)
        if condition is not None:
            arguments = arguments or [exp.Literal.number(1)]
            arguments = [exp.Case(ifs=[exp.If(this=condition.copy(), true=argument)]) for argument in arguments]
        if function == "COUNT" and not arguments:
            return self.leaf(FoldLeaf("COUNT", members, None, final, span), node)
        dynamic = any(
            _name(part) in ("CLASSIFIER", "MATCH_NUMBER") for argument in arguments for part in argument.walk()
        )
        for argument in arguments:
            self._check_inside(argument, node)
        if function is None or distinct or dynamic or len(arguments) != 1:
            return self._general(aggregate, arguments, distinct, members, final, node)
        tree = self._plain(arguments[0])
        if function != "AVG":
            return self.leaf(FoldLeaf(function, members, tree, final, span), node)
        total = exp.Cast(this=tree.copy(), to=exp.DataType.build("double"))
        count = self.leaf(FoldLeaf("COUNT", members, tree, final, span), node)
        zero = exp.Literal.number(0)
        return exp.Div(
            this=self.leaf(FoldLeaf("SUM", members, total, final, span), node),
            expression=exp.Case(ifs=[exp.If(this=exp.NEQ(this=count, expression=zero), true=count.copy())]),
        )

    def _general(
        self,
        aggregate: exp.Expression,
        arguments: list[exp.Expression],
        distinct: bool,
        members: tuple[int, ...] | None,
        final: bool,
        node: exp.Expression,
    ) -> exp.Expression:
        function = aggregate_name(aggregate)
        if function is None:
            hint = "compute it from an array: array_agg(x), and what Spark SQL makes of arrays"
            raise self.error(f"MATCH_RECOGNIZE does not know the aggregate {aggregate.sql('spark')}", node, hint)
        lists: list[ListLeaf] = []

        def item(tree: exp.Expression | None, part: exp.Expression) -> exp.Expression:
            leaf = ListLeaf(members, tree, final, self.span(part))
            if leaf not in lists:
                lists.append(leaf)
            return exp.Column(this=exp.to_identifier(str(lists.index(leaf)), quoted=True))

        def rewrite(part: exp.Expression) -> exp.Expression:
            if isinstance(part, exp.Column):
                return item(self._column(part)[1], part)
            if _name(part) == "CLASSIFIER":
                ifs = [
                    exp.If(this=exp.Literal.number(i), true=exp.Literal.string(name))
                    for i, name in enumerate(self.labels)
                ]
                return exp.Case(this=item(None, part), ifs=ifs)
            if _name(part) == "MATCH_NUMBER":
                return exp.Column(this=exp.to_identifier("number", quoted=True))
            return part

        made: list[exp.Expression] = []
        for argument in arguments:
            if isinstance(argument, exp.Literal):
                made.append(argument)
                continue
            dynamic = any(_name(part) in ("CLASSIFIER", "MATCH_NUMBER") for part in argument.walk())
            made.append(argument.copy().transform(rewrite) if dynamic else item(self._plain(argument), argument))
        if not lists:
            item(None, node)
        return self.leaf(AggregateLeaf(function, tuple(made), tuple(lists), distinct, self.span(node)), node)

    def _plain(self, tree: exp.Expression) -> exp.Expression:
        """The expression over the columns of one row, without labels."""
        return tree.copy().transform(lambda part: self._column(part)[1] if isinstance(part, exp.Column) else part)

    # --- names ----------------------------------------------------------------------------------------------

    def _column(self, node: exp.Column) -> tuple[str | None, exp.Expression]:
        """The label before the dot, if any, and the column itself, with its exact name."""
        parts = list(node.parts)
        label = None
        if len(parts) > 1 and self._label(parts[0]) is not None:
            label, parts = self._label(parts[0]), parts[1:]
        known = self.columns.get(parts[0].name.lower())
        if known is None:
            if len(parts) > 1:
                hint = did_you_mean(parts[0].name, self.members) or "labels are those of PATTERN and SUBSET"
                raise self.error(f"unknown label '{parts[0].name}'", node, hint)
            if self._label(parts[0]) is not None:
                shown = self._label(parts[0])
                raise self.error(
                    f"'{shown}' is a label, not a value", node, f"write {shown}.column, or count({shown}.*)"
                )
            names = list(self.columns.values())
            raise self.error(f"unknown column '{parts[0].name}'", node, did_you_mean(parts[0].name, names))
        made: exp.Expression = exp.Column(this=exp.to_identifier(known, quoted=True))
        made.meta.update(node.meta)
        for part in parts[1:]:
            made = exp.Dot(this=made, expression=exp.to_identifier(part.name, quoted=True))
        return label, made

    def _label(self, identifier: exp.Expr) -> str | None:
        name = identifier.name if identifier.args.get("quoted") else identifier.name.upper()
        return name if name in self.members else None

    def _members(self, label: str | None) -> tuple[int, ...] | None:
        return None if label is None else self.members[label]

    def _slot(self, label: str | None) -> Slot:
        """The last row of a label. The row that a DEFINE condition is about has its label already."""
        members = self._members(label)
        own = self.defines is not None and members == (self.defines,)
        return Slot(None if own else members)

    def _classified(self, node: exp.Expression) -> tuple[int, ...] | None:
        return self._slot(self._one_label(node, node)).members

    def _one_label(self, tree: exp.Expression, node: exp.Expression) -> str | None:
        """The label of all columns of an expression; None: no column has one."""
        found: dict[str | None, None] = {}
        for part in tree.walk():
            if isinstance(part, exp.Column) and isinstance(part.this, exp.Star):
                found[self._star_label(part)] = None
            elif isinstance(part, exp.Column) and _name(part.parent) == "CLASSIFIER":
                found[self._named_label(part)] = None
            elif isinstance(part, exp.Column):
                found[self._column(part)[0]] = None
            elif _name(part) == "CLASSIFIER" and not part.expressions:
                found[None] = None
        if len(found) > 1:
            names = ", ".join("all rows" if name is None else name for name in found)
            raise self.error(f"this reads rows of different labels: {names}", node, "read one label's columns in it")
        return next(iter(found), None)

    def _star_label(self, part: exp.Column) -> str | None:
        return self._named_label(exp.Column(this=part.args["table"])) if part.args.get("table") else None

    def _named_label(self, part: exp.Column) -> str:
        label = self._label(part.this)
        if label is None:
            raise self.error(f"unknown label '{part.name}'", part, did_you_mean(part.name, self.members))
        return label

    def _offset(self, node: exp.Expression, default: int) -> int:
        if len(node.expressions) < 2:
            return default
        number = node.expressions[1]
        if not (isinstance(number, exp.Literal) and not number.is_string and number.name.isdigit()):
            message = f"the offset of {_name(node)} must be a number that is not negative"
            raise self.error(message, number, f"write {_name(node)}(x, 2)")
        return int(number.name)

    def _check_inside(self, inner: exp.Expression, node: exp.Expression) -> None:
        for part in inner.walk():
            if _name(part) in (*_NAVIGATION, *_MODES) or isinstance(part, exp.AggFunc):
                what, outside = _name(part) or part.sql("spark"), _name(node)
                hint = "only FIRST and LAST stand inside PREV and NEXT"
                if not outside:
                    outside, hint = "an aggregate", "an aggregate takes the columns of its rows: sum(A.price)"
                raise self.error(f"{what} cannot stand inside {outside}", part, hint)


def _name(node: exp.Expr | None) -> str:
    """The name of a navigation or mode function, upper-case; "" for anything else."""
    return node.name.upper() if isinstance(node, exp.Anonymous) else ""


def _arguments(aggregate: exp.Expression) -> tuple[list[exp.Expression], bool]:
    """The arguments, and whether they are DISTINCT; `*` is none."""
    found = aggregate.expressions if isinstance(aggregate, exp.Anonymous) else list(aggregate.iter_expressions())
    distinct = any(isinstance(argument, exp.Distinct) for argument in found)
    flat = [
        e for argument in found for e in (argument.expressions if isinstance(argument, exp.Distinct) else [argument])
    ]
    stars = [e for e in flat if isinstance(e, exp.Star) or (isinstance(e, exp.Column) and isinstance(e.this, exp.Star))]
    return [e for e in flat if e not in stars], distinct
