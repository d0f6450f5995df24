"""What users call for aggregates over windows: `ev.aggregate(...)`. It writes the query of the language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlglot import exp

from eventide.api.query import Query
from eventide.errors import EventideError
from eventide.lang import parse
from eventide.lang.clauses import starts_clause
from eventide.lang.durations import write_length
from eventide.lang.scalars import parse_scalar
from eventide.lang.tokens import match_brackets, one_line, tokenize
from eventide.lang.tree import Length, WindowQuery
from eventide.lang.window_expressions import WINDOW_RULES
from eventide.lang.write import write_name
from eventide.plan.arguments import LEFT_OUT, LeftOut, check_dict, check_flag, events_first, names_of, wrong_argument
from eventide.plan.options import Options

__all__ = ["aggregate"]

_SELECT = 'select="count(*), sum(volume) AS v"'
# The argument that says what a clause does.
_INSTEAD = {
    "WHERE": "where",
    "GROUP BY": "by",
    "WITHIN": "window",
    "SESSION": "session",
    "HAVING": "having",
    "OPTIONS": "ts and the other options",
}


def aggregate(
    events: Any = LEFT_OUT,
    select: Any = LEFT_OUT,
    *,
    by: str | Sequence[str] = (),
    window: str | timedelta | None = None,
    slide: str | timedelta | None = None,
    up_to: str | timedelta | None = None,
    step: str | timedelta | None = None,
    session: str | timedelta | None = None,
    where: str | None = None,
    having: str | None = None,
    empty: bool = False,
    engine: str | None = None,
    spark: Any = None,
    memory_limit: int | str | None = None,
    **options: Any,
) -> Any:
    """Aggregates over windows, for each group: the query without PATTERN of the language, from arguments.

    `select` is text with commas, a list of expressions, or a dict from names to expressions. Its aggregates are those
    of Spark SQL, but for approximate ones and sketches. Rows have the columns of `by` first. `window` is a length of
    time or a number of events, with `slide` the distance between the beginnings of two windows; `up_to` and `step` are
    for windows that grow; `session` is the time without an event that ends a window. Without any of them a group is
    one window. `where` is about one event, `having` about one window. With `empty=True` windows without an event are
    rows, too.

    Options are `ts`, `ts_unit`, `sequence`, `origin`, `on_bad_event` and `allowed_lateness`. With `engine="spark"` and
    `spark=`, Spark's tasks read the files of a path themselves. Without events, `aggregate("count(*)", ...)` returns
    the `Query`: its `run` returns the rows, and `explain` says what would run.

    >>> import eventide as ev
    >>> trades = [{"ts": 1, "symbol": "A", "volume": 5}, {"ts": 4, "symbol": "A", "volume": 2},
    ...           {"ts": 12, "symbol": "A", "volume": 9}]
    >>> rows = ev.aggregate(trades, "count(*) AS n, sum(volume) AS v", by="symbol", window="10 seconds", ts_unit="s")
    >>> for row in rows.to_pylist():
    ...     print(row)
    {'symbol': 'A', 'n': 2, 'v': 7, 'window_start': 0, 'window_end': 10, 'detected_at': 10}
    {'symbol': 'A', 'n': 1, 'v': 9, 'window_start': 10, 'window_end': 20, 'detected_at': 20}
    """
    events, select = events_first(events, select)
    groups = names_of("by", by, 'by="symbol"')
    check_flag("empty", empty)
    clauses = {
        "WHERE": _text("where", where),
        "GROUP BY": ", ".join(map(_column, groups)),
        **_windows(window, slide, up_to, step, session),
        **({"EMIT": "EMPTY"} if empty else {}),
        "RETURN": _items(select),
        "HAVING": _text("having", having),
    }
    tree = _parsed(clauses)
    returned = {item.value.tree.name.lower() for item in tree.returns if isinstance(item.value.tree, exp.Column)}
    missing = [_column(name) for name in groups if name.lower() not in returned]
    if missing:
        tree = _parsed({**clauses, "RETURN": ", ".join([*missing, clauses["RETURN"]])})
    query = Query("windows", tree.text, tree, Options.for_query(tree, **options))
    if isinstance(events, LeftOut):
        return query
    return query.run(events, engine=engine, spark=spark, memory_limit=memory_limit)


def _column(name: str) -> str:
    """The name of a column, in backticks where an expression would read it as something else."""
    text = write_name(name)
    try:
        tree = parse_scalar(text).tree
    except EventideError:
        tree = exp.Null()
    is_column = isinstance(tree, exp.Column) and tree.name == name
    return text if is_column else f"`{name.replace('`', '``')}`"


def _parsed(clauses: Mapping[str, str]) -> WindowQuery:
    tree = parse("\n".join(f"{keyword} {body}" for keyword, body in clauses.items() if body))
    assert isinstance(tree, WindowQuery)
    return tree


def _windows(window: object, slide: object, up_to: object, step: object, session: object) -> dict[str, str]:
    """The clause of the windows."""
    kinds = {"window": window, "up_to": up_to, "session": session}
    given = [name for name, value in kinds.items() if value is not None]
    if len(given) > 1:
        raise EventideError(f"{given[0]} and {given[1]} are windows of two kinds", hint="give one of them")
    if slide is not None and window is None:
        raise EventideError("slide is the distance between windows", hint='write window="1 hour", slide="5 minutes"')
    if (step is None) != (up_to is None):
        message = f"{'step' if up_to is None else 'up_to'} goes with {'up_to' if up_to is None else 'step'}"
        raise EventideError(message, hint='write up_to="1 day", step="1 hour"')
    if session is not None:
        return {"SESSION": _length("session", session)}
    if up_to is not None:
        return {"WITHIN": f"UP TO {_length('up_to', up_to)} STEP {_length('step', step)}"}
    if window is None:
        return {}
    return {"WITHIN": _length("window", window) + ("" if slide is None else f" SLIDE {_length('slide', slide)}")}


def _length(argument: str, given: object) -> str:
    if isinstance(given, timedelta) and given > timedelta(0):
        return write_length(Length(given // timedelta(microseconds=1)))
    if not isinstance(given, str) or not given.strip():
        raise wrong_argument(argument, "a length as text", given, f'{argument}="5 minutes"')
    return _clause_free(argument, given)


def _text(argument: str, given: object) -> str:
    if given is None:
        return ""
    if not isinstance(given, str) or not given.strip():
        raise wrong_argument(argument, "a condition as text", given, f'{argument}="volume > 10"')
    return _clause_free(argument, given)


def _items(select: object) -> str:
    """The expressions of RETURN."""
    if isinstance(select, str):
        items = [_clause_free("select", select)]
    elif isinstance(select, Mapping):
        check_dict("select", select, _SELECT)
        items = [f"{_one(name, text)} AS {write_name(name)}" for name, text in select.items()]
    elif isinstance(select, Sequence) and all(isinstance(each, str) for each in select):
        items = [_clause_free("select", text) for text in select]
    else:
        raise wrong_argument("select", "text, a list of texts, or a dict from names to expressions", select, _SELECT)
    if not items or not all(item.strip() for item in items):
        raise EventideError("select is empty", hint=f"write {_SELECT}")
    return ", ".join(items)


def _one(name: str, text: str) -> str:
    """The expression of a name; an error where it is none, or several."""
    text = _clause_free("select", text)
    parse_scalar(text, WINDOW_RULES)
    return text


def _clause_free(argument: str, text: str) -> str:
    """The text, if it ends where the argument does: no clause of the language begins in it."""
    tokens = tokenize(text)
    partner = match_brackets(text, tokens)
    idx = 0
    while idx < len(tokens):
        if starts_clause(tokens, idx):
            word = tokens[idx].word
            names = [known for keyword, known in _INSTEAD.items() if keyword.split()[0] == word]
            hint = f"{names[0]} says that here" if names else f"a column called '{tokens[idx].text}' needs backticks"
            raise EventideError(f"{argument} holds the clause {word}", hint=hint)
        idx = partner.get(idx, idx) + 1
    # A comment would hide what follows it.
    return one_line(tokens) if "--" in text or "/*" in text else text
