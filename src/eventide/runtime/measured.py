"""What a result shows of the rows of a match: single values, folds and lists; and the sort keys of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from eventide.runtime.block import Layout


@dataclass(frozen=True, slots=True)
class Position:
    """A row of a match: FIRST or LAST of some labels (None: all rows) with an offset, then `shift` rows on.

    `final`: as the match ends, not as it has come at the row where the measure is evaluated.
    """

    members: tuple[int, ...] | None = None
    from_first: bool = False
    offset: int = 0
    shift: int = 0
    final: bool = False


@dataclass(frozen=True, slots=True)
class Picked:
    """Output column: a block column at a position; column None: the number of the row's label."""

    name: str
    position: Position
    column: str | None


@dataclass(frozen=True, slots=True)
class Folded:
    """Output column: "COUNT", "SUM", "MIN" or "MAX" of a block column over rows with some labels; None: of rows."""

    name: str
    function: str
    members: tuple[int, ...] | None
    column: str | None
    final: bool
    dtype: pa.DataType


@dataclass(frozen=True, slots=True)
class Listed:
    """Output column: a block column of all rows with some labels, as a list; column None: the labels' numbers."""

    name: str
    members: tuple[int, ...] | None
    column: str | None
    final: bool


@dataclass(frozen=True, slots=True)
class RowOrder:
    """One sort key."""

    column: str
    descending: bool
    nulls_first: bool


class Measured(Protocol):
    """What `Measures` asks of a spec."""

    @property
    def query(self) -> str: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def program(self) -> Any: ...  # whose `labels` are told apart
    @property
    def rows(self) -> str: ...
    @property
    def hashed(self) -> tuple[str, ...] | None: ...
    @property
    def returned(self) -> tuple[str, ...]: ...
    @property
    def picked(self) -> tuple[Picked, ...]: ...
    @property
    def folded(self) -> tuple[Folded, ...]: ...
    @property
    def listed(self) -> tuple[Listed, ...]: ...
