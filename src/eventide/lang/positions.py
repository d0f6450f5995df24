"""Where the nodes of a scalar expression stand in the query text.

sqlglot records the place of names, literals and function names. `place` shifts these to offsets into the
query text, and stretches calls, parentheses and casts to their closing bracket.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from sqlglot import exp

from eventide.lang.nodes import every_node
from eventide.lang.tokens import Token
from eventide.lang.tree import Span

_CALLED = re.compile(r"\w+\s*\(")
_CALL = re.compile(r"(\w+)\s*\(\s*$")
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
    covers = _constants(tree, tokens)
    below: dict[int, tuple[int, int]] = {}  # of a node, by its id: the tokens that what stands below it covers
    for node in reversed(every_node(tree)):
        first, last = below.get(id(node), (len(tokens), -1))
        meta = node._meta
        is_named = meta is not None and "start" in meta
        if meta is not None and is_named:
            if id(meta) not in shifted:  # some nodes of sqlglot share one meta
                shifted.add(id(meta))
                meta["start"] += offset
                meta["end"] += offset
            first = min(first, bisect_right(starts, meta["start"]) - 1)
            last = max(last, bisect_left(ends, meta["end"] + 1))
        elif id(node) in covers:
            first, last = min(first, covers[id(node)][0]), max(last, covers[id(node)][1])
        if last < 0:
            continue
        # The sides of a binary operator are balanced already, and chains of them are long.
        is_operator = isinstance(node, exp.Binary) and not is_named and not _is_call(node)
        if not is_operator and not isinstance(node, _OWN_PLACE):
            first, last = _stretch(node, tokens, first, last, is_named=is_named)
        if not isinstance(node, _OWN_PLACE):
            node.meta["start"], node.meta["end"] = tokens[first].start, tokens[last].end - 1
        above = id(node.parent)
        known = below.get(above)
        below[above] = (first, last) if known is None else (min(first, known[0]), max(last, known[1]))


def _constants(tree: exp.Expr, tokens: Sequence[Token]) -> dict[int, tuple[int, int]]:
    """The places of NULL, TRUE and FALSE, of which sqlglot keeps none: they come in the order of the text.

    Where sqlglot has put in some of its own, nobody knows which are which.
    """
    found: dict[int, tuple[int, int]] = {}
    for kind, words in ((exp.Null, ("NULL",)), (exp.Boolean, ("TRUE", "FALSE"))):
        nodes = [node for node in tree.walk(bfs=False) if isinstance(node, kind)]
        places = [i for i, token in enumerate(tokens) if token.word in words]
        if len(nodes) == len(places):
            found |= {id(node): (at, at) for node, at in zip(nodes, places, strict=True)}
    return found


def _is_call(node: exp.Expr) -> bool:
    """Whether a node with two sides is written with brackets: get_json_object(text, path)."""
    return isinstance(node, exp.Func) and not isinstance(node, exp.Connector)


# Functions with words between their arguments, whose names sqlglot's nodes do not have.
_APART: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Extract: ("EXTRACT",),
    exp.GroupConcat: ("STRING_AGG", "LISTAGG"),
    exp.StrPosition: ("POSITION",),
}
_BEFORE: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.BitwiseNot: ("~",),
    exp.Neg: ("-",),
    exp.Any: ("ANY",),
    exp.Cast: ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"),
}


def _called_at(node: exp.Expr, tokens: Sequence[Token], first: int) -> int | None:
    """Where the name of a function stands, and a bracket, before its argument: sqlglot keeps some places not."""
    names = _APART.get(type(node)) or (node.sql_names() if isinstance(node, exp.Func) else ())
    at = first - 1
    if type(node) in _APART:
        depth = 0
        while at > 0 and (depth > 0 or tokens[at].text not in _OPENING):
            depth += (tokens[at].text in _CLOSING) - (tokens[at].text in _OPENING)
            at -= 1
    is_called = at >= 1 and tokens[at].text == "(" and tokens[at - 1].word in names
    return at - 1 if is_called else None


def _stretch(node: exp.Expr, tokens: Sequence[Token], first: int, last: int, *, is_named: bool) -> tuple[int, int]:
    # In max(max(x)) the inner call begins at its own name, not at the one before it.
    is_at_name = is_named and isinstance(node, exp.Func) and tokens[first].word in node.sql_names()
    name_at = None if is_at_name else _called_at(node, tokens, first)
    before = _BEFORE.get(exp.Cast if isinstance(node, exp.Cast) else type(node), ())
    if name_at is not None:
        first, last = name_at, max(last, first)
    elif first > 0 and (tokens[first - 1].word or tokens[first - 1].text) in before:
        first -= 1
    elif isinstance(node, exp.Case):
        first = next((at for at in range(first - 1, -1, -1) if tokens[at].word == "CASE"), first)
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
    return first, _end(node, tokens, last)


def _end(node: exp.Expr, tokens: Sequence[Token], last: int) -> int:
    """The last token of a node, behind the END of a CASE, the type of `x::INT` and an empty OVER ()."""
    following = [token.text.upper() for token in tokens[last + 1 : last + 4]]
    if isinstance(node, exp.Case) and following[:1] == ["END"]:
        return last + 1
    if isinstance(node, exp.Window) and following == ["OVER", "(", ")"]:
        return last + 3
    is_cast = isinstance(node, exp.Cast) and following[:2] == [":", ":"] and len(following) == 3
    return last + 3 if is_cast else last


def call_span(node: exp.Expr, default: Span, text: str) -> Span:
    """Where a call stands, from its name to its closing bracket: sqlglot has no place for some names."""
    start, end = (span := span_of(node, default)).start, span.end
    before = _CALL.search(text[:start])
    if before is not None and not _CALLED.match(text[start:end]):
        start = before.start()
    for _ in range(text.count("(", start, end) - text.count(")", start, end)):
        end = text.find(")", end) + 1 or end
    return Span(start, end)
