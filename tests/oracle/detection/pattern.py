"""Builder patterns for the oracle: steps in a row, conditions as functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

Event = dict[str, Any]
Bound = Mapping[str, list[Event]]
Condition = Callable[[Event, Bound], bool]


@dataclass(frozen=True)
class Step:
    """One step; `link` and `inner` are the builder's words, `most` None means without bound."""

    name: str
    link: str
    holds: Condition
    least: int = 1
    most: int | None = 1
    inner: str = "followed_by"
    optional: bool = False
    greedy: bool = False
    until: Condition | None = None

    @property
    def forbids(self) -> bool:
        return self.link in ("not_next", "not_followed_by")

    @property
    def comes_first(self) -> bool:
        """Whether the next step may have only what this one does not want."""
        return self.greedy and self.least != self.most


@dataclass(frozen=True)
class Pattern:
    steps: tuple[Step, ...]
    window: int | None = None
    gap: int | None = None


def repeated(steps: tuple[Step, ...], link: str, inner: str, times: int) -> tuple[Step, ...]:
    """A group that occurs so many times, written out."""
    made: list[Step] = []
    for k in range(times):
        head = replace(steps[0], link=link if k == 0 else inner, inner=inner)
        made += [head, *steps[1:]]
    return tuple(made)
