"""Query text in, tokens with offsets out.

Quotes follow Spark SQL: strings in ' or " with backslash escapes, identifiers in backticks (a doubled one
stands for itself), raw strings `r'...'`. Comments are `--` to the end of the line and `/* ... */`. Blanks and
comments leave no token.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from eventide.errors import QueryError
from eventide.lang.tree import Span

# Ten thousand terms of `a.x = 1 OR a.x = 2 OR ...`. Planning takes time with their number.
MAX_WORDS = 60_000


class Kind(Enum):
    WORD = "word"
    NUMBER = "number"
    STRING = "string"
    QUOTED = "quoted name"
    PUNCTUATION = "punctuation"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the query text: `text` as written, `start` and `end` as half-open offsets."""

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    @property
    def word(self) -> str:
        """The keyword spelling of a bare word; empty for everything else."""
        return self.text.upper() if self.kind is Kind.WORD else ""

    @property
    def value(self) -> str:
        """What a name or string stands for, without quotes and escapes.

        >>> [token.value for token in tokenize(r"`a``b` 'it\\'s' C")[:-1]]
        ['a`b', "it's", 'C']
        """
        if self.kind is Kind.QUOTED:
            return self.text[1:-1].replace("``", "`")
        if self.kind is Kind.STRING:
            if self.text[0] in "rR":
                return self.text[2:-1]
            return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), self.text[1:-1])
        return self.text

    def is_punctuation(self, char: str) -> bool:
        return self.kind is Kind.PUNCTUATION and self.text == char

    def __str__(self) -> str:
        """How an error message names the token."""
        if self.kind is Kind.END:
            return "the end of the query"
        text = self.text if len(self.text) <= 30 else f"{self.text[:27]}..."
        if self.kind in (Kind.STRING, Kind.QUOTED):
            return "".join(char if char.isprintable() else " " for char in text)
        return f"'{text}'"


_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "Z": "\x1a"}

_NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_STRING = {
    "'": re.compile(r"'([^'\\]|\\.)*+'", re.DOTALL),
    '"': re.compile(r'"([^"\\]|\\.)*+"', re.DOTALL),
}
_RAW_STRING = re.compile(r"[rR]('[^']*'|\"[^\"]*\")")
_QUOTED = re.compile(r"`([^`]|``)*+`")
_PUNCTUATION = frozenset("()[]{},.;+-*/%<>=!|&^~?:")
_OPENING = {"(": ")", "[": "]", "{": "}"}
_CLOSING = {closing: opening for opening, closing in _OPENING.items()}

_LOOKALIKES = {
    **dict.fromkeys("‘’‛′´", "'"),
    **dict.fromkeys("“”„″", '"'),
    **dict.fromkeys("–—−", "-"),
    **dict.fromkeys("，、", ","),
    "（": "(",
    "）": ")",
    "≤": "<=",
    "≥": ">=",
    "≠": "<>",
}


# Most of a text: blanks, and then a name, a whole number or a sign that nothing else can begin with.
_SIMPLE = re.compile(
    r"""\s*(?:([A-Za-z_][A-Za-z0-9_]*+)(?!['"]|[^\0-\x7f])"""
    r"""|([0-9]++)(?![A-Za-z_.]|[^\0-\x7f])"""
    r"""|([()\[\]{},;+*%<>=!|&^~?:]|\.(?![0-9])|-(?!-)|/(?!\*)))"""
)
_SIMPLE_KINDS = (Kind.END, Kind.WORD, Kind.NUMBER, Kind.PUNCTUATION)

_HALF = re.compile("[\ud800-\udfff]")


def tokenize(text: str, any_character: bool = False) -> list[Token]:
    """Split query text into tokens; the last one has the kind END.

    With `any_character`, what has no meaning is punctuation too: SQL around a query may know it.

    >>> [token.text for token in tokenize("WITHIN 1.5min -- short")]
    ['WITHIN', '1.5', 'min', '']
    """
    half = _HALF.search(text)
    if half is not None:
        hint = "it comes from text that was read with errors='surrogateescape', or was cut in two"
        shown = _HALF.sub("\ufffd", text)
        raise QueryError("half a character, which no text can hold", shown, half.start(), half.end(), hint=hint)
    tokens: list[Token] = []
    at = 1 if text.startswith("\ufeff") else 0
    while at < len(text):
        if found := _SIMPLE.match(text, at):
            group, at = found.lastindex or 0, found.end()
            tokens.append(Token(_SIMPLE_KINDS[group], found[group], found.start(group), at))
            continue
        after = _skip_blank(text, at)
        if after > at:
            at = after
            continue
        kind, end = _scan(text, at, tokens[-1] if tokens else None, any_character)
        tokens.append(Token(kind, text[at:end], at, end))
        at = end
    # Errors at the end of the query point behind its last word, not behind blanks and comments.
    end = tokens[-1].end if tokens else 0
    tokens.append(Token(Kind.END, "", end, end))
    return tokens


def _skip_blank(text: str, at: int) -> int:
    if text[at].isspace():
        return at + 1
    if text.startswith("--", at):
        end = text.find("\n", at)
        return end + 1 if end >= 0 else len(text)
    if text.startswith("/*", at):
        end = text.find("*/", at + 2)
        if end < 0:
            raise QueryError("the comment is never closed", text, at, at + 2, hint="end it with */")
        return end + 2
    return at


def _scan(text: str, at: int, last: Token | None, any_character: bool) -> tuple[Kind, int]:
    char = text[at]
    if char in _STRING:
        if found := _STRING[char].match(text, at):
            return Kind.STRING, found.end()
        hint = f"end it with {char}; inside a string, write the quote as \\{char}"
        raise QueryError("the string is never closed", text, at, at + 1, hint=hint)
    if char == "`":
        found = _QUOTED.match(text, at)
        if found and found.end() - at > 2:
            return Kind.QUOTED, found.end()
        if found:
            raise QueryError("the quoted name is empty", text, at, at + 2, hint="write a name between the backticks")
        raise QueryError("the quoted name is never closed", text, at, at + 1, hint="end it with `")
    if char in "rR" and (found := _RAW_STRING.match(text, at)):
        return Kind.STRING, found.end()
    # `A.1` is a name, a dot and a number; `.5` on its own is a number.
    glued = last is not None and last.end == at and (last.kind is not Kind.PUNCTUATION or last.text in ")]")
    if (char != "." or not glued) and (found := _NUMBER.match(text, at)):
        return Kind.NUMBER, found.end()
    if char.isidentifier():
        end = at + 1
        while end < len(text) and f"_{text[end]}".isidentifier():
            end += 1
        return Kind.WORD, end
    if not any_character:
        check_character(text, at)
    return Kind.PUNCTUATION, at + 1


def check_words(text: str, tokens: Sequence[Token], what: str) -> None:
    """Refuse what would take more than a second or two to plan: an error about `what`, a text of too many tokens."""
    if len(tokens) <= MAX_WORDS:
        return
    hint = (
        f"at most {MAX_WORDS:,} are allowed; write comparisons with literals as IN (...) or BETWEEN, join a table "
        "that holds a long list, or compute a column before"
    )
    start = tokens[0].start
    raise QueryError(f"{what} has {len(tokens):,} words and signs", text[start : start + 80], 0, 0, hint=hint)


def check_character(text: str, at: int) -> None:
    """Fail unless the character, which is no part of a name, number or string, is punctuation of the language."""
    char = text[at]
    if char in _PUNCTUATION:
        return
    shown = f"'{char}'" if char.isprintable() else f"U+{ord(char):04X}"
    raise QueryError(f"the character {shown} has no meaning here", text, at, at + 1, hint=_character_hint(char))


def _character_hint(char: str) -> str:
    if char in _LOOKALIKES:
        return f"write {_LOOKALIKES[char]} instead"
    if char == "→":
        return "a sequence is written SEQ(A, B)"
    if char == "#":
        return "a comment starts with --"
    return "if it is part of a name, quote the name with backticks"


def match_brackets(text: str, tokens: list[Token]) -> dict[int, int]:
    """Token index of each bracket to the token index of its partner.

    >>> text = "SEQ(A, B)"
    >>> match_brackets(text, tokenize(text))
    {5: 1, 1: 5}
    """
    partner: dict[int, int] = {}
    stack: list[int] = []
    for idx, token in enumerate(tokens):
        if token.kind is not Kind.PUNCTUATION:
            continue
        if token.text in _OPENING:
            stack.append(idx)
        elif token.text in _CLOSING:
            if not stack:
                hint = f"remove it, or open it with '{_CLOSING[token.text]}'"
                raise QueryError(f"'{token.text}' closes nothing", text, token.start, token.end, hint=hint)
            opening = tokens[stack[-1]]
            if _OPENING[opening.text] != token.text:
                message = f"'{opening.text}' is closed by '{token.text}'"
                hint = f"close it with '{_OPENING[opening.text]}'"
                raise QueryError(message, text, opening.start, opening.end, hint=hint)
            partner[idx] = stack.pop()
            partner[partner[idx]] = idx
    if stack:
        opening = tokens[stack[-1]]
        hint = f"add the missing '{_OPENING[opening.text]}'"
        raise QueryError(f"'{opening.text}' is never closed", text, opening.start, opening.end, hint=hint)
    return partner


def one_line(tokens: Sequence[Token]) -> str:
    """What the tokens spell, without comments and with single blanks.

    >>> one_line(tokenize("a.x  >  1 -- much"))
    'a.x > 1'
    """
    pieces: list[str] = []
    end = tokens[0].start if tokens else 0
    for token in tokens:
        pieces += (" ", token.text) if token.start > end else (token.text,)
        end = token.end
    return "".join(pieces)
