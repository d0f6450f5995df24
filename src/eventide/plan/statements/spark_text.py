"""What is changed and what is refused in a statement that Spark runs as it is written."""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from eventide.errors import QueryError
from eventide.lang.positions import span_of
from eventide.lang.tokens import Token, tokenize
from eventide.lang.tree import Span

_DIVISIONS = (exp.Div, exp.Mod, exp.IntDiv)
_SEPARATORS = ("/", "%", ",")
_FORMATS = {"parquet", "orc", "csv", "json", "text", "xml", "avro", "binaryfile", "image", "libsvm"}
_FORMATS |= {"delta", "iceberg", "hudi", "jdbc", "kafka", "socket", "rate", "statestore", "state-metadata", "protobuf"}


def check_paths(tree: exp.Query, text: str) -> None:
    """Refuse tables such as csv.`/etc/passwd`: a statement reads the tables that it was given and the catalog's.

    >>> check_paths(sqlglot.parse_one("SELECT * FROM csv.`/etc/passwd`", read="spark"), "SELECT * FROM csv.`/etc/passwd`")
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
    edits = []
    for node in tree.find_all(*_DIVISIONS):
        divisor = node.expression
        if isinstance(divisor, exp.Literal) and not divisor.is_string and float(divisor.this) != 0:
            continue
        span = _operand(node, tokens)
        if span is not None:
            edits += [(Span(span.start, span.start), "NULLIF("), (Span(span.end, span.end), ", 0)")]
    return edits if _is_meant(tree, text, edits) else []


def _operand(node: exp.Expr, tokens: Sequence[Token]) -> Span | None:
    """The whole text of a divisor: from behind its operator to where its brackets and its CASE close."""
    left, right = span_of(node.this, Span(0, 0)), span_of(node.expression, Span(0, 0))
    if right.start == right.end:
        return None
    between = [i for i, token in enumerate(tokens) if left.end <= token.start and token.end <= right.start]
    marks = [i for i in between if tokens[i].text in _SEPARATORS or tokens[i].word in ("DIV", "MOD")]
    if not marks:
        return None
    first, depth = marks[-1] + 1, 0
    for last in range(first, len(tokens)):
        token = tokens[last]
        depth += (token.text in ("(", "[") or token.word == "CASE") - (token.text in (")", "]") or token.word == "END")
        follows = tokens[last + 1].text if last + 1 < len(tokens) else ""
        if depth <= 0 and token.end >= right.end and token.text != ":" and follows not in ("(", "[", ":"):
            return Span(tokens[first].start, token.end)
    return None


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
