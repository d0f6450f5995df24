"""Arguments of Python functions that are not what they should be: what was found, and what to write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

from eventide.errors import EventideError, InputError


class LeftOut:
    """In place of an argument that was not given, where None would be one."""

    def __repr__(self) -> str:
        return "left out"


LEFT_OUT = LeftOut()


def events_first(*given: Any) -> tuple[Any, ...]:
    """The arguments of a function that takes the events first; without events, the others move one place back.

    >>> events_first("temp >= 35", LEFT_OUT)
    (left out, 'temp >= 35')
    """
    is_short = isinstance(given[-1], LeftOut) and not isinstance(given[0], LeftOut)
    return (LEFT_OUT, *given[:-1]) if is_short else given


def wrong_argument(argument: str, wanted: str, given: object, usage: str) -> EventideError:
    """The error about an argument of another type.

    >>> print(wrong_argument("within", "text", 5, 'within="5 minutes"'))
    within must be text, found int
    Hint: write within="5 minutes"
    """
    found = "nothing" if isinstance(given, LeftOut) else "None" if given is None else type(given).__name__
    return EventideError(f"{argument} must be {wanted}, found {found}", hint=f"write {usage}")


def check_dict(argument: str, given: object, usage: str) -> None:
    """Refuse what is no dict from names to expressions."""
    if not isinstance(given, Mapping):
        raise wrong_argument(argument, "a dict from names to expressions", given, usage)
    for name, value in given.items():
        if not isinstance(name, str) or not name:
            raise EventideError(f"a name in {argument} must be text, found {name!r}", hint=f"write {usage}")
        if not isinstance(value, str):
            raise wrong_argument(f"{argument}['{name}']", "text", value, usage)


def names_of(argument: str, given: str | Sequence[str], usage: str) -> list[str]:
    """A name or several, as a list.

    >>> names_of("partition_by", "user", "partition_by=['user']")
    ['user']
    """
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
        raise wrong_argument(argument, "a name or a list of names", given, usage)
    return list(given)


def engine_of(engine: str | None) -> str | None:
    """The engine that is meant: "embedded" is another word for "local"; None: whatever the events are.

    >>> engine_of("embedded"), engine_of("spark"), engine_of(None)
    ('local', 'spark', None)
    """
    if engine is not None and (not isinstance(engine, str) or engine not in ("local", "embedded", "spark")):
        raise InputError(f"there is no engine {shown(engine)}", hint="local, also called embedded, or spark")
    return "local" if engine == "embedded" else engine


def one_of(argument: str, given: object, choices: Sequence[str], more: str = "") -> str:
    """One of some words; `more` goes behind the hint.

    >>> one_of("format", "jsn", ("parquet", "json"))
    Traceback (most recent call last):
    ...
    eventide.errors.EventideError: format='jsn' is not possible
    Hint: one of 'parquet', 'json'
    """
    if isinstance(given, str) and given in choices:
        return given
    hint = f"one of {', '.join(map(repr, choices))}{more}"
    raise EventideError(f"{argument}={shown(given)} is not possible", hint=hint)


def check_flag(argument: str, given: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(given, bool):
        raise wrong_argument(argument, "True or False", given, f"{argument}=True")


def count_of(argument: str, given: object) -> int:
    """A whole number from 1 on."""
    if type(given) is not int or given < 1:
        raise InputError(f"{argument} is a number from 1 on, found {shown(given)}")
    return given


def shown(given: object) -> str:
    """What was given, in one short line.

    >>> shown("a" * 100)[-6:]
    'aaa...'
    """
    text = " ".join(repr(given).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def in_one_line(text: str) -> str:
    """A text as part of a short line: what is long is cut off."""
    return shorten(" ".join(text.split()), 200, placeholder=" ...")


def kind_of(given: object) -> str:
    """What was given, by the name of its type; a DataFrame of pandas is not one of Spark.

    >>> import pandas as pd
    >>> kind_of(pd.DataFrame()), kind_of([]), kind_of(None)
    ('pandas.DataFrame', 'list', 'None')
    """
    if given is None:
        return "None"
    module, name = type(given).__module__.split(".")[0], type(given).__name__
    return f"{module}.{name}" if module in ("pandas", "polars", "pyarrow", "duckdb", "pyspark") else name


def check_session(spark: Any, hint: str = "spark = SparkSession.builder.getOrCreate()") -> None:
    """Refuse what is no Spark session; a column of Spark has every attribute, its class has not."""
    if not hasattr(type(spark), "readStream"):
        raise EventideError(f"spark= takes a Spark session, found {kind_of(spark)}", hint=hint)


def session_for_path(spark: Any) -> Any:
    """The session that reads a path."""
    if spark is None:
        raise InputError("engine='spark' with a path needs a session", hint="pass spark=spark")
    check_session(spark)
    return spark


def not_for_spark(given: object) -> InputError:
    """The error about events that lie in this process, where Spark shall run."""
    message = f"engine='spark' takes Spark DataFrames or a path, found {kind_of(given)}"
    return InputError(message, hint="pass spark.createDataFrame(events), or leave out engine")


def check_ties(ties: object) -> None:
    """Refuse `ties="strict"` where a pattern is about rows: there tied events follow one another."""
    if ties is not None and one_of("ties", ties, ("sequence", "strict")) == "strict":
        message = "ties='strict' is for ev.query: here events of one time follow one another"
        raise EventideError(message, hint="leave it out; sequence= names a column that orders them")
