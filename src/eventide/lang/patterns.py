"""The PATTERN clause: operators in, a checked `Pattern` tree out.

pattern := primary quantifier*            quantifier := + | * | ? | {n} | {n,} | {n,m} | {,m}
primary := type [symbol] | SEQ(part, ...) | AND(part, part, ...) | OR(part, part, ...)
         | ITER(part, n) | (part)         part := pattern, or inside SEQ also NOT pattern
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NoReturn

from eventide.lang.cursor import Cursor
from eventide.lang.keywords import PATTERN_WORDS, misplaced_hint
from eventide.lang.tokens import Kind, Token
from eventide.lang.tree import And, Not, Or, Pattern, Repeat, Seq, Span, Step

MAX_DEPTH = 100
MAX_REPEAT = 1_000_000
_QUANTIFIERS: dict[str, tuple[int, int | None]] = {"+": (1, None), "*": (0, None), "?": (0, 1)}
_INFIX = {
    "AND": "AND(A, B)",
    "OR": "OR(A, B)",
    ",": "SEQ(A, B)",
    "|": "OR(A, B)",
    "&": "AND(A, B)",
    "-": "SEQ(A, B)",
}


def read_pattern(cursor: Cursor) -> Pattern:
    """The whole clause as one pattern.

    >>> from eventide.lang.tokens import tokenize
    >>> text = "SEQ(A, B b+)"
    >>> read_pattern(Cursor(text, tokenize(text), "PATTERN"))
    Seq(parts=(Step(type='A', symbol='A'), Repeat(part=Step(type='B', symbol='b'), minimum=1, maximum=None)))
    """
    pattern, _ = _quantified(cursor, 0, in_seq=False)
    if not cursor.ended:
        _fail_side_by_side(cursor)
    return pattern


def can_be_empty(pattern: Pattern) -> bool:
    """Whether the pattern matches without any event."""
    match pattern:
        case Step():
            return False
        case Repeat(part, minimum):
            return minimum == 0 or can_be_empty(part)
        case Or(parts):
            return any(can_be_empty(part) for part in parts)
        case Not():
            return True
        case Seq(parts) | And(parts):
            return all(can_be_empty(part) for part in parts)


# Each reader returns the pattern and its height, so that no tree is deeper than MAX_DEPTH.
_Read = tuple[Pattern, int]


def _quantified(cursor: Cursor, depth: int, in_seq: bool) -> _Read:
    pattern, height = _primary(cursor, depth, in_seq)
    while (bounds := _quantifier(cursor, pattern)) is not None:
        if isinstance(pattern, Not):
            cursor.fail("NOT cannot be repeated", at=pattern.span, hint="put the quantifier inside: NOT A+")
        height += 1
        check_depth(cursor, depth + height, pattern.span)
        pattern = Repeat(pattern, bounds[0], bounds[1], Span(pattern.span.start, bounds[2]))
    return pattern, height


def _primary(cursor: Cursor, depth: int, in_seq: bool) -> _Read:
    token = cursor.next
    check_depth(cursor, depth, token.span)
    if not cursor.ended:
        if token.is_punctuation("("):
            return _group(cursor, depth, in_seq)
        if token.word == "NOT":
            return _negation(cursor, depth, in_seq)
        if token.word == "ITER":
            return _iteration(cursor, depth)
        if token.word in PATTERN_WORDS:
            return _operator(cursor, depth)
        if token.kind in (Kind.WORD, Kind.QUOTED):
            return _step(cursor), 1
    hint = "write an event type, or a sequence of them: SEQ(A, B)"
    if token.is_punctuation("!"):
        hint = "absence is written NOT A, inside SEQ"
    elif token.text in _QUANTIFIERS and not cursor.ended:
        hint = "a quantifier comes after what it repeats: A+"
    elif cursor.ended and token.kind is Kind.WORD:
        hint = f"say what to look for: PATTERN SEQ(A, B); an event type called '{token.text}' needs backticks"
    cursor.fail(f"expected a pattern, found {token}", hint=hint)


def _step(cursor: Cursor) -> Step:
    kind = cursor.take()
    symbol = kind
    if not cursor.ended and cursor.next.kind in (Kind.WORD, Kind.QUOTED) and cursor.next.word not in PATTERN_WORDS:
        if misplaced_hint(cursor.next) and cursor.peek().kind not in (Kind.PUNCTUATION, Kind.END):
            cursor.fail(f"unexpected {cursor.next} after the pattern", hint=misplaced_hint(cursor.next))
        symbol = cursor.take()
    return Step(kind.value, symbol.value, Span(kind.start, symbol.end))


def _group(cursor: Cursor, depth: int, in_seq: bool) -> _Read:
    opening = cursor.take()
    if cursor.at(")"):
        cursor.fail(
            "the parentheses hold no pattern",
            at=Span(opening.start, cursor.next.end),
            hint="write an event type",
        )
    pattern, height = _quantified(cursor, depth + 1, in_seq)
    if not cursor.at(")"):
        _fail_side_by_side(cursor)
    return replace(pattern, span=Span(opening.start, cursor.take().end)), height


def _negation(cursor: Cursor, depth: int, in_seq: bool) -> _Read:
    token = cursor.take()
    if not in_seq:
        hint = "say between which events it must not happen: SEQ(A, NOT B, C)"
        cursor.fail("NOT is allowed only inside SEQ", at=token, hint=hint)
    if cursor.at_word("NOT"):
        cursor.fail(
            "NOT NOT has no meaning",
            at=Span(token.start, cursor.next.end),
            hint="write NOT once, or not at all",
        )
    pattern, height = _quantified(cursor, depth + 1, in_seq=False)
    span = Span(token.start, pattern.span.end)
    if can_be_empty(pattern):
        hint = "it would always be there; use a pattern of at least one event, such as A+ for A*"
        cursor.fail("NOT needs a pattern that cannot be empty", at=pattern.span, hint=hint)
    return Not(pattern, span), height + 1


def _operator(cursor: Cursor, depth: int) -> _Read:
    token = cursor.take()
    word = token.word
    parts: list[Pattern] = []
    height = 0
    cursor.expect("(", f"after {word}", hint=f"write {word}(A, B); an event type called '{token.text}' needs backticks")
    while True:
        if cursor.at(")"):
            hint = f"remove the last comma, or add a pattern: {word}(A, B)" if parts else f"write {word}(A, B)"
            cursor.fail(f"expected a pattern in {word}, found ')'", hint=hint)
        part, part_height = _quantified(cursor, depth + 1, in_seq=word == "SEQ")
        parts.append(part)
        height = max(height, part_height)
        if cursor.accept(","):
            continue
        if not cursor.at(")"):
            _fail_in_operator(cursor, word)
        break
    span = Span(token.start, cursor.take().end)
    if word == "SEQ":
        if all(isinstance(part, Not) for part in parts):
            hint = "say what happens before or after: SEQ(A, NOT B)"
            cursor.fail("SEQ holds nothing but NOT", at=span, hint=hint)
        return Seq(tuple(parts), span), height + 1
    if len(parts) < 2:
        cursor.fail(f"{word} needs two or more patterns", at=span, hint=f"write {word}(A, B), or the pattern alone")
    return (And if word == "AND" else Or)(tuple(parts), span), height + 1


def _iteration(cursor: Cursor, depth: int) -> _Read:
    token = cursor.take()
    usage = "write ITER(A, 3)"
    cursor.expect("(", "after ITER", hint=usage)
    pattern, height = _quantified(cursor, depth + 1, in_seq=False)
    cursor.expect(",", "after the pattern of ITER", hint=usage)
    if cursor.ended or cursor.next.kind is not Kind.NUMBER:
        cursor.fail(f"expected a number of repetitions, found {cursor.next}", hint=usage)
    number = cursor.take()
    count = read_repetitions(cursor, number)
    if count == 0:
        cursor.fail("ITER(..., 0) matches nothing", at=number, hint="repeat at least once")
    closing = cursor.expect(")", "at the end of ITER", hint=usage)
    return Repeat(pattern, count, count, Span(token.start, closing.end)), height + 1


def _quantifier(cursor: Cursor, pattern: Pattern) -> tuple[int, int | None, int] | None:
    """Minimum, maximum and end offset of the quantifier at the cursor, if there is one."""
    if cursor.ended or cursor.next.kind is not Kind.PUNCTUATION:
        return None
    if cursor.next.text in _QUANTIFIERS:
        token = cursor.take()
        return *_QUANTIFIERS[token.text], token.end
    if not cursor.at("{"):
        return None
    opening = cursor.take()
    low = read_bound(cursor)
    high = low
    if cursor.accept(","):
        high = read_bound(cursor)
        if low is None and high is None:
            cursor.fail(
                "the quantifier has no bounds",
                at=Span(opening.start, cursor.next.end),
                hint="write {2,}, {,3} or {2,3}",
            )
        low = low or 0
    if low is None or not cursor.at("}"):
        cursor.fail(f"expected a number of repetitions, found {cursor.next}", hint="write {2}, {2,}, {,3} or {2,3}")
    span = Span(opening.start, cursor.take().end)
    written = cursor.text[span.start : span.end]
    if high == 0:
        cursor.fail(f"{written} matches nothing", at=span, hint="let it repeat at least once: ? is {0,1}")
    if high is not None and low > high:
        cursor.fail(
            f"the bounds of {written} are the wrong way round",
            at=span,
            hint=f"did you mean {{{high},{low}}}?",
        )
    return low, high, span.end


def read_bound(cursor: Cursor) -> int | None:
    """A number of repetitions, if one stands here."""
    return read_repetitions(cursor, cursor.take()) if not cursor.ended and cursor.next.kind is Kind.NUMBER else None


def read_repetitions(cursor: Cursor, token: Token) -> int:
    """A number of repetitions."""
    if not re.fullmatch("[0-9]+", token.text):
        cursor.fail(f"{token} is not a whole number", at=token, hint="give a number such as 3")
    if len(token.text) > 12 or int(token.text) > MAX_REPEAT:
        cursor.fail(f"{token} repetitions are too many", at=token, hint=f"the most is {MAX_REPEAT:,}")
    return int(token.text)


def check_depth(cursor: Cursor, depth: int, span: Span) -> None:
    """Refuse a pattern that is nested deeper than the readers go."""
    if depth > MAX_DEPTH:
        hint = f"at most {MAX_DEPTH} levels are allowed; a repetition of a repetition can often be one"
        cursor.fail("the pattern is nested too deeply", at=span, hint=hint)


_QUANTIFIED = re.compile(r"(\w+)\s*([+*?]|\{[\d\s,]*\})\s*\Z")


def _fail_in_operator(cursor: Cursor, word: str) -> NoReturn:
    hint = "separate the patterns with commas; two words are an event type and its symbol"
    swapped = _QUANTIFIED.search(cursor.text[: cursor.next.start])
    if cursor.next.kind in (Kind.WORD, Kind.QUOTED) and swapped is not None:
        hint = f"a symbol comes before the quantifier: {swapped[1]} {cursor.next.text}{swapped[2]}"
    if cursor.next.word in ("AND", "OR") or cursor.next.text in ("|", "&"):
        hint = f"operators come first: write {_INFIX[cursor.next.word or cursor.next.text]}"
    cursor.fail(f"expected ',' or ')' in {word}, found {cursor.next}", hint=hint)


def _fail_side_by_side(cursor: Cursor) -> NoReturn:
    token = cursor.next
    hint = misplaced_hint(token)
    key = token.word or token.text
    if hint is None and key in _INFIX:
        hint = f"operators come first: write {_INFIX[key]}"
    if hint is None and token.kind in (Kind.WORD, Kind.QUOTED):
        hint = "a sequence is written SEQ(A, B); a symbol comes before the quantifier: Check C+"
    cursor.fail(f"unexpected {token} after the pattern", hint=hint)
