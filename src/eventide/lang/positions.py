"""Where the nodes of a scalar expression stand in the query text.

sqlglot records the place of names, literals and function names. `place` shifts these to offsets into the
query text, and stretches calls, parentheses and casts to their closing bracket.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from sqlglot import exp

from eventide.lang.tokens import Token
from eventide.lang.tree import Span

_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")
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
    own = _own(node) if isinstance(node, _PLACED) else None
    if own is not None:
        return own
    spans = [found for found in map(_own, node.walk()) if found is not None]
    if not spans:
        return default
    return Span(min(span.start for span in spans), max(span.end for span in spans))


def place(tree: exp.Expr, tokens: Sequence[Token], offset: int | None = None) -> None:
    """Shift and stretch the places of all nodes; `tokens` are those the tree was parsed from.

    sqlglot read the text from `offset` on, by default from the first token.
    """
    offset = tokens[0].start if offset is None else offset
    starts = [token.start for token in tokens]
    ends = [token.end for token in tokens]
    shifted: set[int] = set()
    covers: dict[int, tuple[int, int]] = {}
    for node in reversed(list(tree.walk(bfs=True))):
        inside = [covers[id(child)] for child in node.iter_expressions() if id(child) in covers]
        meta = node.meta
        if "start" in meta:
            if id(meta) not in shifted:  # some nodes of sqlglot share one meta
                shifted.add(id(meta))
                meta["start"] += offset
                meta["end"] += offset
            inside.append((bisect_right(starts, meta["start"]) - 1, bisect_left(ends, meta["end"] + 1)))
        if not inside:
            continue
        first, last = min(cover[0] for cover in inside), max(cover[1] for cover in inside)
        # The sides of a binary operator are balanced already, and chains of them are long.
        is_operator = isinstance(node, exp.Binary) and not _is_call(node)
        if not is_operator:
            first, last = _stretch(node, tokens, first, last)
        if not isinstance(node, (exp.Identifier, exp.Column, exp.Literal)):
            node.meta["start"], node.meta["end"] = tokens[first].start, tokens[last].end - 1
        covers[id(node)] = (first, last)


def _is_call(node: exp.Expr) -> bool:
    """Whether a node with two sides is written with brackets: get_json_object(text, path)."""
    return isinstance(node, exp.Func) and not isinstance(node, exp.Connector)


def _stands_before(node: exp.Expr, tokens: Sequence[Token], first: int) -> bool:
    """Whether the name of a function, whose place sqlglot does not keep, and a bracket stand before its argument."""
    if not isinstance(node, exp.Func) or first < 2 or tokens[first - 1].text != "(":
        return False
    return tokens[first - 2].word in node.sql_names()


def _own(node: exp.Expr) -> Span | None:
    meta = node.meta
    return Span(meta["start"], meta["end"] + 1) if "start" in meta else None


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
