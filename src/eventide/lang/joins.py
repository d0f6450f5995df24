"""Queries with JOIN in FROM: pairs of rows of two inputs, near each other in time."""

from __future__ import annotations

from sqlglot import exp

from eventide.errors import QueryError
from eventide.lang.clauses import Clause
from eventide.lang.cursor import Cursor
from eventide.lang.durations import read_length
from eventide.lang.scalars import read_scalar
from eventide.lang.shared_clauses import cursor_of, read_options, read_returns, split_commas
from eventide.lang.tokens import Kind, Token, one_line
from eventide.lang.tree import JoinQuery, Length, Name, ReturnItem, Scalar, Side, Span, Within

_ALLOWED = ("FROM", "WHERE", "WITHIN", "RETURN", "OPTIONS")
_INSTEAD = {
    "PARTITION BY": "rows of one partition are told by ON: ON o.user = p.user",
    "GROUP BY": "aggregate the result of the join",
    "HAVING": "aggregate the result of the join, and filter that",
    "SESSION": "a join looks as far as WITHIN says: WITHIN 15 minutes",
}
_KINDS = ("LEFT", "SEMI", "ANTI", "INNER")
_DIRECTIONS = ("BACKWARD", "FORWARD", "NEAREST")
_OTHERS = {
    "RIGHT": "put the other input first, and write LEFT JOIN",
    "FULL": "run a LEFT JOIN in both orders",
    "CROSS": "write JOIN without ON",
    "NATURAL": "name the columns: ON o.id = p.id",
    "USING": "write ON o.id = p.id",
    "OUTER": "write LEFT JOIN",
}
JOIN_WORDS = frozenset({*_KINDS, *_DIRECTIONS, *_OTHERS, "ASOF", "ALL", "JOIN", "ON"})
_USAGE = "write FROM orders o JOIN payments p ON o.id = p.id WITHIN 15 minutes"


def is_join(clauses: dict[str, Clause]) -> bool:
    """Whether FROM names two inputs, in a query without PATTERN."""
    if "PATTERN" in clauses or "DEFINE" in clauses or "FROM" not in clauses:
        return False
    return any(token.word == "JOIN" for token in clauses["FROM"].tokens[:-1])


def read_join(text: str, clauses: dict[str, Clause]) -> JoinQuery:
    """The query of the clauses."""
    for keyword, clause in clauses.items():
        if keyword not in _ALLOWED:
            message = f"{keyword} is no clause of a join"
            raise QueryError(message, text, clause.span.start, clause.span.end, hint=_INSTEAD.get(keyword))
    cursor = cursor_of(text, clauses["FROM"])
    left = _side(cursor)
    kind, asof, all_ties = _kind(cursor)
    right = _side(cursor)
    if left.name.lower() == right.name.lower():
        hint = f"give each a name of its own: FROM {left.name} a JOIN {right.source.text} b"
        cursor.fail(f"both inputs are called '{right.name}'", at=right.symbol.span, hint=hint)
    on = None
    if cursor.accept_word("ON"):
        on = _condition(text, cursor.rest(), "the ON condition", "ON o.id = p.id")
    elif not cursor.ended:
        hint = _OTHERS.get(cursor.next.word) or _USAGE
        cursor.fail(f"expected ON, found {cursor.next}", hint=hint)
    return JoinQuery(
        text=text,
        left=left,
        right=right,
        on=on,
        kind=kind,
        asof=asof,
        all_ties=all_ties,
        within=_within(text, clauses["WITHIN"], asof) if "WITHIN" in clauses else None,
        where=_where(text, clauses["WHERE"]) if "WHERE" in clauses else None,
        returns=_returns(text, clauses["RETURN"]) if "RETURN" in clauses else (),
        options=read_options(text, clauses["OPTIONS"]) if "OPTIONS" in clauses else (),
    )


def _side(cursor: Cursor) -> Side:
    source = cursor.name("the name of an input", usage=_USAGE)
    if cursor.at("."):
        cursor.fail("an input has one name, found a dot", hint="if the dot is part of the name, quote it: `a.b`")
    named = cursor.accept_word("AS")
    is_name = cursor.next.kind in (Kind.WORD, Kind.QUOTED) and cursor.next.word not in JOIN_WORDS
    if named or (is_name and not cursor.ended):
        return Side(source, cursor.name("a name after AS", usage=_USAGE))
    return Side(source, source)


def _kind(cursor: Cursor) -> tuple[str, str | None, bool]:
    """The words up to JOIN: what kind of join, the direction of ASOF, and whether all ties are taken."""
    words: dict[str, Token] = {}
    while not cursor.at_word("JOIN"):
        token = cursor.next
        is_outer = token.word == "OUTER" and "LEFT" in words
        if token.word not in (*_KINDS, *_DIRECTIONS, "ASOF", "ALL") and not is_outer:
            cursor.fail(f"expected JOIN, found {token}", hint=_OTHERS.get(token.word) or _USAGE)
        if token.word in words:
            cursor.fail(f"{token.word} is given twice", hint="remove one")
        words[token.word] = cursor.take()
    cursor.take()
    if "SEMI" in words or "ANTI" in words:
        words.pop("LEFT", None)  # Spark says LEFT SEMI JOIN
    for choices in (_KINDS, _DIRECTIONS):
        given = [words[word] for word in choices if word in words]
        if len(given) > 1:
            both = " and ".join(token.word for token in given)
            cursor.fail(f"{both} exclude each other", at=max(given, key=lambda token: token.start), hint="keep one")
    of_asof = [token for word, token in words.items() if word in (*_DIRECTIONS, "ALL")]
    if of_asof and "ASOF" not in words:
        hint = "write ASOF NEAREST JOIN; another join returns every pair"
        cursor.fail(f"{of_asof[0].word} belongs to an ASOF JOIN", at=of_asof[0], hint=hint)
    kind = next((word for word in _KINDS if word in words), "INNER")
    direction = next((word for word in _DIRECTIONS if word in words), "BACKWARD")
    if "ALL" in words and kind in ("SEMI", "ANTI"):
        hint = f"a {kind} JOIN returns the left row, however many right ones there are"
        cursor.fail("ALL says nothing here", at=words["ALL"], hint=hint)
    return kind.lower(), direction.lower() if "ASOF" in words else None, "ALL" in words


def _condition(text: str, tokens: tuple[Token, ...], what: str, usage: str) -> Scalar:
    return read_scalar(text, tokens[:-1], tokens[-1], what, usage)


def _where(text: str, clause: Clause) -> Scalar:
    return _condition(text, clause.tokens, "the WHERE condition", "WHERE o.amount > p.amount")


def _within(text: str, clause: Clause, asof: str | None) -> Within:
    """`15 minutes`, `15 minutes AFTER`, `5 minutes BEFORE`, or `5 minutes BEFORE AND 1 minute AFTER`."""
    cursor = cursor_of(text, clause)
    start = cursor.next.start
    usage = "write WITHIN 15 minutes, WITHIN 15 minutes AFTER or WITHIN 5 minutes BEFORE AND 1 minute AFTER"
    length, word = _time(cursor), cursor.accept_word("BEFORE", "AFTER")
    before: Length | None = length if word is None or word.word == "BEFORE" else None
    after: Length | None = length
    if word is not None and word.word == "BEFORE":
        after = None
        if cursor.accept_word("AND"):
            after = _time(cursor)
            if not cursor.accept_word("AFTER"):
                cursor.fail(f"expected AFTER, found {cursor.next}", hint=usage)
    if asof is not None and word is not None:
        hint = f"the direction stands before JOIN: ASOF {'FORWARD' if before is None else 'BACKWARD'} JOIN"
        cursor.fail(f"{word.word} is not for ASOF", at=word, hint=hint)
    if cursor.at_word("SLIDE"):
        cursor.fail("a join has no SLIDE", hint="its window begins with every row: leave SLIDE out")
    cursor.finish("the length of WITHIN", hint=usage)
    return Within(before, after, Span(start, (after or length).span.end))


def _time(cursor: Cursor) -> Length:
    length = read_length(cursor)
    if length.in_events:
        cursor.fail("a join looks as far as a time, not a number of events", at=length.span, hint="WITHIN 15 minutes")
    return length


def _returns(text: str, clause: Clause) -> tuple[ReturnItem, ...]:
    """The items; none for `*`. What `o.*` stands for is known with the schemas."""
    cursor = cursor_of(text, clause)
    if cursor.accept("*"):
        cursor.finish("RETURN *", hint="it returns all columns; or name them: RETURN o.*, p.amount")
        return ()
    items: list[ReturnItem] = []
    names: set[str] = set()
    for tokens, after in split_commas(clause):
        part = Clause(clause.keyword, clause.span, (*tokens, after))
        items += (_whole_side(tokens),) if _is_whole(tokens) else read_returns(text, part)
        alias = items[-1].alias
        if alias is not None and alias.text in names:
            message = f"two results are called '{alias.text}'"
            raise QueryError(message, text, alias.span.start, alias.span.end, hint="rename one of them")
        names |= {alias.text} if alias is not None else set()
    return tuple(items)


def _is_whole(tokens: tuple[Token, ...]) -> bool:
    if len(tokens) != 3 or tokens[0].kind not in (Kind.WORD, Kind.QUOTED):
        return False
    return tokens[1].is_punctuation(".") and tokens[2].is_punctuation("*")


def _whole_side(tokens: tuple[Token, ...]) -> ReturnItem:
    span = Span(tokens[0].start, tokens[-1].end)
    name = Name(tokens[0].value, tokens[0].span)
    tree = exp.Column(this=exp.Star(), table=exp.Identifier(this=name.text, quoted=True))
    tree.meta.update(start=span.start, end=span.end - 1)
    return ReturnItem(Scalar(tree, one_line(tokens), span), None, span)


def whole_side(item: ReturnItem) -> str | None:
    """The symbol of an item `o.*`; None for others."""
    tree = item.value.tree
    return str(tree.table) if isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star) else None
