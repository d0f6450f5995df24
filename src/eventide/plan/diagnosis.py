"""What `diagnose` asks a family about a query, and what the family may ask of the events.

The engine reads the events, runs beginnings of the pattern, and keeps the longest partial match of each partition. The
family says what the beginnings are, and what failed behind each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from eventide.errors import did_you_mean
from eventide.expressions.relate import conjuncts
from eventide.lang.durations import write_length
from eventide.lang.positions import span_of
from eventide.lang.tree import Length, Scalar
from eventide.plan.checks import read_parts
from eventide.plan.physical import NamedType, Physical
from eventide.runtime.block import numpy_int64
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.measured import RowOrder
from eventide.runtime.partitions import encode_partitions
from eventide.runtime.row_order import order_rows

ROW = "eventide_row"  # a column with the place of each event in the order of all
_MAX_LITERALS = 1_000

InMicroseconds = Callable[[pa.ChunkedArray], IntArray]


@dataclass(frozen=True, slots=True)
class Failure:
    """Where a partial match ends: the symbol for which no event was taken, and why.

    `reason` is "no event", "order", "condition", "window", "absence", "contiguity", "length", "strategy", "end" or
    "search"; docs/diagnose.md says what each means.
    """

    symbol: str
    reason: str
    predicate: str | None = None
    values: str | None = None
    event: Any = None  # the time of the event that failed
    hint: str | None = None


@dataclass(slots=True)
class Witness:
    """The events of a match, or of the longest partial match: their rows, and what they are bound to.

    `rank` is that of the beginning they match. `positions` and `first_size` are for a family's own use.
    """

    rank: int = 0
    rows: tuple[int, ...] = ()
    symbols: tuple[str, ...] = ()
    matched: bool = False
    stopped: bool = False  # the search was stopped before it had seen all
    positions: tuple[int, ...] = ()
    first_size: int = 0


@dataclass(frozen=True, slots=True)
class Arranged:
    """The order of the events, by their places; of each in that order its part, and of each part its partition.

    A part is what is matched on its own: a partition, or a session of one.
    """

    order: IntArray
    codes: IntArray
    partitions: IntArray


class Evidence:
    """The events of an investigation, and what is known of them so far; an engine says how they are computed with."""

    def __init__(self, asked: Beginnings, table: pa.Table) -> None:
        self._asked = asked
        self.arranged = asked.arrange(table, self.in_us)
        self.codes = self.arranged.codes  # of each event its part
        numbers = pa.array(np.arange(table.num_rows))
        self.table = table.take(pa.array(self.arranged.order)).append_column(ROW, numbers)
        times = self.table.column(asked.time)
        self.all_times = pa.concat_arrays(times.chunks) if times.num_chunks else pa.array([], times.type)
        codes, first = np.unique(self.codes, return_index=True)
        self.first: dict[int, int] = dict(zip(codes.tolist(), first.tolist(), strict=True))  # of each part its event
        self.witnesses = {code: Witness() for code in self.first}
        self._hints: dict[tuple[str, str], str | None] = {}

    def run(self, physical: Physical, table: pa.Table) -> pa.Table:
        """The rows of a query over some events."""
        raise NotImplementedError

    def block(self, physical: Physical, table: pa.Table) -> pa.Table:
        """The block of some events."""
        raise NotImplementedError

    def select(self, text: str, table: pa.Table) -> pa.Table:
        """A statement over some events, which it calls `events`."""
        raise NotImplementedError

    def in_us(self, times: pa.ChunkedArray) -> IntArray:
        """Times in microseconds."""
        raise NotImplementedError

    def of(self, codes: Sequence[int]) -> pa.Table:
        """The events of some parts."""
        return self.only(self.table, ROW, codes)

    def only(self, block: pa.Table, row: str, codes: Sequence[int]) -> pa.Table:
        """Of a block whose column has the rows of its events, those of some parts."""
        if len(codes) == len(self.first):
            return block
        return block.filter(pa.array(np.isin(self.codes[numpy_int64(block.column(row))], codes)))

    def times(self, rows: Sequence[int]) -> list[Any]:
        """The times of events as the user has them."""
        return list(self.all_times.take(pa.array(rows, pa.int64())).to_pylist())

    def times_us(self, rows: Sequence[int]) -> list[int]:
        """The same in microseconds."""
        return list(self.in_us(pa.chunked_array([self.all_times.take(pa.array(rows, pa.int64()))])).tolist())

    def hint(self, compared: tuple[str, str] | None) -> str | None:
        """What may have been meant where a column is compared with a text."""
        known = {name.lower(): name for name in self.table.column_names}
        if compared is None or compared[0].lower() not in known:
            return None
        if compared not in self._hints:
            self._hints[compared] = literal_hint(*compared, self.table.column(known[compared[0].lower()]))
        return self._hints[compared]


class Beginnings:
    """The beginnings of a pattern by rank: a partial match of a higher rank has come further.

    Rank 0 is nothing at all. Whatever reaches a rank reaches all `certain` ranks below it.
    """

    by_arrival: ClassVar[bool] = False  # partitions are shown as they came, and not by the time of their first events
    physical: Physical  # of the query
    partition: Sequence[str]
    time: str  # the column whose values tell where events are
    n_ranks: int
    certain: Sequence[int]
    columns: Sequence[str] | None = None  # that are read; None: all
    types: tuple[NamedType, ...] = ()  # that events should have

    def arrange(self, table: pa.Table, in_us: InMicroseconds) -> Arranged:
        """The events in the order of the run; `in_us` gives times in microseconds."""
        raise NotImplementedError

    def find(self, rank: int | None, codes: Sequence[int], seen: Evidence) -> dict[int, Witness]:
        """Of parts the first match of a beginning, or without a rank of the pattern, where they have one."""
        raise NotImplementedError

    def needed(self, witness: Witness, seen: Evidence) -> tuple[str, int]:
        """The symbol that a partial match lacks, and how many more events it needs at least."""
        raise NotImplementedError

    def failures(self, codes: Sequence[int], seen: Evidence) -> Iterator[tuple[int, Failure]]:
        """Why parts come no further."""
        raise NotImplementedError


def by_time(table: pa.Table, partition: Sequence[str], time: str, ties: Sequence[str]) -> Arranged:
    """Events by their time, tied ones in an order that does not depend on their arrival."""
    order = order_rows(table, (), [RowOrder(time, False, True)], ties).order
    codes, n_codes = encode_partitions(table, partition)
    return Arranged(order, codes[order], np.arange(n_codes))


@dataclass(frozen=True, slots=True)
class Condition:
    """A conjunct with what it reads: texts and trees."""

    text: str
    tree: exp.Expression
    reads: tuple[tuple[str, exp.Expr], ...]


def conditions_of(whole: Scalar, text: str) -> list[Condition]:
    """The conjuncts of a condition that is a part of a text."""

    def written(node: exp.Expr) -> str:
        span = span_of(node, whole.span)
        return " ".join(text[span.start : span.end].split())

    made = []
    for tree in conjuncts(whole.tree):
        reads = {written(node): node for node in read_parts(tree)}
        made.append(Condition(written(tree), tree, tuple(reads.items())))
    return made


def shown(value: Any) -> str:
    """A value as a person writes it; a long one cut off.

    >>> shown(None), shown(2.5), shown("x" * 200)[-6:]
    ('NULL', '2.5', 'xxx...')
    """
    text = "NULL" if value is None else str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def too_late(symbol: str, asked: str, apart_us: int, after: str, event: Any) -> Failure:
    """An event outside a bound on the time, so long after another one."""
    apart = write_length(Length(apart_us))
    word = asked.partition("(")[0].split()[0]
    hint = f"{word} would have to be longer than {apart} for these events"
    return Failure(symbol, "window", asked, f"{apart} after {after}", event, hint)


def literal_hint(column: str, literal: str, values: pa.ChunkedArray) -> str | None:
    """What may have been meant where a column is compared with a text that it never has.

    >>> literal_hint("kind", "Buy", pa.chunked_array([["buy", "sell", None]]))
    "the events have kind = 'buy'"
    """
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return None
    known = [value for value in pc.unique(values).slice(0, _MAX_LITERALS).to_pylist() if value is not None]
    if literal in known:
        return None
    same = [value for value in known if value.strip().casefold() == literal.strip().casefold()]
    if same:
        return f"the events have {column} = '{same[0]}'"
    close = did_you_mean(literal, known)
    return close and close.replace("known:", f"the events have {column}:")
