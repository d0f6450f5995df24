"""Clauses that both query languages have: FROM, PARTITION BY and GROUP BY, RETURN, OPTIONS."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eventide.lang.clauses import Clause
from eventide.lang.cursor import Cursor
from eventide.lang.scalars import Rules, read_scalar
from eventide.lang.tokens import Kind, Token
from eventide.lang.tree import Name, Option, ReturnItem, Span


def cursor_of(text: str, clause: Clause) -> Cursor:
    """A cursor over the words of a clause."""
    return Cursor(text, clause.tokens, clause.keyword)


def read_source(text: str, clause: Clause) -> Name:
    """The name of FROM."""
    cursor = cursor_of(text, clause)
    name = cursor.name("a name after FROM", usage="write FROM checks, or leave FROM out")
    if cursor.at("."):
        cursor.fail("FROM takes one name, found a dot", hint="if the dot is part of the name, quote it: `a.b`")
    if cursor.at(","):
        cursor.fail("FROM takes one name, found ','", hint="give several inputs to run(): run(Order=df1, Payment=df2)")
    cursor.finish("the name in FROM")
    return name


def read_columns(text: str, clauses: dict[str, Clause], keyword: str) -> tuple[Name, ...]:
    """The columns of a clause; none where it is not there."""
    if keyword not in clauses:
        return ()
    cursor = cursor_of(text, clauses[keyword])
    names = cursor.names()
    cursor.finish(f"the columns of {keyword}", hint="separate the columns with commas")
    return names


def split_commas(clause: Clause) -> list[tuple[tuple[Token, ...], Token]]:
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


def read_returns(
    text: str,
    clause: Clause,
    prepare: Callable[[tuple[Token, ...]], tuple[Token, ...]] = lambda tokens: tokens,
    rules: Rules | None = None,
) -> tuple[ReturnItem, ...]:
    """The items of RETURN; `prepare` may change the words of an expression before it is read."""
    items: list[ReturnItem] = []
    aliases: set[str] = set()
    for tokens, after in split_commas(clause):
        cut = _alias_idx(tokens)
        behind = after if cut == len(tokens) else tokens[cut]
        value = read_scalar(text, prepare(tokens[:cut]), behind, "the RETURN expression", "RETURN A.x, COUNT(*)", rules)
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


def read_options(text: str, clause: Clause) -> tuple[Option, ...]:
    """The options by name."""
    cursor = cursor_of(text, clause)
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
