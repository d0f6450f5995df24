"""Functions of Spark SQL that lead out of a query, to Java code or to files: no text of a user may call them.

Query texts, rules, builder conditions and statements are often stored, generated, or written by people who may not run
programs. A query computes from its events and nothing else; what these functions do belongs into the program around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from eventide.errors import QueryError
from eventide.lang.positions import span_of
from eventide.lang.tree import Span

_DOORS = {
    "calls a method of Java": ("reflect", "java_method", "try_reflect"),
    "reads files": ("read_files", "read_kafka", "read_statestore", "from_protobuf", "to_protobuf"),
    "reads the logs of the workers": ("python_worker_logs",),
    "makes a name out of text": ("identifier",),
}
DOORS = {name: what for what, names in _DOORS.items() for name in names}
_HINT = "compute it as a column before, in a program"
_CALLED = re.compile(rf"\b({'|'.join(DOORS)})\b`?\s*\(", re.IGNORECASE)
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


def check_node(node: exp.Expr, text: str, whole: Span) -> None:
    """Refuse a call of such a function, however its name is written.

    >>> import sqlglot
    >>> text = "`Reflect`('java.lang.System')"
    >>> check_node(sqlglot.parse_one(text, read="spark"), text, Span(0, 9))
    Traceback (most recent call last):
    ...
    eventide.errors.QueryError: reflect is not allowed in a query: it calls a method of Java (line 1, column 1)
      `Reflect`('java.lang.System')
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    Hint: compute it as a column before, in a program
    """
    name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    if name in DOORS:
        raise _refusal(name, text, span_of(node, whole))
    if isinstance(node, exp.QueryTransform):
        span = span_of(node, whole)
        message = "TRANSFORM ... USING is not allowed in a statement: it runs a program"
        raise QueryError(message, text, span.start, span.end, hint="run the program before, outside of the statement")


def check_text(text: str) -> None:
    """Refuse such a call in a text that Spark reads itself, whatever another parser would take it for."""
    for name, span in called(text):
        raise _refusal(name, text, span)


def called(text: str) -> Iterator[tuple[str, Span]]:
    """Where a text seems to call such a function; a comment may stand before the bracket.

    >>> [name for name, _ in called("SELECT builtin.`REFLECT` /* a */ ('a')")]
    ['reflect']
    """
    blanked = _COMMENT.sub(lambda found: " " * len(found[0]), text)
    for source in (text, blanked):
        for found in _CALLED.finditer(source):
            yield found[1].lower(), Span(found.start(1), found.end(1))


def _refusal(name: str, text: str, span: Span) -> QueryError:
    message = f"{name} is not allowed in a query: it {DOORS[name]}"
    return QueryError(message, text, span.start, span.end, hint=_HINT)
