"""Functions that nobody has: Spark SQL's are known by name, those that a Spark session has registered it is asked for.

While a query is planned for a session, `asking` has its answer. In this process nobody has functions of their own. What
is planned for Spark without a session, such as an explanation, may call any.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sqlglot import exp

from eventide.errors import QueryError, did_you_mean
from eventide.expressions.functions import FUNCTIONS, SPECIAL_FORMS
from eventide.expressions.spark_names import SPARK_FUNCTIONS
from eventide.expressions.typed import Source
from eventide.lang.positions import span_of
from eventide.lang.tree import Span

_registered: ContextVar[Callable[[str], bool] | None] = ContextVar("registered", default=None)
_CALLED = re.compile(r"(\w+)\s*\(")
_KNOWN = SPARK_FUNCTIONS | {"try_cast", *map(str.lower, SPECIAL_FORMS)}


@contextmanager
def asking(is_registered: Callable[[str], bool]) -> Iterator[None]:
    """Planning inside this block refuses functions that Spark SQL has not, unless this knows them.

    >>> with asking(lambda name: name == "mine"):
    ...     check_known(exp.Anonymous(this="mine"), Source("mine(x)", Span(0, 7)), Span(0, 7))
    ...     check_known(exp.Anonymous(this="sqrtt"), Source("sqrtt(x)", Span(0, 8)), Span(0, 8))
    Traceback (most recent call last):
    ...
    eventide.errors.QueryError: unknown function 'sqrtt' (line 1, column 1)
      sqrtt(x)
      ^^^^^^^^
    Hint: did you mean 'sqrt'? A function of your own is registered first: spark.udf.register("sqrtt", ...)
    """
    token = _registered.set(is_registered)
    try:
        yield
    finally:
        _registered.reset(token)


@contextmanager
def for_engine(engine: str) -> Iterator[None]:
    """Planning inside this block is for this process, if it is not for Spark."""
    if engine != "local":
        yield
        return
    with asking(_nobody):
        yield


def _nobody(name: str) -> bool:
    return False


def is_known(name: str) -> bool:
    """Whether Spark SQL has a function of that name."""
    return name.lower() in _KNOWN


def check_known(node: exp.Expr, source: Source, span: Span) -> None:
    """Refuse a call of what neither Spark SQL nor the session has; a name behind a dot is another catalog's."""
    is_registered = _registered.get()
    if is_registered is None or not isinstance(node, exp.Anonymous) or isinstance(node.parent, exp.Dot):
        return
    if is_known(node.name) or is_registered(node.name):
        return
    if is_registered is _nobody:
        raise not_here(node.name, source, span)
    raise source.error(f"unknown function '{node.name}'", span, not_registered(node.name))


def check_spelt(tree: exp.Expr, text: str) -> None:
    """Refuse names that only sqlglot knows, from other dialects: Spark would not.

    >>> import sqlglot
    >>> from eventide.lang.positions import place
    >>> from eventide.lang.tokens import tokenize
    >>> tree = sqlglot.parse_one("charindex('a', s)", read="spark")
    >>> place(tree, tokenize("charindex('a', s)"))
    >>> check_spelt(tree, "charindex('a', s)")
    Traceback (most recent call last):
    ...
    eventide.errors.QueryError: unknown function 'charindex' (line 1, column 1)
      charindex('a', s)
      ^^^^^^^^^^^^^^^^^
    Hint: Spark SQL has no function 'charindex'; one that a Spark session defines works there
    """
    for node in tree.find_all(exp.Func):
        span = span_of(node, Span(0, 0))
        called = None if isinstance(node, exp.Connector) else _CALLED.match(text[span.start : span.end])
        if called is not None and not is_known(called[1]):
            raise not_here(called[1], Source(text, span), span)


def not_registered(name: str) -> str:
    """What to try where a Spark session has no function of that name."""
    meant = _meant(name, sorted(SPARK_FUNCTIONS))
    return f'{meant}A function of your own is registered first: spark.udf.register("{name}", ...)'


def not_here(name: str, source: Source, span: Span) -> QueryError:
    """The error about such a function in this process."""
    hint = f"{_meant(name, [*FUNCTIONS, *SPECIAL_FORMS])}Spark SQL has no function '{name}'"
    return source.error(f"unknown function '{name}'", span, f"{hint}; one that a Spark session defines works there")


def _meant(name: str, known: list[str]) -> str:
    close = did_you_mean(name, known)
    return f"{close} " if close is not None and close.startswith("did you mean") else ""
