"""A query in both languages with its events, whose rows are compared with those of the oracle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa

from eventide.plan.physical import Physical
from tests.micro_batches import Arrival, Stream

Row = tuple[Any, ...]


@dataclass(frozen=True, repr=False)
class ComparedCase:
    """What the cases of several families have in common; `check` compares a result with what the oracle expects."""

    text: str
    options: dict[str, Any]
    oracle: Any  # the query as the oracle takes it
    columns: tuple[Any, ...]  # of RETURN
    partition_by: tuple[str, ...]
    events: tuple[dict[str, Any], ...]  # ts in seconds
    integer_time: bool

    def __repr__(self) -> str:
        events = "\n".join(f"    {self.shown(event)}," for event in self.events)
        ts = "integers" if self.integer_time else "timestamps"
        return f"\n{self.text}\n-- options: {self.options}\n-- events, ts as {ts}:\n[\n{events}\n]\n"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What Hypothesis prints of a failing case."""
        printer.text(repr(self))

    def shown(self, event: dict[str, Any]) -> dict[str, Any]:
        """An event, short enough to read."""
        raise NotImplementedError

    def table(self) -> pa.Table:
        raise NotImplementedError

    def check(self, result: pa.Table, *, types: bool = True) -> None:
        """Fail, with the query and the events, unless the result is what the oracle expects."""
        raise NotImplementedError

    def check_rows(self, rows: list[dict[str, Any]]) -> None:
        """As `check`, for rows that have lost their types."""
        expected = self.expected  # type: ignore[attr-defined]
        if rows:
            self.check(pa.Table.from_pylist(rows), types=False)
        else:
            assert not expected, f"{self}nothing, and the oracle has {expected}"

    def check_arrival(self, physical: Physical, arrival: Arrival) -> None:
        """The events as they arrive; each micro-batch is taken by a new operator, which restores the state."""
        stream = Stream(physical)
        stream.play_arrival(self.table(), [event["ts"] for event in self.events], arrival)
        self.check_rows(stream.rows)

    def compare(self, expected: Sequence[Row], found: Sequence[Row], same: Callable[[Any, Any], bool]) -> None:
        """Fail with what is on one side only; `same` compares two values."""
        extra, missing = list(found), []
        for row in expected:
            equal = next((i for i, other in enumerate(extra) if all(map(same, row, other))), None)
            if equal is None:
                missing.append(row)
            else:
                extra.pop(equal)
        assert not missing and not extra, f"{self}missing: {_show(missing)}\ntoo much: {_show(extra)}"


def _show(rows: Sequence[Row]) -> str:
    if not rows:
        return "nothing"
    shown = [tuple(str(value) if isinstance(value, Fraction) else value for value in row) for row in rows]
    return "\n  " + "\n  ".join(map(str, shown))
