"""Names in MATCH_RECOGNIZE: columns as written, labels in upper case unless they stand in quotes.

Quotes are backticks or double quotes, for in Spark SQL only a backtick quotes a name, in the standard a double quote.
"""

from __future__ import annotations

from collections.abc import Iterable

from eventide.errors import did_you_mean
from eventide.lang.cursor import Cursor
from eventide.lang.rows.keywords import RESERVED, misplaced_hint
from eventide.lang.tokens import Kind, Token
from eventide.lang.tree import Name


class RowCursor(Cursor):
    """A cursor that reads names in double quotes too, and gives the hints of MATCH_RECOGNIZE.

    >>> from eventide.lang.tokens import tokenize
    >>> cursor = RowCursor('a "b"', tokenize('a "b"'), "PATTERN")
    >>> cursor.label().text, cursor.label().text
    ('A', 'b')
    """

    def column(self, what: str, usage: str | None = None) -> Name:
        """One name, as written."""
        token = self._name_token(what, usage)
        return Name(token.value, token.span)

    def label(self, what: str = "a label", usage: str | None = None) -> Name:
        """One label, upper-case unless quoted."""
        token = self._name_token(what, usage)
        return Name(label_of(token), token.span)

    def finish(self, after: str, hint: str | None = None) -> None:
        if self.ended:
            return
        if self.at(",") and self.peek() is self.tokens[-1]:
            hint = "clauses follow each other without a comma"
        self.fail(f"unexpected {self.next} after {after}", hint=misplaced_hint(self.next) or hint)

    def _name_token(self, what: str, usage: str | None) -> Token:
        token = self.next
        if not self.ended and is_name(token):
            if not token.value:
                self.fail("the quoted name is empty", hint="write a name between the quotes")
            return self.take()
        hint = usage
        if token.kind is Kind.STRING:
            hint = "write names bare, in backticks or in double quotes; single quotes make a string"
        elif self.ended and token.kind is Kind.WORD:
            hint = f"'{token.text}' starts a clause; if it is a name here, write it in backticks: `{token.text}`"
        self.fail(f"expected {what}, found {token}", hint=hint)


def is_name(token: Token) -> bool:
    """Whether the token is a name: a word, or text in backticks or double quotes."""
    return token.kind in (Kind.WORD, Kind.QUOTED) or token.text.startswith('"')


def label_of(token: Token) -> str:
    """The label that a name stands for."""
    return token.value.upper() if token.kind is Kind.WORD else token.value


def is_plain_label(label: str) -> bool:
    """Whether the label needs no quotes.

    >>> is_plain_label("UP"), is_plain_label("up"), is_plain_label("PERMUTE")
    (True, False, False)
    """
    return label.isidentifier() and label == label.upper() and label not in RESERVED


def write_label(label: str) -> str:
    """A label, in backticks where it needs them.

    >>> write_label("UP"), write_label("up")
    ('UP', '`up`')
    """
    return label if is_plain_label(label) else _quoted(label)


def write_column(name: str) -> str:
    """A column, in backticks where it needs them.

    >>> write_column("ts"), write_column("order")
    ('ts', '`order`')
    """
    return name if name.isidentifier() and name.upper() not in RESERVED else _quoted(name)


def unknown_label_hint(label: str, known: Iterable[str]) -> str | None:
    """The label that was meant, or those there are; quoted where the user must quote it."""
    quoted = next((name for name in known if name.upper() == label.upper()), None)
    if quoted is not None:
        return f"PATTERN has it as {write_label(quoted)}: bare labels are upper-case, quoted ones exact"
    return did_you_mean(write_label(label), [write_label(name) for name in known])


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
