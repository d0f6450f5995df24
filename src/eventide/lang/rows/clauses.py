"""Tokens of a MATCH_RECOGNIZE in, its clauses out: where each starts, that each stands once and in its order.

The first word of a clause counts outside brackets only, never right after a dot (`A.pattern` is a column) or,
in MEASURES, after AS (`AS subset` is a name, while `AS PATTERN (` lacks one).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from eventide.errors import QueryError
from eventide.lang.rows.keywords import CLAUSES, ORDER, misplaced_hint
from eventide.lang.tokens import Kind, Token
from eventide.lang.tree import Span

_ONE_WORD = frozenset({"MEASURES", "WITHIN", "SUBSET", "DEFINE"})
# The second word tells these from columns of the same name; the rest of the words belongs to the clause's reader.
_SECOND = {
    ("PARTITION", "BY"): "PARTITION BY",
    ("ORDER", "BY"): "ORDER BY",
    ("AFTER", "MATCH"): "AFTER MATCH SKIP",
    ("ONE", "ROW"): "ROWS PER MATCH",
    ("ONE", "ROWS"): "ROWS PER MATCH",
    ("ALL", "ROW"): "ROWS PER MATCH",
    ("ALL", "ROWS"): "ROWS PER MATCH",
}


@dataclass(frozen=True, slots=True)
class Clause:
    """`tokens` are the words of the clause and, last, the token that follows it.

    Of ROWS PER MATCH and AFTER MATCH SKIP the first word is among them.
    """

    keyword: str
    span: Span
    tokens: tuple[Token, ...]


def split_clauses(text: str, tokens: Sequence[Token]) -> dict[str, Clause]:
    """Clauses by keyword; the last token is what follows the last clause, and brackets must match.

    >>> from eventide.lang.tokens import tokenize
    >>> text = "PATTERN (A B+) DEFINE B AS x > 1"
    >>> {name: len(clause.tokens) for name, clause in split_clauses(text, tokenize(text)).items()}
    {'PATTERN': 6, 'DEFINE': 6}
    """
    heads: list[tuple[int, str]] = []
    depth = 0
    for idx, token in enumerate(tokens[:-1]):
        depth += token.text in ("(", "[", "{")
        depth -= token.text in (")", "]", "}")
        in_measures = bool(heads) and heads[-1][1] == "MEASURES"
        if depth == 0 and token.kind is Kind.WORD and (keyword := clause_at(tokens, idx, in_measures)):
            heads.append((idx, keyword))
    _check_start(text, tokens, heads)
    clauses: dict[str, Clause] = {}
    ends = [start for start, _ in heads[1:]] + [len(tokens) - 1]
    for (start, keyword), end in zip(heads, ends, strict=True):
        if keyword in ("INITIAL", "SEEK"):
            _fail_search(text, tokens, start)
        n_words = {"PARTITION BY": 2, "ORDER BY": 2, "ROWS PER MATCH": 0, "AFTER MATCH SKIP": 0}.get(keyword, 1)
        span = Span(tokens[start].start, tokens[start + max(n_words, 1) - 1].end)
        _check_place(text, keyword, span, clauses)
        clauses[keyword] = Clause(keyword, span, tuple(tokens[start + n_words : end + 1]))
    return clauses


def clause_at(tokens: Sequence[Token], idx: int, in_measures: bool = False) -> str | None:
    """The clause that starts at the token, which stands outside brackets."""
    word, after = tokens[idx].word, tokens[min(idx + 1, len(tokens) - 1)]
    before = tokens[idx - 1] if idx else None
    if before is not None and before.is_punctuation("."):
        return None
    if word == "PATTERN" and after.is_punctuation("("):
        return word
    if in_measures and before is not None and before.word == "AS":
        return None
    if word == "PATTERN" or (word in _ONE_WORD and not (word == "WITHIN" and after.word == "GROUP")):
        return word
    if word in ("INITIAL", "SEEK") and after.word == "PATTERN":
        return word
    return _SECOND.get((word, after.word))


def split_commas(clause: Clause) -> list[tuple[tuple[Token, ...], Token]]:
    """The parts between top-level commas, each with the token behind it."""
    parts: list[tuple[tuple[Token, ...], Token]] = []
    depth = start = 0
    for idx, token in enumerate(clause.tokens):
        last = idx == len(clause.tokens) - 1
        if last or (depth == 0 and token.is_punctuation(",")):
            parts.append((clause.tokens[start:idx], token))
            start = idx + 1
        depth += token.text in ("(", "[", "{")
        depth -= token.text in (")", "]", "}")
    return parts


def _check_start(text: str, tokens: Sequence[Token], heads: list[tuple[int, str]]) -> None:
    first = tokens[0]
    if len(tokens) == 1:
        hint = "it needs at least a PATTERN clause: PATTERN (A B+)"
        raise QueryError("the MATCH_RECOGNIZE clause is empty", text, first.start, first.end, hint=hint)
    if not heads or heads[0][0] > 0:
        hint = misplaced_hint(first) or f"the clauses are: {ORDER}"
        raise QueryError(f"expected a clause, found {first}", text, first.start, first.end, hint=hint)


def _check_place(text: str, keyword: str, span: Span, before: dict[str, Clause]) -> None:
    if keyword in before:
        first = text.count("\n", 0, before[keyword].span.start) + 1
        hint = f"the first one is in line {first}; merge the two"
        raise QueryError(f"{keyword} is given twice", text, span.start, span.end, hint=hint)
    rank = CLAUSES.index(keyword)
    if keyword == "WITHIN" and list(before)[-1:] != ["PATTERN"]:
        hint = "it belongs right behind the pattern: PATTERN (...) WITHIN 5 minutes; a column needs backticks: `within`"
        raise QueryError("WITHIN is out of place", text, span.start, span.end, hint=hint)
    later = next((other for other in before if CLAUSES.index(other) > rank), None)
    if later is not None:
        hint = f"it belongs before {later}; the order is: {ORDER}"
        raise QueryError(f"{keyword} is out of place", text, span.start, span.end, hint=hint)


def _fail_search(text: str, tokens: Sequence[Token], idx: int) -> NoReturn:
    token = tokens[idx]
    hint = "remove it; PATTERN searches from every row on"
    if token.word == "INITIAL":
        hint = "remove it; a match from the first row of the partition on is written PATTERN (^ ...)"
    message = f"{token.word} belongs to window functions, not to MATCH_RECOGNIZE"
    raise QueryError(message, text, token.start, token.end, hint=hint)
