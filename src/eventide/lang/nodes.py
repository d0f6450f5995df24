"""Walks and copies of sqlglot trees, for conditions of thousands of terms.

sqlglot has both; its walk makes a generator for every node, and its copy copies what only the parser reads.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp


def every_node(tree: exp.Expr, ends: Callable[[exp.Expr], bool] | None = None) -> list[exp.Expr]:
    """The nodes of a tree in the order of the text, each before those below it; none below one for which `ends` holds.

    >>> import sqlglot
    >>> [type(node).__name__ for node in every_node(sqlglot.parse_one("a.x = 1"))]
    ['EQ', 'Column', 'Identifier', 'Identifier', 'Literal']
    """
    found = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if ends is not None and ends(node):
            continue
        for value in reversed(node.args.values()):
            if isinstance(value, exp.Expr):
                waiting.append(value)
            elif type(value) is list:
                waiting += [part for part in reversed(value) if isinstance(part, exp.Expr)]
    return found


def copied(tree: exp.Expr, instead: Callable[[exp.Expr], exp.Expr | None] | None = None) -> exp.Expression:
    """A copy of a tree with its places in the text; a node that `instead` gives for one of the tree replaces it.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("a.x IN (1, 2)")
    >>> copied(tree) == tree, copied(tree) is tree
    (True, False)
    >>> copied(tree, lambda node: exp.column("y") if isinstance(node, exp.Column) else None).sql()
    'y IN (1, 2)'
    """
    made = None if instead is None else instead(tree)
    if made is not None:
        assert isinstance(made, exp.Expression)
        return made
    made = type(tree)()
    assert isinstance(made, exp.Expression)
    made._type = tree._type
    if tree._meta is not None:
        made._meta = tree._meta.copy()
    args = made.args
    for key, value in tree.args.items():
        if isinstance(value, exp.Expr):
            args[key] = part = copied(value, instead)
            part.parent, part.arg_key = made, key
        elif type(value) is list:
            args[key] = parts = []
            for idx, each in enumerate(value):
                part = copied(each, instead) if isinstance(each, exp.Expr) else each
                if isinstance(each, exp.Expr):
                    part.parent, part.arg_key, part.index = made, key, idx
                parts.append(part)
        else:
            args[key] = value
    return made
