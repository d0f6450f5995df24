"""A place in the tokens of one clause: what the clause parsers read from, and how they fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from eventide.errors import QueryError
from eventide.lang.deadline import check_deadline
from eventide.lang.keywords import misplaced_hint
from eventide.lang.tokens import Kind, Token
from eventide.lang.tree import Name, Span


class Cursor:
    """Reads tokens left to right; the last token is what follows the clause and is never passed.

    >>> from eventide.lang.tokens import tokenize
    >>> cursor = Cursor("region, kind", tokenize("region, kind"), "GROUP BY")
    >>> [name.text for name in cursor.names()]
    ['region', 'kind']
    """

    def __init__(self, text: str, tokens: Sequence[Token], clause: str) -> None:
        self.text = text
        self.tokens = tokens
        self.clause = clause
        self._idx = 0

    @property
    def next(self) -> Token:
        return self.tokens[self._idx]

    @property
    def ended(self) -> bool:
        return self._idx == len(self.tokens) - 1

    def peek(self, ahead: int = 1) -> Token:
        return self.tokens[min(self._idx + ahead, len(self.tokens) - 1)]

    def take(self) -> Token:
        check_deadline()
        token = self.next
        if not self.ended:
            self._idx += 1
        return token

    def rest(self) -> tuple[Token, ...]:
        """What is left, with the token that follows the clause; the cursor ends behind it."""
        tokens = tuple(self.tokens[self._idx :])
        self._idx = len(self.tokens) - 1
        return tokens

    def at(self, char: str) -> bool:
        return not self.ended and self.next.is_punctuation(char)

    def at_word(self, *words: str) -> bool:
        return not self.ended and self.next.word in words

    def accept(self, char: str) -> Token | None:
        return self.take() if self.at(char) else None

    def accept_word(self, *words: str) -> Token | None:
        return self.take() if self.at_word(*words) else None

    def expect(self, char: str, where: str, hint: str | None = None) -> Token:
        if not self.at(char):
            self.fail(f"expected '{char}' {where}, found {self.next}", hint=hint)
        return self.take()

    def fail(self, message: str, at: Token | Span | None = None, hint: str | None = None) -> NoReturn:
        """Raise at `at`, or at the next token."""
        place = self.next if at is None else at
        raise QueryError(message, self.text, place.start, place.end, hint=hint)

    def finish(self, after: str, hint: str | None = None) -> None:
        """Fail unless the clause ends here."""
        if not self.ended:
            if self.at(",") and self.peek() is self.tokens[-1]:
                hint = "clauses follow each other without a comma"
            self.fail(f"unexpected {self.next} after {after}", hint=misplaced_hint(self.next) or hint)

    def name(self, what: str, usage: str | None = None) -> Name:
        """One name, bare or in backticks."""
        if self.ended or self.next.kind not in (Kind.WORD, Kind.QUOTED):
            self.fail(f"expected {what}, found {self.next}", hint=self._name_hint() or usage)
        token = self.take()
        return Name(token.value, token.span)

    def names(self) -> tuple[Name, ...]:
        """Column names separated by commas, each at most once."""
        names: dict[str, Name] = {}
        while True:
            name = self.name("a column name", usage=f"name a column, or leave {self.clause} out")
            if self.at("."):
                self.fail(
                    f"{self.clause} takes plain columns, found '{name.text}.'",
                    hint="write the column without a symbol or table before it",
                )
            if self.at("("):
                self.fail(
                    f"{self.clause} takes plain columns, found a call of '{name.text}'",
                    at=name.span,
                    hint="compute the column before the query, and name it here",
                )
            if name.text.lower() in names:
                self.fail(f"column '{name.text}' is named twice in {self.clause}", at=name.span, hint="remove one")
            names[name.text.lower()] = name
            if not self.accept(","):
                return tuple(names.values())

    def _name_hint(self) -> str | None:
        if self.ended and self.next.kind is Kind.WORD:
            word = self.next.text
            return f"'{word}' starts a clause; if it is a name here, write it in backticks: `{word}`"
        if self.next.kind is Kind.STRING:
            return "write names bare or in backticks; quotes make a string"
        return None
