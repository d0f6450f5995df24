"""Tokens in, clauses out: where each clause starts, and that each stands at most once.

A clause keyword counts outside brackets only, never right after a dot (`A.within` is a column), and FROM not
after DISTINCT (`a IS DISTINCT FROM b` is a comparison).
"""

from __future__ import annotations

from dataclasses import dataclass

from eventide.errors import QueryError
from eventide.lang.keywords import CLAUSES, misplaced_hint
from eventide.lang.tokens import Kind, Token, match_brackets
from eventide.lang.tree import Span

_FIRST = frozenset(clause.split()[0] for clause in CLAUSES)
_PAIRS = [clause.split() for clause in CLAUSES if " " in clause]
_SECOND = {first: tuple(second for word, second in _PAIRS if word == first) for first, _ in _PAIRS}


@dataclass(frozen=True, slots=True)
class Clause:
    """`tokens` are the words of the clause and, last, the token that follows it."""

    keyword: str
    span: Span
    tokens: tuple[Token, ...]


def split_clauses(text: str, tokens: list[Token]) -> dict[str, Clause]:
    """Clauses by keyword.

    >>> from eventide.lang.tokens import tokenize
    >>> text = "within 5 min pattern A+"
    >>> {name: len(clause.tokens) for name, clause in split_clauses(text, tokenize(text)).items()}
    {'WITHIN': 3, 'PATTERN': 3}
    """
    partner = match_brackets(text, tokens)
    for token in tokens:
        if token.is_punctuation(";"):
            hint = "remove it: one text holds one query, and nothing ends it"
            raise QueryError("';' has no place in a query", text, token.start, token.end, hint=hint)
    heads: list[tuple[int, str]] = []
    idx = 0
    while idx < len(tokens):
        if starts_clause(tokens, idx):
            keyword = _keyword(text, tokens, idx)
            heads.append((idx, keyword))
            idx += len(keyword.split())
        else:
            idx = partner.get(idx, idx) + 1
    _check_start(text, tokens, heads)
    clauses: dict[str, Clause] = {}
    ends = [start for start, _ in heads[1:]] + [len(tokens) - 1]
    for (start, keyword), end in zip(heads, ends, strict=True):
        body = start + len(keyword.split())
        span = Span(tokens[start].start, tokens[body - 1].end)
        if keyword in clauses:
            first = text.count("\n", 0, clauses[keyword].span.start) + 1
            hint = f"the first one is in line {first}; merge the two"
            raise QueryError(f"{keyword} is given twice", text, span.start, span.end, hint=hint)
        clauses[keyword] = Clause(keyword, span, tuple(tokens[body : end + 1]))
    return clauses


def starts_clause(tokens: list[Token], idx: int) -> bool:
    """Whether the token, which stands outside brackets, is the first word of a clause."""
    word = tokens[idx].word
    if word not in _FIRST:
        return False
    before, after = tokens[max(idx - 1, 0)], tokens[min(idx + 1, len(tokens) - 1)]
    if before.is_punctuation(".") or (word == "FROM" and before.word == "DISTINCT"):
        return False
    # WITHIN GROUP (ORDER BY x) belongs to an aggregate.
    opens = idx + 2 < len(tokens) and tokens[idx + 2].is_punctuation("(")
    if (word == "WITHIN" and after.word == "GROUP" and opens) or (word == "GROUP" and before.word == "WITHIN"):
        return word == "GROUP" and after.word == "BY"
    if word == "EMIT":
        return after.word in _SECOND[word]
    # MIN is also a function and, bare, a plausible column.
    return word != "MIN" or after.kind is Kind.NUMBER or after.word.startswith("LEN")


def _keyword(text: str, tokens: list[Token], idx: int) -> str:
    word = tokens[idx].word
    seconds = _SECOND.get(word)
    if seconds is None:
        return word
    after, second = tokens[idx + 1], seconds[0]
    if after.word not in seconds:
        message = f"{word} must be followed by {second}, found {after}"
        hint = f"write {word} {second}; a column called '{tokens[idx].text}' needs backticks"
        raise QueryError(message, text, tokens[idx].start, max(tokens[idx].end, after.end), hint=hint)
    return f"{word} {after.word}"


def _check_start(text: str, tokens: list[Token], heads: list[tuple[int, str]]) -> None:
    first = tokens[0]
    if first.kind is Kind.END:
        raise QueryError(
            "the query is empty",
            text,
            0,
            0,
            hint="a query needs at least a PATTERN clause: PATTERN SEQ(A, B)",
        )
    if not heads or heads[0][0] > 0:
        hint = misplaced_hint(first) or f"the clauses are: {', '.join(CLAUSES)}"
        raise QueryError(f"expected a clause, found {first}", text, first.start, first.end, hint=hint)
