"""`overlaps | during` to the bits of the relations, and which of them points can have."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eventide.errors import QueryError, did_you_mean
from eventide.lang.relations import RELATIONS, inverse, mask_of, names_of
from eventide.plan.arguments import wrong_argument

_USAGE = 'relations="overlaps | during"'
_POINT_TO_INTERVAL = mask_of(["before", "starts", "during", "met-by", "after", "equals"])
_POINT_TO_POINT = mask_of(["before", "equals", "after"])


def parse_relations(given: object, left_is_point: bool = False, right_is_point: bool = False) -> int:
    """The bits of relations that are given as text, or as a list of names.

    >>> names_of(parse_relations("overlaps | During")), names_of(parse_relations(["met-by"]))
    (('overlaps', 'during'), ('met-by',))
    >>> parse_relations("overlap")
    Traceback (most recent call last):
    ...
    eventide.errors.QueryError: there is no relation 'overlap' (line 1, column 1)
      overlap
      ^^^^^^^
    Hint: did you mean 'overlaps'?
    """
    text = _text(given)
    possible, whose = _possible(left_is_point, right_is_point)
    names: list[str] = []
    # The text between two bars, with its blanks.
    for part in re.finditer(r"(?:^|\|)([^|]*)", text):
        start, end = part.span(1)
        name = text[start:end].strip()
        start = end if not name else start + text[start:end].index(name)
        if not name:
            known = f"known: {', '.join(RELATIONS)}"
            raise QueryError("a relation is missing", text, start, start, hint=known)
        relation = name.lower().replace("_", "-").replace(" ", "-")
        if relation not in RELATIONS:
            hint = _many(name) or did_you_mean(relation, RELATIONS)
            raise QueryError(f"there is no relation '{name}'", text, start, start + len(name), hint=hint)
        if not mask_of([relation]) & possible:
            hint = f"possible are {', '.join(names_of(possible))}"
            raise QueryError(f"'{relation}' never holds {whose}", text, start, start + len(name), hint=hint)
        names.append(relation)
    return mask_of(names)


def _text(given: object) -> str:
    if isinstance(given, str):
        return given
    if not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
        raise wrong_argument("relations", "text or a list of names", given, _USAGE)
    return " | ".join(given)


def _many(name: str) -> str | None:
    """What to write for names that something else than a bar separates."""
    words = [word for word in re.split(r"[,\s]+|\bor\b", name.lower()) if word]
    return f"write {' | '.join(words)}" if len(words) > 1 and all(word in RELATIONS for word in words) else None


def _possible(left_is_point: bool, right_is_point: bool) -> tuple[int, str]:
    if left_is_point and right_is_point:
        return _POINT_TO_POINT, "between two points"
    if left_is_point:
        return _POINT_TO_INTERVAL, "between a point on the left and an interval"
    if right_is_point:
        return inverse(_POINT_TO_INTERVAL), "between an interval and a point on the right"
    return mask_of(RELATIONS), ""
