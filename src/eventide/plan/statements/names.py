"""The names that Spark gives to columns without one: `count(1)`, `max(x)`, `(a + b)`."""

from __future__ import annotations

from sqlglot import exp

from eventide.plan.expressions.literals import target_type
from eventide.plan.expressions.types import type_name

_SIGNS: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div",
    exp.EQ: "=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.NullSafeEQ: "<=>",
    exp.And: "AND", exp.Or: "OR",
}  # fmt: skip
_CALLS = {"SUM", "AVG", "MIN", "MAX", "COUNT", "UPPER", "LOWER", "LENGTH", "ABS", "SQRT", "COALESCE", "CONCAT"}
_CALLS |= {"YEAR", "MONTH", "HOUR", "MINUTE", "SECOND", "ANY_VALUE", "STDDEV", "MEDIAN", "GREATEST", "LEAST"}


def names_of(tree: exp.Query) -> list[str] | None:
    """The names of all columns of a query; None where a star stands for some.

    >>> import sqlglot
    >>> texts = "SELECT a, 1 UNION SELECT b, 2", "SELECT * FROM t"
    >>> [names_of(sqlglot.parse_one(text, read="spark")) for text in texts]
    [['a', '1'], None]
    """
    while isinstance(tree, (exp.SetOperation, exp.Subquery)):
        tree = tree.this
    items = tree.expressions if isinstance(tree, exp.Select) else [exp.Star()]
    return None if any(item.is_star for item in items) else [name_of(item) for item in items]


def name_of(item: exp.Expr) -> str:
    """The name of a result: its alias, its column's, Spark's own where it is a common form, else its text.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("SELECT count(*), max(t.x), a.b + 1, CAST(n AS INT), 'x' AS y", read="spark")
    >>> [name_of(item) for item in tree.expressions]
    ['count(1)', 'max(x)', '(b + 1)', 'n', 'y']
    """
    if isinstance(item, exp.Alias):
        return item.alias
    if isinstance(item, exp.Cast) and isinstance(item.this, exp.Column):
        item = item.this
    return _shown(item) or str(item.sql("spark"))


def _shown(node: exp.Expr) -> str | None:
    match node:
        case exp.Column() | exp.Dot():
            return node.name if isinstance(node, exp.Column) else node.expression.name
        case exp.Literal():
            return node.this if node.is_string or "e" not in node.this.lower() else None
        case exp.Null():
            return "NULL"
        case exp.Boolean():
            return "true" if node.this else "false"
        case exp.Paren():
            return _shown(node.this)
        case exp.Neg():
            return _put("(- {})", [node.this])
        case exp.Not(this=exp.Is(this=inner, expression=exp.Null())):
            return _put("({} IS NOT NULL)", [inner])
        case exp.Is(expression=exp.Null()):
            return _put("({} IS NULL)", [node.this])
        case exp.Not():
            return _put("(NOT {})", [node.this])
        case exp.NEQ():
            return _put("(NOT ({} = {}))", [node.this, node.expression])
        case exp.In() if node.expressions:
            items = ", ".join(["{}"] * len(node.expressions))
            return _put(f"({{}} IN ({items}))", [node.this, *node.expressions])
        case exp.Cast():
            dtype = None if node.args.get("safe") or node.args.get("format") else target_type(node.to)
            return None if dtype is None else _put(f"CAST({{}} AS {type_name(dtype).upper()})", [node.this])
        case exp.Count() if isinstance(node.this, exp.Star):
            return "count(1)"
        case exp.Case() if node.this is None:
            return _case(node)
    if type(node) in _SIGNS:
        return _put(f"({{}} {_SIGNS[type(node)]} {{}})", [node.this, node.expression])
    return _call(node)


def _case(node: exp.Case) -> str | None:
    branches = [part for branch in node.args["ifs"] for part in (branch.this, branch.args["true"])]
    otherwise = [node.args["default"]] if node.args.get("default") is not None else []
    pattern = " ".join(["WHEN {} THEN {}"] * (len(branches) // 2)) + (" ELSE {}" if otherwise else "")
    return _put(f"CASE {pattern} END", [*branches, *otherwise])


def _call(node: exp.Expr) -> str | None:
    if not isinstance(node, exp.Func) or isinstance(node, exp.Anonymous) or node.sql_name() not in _CALLS:
        return None
    arguments = [node.this] if isinstance(node.this, exp.Expr) else []
    distinct = ""
    if arguments and isinstance(arguments[0], exp.Distinct):
        arguments, distinct = list(arguments[0].expressions), "DISTINCT "
    arguments += list(node.expressions)
    return _put(f"{node.sql_name().lower()}({distinct}{', '.join(['{}'] * len(arguments))})", arguments)


def _put(pattern: str, parts: list[exp.Expr]) -> str | None:
    shown = [_shown(part) for part in parts]
    return None if None in shown else pattern.format(*shown)
