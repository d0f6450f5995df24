"""Where the nodes of a scalar expression stand in the query text.

sqlglot records the place of names, literals and function names. `place` shifts these to offsets into the
query text, and stretches calls, parentheses and casts to their closing bracket.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from sqlglot import exp

from eventide.lang.nodes import every_node
from eventide.lang.tokens import Token
from eventide.lang.tree import Span

_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")
_OWN_PLACE = (exp.Identifier, exp.Column, exp.Literal)
# These have a place of their own from `place` only, so it is that of all below them.
_PLACED = (exp.Binary, exp.Case, exp.In, exp.Not, exp.Paren)


def span_of(node: exp.Expr, default: Span) -> Span:
    """The text that a node covers, or `default` where nothing below it has a place.

    >>> from eventide.lang.scalars import parse_scalar
    >>> text = "A.price > 2 * avg(B.price)"
    >>> span = span_of(parse_scalar(text).tree.expression, Span(0, 0))
    >>> text[span.start : span.end]
    '2 * avg(B.price)'
    """
    if isinstance(node, _PLACED):
        own = node._meta
        if own is not None and "start" in own:
            return Span(own["start"], own["end"] + 1)
    start = end = -1
    for part in every_node(node):
        meta = part._meta
        if meta is not None and "start" in meta:
            start = meta["start"] if start < 0 else min(start, meta["start"])
            end = max(end, meta["end"] + 1)
    return default if start < 0 else Span(start, end)


def place(tree: exp.Expr, tokens: Sequence[Token], offset: int | None = None) -> None:
    """Shift and stretch the places of all nodes; `tokens` are those the tree was parsed from.

    sqlglot read the text from `offset` on, by default from the first token.
    """
    offset = tokens[0].start if offset is None else offset
    starts = [token.start for token in tokens]
    ends = [token.end for token in tokens]
    shifted: set[int] = set()
    below: dict[int, tuple[int, int]] = {}  # of a node, by its id: the tokens that what stands below it covers
    for node in reversed(every_node(tree)):
        first, last = below.get(id(node), (len(tokens), -1))
        meta = node._meta
        if meta is not None and "start" in meta:
            if id(meta) not in shifted:  # some nodes of sqlglot share one meta
                shifted.add(id(meta))
                meta["start"] += offset
                meta["end"] += offset
            first = min(first, bisect_right(starts, meta["start"]) - 1)
            last = max(last, bisect_left(ends, meta["end"] + 1))
        if last < 0:
            continue
        if not isinstance(node, _OWN_PLACE):
            # The sides of a binary operator are balanced already, and chains of them are long.
            if not isinstance(node, exp.Binary) or _is_call(node):
                first, last = _stretch(node, tokens, first, last)
            node.meta["start"], node.meta["end"] = tokens[first].start, tokens[last].end - 1
        above = id(node.parent)
        known = below.get(above)
        below[above] = (first, last) if known is None else (min(first, known[0]), max(last, known[1]))


def _is_call(node: exp.Expr) -> bool:
    """Whether a node with two sides is written with brackets: get_json_object(text, path)."""
    return isinstance(node, exp.Func) and not isinstance(node, exp.Connector)


def _stands_before(node: exp.Expr, tokens: Sequence[Token], first: int) -> bool:
    """Whether the name of a function, whose place sqlglot does not keep, and a bracket stand before its argument."""
    if not isinstance(node, exp.Func) or first < 2 or tokens[first - 1].text != "(":
        return False
    return tokens[first - 2].word in node.sql_names()


def _stretch(node: exp.Expr, tokens: Sequence[Token], first: int, last: int) -> tuple[int, int]:
    if _stands_before(node, tokens, first):
        first, last = first - 2, max(last, first)
    elif isinstance(node, exp.BitwiseNot) and first > 0 and tokens[first - 1].text == "~":
        first -= 1
    called = isinstance(node, exp.Func) and tokens[first].word and last + 1 < len(tokens)
    if called and first == last and tokens[last + 1].text == "(":
        last += 1
    depth = 0
    for token in tokens[first : last + 1]:
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
    if isinstance(node, (exp.Paren, exp.Tuple)) and first > 0 and tokens[first - 1].text == "(":
        first, depth = first - 1, depth + 1
    if isinstance(node, exp.Cast) and first > 1 and tokens[first - 2].word in ("CAST", "TRY_CAST"):
        first, depth = first - 2, depth + 1
    while depth > 0 and last + 1 < len(tokens):
        last += 1
        depth += (tokens[last].text in _OPENING) - (tokens[last].text in _CLOSING)
    return first, last
