"""What is changed and what is refused in a statement that Spark runs as it is written."""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from eventide.errors import QueryError
from eventide.lang.positions import span_of
from eventide.lang.tokens import Kind, Token, tokenize
from eventide.lang.tree import Span

_DIVISIONS = (exp.Div, exp.Mod, exp.IntDiv)
_FORMATS = {"parquet", "orc", "csv", "json", "text", "xml", "avro", "binaryfile", "image", "libsvm"}
_FORMATS |= {"delta", "iceberg", "hudi", "jdbc", "kafka", "socket", "rate", "statestore", "state-metadata", "protobuf"}


def check_paths(tree: exp.Query, text: str) -> None:
    """Refuse tables such as csv.`/etc/passwd`: a statement reads the tables that it was given and the catalog's.

    >>> text = "SELECT * FROM csv.`/etc/passwd`"
    >>> check_paths(sqlglot.parse_one(text, read="spark"), text)
    Traceback (most recent call last):
    ...
    eventide.errors.QueryError: a statement cannot read a file by its path (line 1, column 15)
      SELECT * FROM csv.`/etc/passwd`
                    ^^^^^^^^^^^^^^^^^
    Hint: pass it by name: ev.sql(text, t=spark.read.format("csv").load(path))
    """
    for table in tree.find_all(exp.Table):
        parts = [part.name for part in table.parts]
        first = parts[0].lower()
        is_path = any(mark in part for part in parts for mark in "/\\:*?")
        if len(parts) > 1 and (first in _FORMATS or "." in first or is_path):
            span = span_of(table, Span(0, 0))
            hint = f'pass it by name: ev.sql(text, t=spark.read.format("{parts[0]}").load(path))'
            raise QueryError("a statement cannot read a file by its path", text, span.start, span.end, hint=hint)


def null_by_zero(tree: exp.Query, text: str) -> list[tuple[Span, str]]:
    """What to put into the text so that a division by zero is NULL, as on every engine.

    >>> text = "SELECT a / b, (a + 1) % (b - 1), a / 2 FROM t"
    >>> edits = null_by_zero(sqlglot.parse_one(text, read="spark"), text)
    >>> for span, new in sorted(edits, key=lambda edit: -edit[0].start):
    ...     text = text[: span.start] + new + text[span.end :]
    >>> text
    'SELECT a / NULLIF(b, 0), (a + 1) % NULLIF((b - 1), 0), a / 2 FROM t'
    """
    tokens = tokenize(text, any_character=True)
    edits: list[tuple[Span, str]] = []
    for at, token in enumerate(tokens[:-1]):
        first = at + 1
        if token.word == "MOD" and tokens[first].is_punctuation("("):
            first, last = _second_argument(tokens, first)
        elif token.text in ("/", "%") or token.word == "DIV":
            last = _operand_end(tokens, first)
        else:
            continue
        is_number = first == last and tokens[first].kind is Kind.NUMBER
        if last < len(tokens) and not (is_number and float(tokens[first].text) != 0):
            start, end = tokens[first].start, tokens[last].end
            edits += [(Span(start, start), "NULLIF("), (Span(end, end), ", 0)")]
    return edits if _is_meant(tree, text, edits) else []


def _operand_end(tokens: Sequence[Token], at: int) -> int:
    """The last token of the operand that begins at one: with its sign, brackets, fields and casts."""
    while tokens[at].text in ("+", "-", "~"):
        at += 1
    if tokens[at].word == "CASE" or tokens[at].text == "(":
        at = _closing(tokens, at)
    while at + 1 < len(tokens):
        following = tokens[at + 1]
        if following.text in ("(", "["):
            at = _closing(tokens, at + 1)
        elif following.text in (".", ":"):
            at += 2
        elif tokens[at].text == ":" or _is_suffixed(tokens[at], following):
            at += 1  # the type of a cast, x::INT, or the letter behind a number, 2L
        else:
            break
    return at


def _is_suffixed(token: Token, following: Token) -> bool:
    return token.kind is Kind.NUMBER and following.kind is Kind.WORD and token.end == following.start


def _closing(tokens: Sequence[Token], at: int) -> int:
    """Where a bracket, or a CASE, closes."""
    depth = 0
    for i in range(at, len(tokens)):
        token = tokens[i]
        depth += (token.text in ("(", "[") or token.word == "CASE") - (token.text in (")", "]") or token.word == "END")
        if depth == 0:
            return i
    return len(tokens)


def _second_argument(tokens: Sequence[Token], opening: int) -> tuple[int, int]:
    """The first and the last token of the second argument of a call; beyond the end when there is none."""
    closing, depth = _closing(tokens, opening), 0
    for i in range(opening + 1, closing):
        depth += (tokens[i].text in ("(", "[")) - (tokens[i].text in (")", "]"))
        if depth == 0 and tokens[i].text == ",":
            return i + 1, closing - 1
    return closing, len(tokens)


def _is_meant(tree: exp.Query, text: str, edits: Sequence[tuple[Span, str]]) -> bool:
    """Whether the text with the edits made says what it should, and nothing else."""
    for span, new in sorted(edits, key=lambda edit: -edit[0].start):
        text = text[: span.start] + new + text[span.end :]
    try:
        made = sqlglot.parse_one(text, read="spark")
    except SqlglotError:
        return False
    return bool(_bare(made) == _bare(tree.copy().transform(_with_nullif)))


def _bare(tree: exp.Expr) -> exp.Expr:
    """The tree without brackets, which its shape tells: sqlglot puts some around the arguments of MOD."""
    return tree.transform(lambda node: node.unnest() if isinstance(node, exp.Paren) else node)


def _with_nullif(node: exp.Expr) -> exp.Expr:
    if isinstance(node, _DIVISIONS):
        divisor = node.expression
        if not (isinstance(divisor, exp.Literal) and not divisor.is_string and float(divisor.this) != 0):
            node.set("expression", exp.Nullif(this=divisor.copy(), expression=exp.Literal.number(0)))
    return node
