"""What failed behind the longest partial match of an event pattern.

The conditions that an event for the next symbol must meet are put to the events of the partition one after the other:
its type, its place behind the partial match, the conjuncts on it alone, the window, the conjuncts that relate it to
the events before, what must be absent in between. The first condition that no event is left for is the one that failed,
and the first event that met all before it is the one shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from functools import partial as partial_of
from itertools import islice, product
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eventide.expressions.navigation.aggregates import AGGREGATES, Use
from eventide.expressions.split import EventValue, Split
from eventide.expressions.typed import Typed
from eventide.families.events.closing import ClosingTest
from eventide.families.events.program import Edge, PatternProgram
from eventide.families.events.spec import PatternSpec
from eventide.lang.durations import write_length
from eventide.lang.tree import Span, Strategy
from eventide.plan.checks import Check, Shown, related_reads, shown_text, symbol_checks
from eventide.plan.diagnosis import Evidence, Failure, Witness, shown, too_late
from eventide.plan.logical import Match
from eventide.plan.physical import Physical, SqlColumn
from eventide.runtime.block import MAX_US, numpy_int64
from eventide.runtime.encode import encode_columns
from eventide.runtime.generated import load_module
from eventide.runtime.ordered import order_events

_Slot = tuple[str, bool]  # a symbol, and whether NEXT stands before it
_Broken = Callable[[int], dict[_Slot, int] | None]
_Rows = NDArray[np.int64]
# One demand on events: what failed, if none meets it, and the events that do.
_Demand = Callable[[_Rows], tuple[Failure | None, _Rows]]

_MAX_TESTS = 20_000  # of one condition between events, in one partition
_MAX_VALUES = 8


@dataclass(frozen=True)
class Question:
    """The query, and what is asked of each event."""

    plan: Match
    physical: Physical
    spec: PatternSpec
    parts: Split
    values: Sequence[EventValue]  # that `closing` goes over
    closing: Sequence[ClosingTest]
    needed: Callable[[PatternProgram, Sequence[int]], tuple[int, list[Edge]]]

    @cached_property
    def checks(self) -> dict[str, tuple[Check, ...]]:
        return symbol_checks(self.plan, self.parts)

    def name(self, number: int) -> str:
        """What a position of the program binds."""
        program = self.spec.program
        position = program.positions[number]
        if position.symbol is not None:
            return program.symbols[position.symbol]
        assert position.conjunction is not None
        sides = program.conjunctions[position.conjunction].sides
        return f"AND({', '.join(' or '.join(self.names_of(side)) for side in sides)})"

    def names_of(self, branches: Sequence[int]) -> list[str]:
        starts = [edge.target for number in branches for edge in self.spec.program.branches[number].starts]
        return list(dict.fromkeys(map(self.name, starts)))


def failures(question: Question, codes: Sequence[int], seen: Evidence) -> Iterator[tuple[int, Failure]]:
    """Why the longest partial match of each partition is no longer."""
    investigator = _Investigator(question, codes, seen)
    for code in codes:
        yield code, investigator.failure(code)


@dataclass(frozen=True, slots=True)
class _Partial:
    """A partial match: entries (symbol, row), and the rows of its partition."""

    symbols: list[str]
    rows: list[int]
    lo: int
    hi: int
    end: int  # of the rows that one window may hold with it, under SLIDE

    def of(self, symbol: str) -> list[int]:
        return [row for name, row in zip(self.symbols, self.rows, strict=True) if name == symbol]

    def with_event(self, symbol: str, row: int) -> _Partial:
        return replace(self, symbols=[*self.symbols, symbol], rows=[*self.rows, row])


@dataclass(frozen=True, slots=True)
class _Found:
    """A failure, and how many conditions were met before it."""

    n_met: int
    failure: Failure


@dataclass(frozen=True, slots=True)
class _Condition:
    """A conjunct of WHERE, and a function from a candidate's row to the rows that break it; None: it holds."""

    span: Span
    broken_by: _Broken
    n_tests: int  # that one candidate takes
    closing: int | None = None  # the number of a test that has aggregates


class _Investigator:
    """Finds out what failed, partition by partition; a row is a place in the order of the block's events."""

    def __init__(self, question: Question, codes: Sequence[int], seen: Evidence) -> None:
        self._question = question
        self._program = question.spec.program
        self._seen = seen
        checks = dict.fromkeys(check for each in question.checks.values() for check in each)
        asked = [SqlColumn(f"check{i}", "", check.duckdb) for i, check in enumerate(checks)]
        physical = question.physical
        # Events that no step wants are looked at, too.
        intake = replace(physical.intake, keep_all=True)
        block = seen.block(replace(physical, select=(*physical.select, *asked), intake=intake), seen.of(codes))
        spec = question.spec
        ordered = self._ordered = order_events(block, spec.layout.partition, spec.tie_columns)
        self._cols = encode_columns(block, spec.encodings, ordered.order)
        self._held = {
            check: block.column(column.name).fill_null(False).to_numpy()[ordered.order]
            for check, column in zip(checks, asked, strict=True)
        }
        self._events = numpy_int64(block.column(spec.returned[0].column))[ordered.order]  # of each row
        self._rows = np.zeros(seen.table.num_rows, dtype=np.int64)  # of each event
        self._rows[self._events] = np.arange(self._events.size)
        self._tests: Any = None if spec.tests_source is None else load_module(spec.tests_source)

    def failure(self, code: int) -> Failure:
        """Why the longest partial match of a partition is no longer."""
        witness = self._seen.witnesses[code]
        whole = self._partial(code, witness)
        _, edges = self._question.needed(self._program, witness.positions)
        if not edges:
            return self._unfinished(witness, whole)
        stands = [whole]
        size = witness.first_size
        if size < len(whole.rows) and whole.symbols[size - 1] == whole.symbols[-1]:
            # All of the last repetition, and the least of it.
            stands.append(replace(whole, symbols=whole.symbols[:size], rows=whole.rows[:size]))
        found = [self._for_edge(edge, stood) for stood in stands for edge in edges]
        best = max(found, key=lambda each: (each.failure.reason != "strategy", each.n_met))
        if best.failure.reason == "strategy" and witness.stopped:
            return Failure(best.failure.symbol, "search", hint="the search was stopped before it came here")
        return best.failure

    def _partial(self, code: int, witness: Witness) -> _Partial:
        rows = self._rows[list(witness.rows)].tolist()
        partition = int(np.searchsorted(self._ordered.offsets, self._rows[self._seen.first[code]], side="right")) - 1
        lo, hi = (int(self._ordered.offsets[partition + k]) for k in (0, 1))
        end, slide = hi, self._question.spec.slide
        if rows and slide is not None:
            # Of the windows that hold the first event, the one that ends last.
            times = self._ordered.ts_us
            since_us = (int(times[rows[0]]) - slide.origin_us) % slide.slide_us
            end_us = int(times[rows[0]]) - since_us + slide.length_us
            end = lo + int(np.searchsorted(times[lo:hi], end_us))
        return _Partial(list(witness.symbols), rows, lo, hi, end)

    # --- one step -------------------------------------------------------------------------------------------

    def _for_edge(self, edge: Edge, partial: _Partial) -> _Found:
        position = self._program.positions[edge.target]
        if position.conjunction is not None:
            return self._for_conjunction(edge.target, position.conjunction, partial)
        symbol = self._question.name(edge.target)
        found, rows, n_met = self._alone(symbol, partial)
        if found is not None:
            return found
        return self._related(symbol, edge, partial, rows, n_met)

    def _alone(self, symbol: str, stood: _Partial) -> tuple[_Found | None, _Rows, int]:
        """What the events decide alone, and their times; and the events that are left."""
        begin = self._behind(stood)
        demands: list[_Demand] = [
            partial_of(self._meets, symbol, begin, check) for check in self._question.checks[symbol]
        ]
        alone = [local for local in self._question.parts.locals if local.symbol in (None, symbol)]
        demands.insert(len(demands) - len(alone), partial_of(self._in_place, symbol, begin, stood))
        demands.append(partial_of(self._in_window, symbol, stood))
        rows = np.arange(stood.lo, stood.hi)
        for n_met, demand in enumerate(demands):
            failure, rows = demand(rows)
            if failure is not None:
                return _Found(n_met, failure), rows, n_met
        return None, rows, len(demands)

    def _behind(self, stood: _Partial) -> int:
        """The first row behind a partial match."""
        return int(self._ordered.follows[stood.rows[-1]]) if stood.rows else stood.lo

    def _meets(self, symbol: str, begin: int, check: Check, rows: _Rows) -> tuple[Failure | None, _Rows]:
        """A condition on one event."""
        left = rows[self._held[check][rows]]
        if left.size:
            return None, left
        hint = self._seen.hint(check.literal)
        if check.is_type:
            return Failure(symbol, "no event", check.text, hint=hint), rows
        behind = rows[rows >= begin]
        row = int((behind if behind.size else rows)[0])
        # Whatever else is bound to the symbol, this event fails.
        values = ", ".join(self._values(check.reads, _Partial([symbol], [row], row, row, row), {}))
        return Failure(symbol, "condition", check.text, values, self._time(row), hint), rows

    def _in_place(self, symbol: str, begin: int, stood: _Partial, rows: _Rows) -> tuple[Failure | None, _Rows]:
        """Behind the partial match and, under contiguous, directly behind it."""
        after = rows[rows >= begin]
        if not after.size:
            before = f"the last one, not after {stood.symbols[-1]} at {shown(self._time(stood.rows[-1]))}"
            return Failure(symbol, "order", None, before, self._time(int(rows[-1]))), rows
        if self._question.plan.strategy is not Strategy.CONTIGUOUS or not stood.rows:
            return None, after
        direct = after[after < int(self._ordered.follows[begin])]
        if direct.size:
            return None, direct
        between = f"the event at {shown(self._time(begin))} is in between"
        hint = "SEMANTICS next passes over other events"
        return Failure(symbol, "contiguity", "SEMANTICS contiguous", between, self._time(int(after[0])), hint), rows

    def _in_window(self, symbol: str, stood: _Partial, rows: _Rows) -> tuple[Failure | None, _Rows]:
        if not stood.rows:
            return None, rows
        reach, times = self._question.spec.reach_us, self._ordered.ts_us
        first_us = int(times[stood.rows[0]])
        fits = rows[(rows < stood.end) & (times[rows] - first_us < reach)]
        if fits.size:
            return None, fits
        late = int(rows[0])
        window = self._question.plan.query.window
        assert window is not None
        asked = f"WITHIN {shown_text(self._question.plan, window.span)}"
        after = f"{stood.symbols[0]} at {shown(self._time(stood.rows[0]))}"
        failure = too_late(symbol, asked, int(times[late]) - first_us, after, self._time(late))
        return replace(failure, hint=None) if window.slide else failure, rows

    def _related(self, symbol: str, edge: Edge, partial: _Partial, rows: _Rows, n_met: int) -> _Found:
        """What relates the event to those before it; under next, whether an earlier event was taken."""
        candidates = rows[:_MAX_TESTS].tolist()
        for condition in self._conditions(symbol, edge, partial):
            candidates = candidates[: max(1, _MAX_TESTS // max(1, condition.n_tests))]
            left = [row for row in candidates if condition.broken_by(row) is None]
            if not left:
                tried, broken = partial.with_event(symbol, candidates[0]), condition.broken_by(candidates[0])
                failure = self._unmet(symbol, condition.span, tried, broken, condition.closing)
                return _Found(n_met, replace(failure, event=self._time(candidates[0])))
            candidates, n_met = left, n_met + 1
        linked = [k for k, negation in enumerate(self._program.negations) if self._number(symbol) in negation.linked]
        for negation in (*edge.negations, *linked)[:1]:
            present = self._present(negation, self._behind(partial), int(self._ordered.precedes[candidates[0]]))
            absent = self._absence(negation, present)
            return _Found(n_met, replace(absent, symbol=symbol, event=self._time(candidates[0])))
        return _Found(n_met, Failure(symbol, "strategy", event=self._time(candidates[0]), hint=self._strategy_hint()))

    def _strategy_hint(self) -> str | None:
        strategy = self._question.plan.strategy
        if strategy is Strategy.ANY:
            return None
        return f"SEMANTICS {strategy.value} took an earlier event; SEMANTICS any looks at every event"

    def _conditions(self, symbol: str, edge: Edge, partial: _Partial) -> list[_Condition]:
        """The conditions that an event for the symbol decides together with the events before it."""
        made = []
        for k, test in enumerate(self._question.parts.tests):
            slots = [(slot.symbol, slot.is_next) for slot in test.slots]
            pools = self._pools(slots, symbol, partial)
            if pools is not None:
                n_tests = prod(1 if pool is None else len(pool) for pool in pools)
                made.append(_Condition(test.source.span, self._breaks(k, slots, pools), n_tests))
        for k in edge.closes:
            span = self._question.closing[k].source.span
            broken_by = partial_of(self._leaves_open, k, symbol, partial)
            made.append(_Condition(span, broken_by, len(partial.rows), k))
        return made

    def _breaks(self, test: int, slots: list[_Slot], pools: list[list[int] | None]) -> _Broken:
        holds = getattr(self._tests, f"test_{test}")

        def broken_by(row: int) -> dict[_Slot, int] | None:
            every = product(*([row] if pool is None else pool for pool in pools))
            for rows in islice(every, _MAX_TESTS):
                if not holds(*rows, self._cols):
                    return dict(zip(slots, rows, strict=True))
            return None

        return broken_by

    def _leaves_open(self, test: int, symbol: str, partial: _Partial, row: int) -> dict[_Slot, int] | None:
        return None if self._closes(test, partial.with_event(symbol, row)) else {}

    def _pools(self, slots: list[_Slot], symbol: str, partial: _Partial) -> list[list[int] | None] | None:
        """The rows of each slot, None for the new event's; None altogether where the test is not made at this step."""
        if any(is_next for _, is_next in slots):
            (left,) = (name for name, is_next in slots if not is_next)
            (right,) = (name for name, is_next in slots if is_next)
            if right != symbol or not partial.rows:
                return None
            before = self._ordered.precedes
            ends = [row for row in partial.of(left) if before[row] == before[partial.rows[-1]]]
            return [None if is_next else ends for _, is_next in slots] if ends else None
        if symbol not in [name for name, _ in slots]:
            return None
        pools = [None if name == symbol else partial.of(name) for name, _ in slots]
        return None if any(pool == [] for pool in pools) else pools

    def _closes(self, test: int, partial: _Partial) -> bool:
        numbers = np.array([self._number(symbol) for symbol in partial.symbols], dtype=np.int64)
        rows = np.array(partial.rows, dtype=np.int64)
        return bool(self._tests.closes(test, numbers, rows, 0, rows.size, self._cols))

    def _number(self, symbol: str) -> int:
        return self._program.symbols.index(symbol)

    # --- conjunctions ---------------------------------------------------------------------------------------

    def _for_conjunction(self, target: int, number: int, partial: _Partial) -> _Found:
        """AND: the side that has the least of a match, if what one event decides tells it."""
        found: list[_Found] = []
        for side in self._program.conjunctions[number].sides:
            starts = [edge for branch in side for edge in self._program.branches[branch].starts]
            tried = [self._for_side(edge.target, partial) for edge in starts]
            if all(each is not None for each in tried):
                found.append(max((each for each in tried if each is not None), key=lambda each: each.n_met))
        if found:
            return min(found, key=lambda each: each.n_met)
        hint = "each side has events of its own, but no match of all sides in one window that meets the conditions"
        return _Found(0, Failure(self._question.name(target), "condition", hint=hint))

    def _for_side(self, target: int, partial: _Partial) -> _Found | None:
        position = self._program.positions[target]
        if position.conjunction is not None:
            return self._for_conjunction(target, position.conjunction, partial)
        return self._alone(self._question.name(target), partial)[0]

    # --- all events are there -------------------------------------------------------------------------------

    def _unfinished(self, witness: Witness, partial: _Partial) -> Failure:
        """Why a partial match to which no event is missing is no match."""
        question, last = self._question, partial.symbols[-1]
        least = question.spec.min_length
        if len(partial.rows) < least:
            return Failure(last, "length", f"MIN LENGTH {least}", f"{len(partial.rows)} events")
        endings = [ending for number in witness.positions for ending in self._program.positions[number].endings]
        for k in dict.fromkeys(k for ending in endings for k in ending.closes):
            if not self._closes(k, partial):
                closing = question.closing[k]
                return self._unmet(sorted(closing.symbols)[0], closing.source.span, partial, {}, k)
        return self._outside(endings, partial)

    def _outside(self, endings: Sequence[Any], partial: _Partial) -> Failure:
        """NOT before the first or behind the last event."""
        times, reach = self._ordered.ts_us, self._question.spec.reach_us
        first_us, last_us = int(times[partial.rows[0]]), int(times[partial.rows[-1]])
        scope = slice(partial.lo, partial.end)
        behind_end = int(np.searchsorted(times[scope], min(first_us + reach, MAX_US))) + partial.lo
        before_begin = int(np.searchsorted(times[scope], max(last_us - reach, -MAX_US), side="right")) + partial.lo
        gaps = [(k, int(self._ordered.follows[partial.rows[-1]]), behind_end) for e in endings for k in e.negations]
        starts = [edge for number in self._program.main for edge in self._program.branches[number].starts]
        gaps += [(k, before_begin, int(self._ordered.precedes[partial.rows[0]])) for e in starts for k in e.negations]
        failures = [self._absence(k, self._present(k, lo, hi)) for k, lo, hi in dict.fromkeys(gaps)]
        seen = [failure for failure in failures if failure.event is not None]
        if seen:
            return seen[0]
        window, end_us = self._question.plan.query.window, self._question.spec.end_us
        if window is not None and end_us < min(first_us + self._question.spec.delay_us, MAX_US):
            hint = "close_at_end=True counts all time as over"
            words = f"WITHIN {write_length(window.length)}"
            symbol = failures[0].symbol if failures else partial.symbols[-1]
            return Failure(symbol, "window", words, "the events end before that time", None, hint)
        if failures:
            return failures[0]
        return Failure(partial.symbols[-1], "absence", hint="something that NOT excludes is between the events")

    def _present(self, negation: int, lo: int, hi: int) -> int | None:
        """The first row of the symbol that NOT excludes, where that is a single event."""
        names = self._question.names_of(self._program.negations[negation].branches)
        bits = sum(1 << self._number(name) for name in names if name in self._program.symbols)
        found = np.flatnonzero(self._ordered.mask[lo:hi] & bits)
        return lo + int(found[0]) if found.size else None

    def _absence(self, negation: int, row: int | None) -> Failure:
        name = " or ".join(self._question.names_of(self._program.negations[negation].branches))
        time = None if row is None else self._time(row)
        values = None if row is None else f"{name} at {shown(time)}"
        return Failure(name, "absence", f"NOT {name}", values, time)

    # --- what is shown --------------------------------------------------------------------------------------

    def _unmet(
        self, symbol: str, span: Span, tried: _Partial, broken: dict[_Slot, int] | None, closing: int | None
    ) -> Failure:
        """A conjunct of WHERE that does not hold among some events."""
        plan = self._question.plan
        values = [*self._values(related_reads(plan, span), tried, broken or {}), *self._aggregates(closing, tried)]
        return Failure(symbol, "condition", shown_text(plan, span), ", ".join(values))

    def _values(self, reads: Sequence[Shown], tried: _Partial, broken: dict[_Slot, int]) -> list[str]:
        """Each value that a condition reads: of the rows that fail it, or of all events of a symbol it aggregates."""
        texts = []
        for read in reads:
            slot = read.symbol or tried.symbols[-1], read.is_next
            rows = [broken[slot]] if slot in broken else tried.of(slot[0])
            values = [shown(self._value(read.column, each)) for each in rows[:_MAX_VALUES]]
            more = ", ..." if len(rows) > _MAX_VALUES else ""
            texts.append(
                f"{read.text} = {values[0]}" if len(rows) == 1 else f"{read.text} = [{', '.join(values)}{more}]"
            )
        return texts

    def _aggregates(self, test: int | None, tried: _Partial) -> list[str]:
        """The aggregates of a test over some events."""
        if test is None:
            return []
        question, texts = self._question, {}
        closing = question.closing[test]
        for leaf in _aggregate_leaves(closing.tree):
            aggregate = closing.aggregates[leaf.value]
            rows = tried.of(aggregate.symbol)
            value = None if aggregate.value is None else question.values[aggregate.value]
            found: Any = len(rows)
            if value is not None and value.dtype is not None:
                text = AGGREGATES[aggregate.function.upper()].write(Use((value.dtype,)))
                text = text.replace("{rows}", f"(SELECT {value.duckdb} AS x FROM events)")
                events = self._seen.table.take(pa.array(self._events[rows]))
                found = self._seen.select(text, events).column(0)[0].as_py()
            texts[shown_text(question.plan, leaf.span)] = shown(found)
        return [f"{text} = {value}" for text, value in texts.items()]

    def _value(self, column: str, row: int) -> Any:
        return self._seen.table.column(column)[int(self._events[row])].as_py()

    def _time(self, row: int) -> Any:
        return self._seen.times([self._events[row]])[0]


def _aggregate_leaves(typed: Typed) -> Iterator[Typed]:
    """The places of a condition at which aggregates stand."""
    if typed.op == "aggregate":
        yield typed
    for part in typed.args:
        yield from _aggregate_leaves(part)
