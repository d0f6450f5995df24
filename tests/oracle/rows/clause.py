"""A reader of the text inside MATCH_RECOGNIZE ( ... ), so that the oracle runs a clause as it is written.

The clauses in the standard's order; a label is upper-case unless it is quoted. Expressions stay text:
expressions.py reads them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.oracle.rows.expressions import duration_us
from tests.oracle.rows.matches import Query, SortKey, recognize
from tests.oracle.rows.pattern import EMPTY, Anchor, Choice, Concat, Excluded, Label, Pattern, Permute, Quantified
from tests.oracle.rows.scope import ClauseError

_TOKEN = re.compile(
    r"""(?P<blank>\s+|--[^\n]*|/\*.*?\*/)
      | (?P<text>'(?:[^']|'')*')
      | (?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`)
      | (?P<word>[^\W\d]\w*)
      | (?P<number>\d+)
      | (?P<sign>\{-|-\}|.)""",
    re.VERBOSE | re.DOTALL,
)


def run(
    clause: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], unit_us: int = 1
) -> tuple[list[str], list[tuple]]:
    """The output columns and rows of a clause; `unit_us`: the unit of a whole-number ORDER BY column, for WITHIN.

    >>> run("ORDER BY t MEASURES A.t AS t, count(b.*) AS n PATTERN (a b+) DEFINE b AS x > a.x", ["t", "x"],
    ...     [(1, 5), (2, 6), (3, 7), (4, 1)])
    (['t', 'n'], [(1, 2)])
    """
    query = read_clause(clause)
    if query.within is not None and _counts_units(query, columns, rows):
        if query.within % unit_us:
            raise ClauseError(f"WITHIN {query.within} us is no multiple of the unit, {unit_us} us")
        query = replace(query, within=query.within // unit_us)
    return recognize(query, columns, rows)


def _counts_units(query: Query, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> bool:
    if not query.order_by:
        return False
    i = [column.lower() for column in columns].index(query.order_by[0].column.lower())
    return any(isinstance(row[i], int) for row in rows)


def read_clause(clause: str) -> Query:
    """The clause as a query; `within` in microseconds.

    >>> read_clause("PATTERN (A | ()) WITHIN 2 seconds")
    Query(pattern=Choice(parts=(Label(name='A'), Concat(parts=()))), ... within=2000000)
    """
    return _Reader(clause).clause()


def read_pattern(text: str) -> Pattern:
    """A row pattern as it stands in PATTERN ( ... ).

    >>> read_pattern("a{2,}?")
    Quantified(part=Label(name='A'), minimum=2, maximum=None, reluctant=True)
    """
    reader = _Reader(text)
    pattern = reader.choice()
    reader.expect_end()
    return pattern


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


class _Reader:
    """Tokens and a place among them."""

    def __init__(self, text: str) -> None:
        found = [_Token(m.lastgroup or "", m[0], m.start(), m.end()) for m in _TOKEN.finditer(text)]
        self.text = text
        self.tokens = [token for token in found if token.kind != "blank"]
        self.place = 0

    def clause(self) -> Query:
        """The clauses in the standard's order."""
        partition_by = self.list_of(self.column) if self.accept("PARTITION", "BY") else []
        order_by = self.list_of(self.sort_key) if self.accept("ORDER", "BY") else []
        measures = self.list_of(self.measure) if self.accept("MEASURES") else []
        rows = self.rows_per_match()
        skip, skip_label = self.after_match_skip() if self.accept("AFTER", "MATCH", "SKIP") else ("past last row", None)
        self.expect("PATTERN")
        self.expect("(")
        pattern = self.choice()
        self.expect(")")
        within = self.length() if self.accept("WITHIN") else None
        subset = self.list_of(self.subset) if self.accept("SUBSET") else []
        define = self.list_of(self.definition) if self.accept("DEFINE") else []
        self.expect_end()
        for names in ([name for name, _ in measures], [name for name, _ in subset], [label for label, _ in define]):
            if len(set(names)) < len(names):
                raise ClauseError(f"a name stands twice in {names}")
        return Query(
            pattern, dict(define), dict(measures), partition_by, order_by, rows, skip, skip_label, dict(subset), within
        )

    def rows_per_match(self) -> str:
        if self.accept("ONE", "ROW", "PER", "MATCH"):
            return "one"
        if not self.accept("ALL", "ROWS", "PER", "MATCH"):
            return "one"
        if self.accept("OMIT", "EMPTY", "MATCHES"):
            return "all omit empty"
        if self.accept("WITH", "UNMATCHED", "ROWS"):
            return "all with unmatched"
        self.accept("SHOW", "EMPTY", "MATCHES")
        return "all"

    def after_match_skip(self) -> tuple[str, str | None]:
        if self.accept("PAST", "LAST", "ROW"):
            return "past last row", None
        self.expect("TO")
        if self.accept("NEXT", "ROW"):
            return "to next row", None
        if self.accept("FIRST"):
            return "to first", self.label()
        self.accept("LAST")  # SKIP TO A is SKIP TO LAST A
        return "to last", self.label()

    def sort_key(self) -> SortKey:
        column = self.column()
        descending = self.accept("DESC")
        if not descending:
            self.accept("ASC")
        nulls_first = None
        if self.accept("NULLS", "FIRST"):
            nulls_first = True
        elif self.accept("NULLS", "LAST"):
            nulls_first = False
        return SortKey(column, descending, nulls_first)

    def measure(self) -> tuple[str, str]:
        expression = self.expression(until=("AS",))
        self.expect("AS")
        return self.column(), expression

    def definition(self) -> tuple[str, str]:
        label = self.label()
        self.expect("AS")
        return label, self.expression(until=(",",))

    def subset(self) -> tuple[str, tuple[str, ...]]:
        name = self.label()
        self.expect("=")
        self.expect("(")
        members = self.list_of(self.label)
        self.expect(")")
        return name, tuple(members)

    def length(self) -> int:
        """`5 minutes` or `INTERVAL '5' MINUTE`, in microseconds."""
        self.accept("INTERVAL")
        number = self.take().text.strip("'")
        if not number.isdigit():
            raise ClauseError(f"{number!r} is no length of time")
        return duration_us(number, self.take().text)

    def expression(self, until: tuple[str, ...]) -> str:
        """The text up to one of the words outside of brackets, or to the end."""
        first, depth = self.place, 0
        while (token := self.peek()) is not None and (depth or token.text.upper() not in until):
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.text, 0)
            self.place += 1
        if first == self.place:
            raise ClauseError("an expression is missing")
        return self.text[self.tokens[first].start : self.tokens[self.place - 1].end]

    def choice(self) -> Pattern:
        """`P | Q`."""
        parts = [self.concat()]
        while self.accept("|"):
            parts.append(self.concat())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def concat(self) -> Pattern:
        """`P Q`; the empty pattern is written `()`."""
        parts = []
        while (token := self.peek()) is not None and token.text not in ("|", ")", "-}", ","):
            parts.append(self.quantified())
        if not parts:
            raise ClauseError("a piece of pattern is missing; the empty pattern is ()")
        return parts[0] if len(parts) == 1 else Concat(tuple(parts))

    def quantified(self) -> Pattern:
        """A primary with at most one quantifier; `?` behind it makes it reluctant."""
        part = self.primary()
        if self.accept("*"):
            bounds = (0, None)
        elif self.accept("+"):
            bounds = (1, None)
        elif self.accept("?"):
            bounds = (0, 1)
        elif self.accept("{"):
            bounds = self.bounds()
        else:
            return part
        return Quantified(part, *bounds, reluctant=self.accept("?"))

    def bounds(self) -> tuple[int, int | None]:
        """`n}`, `n,}`, `,m}`, `n,m}` or `,}`."""
        low = self.number()
        high = low
        if self.accept(","):
            high = self.number()
        elif low is None:
            raise ClauseError("{} is no quantifier")
        self.expect("}")
        if high is not None and high < max(low or 0, 1):
            raise ClauseError(f"no quantifier has the bounds {low} and {high}")
        return low or 0, high

    def primary(self) -> Pattern:
        if self.accept("("):
            if self.accept(")"):
                return EMPTY
            part = self.choice()
            self.expect(")")
            return part
        if self.accept("{-"):
            part = self.choice()
            self.expect("-}")
            return Excluded(part)
        if self.accept("^"):
            return Anchor(at_end=False)
        if self.accept("$"):
            return Anchor(at_end=True)
        if self.accept("PERMUTE", "("):
            parts = self.list_of(self.choice)
            self.expect(")")
            return Permute(tuple(parts))
        return Label(self.label())

    def number(self) -> int | None:
        token = self.peek()
        if token is None or token.kind != "number":
            return None
        return int(self.take().text)

    def label(self) -> str:
        """A name; upper-case unless it is quoted."""
        quoted = (token := self.peek()) is not None and token.kind == "quoted"
        name = self.column()
        return name if quoted else name.upper()

    def column(self) -> str:
        """A name as it is written, without its quotes."""
        token = self.take()
        if token.kind == "quoted":
            mark = token.text[0]
            return token.text[1:-1].replace(mark * 2, mark)
        if token.kind != "word":
            raise ClauseError(f"{token.text!r} is no name")
        return token.text

    def list_of(self, read: Any) -> list:
        found = [read()]
        while self.accept(","):
            found.append(read())
        return found

    def peek(self) -> _Token | None:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def take(self) -> _Token:
        token = self.peek()
        if token is None:
            raise ClauseError("the clause ends too early")
        self.place += 1
        return token

    def accept(self, *words: str) -> bool:
        """Take these words or signs if they are the next ones."""
        ahead = self.tokens[self.place : self.place + len(words)]
        taken = [token.text.upper() for token in ahead if token.kind in ("word", "sign")] == list(words)
        self.place += len(words) if taken else 0
        return taken

    def expect(self, word: str) -> None:
        if not self.accept(word):
            token = self.peek()
            raise ClauseError(f"{word} is missing before {token.text if token else 'the end'!r}")

    def expect_end(self) -> None:
        if self.peek() is not None:
            raise ClauseError(f"{self.text[self.tokens[self.place].start :]!r} is out of place")
