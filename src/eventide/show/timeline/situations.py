"""The situations of a query, and its matches with the situations that they relate, in the events of one partition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import InputError
from eventide.lang import parse
from eventide.lang.rows.names import write_column
from eventide.lang.tree import AnyQuery, ReturnItem, SituationQuery
from eventide.show.timeline.intervals import DETECTED_AT, lane_of, texts_of
from eventide.show.timeline.model import Lane, Match
from eventide.show.timeline.tables import Clock

_START = "__start_of_"  # with the number of a symbol: a column that the picture adds to RETURN


@dataclass(frozen=True, slots=True)
class Situations:
    """A situation query; its symbols in the order of DEFINE."""

    query: Any
    tree: SituationQuery

    @classmethod
    def of(cls, query: Any) -> Situations | None:
        """None where the query is about something else."""
        tree = getattr(query, "tree", None)
        if not isinstance(tree, AnyQuery) or not hasattr(query, "situations"):
            message = f"query= takes what ev.query(...) returns, found {type(query).__name__}"
            raise InputError(message, hint="ev.timeline(query=ev.query(text), events=events)")
        return cls(query, tree) if isinstance(tree, SituationQuery) else None

    @property
    def title(self) -> str:
        """PATTERN as it is written."""
        first, last = self.tree.pattern[0].span, self.tree.pattern[-1].span
        return _one_line(self.tree.text[first.start : last.end])

    def lanes(self, rows: pa.Table, clock: Clock) -> tuple[Lane, ...]:
        """One for each symbol, named by it and its condition."""
        found = self.query.situations(rows)
        return tuple(self._lane(symbol, found, clock) for symbol in self.tree.symbols)

    def _lane(self, symbol: str, found: pa.Table, clock: Clock) -> Lane:
        definition = next(each for each in self.tree.define if each.name.text == symbol)
        text, condition, end = self.tree.text, definition.condition.span, definition.span.end
        # Behind the partition columns, whatever they are called: symbol, start, end.
        symbols, starts, ends = found.columns[-3:]
        own = pa.table({"start": starts, "end": ends}).filter(pc.equal(symbols, symbol))
        lane = lane_of(f"{symbol}: {_one_line(text[condition.start : condition.end])}", own, "start", "end", clock)
        return replace(lane, detail=f"{symbol}: {_one_line(text[condition.start : end])}")

    def matches(
        self, rows: pa.Table, lanes: tuple[Lane, ...], result: pa.Table | None, clock: Clock
    ) -> tuple[Match, ...]:
        """The matches in these events; with a result only those that it holds."""
        found = self._run(rows)
        if result is not None:
            found = found.filter(pa.array(_held(found, result, clock), pa.bool_()))
        added = [f"{_START}{i}" for i in range(len(lanes))]
        names = added if self.tree.returns else [f"{symbol}_start" for symbol in self.tree.symbols]
        starts = [clock.read(found, name).to_pylist() for name in names]
        shown = found.drop_columns(added) if self.tree.returns else found
        detected = clock.read(shown, DETECTED_AT).to_pylist()
        values = texts_of(shown.drop_columns([DETECTED_AT])) or [()] * found.num_rows
        ends = [_ends(lane) for lane in lanes]
        return tuple(
            Match(min(bound), _last_end(bound, ends), at, row)
            for bound, at, row in zip(zip(*starts, strict=True), detected, values, strict=True)
        )

    def _run(self, rows: pa.Table) -> pa.Table:
        """The result, with the start of every situation of a match; without RETURN it has that anyway."""
        if not self.tree.returns:
            return self.query.run(rows)
        tree = replace(self.tree, returns=(*self.tree.returns, *_starts(self.tree.symbols)))
        return self.query.altered(tree=tree).run(rows)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _starts(symbols: tuple[str, ...]) -> tuple[ReturnItem, ...]:
    """RETURN items for the starts; read from text, as a user would write them."""
    names = [write_column(symbol) for symbol in symbols]
    define = ", ".join(f"{name} AS true" for name in names)
    pattern = " AND ".join(f"{names[0]} before {name}" for name in names[1:])
    returns = ", ".join(f"start({name}) AS {_START}{i}" for i, name in enumerate(names))
    tree = parse(f"DEFINE {define} PATTERN {pattern} RETURN {returns}")
    return tree.returns


def _ends(lane: Lane) -> dict[int, int | None]:
    """The end of each situation by its start: those of one symbol never overlap."""
    known = zip(lane.start_us.tolist(), lane.end_us.tolist(), lane.is_open.tolist(), strict=True)
    return {start: None if is_open else end for start, end, is_open in known}


def _last_end(starts: tuple[int, ...], ends: list[dict[int, int | None]]) -> int | None:
    """The end of a match as it is known now, which may be after its detection."""
    found = [of_symbol.get(start) for start, of_symbol in zip(starts, ends, strict=True)]
    known = [end for end in found if end is not None]
    return max(known) if len(known) == len(found) else None


def _held(found: pa.Table, result: pa.Table, clock: Clock) -> list[bool]:
    """Which rows a result holds; numbers with a fraction may differ in their last digit, so they are not compared."""
    names = [name for name in found.column_names if name in result.column_names and _is_exact(found, result, name)]
    has_time = DETECTED_AT in result.column_names
    rows = set(_keys(result, names, has_time, clock))
    return [key in rows for key in _keys(found, names, has_time, clock)]


def _is_exact(found: pa.Table, result: pa.Table, name: str) -> bool:
    kinds = found.schema.field(name).type, result.schema.field(name).type
    return all(map(pa.types.is_integer, kinds)) or all(map(_is_text, kinds)) or all(map(pa.types.is_boolean, kinds))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _keys(table: pa.Table, names: list[str], has_time: bool, clock: Clock) -> Iterator[tuple[Any, ...]]:
    columns = [table.column(name).to_pylist() for name in names if name != DETECTED_AT]
    if has_time:
        columns.append(clock.read(table, DETECTED_AT).to_pylist())
    return zip(*columns, strict=True) if columns else iter([()] * table.num_rows)
