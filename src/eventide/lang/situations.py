"""The situation query language: conditions that last in DEFINE, Allen's relations between them in PATTERN."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from itertools import pairwise, zip_longest

from eventide.errors import QueryError, did_you_mean
from eventide.lang.clauses import Clause
from eventide.lang.cursor import Cursor
from eventide.lang.durations import read_length, read_window, write_length
from eventide.lang.relations import RELATIONS
from eventide.lang.scalars import read_scalar
from eventide.lang.shared_clauses import cursor_of, read_columns, read_options, read_returns, read_source, split_commas
from eventide.lang.tokens import Kind, Token
from eventide.lang.tree import Constraint, Length, Name, Situation, SituationQuery, Span, Window

MAX_SITUATIONS = 62  # bits of a mask
END = "TE_"  # `end(A)` in RETURN: SQL has END for CASE, so the words are read under this name of the same length
_FIRST_WORDS = frozenset(name.split("-")[0].upper() for name in RELATIONS)
_USAGE = "DEFINE A AS speed > 70 FOR AT LEAST 5 seconds"
_ALTERNATIVES = "alternatives are written A meets|overlaps B"
_ALL = f"the relations are {', '.join(RELATIONS)}"
_CONDITION_FIRST = "the whole condition comes before MAX GAP"
_MAX_GAP = "write MAX GAP 5 minutes: silence for longer ends the situation"
_DURATIONS = "a duration is FOR AT LEAST 5 seconds, FOR AT MOST 1 minute, or FOR BETWEEN 5 seconds AND 1 minute"


def is_situations(clauses: dict[str, Clause]) -> bool:
    """Whether PATTERN relates two names, or was meant to.

    A relation stands between a name and another name, `|`, a hyphen or a bracket. Three names in a row are nothing
    else, so one in the middle is a misspelt relation, if it is almost one or stands beside names of DEFINE.
    """
    tokens = clauses["PATTERN"].tokens[:-1] if "PATTERN" in clauses else ()
    defined = _defined(clauses)
    names = (Kind.WORD, Kind.QUOTED)
    for before, token, after in zip(tokens, tokens[1:], (*tokens[2:], None), strict=False):
        if before.kind not in names or before.word in ("AND", "OR", "NOT"):
            continue
        is_known = before.text.lower() in defined
        if after is None:
            if token.word in _FIRST_WORDS and is_known:
                return True
        elif token.word in _FIRST_WORDS and (after.kind in names or after.text in ("|", "-")):
            return True
        elif token.word in ("AND", "OR", "NOT"):
            continue
        elif token.word and (
            (is_known and (after.text.lower() in defined or after.text in ("|", "(")))
            or (after.kind in names and get_close_matches(token.text.lower(), RELATIONS, n=1, cutoff=0.75))
        ):
            return True
    # `overlaps B`, `overlaps(A, B)`
    first = tokens[0].word if len(tokens) > 1 else None
    return first in _FIRST_WORDS and str(first).lower() not in defined and tokens[1].text.lower() in {"(", *defined}


def _defined(clauses: dict[str, Clause]) -> set[str]:
    """The names of DEFINE."""
    tokens = clauses["DEFINE"].tokens if "DEFINE" in clauses else ()
    return {token.text.lower() for token, after in pairwise(tokens) if after.word == "AS"}


def read_situations(text: str, clauses: dict[str, Clause]) -> SituationQuery:
    """The query that the clauses spell."""
    for keyword, instead in (
        ("WHERE", "a condition belongs in DEFINE: DEFINE A AS speed > 70 AND lane = 1"),
        ("SEMANTICS", "a situation is the longest run of events, there is nothing to select"),
        ("GROUP BY", "write PARTITION BY: every partition is matched on its own"),
        ("MIN LENGTH", "bound how long a situation lasts: FOR AT LEAST 5 seconds"),
    ):
        if keyword in clauses:
            span = clauses[keyword].span
            message = f"{keyword} has no place in a query that relates situations"
            raise QueryError(message, text, span.start, span.end, hint=instead)
    constraints = _constraints(text, clauses["PATTERN"])
    if "DEFINE" not in clauses:
        first = constraints[0].left
        message = f"nothing says what the situation '{first.text}' is"
        raise QueryError(message, text, first.span.start, first.span.end, hint=f"write {_USAGE}")
    define = _definitions(text, clauses["DEFINE"])
    query = SituationQuery(
        text=text,
        define=define,
        pattern=_resolved(text, constraints, define),
        source=read_source(text, clauses["FROM"]) if "FROM" in clauses else None,
        partition_by=read_columns(text, clauses, "PARTITION BY"),
        window=_window(text, clauses["WITHIN"]) if "WITHIN" in clauses else None,
        complete="EMIT ON" in clauses and _is_complete(text, clauses["EMIT ON"]),
        returns=read_returns(text, clauses["RETURN"], _rename_end) if "RETURN" in clauses else (),
        options=read_options(text, clauses["OPTIONS"]) if "OPTIONS" in clauses else (),
    )
    used = {name.lower() for name in query.symbols}
    for each in define:
        if each.name.text.lower() not in used:
            message = f"the situation '{each.name.text}' is defined but not in PATTERN"
            hint = "relate it to another one, or remove it"
            raise QueryError(message, text, each.name.span.start, each.name.span.end, hint=hint)
    return query


# --- DEFINE -----------------------------------------------------------------------------------------------


def _definitions(text: str, clause: Clause) -> tuple[Situation, ...]:
    found: dict[str, Situation] = {}
    for tokens, after in split_commas(clause):
        cursor = Cursor(text, (*tokens, after), clause.keyword)
        name = cursor.name("a situation to define", usage=f"write {_USAGE}")
        if not cursor.accept_word("AS"):
            cursor.fail(f"expected AS after '{name.text}', found {cursor.next}", hint=f"write {_USAGE}")
        if name.text.lower() in found:
            cursor.fail(f"'{name.text}' is defined twice", at=name.span, hint="give one of them another name")
        cut = _bounds_idx(tokens)
        _refuse_bare_duration(text, tokens[2:cut])
        behind = after if cut == len(tokens) else tokens[cut]
        condition = read_scalar(text, tokens[2:cut], behind, f"the condition of '{name.text}'", _USAGE)
        bounds, end = _bounds(Cursor(text, (*tokens[cut:], after), clause.keyword))
        span = Span(name.span.start, max(end, condition.span.end))
        found[name.text.lower()] = Situation(name, condition, *bounds, span)
        if len(found) > MAX_SITUATIONS:
            cursor.fail(f"a query has at most {MAX_SITUATIONS} situations", at=name.span)
    return tuple(found.values())


def _bounds_idx(tokens: tuple[Token, ...]) -> int:
    """The place of the first FOR or MAX GAP outside brackets."""
    depth = 0
    for idx, token in enumerate(tokens):
        depth += token.text in ("(", "[")
        depth -= token.text in (")", "]")
        is_gap = token.word == "MAX" and idx + 1 < len(tokens) and tokens[idx + 1].word == "GAP"
        if depth == 0 and idx > 1 and (is_gap or token.word == "FOR"):
            return idx
    return len(tokens)


def _refuse_bare_duration(text: str, tokens: tuple[Token, ...]) -> None:
    for token, after in pairwise(tokens):
        if token.word == "AT" and after.word in ("LEAST", "MOST"):
            message = f"FOR is missing before {token.text} {after.text}"
            raise QueryError(message, text, token.start, after.end, hint=_DURATIONS)


def _bounds(cursor: Cursor) -> tuple[tuple[Length | None, Length | None, Length | None], int]:
    """Least and greatest duration, the longest gap, and the place behind them; FOR and MAX GAP in any order."""
    minimum = maximum = max_gap = None
    end = 0
    while not cursor.ended:
        word = cursor.take()
        if word.word == "FOR":
            if minimum or maximum:
                hint = "write both bounds as FOR BETWEEN 5 seconds AND 1 minute"
                cursor.fail("FOR is there twice", at=word, hint=hint)
            minimum, maximum = _durations(cursor)
            end = (maximum or minimum).span.end  # type: ignore[union-attr]
        else:
            gap = cursor.take()
            if max_gap is not None:
                cursor.fail("MAX GAP is there twice", at=Span(word.start, gap.end), hint="remove one")
            max_gap = _length(cursor, "a gap", _MAX_GAP)
            end = max_gap.span.end
        is_gap = cursor.at_word("MAX") and cursor.peek().word == "GAP"
        if not (cursor.ended or is_gap or cursor.at_word("FOR")):
            what, usage = ("the duration", _DURATIONS) if word.word == "FOR" else ("the gap", _CONDITION_FIRST)
            cursor.finish(what, hint=usage if cursor.at_word("AND") else "separate definitions with commas")
    return (minimum, maximum, max_gap), end


def _durations(cursor: Cursor) -> tuple[Length | None, Length | None]:
    """The bounds behind FOR."""
    minimum = maximum = None
    if cursor.accept_word("BETWEEN"):
        minimum = _length(cursor)
        if not cursor.accept_word("AND"):
            cursor.fail(f"expected AND and a longest duration, found {cursor.next}", hint=_DURATIONS)
        maximum = _length(cursor)
        if maximum.amount < minimum.amount:
            message = f"no situation lasts at least {write_length(minimum)} and at most {write_length(maximum)}"
            cursor.fail(message, at=Span(minimum.span.start, maximum.span.end), hint="the shorter one comes first")
    elif cursor.accept_word("AT"):
        word = cursor.accept_word("LEAST", "MOST")
        if word is None:
            cursor.fail(f"expected LEAST or MOST after AT, found {cursor.next}", hint=_DURATIONS)
        length = _length(cursor)
        minimum, maximum = (length, None) if word.word == "LEAST" else (None, length)
    else:
        cursor.fail(f"expected AT LEAST, AT MOST or BETWEEN after FOR, found {cursor.next}", hint=_DURATIONS)
    return minimum, maximum


def _length(cursor: Cursor, what: str = "a duration", usage: str = _DURATIONS) -> Length:
    try:
        length = read_length(cursor)
    except QueryError as error:
        if error.hint is None or "EVENTS" in error.hint or "WITHIN" in error.hint:
            cursor.fail(error.message, at=Span(error.start, error.end), hint=usage)
        raise
    if length.in_events:
        cursor.fail(f"{what} is a time, not a number of events", at=length.span, hint=usage)
    return length


# --- PATTERN ----------------------------------------------------------------------------------------------


def _constraints(text: str, clause: Clause) -> tuple[Constraint, ...]:
    cursor = cursor_of(text, clause)
    usage = "write A overlaps B AND B before C"
    found: list[Constraint] = []
    if cursor.at_word("NOT"):
        hint = "name the relations that may hold: A before|meets B"
        cursor.fail("NOT has no place in a query that relates situations", hint=hint)
    if _at_relation(cursor) and cursor.peek().word not in _FIRST_WORDS:
        cursor.fail(f"expected a situation before the relation, found {cursor.next}", hint=usage)
    left = cursor.name("a situation", usage=usage)
    while True:
        relations = _relations(cursor)
        if cursor.at_word("OR") or cursor.at(","):
            cursor.fail(f"expected a situation after the relation, found {cursor.next}", hint=_ALTERNATIVES)
        right = cursor.name("a situation after the relation", usage=usage)
        found.append(Constraint(left, right, relations, Span(left.span.start, right.span.end)))
        if cursor.accept_word("AND"):
            left = cursor.name("a situation after AND", usage=usage)
        elif not cursor.ended and _at_relation(cursor):
            left = right  # A starts B before C: a chain
        else:
            break
    cursor.finish("the relation", hint=f"join relations with AND; {_ALTERNATIVES}")
    return tuple(found)


def _at_relation(cursor: Cursor) -> bool:
    return cursor.next.word in _FIRST_WORDS


def _relations(cursor: Cursor) -> tuple[str, ...]:
    """Alternatives between `|`, each once, in the order of `RELATIONS`."""
    names: list[str] = []
    while True:
        start = cursor.next
        if cursor.ended or start.kind is not Kind.WORD:
            cursor.fail(f"expected a relation, found {start}", hint=_ALL)
        end = cursor.take().end
        written = start.text.lower()
        if cursor.at("-"):
            cursor.take()
            end = cursor.next.end
            written += "-" + cursor.take().text.lower()
        name = _ALIASES.get(written, written)
        if name not in RELATIONS:
            shown = cursor.text[start.start : end]
            cursor.fail(f"there is no relation '{shown}'", at=Span(start.start, end), hint=_meant(written, cursor.next))
        if name in names:
            cursor.fail(f"'{name}' is there twice", at=Span(start.start, end), hint="remove one")
        names.append(name)
        if not cursor.accept("|"):
            return tuple(name for name in RELATIONS if name in names)


_ALIASES = {"equal": "equals", "is-contained-by": "during"}
_MEANT = {
    "precedes": "before",
    "preceeds": "before",
    "then": "before",
    "follows": "after",
    "touches": "meets",
    "inside": "during",
    "in": "during",
    "while": "during",
    "includes": "contains",
    "covers": "contains",
    "begins": "starts",
    "ends": "finishes",
    "same": "equals",
}


def _meant(written: str, after: Token) -> str:
    """What to try in place of a relation that there is not."""
    spaced = f"{written}-{after.text.lower()}"  # met by
    if spaced in RELATIONS or written in _MEANT:
        return f"did you mean '{_MEANT.get(written, spaced)}'?"
    if after.word in _FIRST_WORDS:
        return f"leave out '{written}'"
    close = get_close_matches(written, RELATIONS, n=1)
    return f"did you mean '{close[0]}'?" if close else _ALL


def _resolved(text: str, constraints: tuple[Constraint, ...], define: tuple[Situation, ...]) -> tuple[Constraint, ...]:
    """The constraints with the names of DEFINE; each pair of situations once."""
    known = {each.name.text.lower(): each.name.text for each in define}

    def resolve(name: Name) -> Name:
        if name.text.lower() not in known:
            hint = did_you_mean(name.text, known.values()) or f"write {_USAGE}"
            message = f"the situation '{name.text}' is not defined"
            raise QueryError(message, text, name.span.start, name.span.end, hint=hint)
        return replace(name, text=known[name.text.lower()])

    found: dict[frozenset[str], Constraint] = {}
    for constraint in constraints:
        left, right = resolve(constraint.left), resolve(constraint.right)
        span = constraint.span
        if left == right:
            hint = "define a second situation with the same condition, and relate the two"
            message = f"'{left.text}' is related to itself"
            raise QueryError(message, text, span.start, span.end, hint=hint)
        pair = frozenset((left.text, right.text))
        if pair in found:
            hint = "name what may hold between them in one place: A meets|overlaps B"
            message = f"'{left.text}' and '{right.text}' are related twice"
            raise QueryError(message, text, span.start, span.end, hint=hint)
        found[pair] = replace(constraint, left=left, right=right)
    return tuple(found.values())


# --- other clauses ----------------------------------------------------------------------------------------


def _window(text: str, clause: Clause) -> Window:
    try:
        window = read_window(cursor_of(text, clause))
    except QueryError as error:
        if error.hint is None or "EVENTS" not in error.hint:
            raise
        hint = error.hint.split(", or")[0].replace(": ", ": WITHIN ")
        raise QueryError(error.message, text, error.start, error.end, hint=hint) from None
    if window.slide is not None or window.length.in_events:
        what = "SLIDE" if window.slide is not None else "a number of events"
        span = window.span
        hint = "write WITHIN 5 minutes: a match is returned once"
        raise QueryError(f"{what} has no place in the WITHIN of situations", text, span.start, span.end, hint=hint)
    return window


def _is_complete(text: str, clause: Clause) -> bool:
    cursor = cursor_of(text, clause)
    if not cursor.accept_word("COMPLETE"):
        hint = "write EMIT ON COMPLETE; without it a match is returned as soon as it is certain"
        cursor.fail(f"expected COMPLETE after EMIT ON, found {cursor.next}", hint=hint)
    cursor.finish("EMIT ON COMPLETE")
    return True


def _rename_end(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """`end(A)` under a name that SQL does not use."""
    return tuple(
        replace(token, text=END) if token.word == "END" and after is not None and after.text == "(" else token
        for token, after in zip_longest(tokens, tokens[1:])
    )
