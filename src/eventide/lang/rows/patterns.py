"""The PATTERN clause: tokens in, a `RowPattern` tree out, as written.

choice   := concat (| concat)*            concat := repeated+
repeated := primary [quantifier [?]]      quantifier := * | + | ? | {n} | {n,} | {,m} | {n,m} | {,}
primary  := label | ^ | $ | () | (choice) | {- choice -} | PERMUTE(choice, ...)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NoReturn

from eventide.lang.patterns import check_depth, read_bound
from eventide.lang.rows.names import RowCursor, is_name
from eventide.lang.rows.tree import Anchor, Choice, Concat, Excluded, Label, Permute, Quantified, RowPattern
from eventide.lang.tokens import Kind, check_character
from eventide.lang.tree import Span

_QUANTIFIERS: dict[str, tuple[int, int | None]] = {"+": (1, None), "*": (0, None), "?": (0, 1)}
_BOUNDS = "write {2}, {2,}, {,3} or {2,3}"
_FOREIGN = {
    ",": "labels follow each other without a comma: A B C",
    "&": "there is no AND in a pattern; all orders of A and B are written PERMUTE(A, B)",
    "-": "an exclusion is written {- A -}",
    ".": "write a label alone; conditions on its columns belong in DEFINE",
    "!": "absence is a condition in DEFINE, or a label that matches any other row",
    "[": "repetitions are written {2,3}",
}


def read_pattern(cursor: RowCursor) -> RowPattern:
    """The pattern between the parentheses of PATTERN (...).

    >>> from eventide.lang.tokens import tokenize
    >>> text = "a b+? | ^"
    >>> read_pattern(RowCursor(text, tokenize(text), "PATTERN")).parts[1]
    Anchor(at_end=False)
    """
    pattern, _ = _choice(cursor, 0)
    if not cursor.ended:
        _fail_unexpected(cursor)
    return pattern


def labels_of(pattern: RowPattern) -> Iterator[Label]:
    """The labels of a pattern, from left to right."""
    match pattern:
        case Label():
            yield pattern
        case Quantified(part) | Excluded(part):
            yield from labels_of(part)
        case Concat(parts) | Choice(parts) | Permute(parts):
            for part in parts:
                yield from labels_of(part)


# Each reader returns the pattern and its height, so that no tree is deeper than MAX_DEPTH.
_Read = tuple[RowPattern, int]


def _choice(cursor: RowCursor, depth: int) -> _Read:
    parts: list[RowPattern] = []
    height = 0
    while True:
        part, part_height = _concat(cursor, depth)
        parts.append(part)
        height = max(height, part_height)
        if not cursor.accept("|"):
            break
    if len(parts) == 1:
        return parts[0], height
    check_depth(cursor, depth + height, parts[0].span)
    return Choice(tuple(parts), Span(parts[0].span.start, parts[-1].span.end)), height + 1


def _concat(cursor: RowCursor, depth: int) -> _Read:
    parts: list[RowPattern] = []
    height = 0
    while not parts or _starts_primary(cursor):
        part, part_height = _repeated(cursor, depth)
        parts.append(part)
        height = max(height, part_height)
    if len(parts) == 1:
        return parts[0], height
    check_depth(cursor, depth + height, parts[0].span)
    return Concat(tuple(parts), Span(parts[0].span.start, parts[-1].span.end)), height + 1


def _repeated(cursor: RowCursor, depth: int) -> _Read:
    pattern, height = _primary(cursor, depth)
    bounds = _quantifier(cursor)
    if bounds is None:
        return pattern, height
    minimum, maximum, end = bounds
    reluctant = cursor.accept("?")
    span = Span(pattern.span.start, reluctant.end if reluctant else end)
    again = cursor.next
    if _quantifier(cursor) is not None:
        written = cursor.text[span.start : span.end]
        hint = f"group what is repeated twice: ({written}){again.text}" if len(written) <= 30 else "group it: (A+)*"
        cursor.fail(f"{again} follows a quantifier", at=again, hint=hint)
    check_depth(cursor, depth + height, span)
    return Quantified(pattern, minimum, maximum, reluctant is not None, span), height + 1


def _starts_primary(cursor: RowCursor) -> bool:
    if cursor.ended:
        return False
    return is_name(cursor.next) or cursor.next.text in ("(", "^", "$") or _at_exclusion(cursor)


def _at_exclusion(cursor: RowCursor) -> bool:
    return cursor.at("{") and cursor.peek().is_punctuation("-")


def _primary(cursor: RowCursor, depth: int) -> _Read:
    token = cursor.next
    check_depth(cursor, depth, token.span)
    if cursor.at("("):
        return _group(cursor, depth)
    if _at_exclusion(cursor):
        return _exclusion(cursor, depth)
    if cursor.at("^") or cursor.at("$"):
        return Anchor(cursor.take().text == "$", token.span), 1
    if cursor.at_word("PERMUTE"):
        return _permutation(cursor, depth)
    if not cursor.ended and is_name(token):
        label = cursor.label()
        return Label(label.text, label.span), 1
    hint = "write a label, or () for the empty pattern"
    if not cursor.ended and (token.text in _QUANTIFIERS or token.text == "{"):
        hint = "a quantifier comes after what it repeats: A+"
    cursor.fail(f"expected a pattern, found {token}", hint=_token_hint(cursor) or hint)


def _group(cursor: RowCursor, depth: int) -> _Read:
    opening = cursor.take()
    if cursor.at(")"):
        return Concat((), Span(opening.start, cursor.take().end)), 1
    pattern, height = _choice(cursor, depth + 1)
    if not cursor.at(")"):
        _fail_unexpected(cursor)
    return replace(pattern, span=Span(opening.start, cursor.take().end)), height


def _exclusion(cursor: RowCursor, depth: int) -> _Read:
    opening = cursor.take()
    cursor.take()
    if cursor.at("-") and cursor.peek().is_punctuation("}"):
        span = Span(opening.start, cursor.peek().end)
        cursor.fail("the exclusion holds no pattern", at=span, hint="write the labels to leave out: {- A -}")
    pattern, height = _choice(cursor, depth + 1)
    if not (cursor.at("-") and cursor.peek().is_punctuation("}")):
        if cursor.at("}"):
            cursor.fail("the exclusion is closed by '}'", hint="close it with '-}': {- A -}")
        _fail_unexpected(cursor)
    cursor.take()
    return Excluded(pattern, Span(opening.start, cursor.take().end)), height + 1


def _permutation(cursor: RowCursor, depth: int) -> _Read:
    token = cursor.take()
    hint = f"write PERMUTE(A, B); a label called '{token.text}' needs quotes"
    cursor.expect("(", "after PERMUTE", hint=hint)
    parts: list[RowPattern] = []
    height = 0
    while True:
        if cursor.at(")"):
            hint = "remove the last comma, or add a pattern" if parts else "write PERMUTE(A, B)"
            cursor.fail("expected a pattern in PERMUTE, found ')'", hint=hint)
        part, part_height = _choice(cursor, depth + 1)
        parts.append(part)
        height = max(height, part_height)
        if cursor.accept(","):
            continue
        if not cursor.at(")"):
            _fail_unexpected(cursor)
        return Permute(tuple(parts), Span(token.start, cursor.take().end)), height + 1


def _quantifier(cursor: RowCursor) -> tuple[int, int | None, int] | None:
    """Minimum, maximum and end offset of the quantifier at the cursor, if there is one."""
    if cursor.ended or cursor.next.kind is not Kind.PUNCTUATION:
        return None
    if cursor.next.text in _QUANTIFIERS:
        token = cursor.take()
        return *_QUANTIFIERS[token.text], token.end
    if not cursor.at("{") or _at_exclusion(cursor):
        return None
    opening = cursor.take()
    low = high = read_bound(cursor)
    if cursor.accept(","):
        high = read_bound(cursor)
    elif low is None:
        cursor.fail(f"expected a number of repetitions, found {cursor.next}", hint=_BOUNDS)
    if not cursor.at("}"):
        cursor.fail(f"expected '}}' after the repetitions, found {cursor.next}", hint=_BOUNDS)
    span = Span(opening.start, cursor.take().end)
    written = cursor.text[span.start : span.end]
    if high == 0:
        hint = "let it repeat at least once: ? is {0,1}; the empty pattern is ()"
        cursor.fail(f"{written} repeats nothing", at=span, hint=hint)
    low = low or 0
    if high is not None and low > high:
        hint = f"did you mean {{{high},{low}}}?"
        cursor.fail(f"the bounds of {written} are the wrong way round", at=span, hint=hint)
    return low, high, span.end


def _fail_unexpected(cursor: RowCursor) -> NoReturn:
    cursor.fail(f"unexpected {cursor.next} in the pattern", hint=_token_hint(cursor))


def _token_hint(cursor: RowCursor) -> str | None:
    token = cursor.next
    if token.kind is Kind.STRING:
        return "write labels bare, in backticks or in double quotes; single quotes make a string"
    if token.kind is Kind.PUNCTUATION and token.text != "$":
        check_character(cursor.text, token.start)
    return None if cursor.ended else _FOREIGN.get(token.text)
