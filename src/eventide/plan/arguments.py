"""Arguments of Python functions that are not what they should be: what was found, and what to write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eventide.errors import EventideError, InputError


def wrong_argument(argument: str, wanted: str, given: object, usage: str) -> EventideError:
    """The error about an argument of another type.

    >>> print(wrong_argument("within", "text", 5, 'within="5 minutes"'))
    within must be text, found int
    Hint: write within="5 minutes"
    """
    found = "None" if given is None else type(given).__name__
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
    if engine not in (None, "local", "embedded", "spark"):
        raise InputError(f"there is no engine '{engine}'", hint="local, also called embedded, or spark")
    return "local" if engine == "embedded" else engine
