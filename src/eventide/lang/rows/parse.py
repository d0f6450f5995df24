"""The text inside MATCH_RECOGNIZE (...) in, `RowQuery` out.

The clauses stand in the standard's order. Labels are checked against PATTERN; nothing is checked against a schema.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import NoReturn

from sqlglot import exp

from eventide.errors import QueryError
from eventide.lang.durations import read_length
from eventide.lang.rows.clauses import Clause, split_clauses, split_commas
from eventide.lang.rows.expressions import read_expression, walk
from eventide.lang.rows.keywords import misplaced_hint
from eventide.lang.rows.names import RowCursor, is_name, unknown_label_hint
from eventide.lang.rows.patterns import labels_of, read_pattern
from eventide.lang.rows.tree import (
    LabelDefinition,
    Measure,
    RowPattern,
    RowQuery,
    Rows,
    Skip,
    SkipTo,
    SortItem,
    Subset,
)
from eventide.lang.scalars import ends_operand, fail_at
from eventide.lang.tokens import Kind, Token, check_words, match_brackets, tokenize
from eventide.lang.tree import Length, Name, Scalar, Span

# A clause of this length, whatever it holds, is parsed within seconds.
MAX_TEXT = 200_000
_ROWS = {
    ("ONE",): Rows.ONE,
    ("ALL",): Rows.ALL,
    ("ALL", "SHOW", "EMPTY", "MATCHES"): Rows.ALL,
    ("ALL", "OMIT", "EMPTY", "MATCHES"): Rows.ALL_OMIT_EMPTY,
    ("ALL", "WITH", "UNMATCHED", "ROWS"): Rows.ALL_WITH_UNMATCHED,
}
_SKIP = "write AFTER MATCH SKIP PAST LAST ROW, TO NEXT ROW, TO FIRST A, or TO LAST A"


def parse_clause(text: str) -> RowQuery:
    """Parse what stands between the parentheses of MATCH_RECOGNIZE; the only error it raises is `QueryError`.

    >>> query = parse_clause("ORDER BY ts PATTERN (a b+) DEFINE b AS price < PREV(price)")
    >>> query.pattern.parts[0], query.define[0].label, query.rows.value
    (Label(name='A'), Name(text='B'), 'ONE ROW PER MATCH')
    """
    if len(text) > MAX_TEXT:
        raise too_long(text, "the MATCH_RECOGNIZE clause", 0, len(text), MAX_TEXT)
    tokens = tokenize(text, any_character=True)
    match_brackets(text, tokens)
    return read_clause(text, tokens)


def read_clause(text: str, tokens: Sequence[Token]) -> RowQuery:
    """The clause that the tokens spell, whose brackets match; the last one is what follows it.

    `text` is the whole statement, and spans are offsets into it.
    """
    if tokens[-1].start - tokens[0].start > MAX_TEXT:
        raise too_long(text, "the MATCH_RECOGNIZE clause", tokens[0].start, tokens[-1].start, MAX_TEXT)
    check_words(text, tokens, "the MATCH_RECOGNIZE clause")
    clauses = split_clauses(text, tokens)
    partition_by = _columns(text, clauses["PARTITION BY"]) if "PARTITION BY" in clauses else ()
    order_by = _sort_items(text, clauses["ORDER BY"]) if "ORDER BY" in clauses else ()
    rows = _rows(text, clauses["ROWS PER MATCH"]) if "ROWS PER MATCH" in clauses else Rows.ONE
    pattern = _pattern(text, clauses, tokens)
    labels = dict.fromkeys(label.name for label in labels_of(pattern))
    subset = _subsets(text, clauses["SUBSET"], labels) if "SUBSET" in clauses else ()
    names = {**labels, **dict.fromkeys(one.name.text for one in subset)}
    skip = (
        _skip(text, clauses["AFTER MATCH SKIP"], names) if "AFTER MATCH SKIP" in clauses else Skip(SkipTo.PAST_LAST_ROW)
    )
    return RowQuery(
        text=text,
        pattern=pattern,
        define=_definitions(text, clauses["DEFINE"], labels, names) if "DEFINE" in clauses else (),
        partition_by=partition_by,
        order_by=order_by,
        measures=_measures(text, clauses["MEASURES"], names) if "MEASURES" in clauses else (),
        rows=rows,
        skip=skip,
        within=_within(text, clauses["WITHIN"]) if "WITHIN" in clauses else None,
        subset=subset,
        span=Span(tokens[0].start, tokens[-2].end),
    )


def too_long(text: str, what: str, start: int, end: int, limit: int) -> QueryError:
    """The error about a text that would take too long to parse."""
    hint = f"at most {limit:,} are allowed; keep long lists in a table"
    return QueryError(f"{what} has {end - start:,} characters", text[start : start + 80], 0, 0, hint=hint)


def _cursor(text: str, clause: Clause) -> RowCursor:
    return RowCursor(text, clause.tokens, clause.keyword)


# --- which rows, in which order ---------------------------------------------------------------------------


def _columns(text: str, clause: Clause) -> tuple[Name, ...]:
    cursor = _cursor(text, clause)
    columns: dict[str, Name] = {}
    while True:
        column = _column(cursor)
        if column.text.lower() in columns:
            cursor.fail(f"column '{column.text}' is named twice in PARTITION BY", at=column.span, hint="remove one")
        columns[column.text.lower()] = column
        if not cursor.accept(","):
            cursor.finish("the columns of PARTITION BY", hint="separate the columns with commas")
            return tuple(columns.values())


def _sort_items(text: str, clause: Clause) -> tuple[SortItem, ...]:
    cursor = _cursor(text, clause)
    items: dict[str, SortItem] = {}
    while True:
        column = _column(cursor)
        if column.text.lower() in items:
            cursor.fail(f"column '{column.text}' is named twice in ORDER BY", at=column.span, hint="remove one")
        end = column.span.end
        direction = cursor.accept_word("ASC", "DESC")
        nulls_first = None
        if direction:
            end = direction.end
        if cursor.accept_word("NULLS"):
            side = cursor.accept_word("FIRST", "LAST")
            if side is None:
                cursor.fail(f"expected FIRST or LAST after NULLS, found {cursor.next}", hint="write NULLS LAST")
            nulls_first, end = side.word == "FIRST", side.end
        descending = direction is not None and direction.word == "DESC"
        items[column.text.lower()] = SortItem(column, descending, nulls_first, Span(column.span.start, end))
        if not cursor.accept(","):
            cursor.finish("the columns of ORDER BY", hint="separate the columns with commas")
            return tuple(items.values())


def _column(cursor: RowCursor) -> Name:
    column = cursor.column("a column name", usage=f"name a column, or leave {cursor.clause} out")
    if cursor.at("."):
        message = f"{cursor.clause} takes plain columns, found '{column.text}.'"
        cursor.fail(message, hint="write the column without a table or label before it")
    if cursor.at("("):
        message = f"{cursor.clause} takes plain columns, found a call of '{column.text}'"
        cursor.fail(message, at=column.span, hint="compute the column in a subquery before MATCH_RECOGNIZE")
    return column


def _rows(text: str, clause: Clause) -> Rows:
    cursor = _cursor(text, clause)
    first = cursor.take()
    head = "ONE ROW PER MATCH" if first.word == "ONE" else "ALL ROWS PER MATCH"
    for word in head.split()[1:]:
        if not cursor.accept_word(word):
            cursor.fail(f"expected {word} after {first.word}, found {cursor.next}", hint=f"write {head}")
    shown: list[Token] = []
    if cursor.at_word("SHOW", "OMIT", "WITH"):
        while not cursor.ended and cursor.next.kind is Kind.WORD and len(shown) < 3:
            shown.append(cursor.take())
    rows = _ROWS.get((first.word, *(token.word for token in shown)))
    if rows is None:
        hint = "write SHOW EMPTY MATCHES, OMIT EMPTY MATCHES or WITH UNMATCHED ROWS"
        if first.word == "ONE":
            hint = "what is shown of empty and unmatched rows belongs to ALL ROWS PER MATCH"
        span = Span(shown[0].start, shown[-1].end)
        cursor.fail(f"unexpected '{text[span.start : span.end]}' after {head}", at=span, hint=hint)
    cursor.finish(head)
    return rows


def _skip(text: str, clause: Clause, names: Collection[str]) -> Skip:
    cursor = _cursor(text, clause)
    start = cursor.take().start

    def expect(*words: str) -> None:
        for word in words:
            if not cursor.accept_word(word):
                cursor.fail(f"expected {word}, found {cursor.next}", hint=_SKIP)

    expect("MATCH", "SKIP")
    label = None
    if cursor.accept_word("PAST"):
        expect("LAST", "ROW")
        to = SkipTo.PAST_LAST_ROW
    else:
        expect("TO")
        named = is_name(cursor.peek()) and cursor.peek() is not cursor.tokens[-1]
        if cursor.at_word("NEXT") and cursor.peek().word == "ROW" and named:
            expect("NEXT", "ROW")
            to = SkipTo.NEXT_ROW
        else:
            side = cursor.accept_word("FIRST", "LAST") if named else None
            to = SkipTo.FIRST if side is not None and side.word == "FIRST" else SkipTo.LAST
            label = cursor.label("a label to skip to", usage=_SKIP)
            if label.text not in names:
                hint = unknown_label_hint(label.text, names)
                cursor.fail(f"'{label.text}' is not a label of PATTERN", at=label.span, hint=hint)
    cursor.finish("AFTER MATCH SKIP", hint=_SKIP)
    return Skip(to, label, Span(start, clause.tokens[-2].end))


# --- pattern and labels -----------------------------------------------------------------------------------


def _pattern(text: str, clauses: dict[str, Clause], tokens: Sequence[Token]) -> RowPattern:
    usage = "say what to look for: PATTERN (A B+)"
    if "PATTERN" not in clauses:
        _fail_without_pattern(text, tokens, usage)
    clause = clauses["PATTERN"]
    outer = _cursor(text, clause)
    opening = outer.expect("(", "after PATTERN", hint=usage)
    if outer.at(")"):
        hint = "the empty pattern is written PATTERN (())"
        outer.fail("PATTERN () holds no pattern", at=Span(opening.start, outer.next.end), hint=hint)
    depth, close = 1, 1
    while depth:
        token = clause.tokens[close]
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        close += 1
    pattern = read_pattern(RowCursor(text, clause.tokens[1:close], "PATTERN"))
    rest = RowCursor(text, clause.tokens[close:], "PATTERN")
    hint = "write the pattern in one pair of parentheses: PATTERN ((A B)+)"
    rest.finish("PATTERN (...)", hint=hint)
    return pattern


def _fail_without_pattern(text: str, tokens: Sequence[Token], usage: str) -> NoReturn:
    for token, after in pairwise(tokens):
        hint = misplaced_hint(token) or ""
        if after.is_punctuation("(") and "PATTERN" in hint:
            raise QueryError(f"unexpected {token}", text, token.start, token.end, hint=hint)
    message = "the MATCH_RECOGNIZE clause has no PATTERN"
    raise QueryError(message, text, tokens[0].start, tokens[0].start, hint=usage)


def _within(text: str, clause: Clause) -> Length:
    cursor = _cursor(text, clause)
    length = read_length(cursor)
    cursor.finish("the length of WITHIN")
    return length


def _subsets(text: str, clause: Clause, labels: Collection[str]) -> tuple[Subset, ...]:
    cursor = _cursor(text, clause)
    usage = "write SUBSET U = (A, B)"
    subsets: dict[str, Subset] = {}
    while True:
        name = cursor.label("the name of a subset", usage=usage)
        if name.text in labels:
            hint = "give the subset a name of its own"
            cursor.fail(f"'{name.text}' is a label of PATTERN already", at=name.span, hint=hint)
        if name.text in subsets:
            message = f"the subset '{name.text}' is given twice"
            cursor.fail(message, at=name.span, hint="name its labels in one list")
        cursor.expect("=", "after the name of the subset", hint=usage)
        cursor.expect("(", "after '='", hint=usage)
        members = _members(cursor, name, labels, usage)
        closing = cursor.take()
        subsets[name.text] = Subset(name, members, Span(name.span.start, closing.end))
        if not cursor.accept(","):
            cursor.finish("SUBSET", hint="separate the subsets with commas")
            return tuple(subsets.values())


def _members(cursor: RowCursor, name: Name, labels: Collection[str], usage: str) -> tuple[Name, ...]:
    members: dict[str, Name] = {}
    while True:
        member = cursor.label("a label", usage=usage)
        shown = f"'{member.text}'"
        if member.text not in labels:
            hint = unknown_label_hint(member.text, labels)
            cursor.fail(f"{shown} is not a label of PATTERN", at=member.span, hint=hint)
        if member.text in members:
            cursor.fail(f"{shown} is named twice in the subset", at=member.span, hint="remove one")
        members[member.text] = member
        if cursor.accept(","):
            continue
        if not cursor.at(")"):
            cursor.fail(f"expected ',' or ')' in the subset '{name.text}', found {cursor.next}", hint=usage)
        return tuple(members.values())


def _definitions(
    text: str, clause: Clause, labels: Collection[str], names: Collection[str]
) -> tuple[LabelDefinition, ...]:
    definitions: dict[str, LabelDefinition] = {}
    usage = "DEFINE B AS price < PREV(price)"
    for tokens, after in split_commas(clause):
        cursor = RowCursor(text, (*tokens, after), clause.keyword)
        label = cursor.label("a label to define", usage=f"write {usage}")
        shown = f"'{label.text}'"
        if not cursor.accept_word("AS"):
            cursor.fail(f"expected AS after {shown}, found {cursor.next}", hint=f"write {usage}")
        if label.text in definitions:
            cursor.fail(f"{shown} is defined twice", at=label.span, hint="join the two conditions with AND or OR")
        if label.text not in labels:
            hint = unknown_label_hint(label.text, labels)
            if label.text in names:
                hint = "a subset has no condition of its own; define its labels"
            cursor.fail(f"{shown} is not a label of PATTERN", at=label.span, hint=hint)
        condition = read_expression(text, tokens[2:], after, f"the condition of {shown}", names, usage)
        _check_no_final(text, condition)
        definitions[label.text] = LabelDefinition(label, condition, Span(label.span.start, condition.span.end))
    return tuple(definitions.values())


def _check_no_final(text: str, condition: Scalar) -> None:
    for node in walk(condition.tree):
        if isinstance(node, exp.Anonymous) and node.name == "FINAL":
            hint = "a condition sees the rows up to its own; leave FINAL out"
            fail_at(text, node, condition.span, "FINAL is not allowed in DEFINE", hint)


def _measures(text: str, clause: Clause, names: Collection[str]) -> tuple[Measure, ...]:
    measures: dict[str, Measure] = {}
    usage = "MEASURES LAST(A.price) AS price"
    for tokens, after in split_commas(clause):
        cut = _alias_idx(tokens)
        if cut == len(tokens):
            _check_as(text, tokens)
        behind = after if cut == len(tokens) else tokens[cut]
        value = read_expression(text, tokens[:cut], behind, "the measure", names, usage)
        if cut == len(tokens):
            hint = (
                f"write {text[value.span.start : value.span.end]} AS name" if len(tokens) < 12 else "write ... AS name"
            )
            raise QueryError("the measure has no name", text, value.span.start, value.span.end, hint=hint)
        cursor = RowCursor(text, (*tokens[cut + 1 :], after), clause.keyword)
        alias = cursor.column("a name after AS", usage=f"write {usage}")
        cursor.finish("the name of the measure", hint="separate the measures with commas")
        if alias.text in measures:
            cursor.fail(f"two measures are called '{alias.text}'", at=alias.span, hint="rename one of them")
        measures[alias.text] = Measure(value, alias, Span(value.span.start, alias.span.end))
    return tuple(measures.values())


def _check_as(text: str, tokens: Sequence[Token]) -> None:
    """Refuse `LAST(A.price) price`, which lacks AS."""
    last = tokens[-1] if len(tokens) > 1 else None
    if last is not None and is_name(last) and last.word != "END" and ends_operand(tokens[-2]):
        message = "AS is missing before the name of the measure"
        raise QueryError(message, text, last.start, last.end, hint=f"write AS {last.text}")


def _alias_idx(tokens: Sequence[Token]) -> int:
    depth = 0
    for idx, token in enumerate(tokens):
        depth += token.text in ("(", "[")
        depth -= token.text in (")", "]")
        if depth == 0 and token.word == "AS":
            return idx
    return len(tokens)
