"""What an expression over events reads: columns, and `NEXT(symbol).column`."""

from __future__ import annotations

from sqlglot import exp

from eventide.lang.nodes import every_node


def is_next(node: exp.Expr) -> bool:
    """Whether the node is `NEXT(symbol).column`."""
    return (
        isinstance(node, exp.Dot)
        and isinstance(node.this, exp.Anonymous)
        and node.this.name.upper() == "NEXT"
        and isinstance(node.expression, exp.Identifier)
    )


def is_reading(node: exp.Expr) -> bool:
    """Whether the node is a column or a NEXT reference."""
    return isinstance(node, exp.Column) or is_next(node)


def readings(tree: exp.Expr) -> list[exp.Expr]:
    """Columns and NEXT references, in order of appearance; not what stands inside them.

    >>> import sqlglot
    >>> [node.sql() for node in readings(sqlglot.parse_one("a.x + COUNT(*) < NEXT(a).x"))]
    ['a.x', 'NEXT(a).x']
    """
    return [node for node in every_node(tree, is_reading) if is_reading(node) and not isinstance(node.this, exp.Star)]
