"""Calls of aggregates as they are written: name, arguments, DISTINCT, FILTER, WITHIN GROUP, IGNORE NULLS."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from eventide.expressions.navigation.aggregates import REFUSED, known_aggregate

# Names that are sqlglot's own.
_SPELT = {f"BITWISE_{word}_AGG": f"BIT_{word}" for word in ("AND", "OR", "XOR")}


@dataclass(frozen=True, slots=True)
class Call:
    """One call; `name` is in upper case, `order` has the keys of WITHIN GROUP. `*` is no argument."""

    name: str
    arguments: tuple[exp.Expression, ...]
    distinct: bool = False
    condition: exp.Expression | None = None
    order: tuple[exp.Ordered, ...] = ()
    ignores_nulls: bool | None = None

    @property
    def shown(self) -> str:
        """The name as messages have it."""
        return self.name.lower()


def read_call(node: exp.Expr) -> Call | None:
    """The aggregate that a node calls; None when it is something else.

    >>> import sqlglot
    >>> call = read_call(sqlglot.parse_one("sum(DISTINCT x) FILTER (WHERE y > 1)", read="spark"))
    >>> call.name, call.distinct, call.condition.sql()
    ('SUM', True, 'y > 1')
    """
    condition, order, nulls = None, (), None
    while isinstance(node, (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)):
        if isinstance(node, exp.Filter):
            condition = node.expression.this
        elif isinstance(node, exp.WithinGroup):
            order = tuple(node.expression.expressions)
        else:
            nulls = isinstance(node, exp.IgnoreNulls)
        node = node.this
    name = _name(node)
    if not name:
        return None
    given = node.expressions if isinstance(node, exp.Anonymous) else list(node.iter_expressions())
    distinct, arguments = False, []
    for argument in given:
        if isinstance(argument, exp.Distinct):
            distinct = True
            arguments += argument.expressions
        elif isinstance(argument, (exp.IgnoreNulls, exp.RespectNulls)):
            nulls = isinstance(argument, exp.IgnoreNulls)
            arguments.append(argument.this)
        elif not _is_star(argument):
            arguments.append(argument)
    return Call(name, tuple(arguments), distinct, condition, order, nulls)


def _name(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        name = node.name.upper()
        return name if known_aggregate(name) or name in REFUSED else ""
    names: list[str] = [_SPELT.get(name, name) for name in node.sql_names()] if isinstance(node, exp.AggFunc) else []
    return next(filter(known_aggregate, names), names[0] if names else "")


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))
