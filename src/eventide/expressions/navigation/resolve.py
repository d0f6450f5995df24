"""Expressions of DEFINE and MEASURES: navigation, CLASSIFIER, MATCH_NUMBER and aggregates become leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError, did_you_mean
from eventide.expressions.navigation.averages import exact_average, has_exact_average
from eventide.expressions.navigation.calls import Call, read_call
from eventide.expressions.navigation.general import check_call, general_call
from eventide.expressions.navigation.leaves import (
    FoldLeaf,
    LabelLeaf,
    Leaf,
    ListLeaf,
    NumberLeaf,
    Resolved,
    Slot,
    ValueLeaf,
)
from eventide.expressions.relate import event_value
from eventide.expressions.typed import Source
from eventide.expressions.types import is_number, kind, type_name
from eventide.lang.nodes import copied
from eventide.lang.positions import span_of
from eventide.lang.tree import Scalar, Span

_NAVIGATION = ("PREV", "NEXT", "FIRST", "LAST")
_MODES = ("RUNNING", "FINAL")
FOLDED = ("COUNT", "SUM", "MIN", "MAX", "AVG")


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
    subquery = scalar.tree.find(exp.Query)
    if subquery is not None:
        # ev.sql has run them all before.
        hint = "run the whole statement with ev.sql(...), or compute the value before and write it here"
        raise resolver.error("ev.match_recognize runs no subqueries", subquery, hint)
    return Resolved(resolver.expression(copied(scalar.tree), "RUNNING"), tuple(resolver.leaves), scalar.span)


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
        self.leaves: dict[Leaf, int] = {}  # with their numbers

    def error(self, message: str, node: exp.Expr, hint: str | None = None) -> QueryError:
        span = span_of(node, self.scalar.span)
        return QueryError(message, self.text, span.start, span.end, hint=hint)

    def span(self, node: exp.Expr) -> Span:
        return span_of(node, self.scalar.span)

    def leaf(self, leaf: Leaf, node: exp.Expr) -> exp.Expression:
        """A column that stands for the leaf, at the place of `node`."""
        number = self.leaves.setdefault(leaf, len(self.leaves))
        span = self.span(node)
        made = exp.Column(this=exp.to_identifier(str(number), quoted=True))
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
        call = read_call(node)
        if call is not None:
            return self._aggregate(call, node, mode)
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
        if _name(inner) not in (*_NAVIGATION[2:], "CLASSIFIER") and read_call(inner) is None:
            hint = f"write {name} LAST(x), {name} FIRST(x) or {name} of an aggregate"
            raise self.error(f"{name} is before something other than FIRST, LAST or an aggregate", node, hint)
        if name == "FINAL" and self.defines is not None:
            hint = "DEFINE is decided row by row: leave out FINAL"
            raise self.error("FINAL is not allowed in DEFINE: the end of the match is not known there", node, hint)
        return self.expression(inner, name)

    def _navigation(self, node: exp.Expression, mode: str) -> exp.Expression:
        """PREV, NEXT, FIRST or LAST, with FIRST or LAST inside PREV or NEXT."""
        shift, from_first, offset, inner = 0, False, 0, node
        if _name(inner) in ("PREV", "NEXT"):
            shift = self._offset(inner, default=1) * (-1 if _name(inner) == "PREV" else 1)
            inner = inner.expressions[0]
            if _name(inner) in _MODES:
                if _name(inner) == "FINAL" and self.defines is not None:
                    raise self.error("FINAL is not allowed in DEFINE: the end of the match is not known there", inner)
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
        if not self.labels:
            return exp.Cast(this=exp.Null(), to=exp.DataType.build("string"))
        number = self.leaf(LabelLeaf(slot), node)
        named = slot.members if slot.members is not None and not slot.shift else range(len(self.labels))
        ifs = [exp.If(this=exp.Literal.number(i), true=exp.Literal.string(self.labels[i])) for i in named]
        return exp.Case(this=number, ifs=ifs)

    def _aggregate(self, call: Call, node: exp.Expression, mode: str) -> exp.Expression:
        """Count, sum, minimum, maximum and average are folded where they can be, all others are over lists."""
        function = check_call(call, node, self.error)
        arguments, condition = list(call.arguments), call.condition
        for part in (*arguments, *call.order, *([condition] if condition is not None else [])):
            self._check_inside(part, node)
        is_general = call.distinct or len(arguments) > 1 or _is_dynamic(*arguments, condition)
        if function == "COUNT_IF" and not is_general:
            test = arguments[0]
            condition = test if condition is None else exp.And(this=exp.paren(condition), expression=exp.paren(test))
            function, arguments = "COUNT", []
        if is_general or function not in FOLDED:
            arguments = arguments or ([exp.Literal.number(1)] if function == "COUNT" else [])
            return self._general(replace(call, arguments=tuple(arguments)), function, node, mode)
        if condition is not None:
            value = arguments[0] if arguments else exp.Literal.number(1)
            arguments = [exp.Case(ifs=[exp.If(this=condition.copy(), true=value)])]
        if not arguments:
            return self._fold("COUNT", None, node, mode)
        if function != "AVG":
            return self._fold(function, self._plain(arguments[0]), node, mode)
        return self._average(replace(call, arguments=tuple(arguments), condition=None), node, mode)

    def _fold(self, function: str, tree: exp.Expression | None, node: exp.Expression, mode: str) -> exp.Expression:
        members = self._members(self._one_label(node, node))
        return self.leaf(FoldLeaf(function, members, tree, mode == "FINAL", self.span(node)), node)

    def _average(self, call: Call, node: exp.Expression, mode: str) -> exp.Expression:
        """A sum divided by a count; of decimals exactly, as long as their units fit into 64 bits."""
        tree = self._plain(call.arguments[0])
        dtype = event_value(tree, self.schema, Source(self.text, self.span(node))).dtype
        if dtype is not None and not is_number(dtype) and kind(dtype) not in ("string", "null"):
            hint = "average numbers: cast it, avg(CAST(x AS DOUBLE))"
            raise self.error(f"there is no avg of {type_name(dtype)}", node, hint)
        decimal = dtype if dtype is not None and pa.types.is_decimal(dtype) else None
        if decimal is not None and not has_exact_average(decimal):
            return self._general(call, "AVG", node, mode)
        count = self._fold("COUNT", tree, node, mode)
        if decimal is None:
            total = self._fold("SUM", exp.Cast(this=tree.copy(), to=exp.DataType.build("double")), node, mode)
            present = exp.NEQ(this=count, expression=exp.Literal.number(0))
            return exp.Div(this=total, expression=exp.Case(ifs=[exp.If(this=present, true=count.copy())]))
        units = exp.Mul(this=exp.paren(tree), expression=exp.Literal.number(10**decimal.scale))
        total = self._fold("SUM", exp.Cast(this=exp.paren(units), to=exp.DataType.build("bigint")), node, mode)
        read = {"s": total, "n": count}
        made = exact_average(decimal)
        return made.transform(lambda part: read[part.name].copy() if isinstance(part, exp.Column) else part)

    def _general(self, call: Call, function: str, node: exp.Expression, mode: str) -> exp.Expression:
        """An aggregate over lists of what its arguments read, for DuckDB."""
        members, final = self._members(self._one_label(node, node)), mode == "FINAL"
        lists: list[ListLeaf] = []

        def item(tree: exp.Expression | None, part: exp.Expression) -> exp.Expression:
            leaf = ListLeaf(members, tree, final, self.span(part))
            if leaf not in lists:
                lists.append(leaf)
            return exp.Column(this=exp.to_identifier(str(lists.index(leaf)), quoted=True))

        def rewrite(part: exp.Expression) -> exp.Expression:
            if isinstance(part, exp.Column):
                return item(self._column(part)[1], part)
            if _name(part) == "CLASSIFIER" and not self.labels:
                return exp.Cast(this=exp.Null(), to=exp.DataType.build("string"))
            if _name(part) == "CLASSIFIER":
                ifs = [
                    exp.If(this=exp.Literal.number(i), true=exp.Literal.string(name))
                    for i, name in enumerate(self.labels)
                ]
                return exp.Case(this=item(None, part), ifs=ifs)
            if _name(part) == "MATCH_NUMBER":
                return exp.Column(this=exp.to_identifier("number", quoted=True))
            return part

        general = general_call(call, function, self.error)
        made: list[exp.Expression] = []
        for tree in general.trees:
            # Text and numbers need no list; a constant alone still counts once for each row.
            if isinstance(tree, (exp.Literal, exp.Null, exp.Boolean)):
                made.append(tree)
            elif _is_dynamic(tree):
                made.append(tree.transform(rewrite))
            else:
                made.append(item(self._plain(tree), tree))
        if not lists:
            item(None, node)
        return self.leaf(general.leaf(tuple(made), tuple(lists), self.span(node)), node)

    def _plain(self, tree: exp.Expression) -> exp.Expression:
        """The expression over the columns of one row, without labels."""
        return copied(tree, lambda part: self._column(part)[1] if isinstance(part, exp.Column) else None)

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
            elif isinstance(part, exp.Star) and not isinstance(part.parent, exp.Column):
                found[None] = None
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
            if _name(part) in (*_NAVIGATION, *_MODES) or read_call(part) is not None:
                outside = _name(node) if _name(node) in _NAVIGATION else ""
                what = _name(part) if _name(part) in (*_NAVIGATION, *_MODES) else part.sql("spark")
                hint = "only FIRST and LAST are allowed inside PREV and NEXT"
                if outside in ("PREV", "NEXT") and _name(part) in ("FIRST", "LAST"):
                    outside += " as a part of its argument"
                    whole = _without(inner, what).sql("spark")
                    hint = f"FIRST or LAST is the whole argument: {_name(node)}({what}({whole}))"
                elif not outside:
                    outside, hint = "an aggregate", "an aggregate takes the columns of its rows: sum(A.price)"
                raise self.error(f"{what} is not allowed inside {outside}", part, hint)


def _name(node: exp.Expr | None) -> str:
    """The name of a navigation or mode function, upper-case; "" for anything else."""
    return node.name.upper() if isinstance(node, exp.Anonymous) else ""


def _without(tree: exp.Expression, name: str) -> exp.Expression:
    """The expression with the arguments of a function in its place."""
    made = tree.transform(lambda node: node.expressions[0] if _name(node) == name else node)
    assert isinstance(made, exp.Expression)
    return made


def _is_dynamic(*trees: exp.Expression | None) -> bool:
    """Whether an expression reads what is known of the match only: labels, and its number."""
    return any(
        _name(part) in ("CLASSIFIER", "MATCH_NUMBER") for tree in trees if tree is not None for part in tree.walk()
    )
