"""Long chains of AND, OR and || as balanced trees: `a OR b OR c OR d` as `(a OR b) OR (c OR d)`.

sqlglot reads a chain as a tree with as many levels as the chain has terms. The order of the terms stays, so the meaning
and the text are the same. Sums and products keep their shape: there the order of the operations shows in the result.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from eventide.lang.nodes import every_node

_BALANCED = (exp.And, exp.Or, exp.DPipe)
# Shorter chains stay as sqlglot reads them.
_SHORT = 16


def balance(tree: exp.Expr) -> exp.Expr:
    """The tree with its long chains balanced, in place.

    >>> import sqlglot
    >>> tree = balance(sqlglot.parse_one(" OR ".join(f"x{i}" for i in range(32)), read="spark"))
    >>> tree.this.sql() == " OR ".join(f"x{i}" for i in range(16))
    True
    """
    heads = [node for node in every_node(tree) if type(node) in _BALANCED and not _goes_on(node)]
    for head in heads:
        terms = _terms(head)
        if len(terms) > _SHORT:
            made = _joined(type(head), terms)
            tree = made if head is tree else tree
            head.replace(made)
    return tree


def _goes_on(node: exp.Expr) -> bool:
    return type(node.parent) is type(node) and node.arg_key == "this"


def _terms(head: exp.Expr) -> list[exp.Expr]:
    terms = []
    node = head
    while type(node) is type(head):
        terms.append(node.expression)
        node = node.this
    return [node, *reversed(terms)]


def _joined(operator: type[exp.Expr], terms: Sequence[exp.Expr]) -> exp.Expr:
    if len(terms) == 1:
        return terms[0]
    half = (len(terms) + 1) // 2
    return operator(this=_joined(operator, terms[:half]), expression=_joined(operator, terms[half:]))
