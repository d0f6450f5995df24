"""Names for the columns that Eventide adds beside columns of the user."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def added_names(added: Sequence[str], beside: Iterable[str], prefix: str) -> dict[str, str]:
    """By column the name that it gets: its own, or one with the prefix where the user has a column of that name.

    >>> added_names(["symbol", "start"], ["Symbol", "price"], "situation_")
    {'symbol': 'situation_symbol', 'start': 'start'}
    """
    taken = {name.lower() for name in beside}
    named: dict[str, str] = {}
    for column in added:
        name = column
        while name.lower() in taken:
            name = prefix + name
        taken.add(name.lower())
        named[column] = name
    return named
