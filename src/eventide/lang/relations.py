"""The names of Allen's relations, in the order of their bits in `kernels.relations`."""

from __future__ import annotations

RELATIONS = (
    "before",
    "meets",
    "overlaps",
    "starts",
    "during",
    "finishes",
    "equals",
    "after",
    "met-by",
    "overlapped-by",
    "started-by",
    "contains",
    "finished-by",
)
_EQUALS = RELATIONS.index("equals")


def mask_of(names: tuple[str, ...] | list[str]) -> int:
    """The bits of some relations.

    >>> mask_of(["before", "equals"])
    65
    """
    return sum(1 << RELATIONS.index(name) for name in dict.fromkeys(names))


def names_of(mask: int) -> tuple[str, ...]:
    """The relations of a mask.

    >>> names_of(65)
    ('before', 'equals')
    """
    return tuple(name for bit, name in enumerate(RELATIONS) if mask >> bit & 1)


def inverse(mask: int) -> int:
    """What holds the other way round.

    >>> names_of(inverse(mask_of(["before", "contains", "equals"])))
    ('during', 'equals', 'after')
    """
    kept = mask & 1 << _EQUALS
    return kept | (mask & (1 << _EQUALS) - 1) << _EQUALS + 1 | mask >> _EQUALS + 1
