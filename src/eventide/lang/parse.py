"""Query text in, `EventQuery` out: the event-pattern query language.

The clauses stand in any order, each at most once. Nothing is checked against a schema here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from eventide.errors import QueryError, did_you_mean
from eventide.lang.clauses import Clause, split_clauses
from eventide.lang.conditions import read_where
from eventide.lang.cursor import Cursor
from eventide.lang.durations import read_window
from eventide.lang.patterns import read_pattern
from eventide.lang.scalars import read_scalar
from eventide.lang.tokens import Kind, Token, tokenize
from eventide.lang.tree import Definition, EventQuery, Name, Option, Pattern, ReturnItem, Span, Strategy

# A text of this length, whatever it holds, is parsed within seconds.
MAX_TEXT = 100_000
_STRATEGIES = {
    "any": Strategy.ANY,
    "skiptillany": Strategy.ANY,
    "next": Strategy.NEXT,
    "skiptillnext": Strategy.NEXT,
    "contiguous": Strategy.CONTIGUOUS,
}


def parse(text: str) -> EventQuery:
    """Parse an event-pattern query; the only error it raises is `QueryError`.

    >>> query = parse("PATTERN SEQ(Order o, Pay p) WHERE [user] AND p.sum < o.sum WITHIN 5 minutes")
    >>> query.pattern
    Seq(parts=(Step(type='Order', symbol='o'), Step(type='Pay', symbol='p')))
    >>> query.same, query.window.length.amount
    ((Name(text='user'),), 300000000)
    """
    if len(text) > MAX_TEXT:
        message = f"the query has {len(text):,} characters"
        hint = f"at most {MAX_TEXT:,} are allowed; keep long lists in a table and join them before"
        raise QueryError(message, text[:80], 0, 0, hint=hint)
    clauses = split_clauses(text, tokenize(text))
    same, where = read_where(text, clauses["WHERE"]) if "WHERE" in clauses else ((), ())
    complete_trends = "RETURN" in clauses and _returns_complete_trends(text, clauses["RETURN"])
    return EventQuery(
        text=text,
        source=_source(text, clauses["FROM"]) if "FROM" in clauses else None,
        partition_by=_columns(text, clauses, "PARTITION BY"),
        define=_definitions(text, clauses["DEFINE"]) if "DEFINE" in clauses else (),
        same=same,
        where=where,
        semantics=_strategy(text, clauses["SEMANTICS"]) if "SEMANTICS" in clauses else None,
        group_by=_columns(text, clauses, "GROUP BY"),
        window=read_window(_cursor(text, clauses["WITHIN"])) if "WITHIN" in clauses else None,
        min_length=_min_length(text, clauses["MIN LENGTH"]) if "MIN LENGTH" in clauses else None,
        returns=_return_items(text, clauses["RETURN"]) if "RETURN" in clauses and not complete_trends else (),
        complete_trends=complete_trends,
        options=_options(text, clauses["OPTIONS"]) if "OPTIONS" in clauses else (),
        pattern=_pattern(text, clauses),  # last: a misspelt PATTERN shows up in the clause before it
    )


def _cursor(text: str, clause: Clause) -> Cursor:
    return Cursor(text, clause.tokens, clause.keyword)


def _pattern(text: str, clauses: dict[str, Clause]) -> Pattern:
    if "PATTERN" not in clauses:
        start = min(clause.span.start for clause in clauses.values())
        hint = "say what to look for: PATTERN SEQ(A, B)"
        raise QueryError("the query has no PATTERN clause", text, start, start, hint=hint)
    return read_pattern(_cursor(text, clauses["PATTERN"]))


def _source(text: str, clause: Clause) -> Name:
    cursor = _cursor(text, clause)
    name = cursor.name("a name after FROM", usage="write FROM checks, or leave FROM out")
    if cursor.at("."):
        cursor.fail("FROM takes one name, found a dot", hint="if the dot is part of the name, quote it: `a.b`")
    if cursor.at(","):
        cursor.fail("FROM takes one name, found ','", hint="give several inputs to run(): run(Order=df1, Payment=df2)")
    cursor.finish("the name in FROM")
    return name


def _columns(text: str, clauses: dict[str, Clause], keyword: str) -> tuple[Name, ...]:
    if keyword not in clauses:
        return ()
    cursor = _cursor(text, clauses[keyword])
    names = cursor.names()
    cursor.finish(f"the columns of {keyword}", hint="separate the columns with commas")
    return names


def _split(clause: Clause) -> list[tuple[tuple[Token, ...], Token]]:
    """The parts between top-level commas, each with the token behind it."""
    parts: list[tuple[tuple[Token, ...], Token]] = []
    depth = start = 0
    for idx, token in enumerate(clause.tokens):
        depth += token.text in ("(", "[", "{")
        depth -= token.text in (")", "]", "}")
        last = idx == len(clause.tokens) - 1
        if last or (depth == 0 and token.is_punctuation(",")):
            parts.append((clause.tokens[start:idx], token))
            start = idx + 1
    return parts


def _definitions(text: str, clause: Clause) -> tuple[Definition, ...]:
    definitions: dict[str, Definition] = {}
    usage = "DEFINE Big AS amount > 1000"
    for tokens, after in _split(clause):
        cursor = Cursor(text, (*tokens, after), clause.keyword)
        name = cursor.name("an event type to define", usage=f"write {usage}")
        if not cursor.accept_word("AS"):
            cursor.fail(f"expected AS after '{name.text}', found {cursor.next}", hint=f"write {usage}")
        if name.text in definitions:
            cursor.fail(f"'{name.text}' is defined twice", at=name.span, hint="join the two conditions with OR")
        condition = read_scalar(text, tokens[2:], after, f"the condition of '{name.text}'", usage)
        definitions[name.text] = Definition(name, condition, Span(name.span.start, condition.span.end))
    return tuple(definitions.values())


def _strategy(text: str, clause: Clause) -> Strategy:
    cursor = _cursor(text, clause)
    known = ", ".join([*(strategy.value for strategy in Strategy), "any", "next"])
    if cursor.ended:
        cursor.fail(f"expected a strategy after SEMANTICS, found {cursor.next}", hint=f"known: {known}")
    end = 0
    while not cursor.ended and (cursor.next.kind is Kind.WORD or cursor.at("-")):
        end = cursor.take().end
    span = Span(clause.tokens[0].start, max(end, clause.tokens[0].end))
    written = text[span.start : span.end]
    folded = re.sub(r"[-_\s]", "", written.lower()).removesuffix("match")
    strategy = _STRATEGIES.get(folded)
    if strategy is None:
        hint = did_you_mean(written[:40], [*(strategy.value for strategy in Strategy), "any", "next"])
        cursor.fail(f"unknown strategy '{written[:40]}'", at=span, hint=hint)
    cursor.finish("the strategy", hint=f"one strategy stands in SEMANTICS: {strategy.value}")
    return strategy


def _min_length(text: str, clause: Clause) -> int:
    cursor = _cursor(text, clause)
    token = cursor.next
    if cursor.ended or not re.fullmatch("[0-9]{1,9}", token.text) or int(token.text) == 0:
        cursor.fail(f"MIN LENGTH takes a whole number from 1 up, found {token}", hint="write MIN LENGTH 3")
    cursor.take()
    cursor.finish("the number of MIN LENGTH", hint="MIN LENGTH counts events, it has no unit")
    return int(token.text)


def _returns_complete_trends(text: str, clause: Clause) -> bool:
    cursor = _cursor(text, clause)
    if not (cursor.accept_word("COMPLETE") and cursor.accept_word("TRENDS")):
        return False
    cursor.finish("RETURN COMPLETE TRENDS", hint="it returns whole trends and takes no columns")
    return True


def _return_items(text: str, clause: Clause) -> tuple[ReturnItem, ...]:
    items: list[ReturnItem] = []
    aliases: set[str] = set()
    for tokens, after in _split(clause):
        cut = _alias_idx(tokens)
        behind = after if cut == len(tokens) else tokens[cut]
        value = read_scalar(text, tokens[:cut], behind, "the RETURN expression", "RETURN A.x, COUNT(*)")
        alias = None
        if cut < len(tokens):
            cursor = Cursor(text, (*tokens[cut + 1 :], after), clause.keyword)
            alias = cursor.name("a name after AS", usage="write RETURN SUM(A.x) AS total")
            cursor.finish("the name of the result", hint="separate the results with commas")
            if alias.text in aliases:
                cursor.fail(f"two results are called '{alias.text}'", at=alias.span, hint="rename one of them")
            aliases.add(alias.text)
        end = alias.span.end if alias else value.span.end
        items.append(ReturnItem(value, alias, Span(value.span.start, end)))
    return tuple(items)


def _alias_idx(tokens: Sequence[Token]) -> int:
    depth = 0
    for idx, token in enumerate(tokens):
        depth += token.text in ("(", "[")
        depth -= token.text in (")", "]")
        if depth == 0 and token.word == "AS":
            return idx
    return len(tokens)


def _options(text: str, clause: Clause) -> tuple[Option, ...]:
    cursor = _cursor(text, clause)
    options: dict[str, Option] = {}
    cursor.expect("(", "after OPTIONS", hint="write OPTIONS (ts = 'time', ts_unit = 's')")
    while True:
        name = cursor.name("the name of an option", usage="write OPTIONS (ts = 'time')")
        if name.text in options:
            cursor.fail(f"option '{name.text}' is given twice", at=name.span, hint="remove one")
        cursor.expect("=", f"after option '{name.text}'", hint=f"write {name.text} = 'value'")
        minus = cursor.accept("-")
        token = cursor.next
        kinds = (Kind.NUMBER,) if minus else (Kind.NUMBER, Kind.STRING, Kind.WORD)
        if cursor.ended or token.kind not in kinds:
            hint = "a value is a quoted string, a number or a word"
            cursor.fail(f"expected a value for option '{name.text}', found {token}", hint=hint)
        value = ("-" if minus else "") + cursor.take().value
        options[name.text] = Option(name, value, Span(name.span.start, token.end))
        if cursor.accept(","):
            continue
        if not cursor.at(")"):
            hint = "separate options with commas; a value of several words needs quotes"
            cursor.fail(f"expected ',' or ')' after option '{name.text}', found {cursor.next}", hint=hint)
        cursor.take()
        break
    cursor.finish("OPTIONS (...)")
    return tuple(options.values())
