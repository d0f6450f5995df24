"""What failed behind the longest partial match of an event pattern.

The conditions that an event for the next symbol must meet are put to the events of the partition one after the other:
its type, its place behind the partial match, the conjuncts on it alone, the window, the conjuncts that relate it to
the events before, what must be absent in between. The first condition that no event is left for is the one that failed,
and the first event that met all before it is the one shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eventide.engines.local.diagnosis.aggregates import aggregate_leaves, compute_aggregate
from eventide.engines.local.diagnosis.columns import literal_hint
from eventide.engines.local.diagnosis.result import Failure, shown
from eventide.expressions.split import EventValue, Split
from eventide.families.events.closing import ClosingTest
from eventide.families.events.longest import Searched
from eventide.families.events.program import Edge
from eventide.families.events.progress import Progress
from eventide.families.events.spec import PatternSpec
from eventide.lang.durations import write_length
from eventide.lang.tree import Length, Span, Strategy
from eventide.plan.checks import BITS_PER_COLUMN, Check, Shown, related_reads, shown_text
from eventide.plan.logical import Match
from eventide.runtime.block import MAX_US, numpy_int64
from eventide.runtime.generated import load_module

_Slot = tuple[str, bool]  # a symbol, and whether NEXT stands before it
_Broken = Callable[[int], dict[_Slot, int] | None]

_MAX_TESTS = 20_000  # of one condition between events, in one partition
_MAX_VALUES = 8


@dataclass(frozen=True, slots=True)
class Question:
    """The query, and what is asked of each event."""

    plan: Match
    spec: PatternSpec
    parts: Split
    values: Sequence[EventValue]  # that `closing` goes over
    closing: Sequence[ClosingTest]
    checks: dict[str, tuple[Check, ...]]
    bits: dict[Check, int]
    names: dict[str, str]  # the user's column -> the block's
    progress: Progress


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

    def shown(self, plan: Match) -> tuple[str, tuple[Shown, ...]]:
        """Its text, and what it reads."""
        return shown_text(plan, self.span), related_reads(plan, self.span)


class Investigator:
    """Finds out what failed, partition by partition."""

    def __init__(self, question: Question, block: pa.Table, searched: Searched) -> None:
        self._question = question
        self._program = question.spec.program
        self._block = block
        self._ordered = searched.ordered
        self._setting = searched.setting
        self._longest = searched.longest
        source = question.spec.tests_source
        self._tests: Any = None if source is None else load_module(source)
        self._held: dict[Check, NDArray[np.bool_]] = {}
        self._hints: dict[Check, str | None] = {}

    def needed(self, i: int) -> list[str]:
        """The symbols one of which partition i lacks; none when all events are there and no match."""
        return list(dict.fromkeys(self._name(edge.target) for edge in self._edges(i)))

    def missing(self, i: int) -> int:
        """How many more events the longest partial match of partition i needs at least."""
        progress, reached = self._question.progress, self._longest.reached(i)
        if reached:
            return min(progress.missing[position] for position in reached)
        return min(progress.missing[edge.target] + progress.cost[edge.target] for edge in self._edges(i))

    def failure(self, i: int) -> Failure:
        """Why the longest partial match of partition i is no longer."""
        partial = self._partial(i)
        edges = self._edges(i)
        if not edges:
            return self._unfinished(i, partial)
        found = [self._for_edge(edge, stood) for stood in self._stands(i, partial) for edge in edges]
        best = max(found, key=lambda each: (each.failure.reason != "strategy", each.n_met))
        if best.failure.reason == "strategy" and self._longest.stopped[i]:
            return Failure(best.failure.symbol, "search", hint="the search was stopped before it came here")
        return best.failure

    # --- where it stands ------------------------------------------------------------------------------------

    def _partial(self, i: int) -> _Partial:
        numbers, rows = self._longest.entries(i)
        partition = int(self._longest.partition[i])
        lo, hi = (int(self._ordered.offsets[partition + k]) for k in (0, 1))
        end, slide = hi, self._question.spec.slide
        if rows and slide is not None:
            # Of the windows that hold the first event, the one that ends last.
            times = self._ordered.ts_us
            since_us = (int(times[rows[0]]) - slide.origin_us) % slide.slide_us
            end_us = int(times[rows[0]]) - since_us + slide.length_us
            end = lo + int(np.searchsorted(times[lo:hi], end_us))
        return _Partial([self._program.symbols[number] for number in numbers], rows, lo, hi, end)

    def _stands(self, i: int, partial: _Partial) -> list[_Partial]:
        """The partial match with all of its last repetition, and with the least of it."""
        size = int(self._longest.first_size[i])
        if size >= len(partial.rows) or partial.symbols[size - 1] != partial.symbols[-1]:
            return [partial]
        return [partial, replace(partial, symbols=partial.symbols[:size], rows=partial.rows[:size])]

    def _edges(self, i: int) -> list[Edge]:
        """The steps that lead to a match in the fewest events."""
        program, progress = self._program, self._question.progress
        reached = self._longest.reached(i)
        least = min((progress.missing[position] for position in reached), default=None)
        if least == 0:
            return []
        near = [position for position in reached if progress.missing[position] == least]
        edges = [edge for position in near for edge in program.positions[position].edges]
        if not reached:
            edges = [edge for number in program.main for edge in program.branches[number].starts]
        targets = progress.nearest([edge.target for edge in edges])
        return [edge for edge in edges if edge.target in targets]

    def _name(self, number: int) -> str:
        position = self._program.positions[number]
        if position.symbol is not None:
            return self._program.symbols[position.symbol]
        assert position.conjunction is not None
        sides = self._program.conjunctions[position.conjunction].sides
        return f"AND({', '.join(' or '.join(self._names_of(side)) for side in sides)})"

    def _names_of(self, branches: Sequence[int]) -> list[str]:
        starts = [edge.target for number in branches for edge in self._program.branches[number].starts]
        return list(dict.fromkeys(map(self._name, starts)))

    # --- one step -------------------------------------------------------------------------------------------

    def _for_edge(self, edge: Edge, partial: _Partial) -> _Found:
        position = self._program.positions[edge.target]
        if position.conjunction is not None:
            return self._for_conjunction(edge.target, position.conjunction, partial)
        symbol = self._name(edge.target)
        found, rows, n_met = self._alone(symbol, partial)
        if found is not None:
            return found
        return self._related(symbol, edge, partial, rows, n_met)

    def _alone(self, symbol: str, partial: _Partial) -> tuple[_Found | None, NDArray[np.int64], int]:
        """What the events decide alone, and their times; and the events that are left."""
        rows = np.arange(partial.lo, partial.hi)
        n_met = 0
        begin = int(self._ordered.follows[partial.rows[-1]]) if partial.rows else partial.lo
        checks = self._question.checks[symbol]
        n_types = self._n_type_checks(symbol)
        for k, check in enumerate(checks):
            if k == n_types:
                found, rows = self._in_place(symbol, partial, rows, begin)
                if found is not None:
                    return _Found(n_met, found), rows, n_met
                n_met += 1
            left = rows[self._holds(check)[rows]]
            if not left.size:
                return _Found(n_met, self._unmet(symbol, check, rows, begin)), rows, n_met
            rows, n_met = left, n_met + 1
        if len(checks) == n_types:
            found, rows = self._in_place(symbol, partial, rows, begin)
            if found is not None:
                return _Found(n_met, found), rows, n_met
            n_met += 1
        found, rows = self._in_window(symbol, partial, rows)
        if found is not None:
            return _Found(n_met, found), rows, n_met
        return None, rows, n_met + 1

    def _n_type_checks(self, symbol: str) -> int:
        alone = [local for local in self._question.parts.locals if local.symbol in (None, symbol)]
        return len(self._question.checks[symbol]) - len(alone)

    def _in_place(
        self, symbol: str, partial: _Partial, rows: NDArray[np.int64], begin: int
    ) -> tuple[Failure | None, NDArray[np.int64]]:
        """Behind the partial match and, under contiguous, directly behind it."""
        after = rows[rows >= begin]
        if not after.size:
            before = f"the last one, not after {partial.symbols[-1]} at {shown(self._time(partial.rows[-1]))}"
            return Failure(symbol, "order", None, before, self._time(int(rows[-1]))), rows
        if self._question.plan.strategy is not Strategy.CONTIGUOUS or not partial.rows:
            return None, after
        next_end = int(self._ordered.follows[begin])
        direct = after[after < next_end]
        if direct.size:
            return None, direct
        between = f"the event at {shown(self._time(begin))} lies between"
        hint = "SEMANTICS next passes over other events"
        return Failure(symbol, "contiguity", "SEMANTICS contiguous", between, self._time(int(after[0])), hint), rows

    def _in_window(
        self, symbol: str, partial: _Partial, rows: NDArray[np.int64]
    ) -> tuple[Failure | None, NDArray[np.int64]]:
        if not partial.rows:
            return None, rows
        reach, times = self._setting.reach_us, self._ordered.ts_us
        first_us = int(times[partial.rows[0]])
        fits = rows[(rows < partial.end) & (times[rows] - first_us < reach)]
        if fits.size:
            return None, fits
        late = int(rows[0])
        window = self._question.plan.query.window
        assert window is not None
        apart = int(times[late]) - first_us
        values = f"{write_length(Length(apart))} after {partial.symbols[0]} at {shown(self._time(partial.rows[0]))}"
        predicate = f"WITHIN {shown_text(self._question.plan, window.span)}"
        hint = (
            None
            if window.slide
            else f"WITHIN would have to be longer than {write_length(Length(apart))} for these events"
        )
        return Failure(symbol, "window", predicate, values, self._time(late), hint), rows

    def _related(self, symbol: str, edge: Edge, partial: _Partial, rows: NDArray[np.int64], n_met: int) -> _Found:
        """What relates the event to those before it; under next, whether an earlier event was taken."""
        candidates = rows[:_MAX_TESTS].tolist()
        for condition in self._conditions(symbol, edge, partial):
            candidates = candidates[: max(1, _MAX_TESTS // max(1, condition.n_tests))]
            left = [row for row in candidates if condition.broken_by(row) is None]
            if not left:
                row = candidates[0]
                predicate, reads = condition.shown(self._question.plan)
                read = self._values(reads, symbol, row, partial, condition.broken_by(row))
                values = ", ".join([*read, *self._aggregates(condition.closing, symbol, row, partial)])
                return _Found(n_met, Failure(symbol, "condition", predicate, values, self._time(row)))
            candidates, n_met = left, n_met + 1
        linked = [k for k, negation in enumerate(self._program.negations) if self._number(symbol) in negation.linked]
        for negation in (*edge.negations, *linked):
            begin = int(self._ordered.follows[partial.rows[-1]]) if partial.rows else partial.lo
            present = self._present(negation, begin, int(self._ordered.precedes[candidates[0]]))
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
            made.append(_Condition(span, self._leaves_open(k, symbol, partial), len(partial.rows), k))
        return made

    def _breaks(self, test: int, slots: list[_Slot], pools: list[list[int] | None]) -> _Broken:
        holds = getattr(self._tests, f"test_{test}")

        def broken_by(row: int) -> dict[_Slot, int] | None:
            every = product(*([row] if pool is None else pool for pool in pools))
            for rows in islice(every, _MAX_TESTS):
                if not holds(*rows, self._setting.cols):
                    return dict(zip(slots, rows, strict=True))
            return None

        return broken_by

    def _leaves_open(self, test: int, symbol: str, partial: _Partial) -> _Broken:
        def broken_by(row: int) -> dict[_Slot, int] | None:
            return None if self._closes(test, [*partial.symbols, symbol], [*partial.rows, row]) else {}

        return broken_by

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

    def _closes(self, test: int, symbols: list[str], rows: list[int]) -> bool:
        numbers = np.array([self._number(symbol) for symbol in symbols], dtype=np.int64)
        at = np.array(rows, dtype=np.int64)
        return bool(self._tests.closes(test, numbers, at, 0, len(rows), self._setting.cols))

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
        return _Found(0, Failure(self._name(target), "condition", hint=hint))

    def _for_side(self, target: int, partial: _Partial) -> _Found | None:
        position = self._program.positions[target]
        if position.conjunction is not None:
            return self._for_conjunction(target, position.conjunction, partial)
        return self._alone(self._name(target), partial)[0]

    # --- all events are there -------------------------------------------------------------------------------

    def _unfinished(self, i: int, partial: _Partial) -> Failure:
        """Why a partial match to which no event is missing is no match."""
        question, last = self._question, partial.symbols[-1]
        least = question.spec.min_length
        if len(partial.rows) < least:
            return Failure(last, "length", f"MIN LENGTH {least}", f"{len(partial.rows)} events")
        endings = [ending for number in self._longest.reached(i) for ending in self._program.positions[number].endings]
        for k in dict.fromkeys(k for ending in endings for k in ending.closes):
            if not self._closes(k, partial.symbols, partial.rows):
                closing = question.closing[k]
                reads = related_reads(question.plan, closing.source.span)
                read = self._values(reads, "", -1, partial, {})
                values = ", ".join([*read, *self._aggregates(k, "", -1, partial)])
                predicate = shown_text(question.plan, closing.source.span)
                return Failure(sorted(closing.symbols)[0], "condition", predicate, values)
        return self._outside(endings, partial)

    def _outside(self, endings: Sequence[Any], partial: _Partial) -> Failure:
        """NOT before the first or behind the last event."""
        times, reach = self._ordered.ts_us, self._setting.reach_us
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
        return Failure(partial.symbols[-1], "absence", hint="something that NOT excludes lies between the events")

    def _present(self, negation: int, lo: int, hi: int) -> int | None:
        """The first row of the symbol that NOT excludes, where that is a single event."""
        symbols = [
            self._number(name)
            for name in self._names_of(self._program.negations[negation].branches)
            if name in self._program.symbols
        ]
        for row in range(lo, hi):
            if any(int(self._ordered.mask[row]) >> symbol & 1 for symbol in symbols):
                return row
        return None

    def _absence(self, negation: int, row: int | None) -> Failure:
        name = " or ".join(self._names_of(self._program.negations[negation].branches))
        time = None if row is None else self._time(row)
        values = None if row is None else f"{name} at {shown(time)}"
        return Failure(name, "absence", f"NOT {name}", values, time)

    # --- what is shown --------------------------------------------------------------------------------------

    def _holds(self, check: Check) -> NDArray[np.bool_]:
        if check not in self._held:
            bit = self._question.bits[check]
            column = numpy_int64(self._block.column(f"checks{bit // BITS_PER_COLUMN}"))[self._ordered.order]
            self._held[check] = (column >> (bit % BITS_PER_COLUMN) & 1).astype(np.bool_)
        return self._held[check]

    def _unmet(self, symbol: str, check: Check, rows: NDArray[np.int64], begin: int) -> Failure:
        """A condition on one event that no event is left for."""
        hint = self._literal_hint(check)
        if check.is_type:
            return Failure(symbol, "no event", check.text, hint=hint)
        behind = rows[rows >= begin]
        row = int((behind if behind.size else rows)[0])
        values = ", ".join(self._values(check.reads, symbol, row, None, None))
        return Failure(symbol, "condition", check.text, values, self._time(row), hint)

    def _literal_hint(self, check: Check) -> str | None:
        """The text that was meant where a column is compared with one that it never has."""
        if check.literal is None:
            return None
        if check not in self._hints:
            column, literal = check.literal
            self._hints[check] = literal_hint(column, literal, self._block.column(self._question.names[column]))
        return self._hints[check]

    def _values(
        self,
        reads: Sequence[Shown],
        symbol: str,
        row: int,
        partial: _Partial | None,
        failing: dict[_Slot, int] | None,
    ) -> list[str]:
        """Each value that a condition reads: of the rows that fail it, or of all events of a symbol it aggregates."""
        texts = []
        for read in reads:
            if partial is None or read.symbol is None:
                rows = [row]
            elif failing and (read.symbol, read.is_next) in failing:
                rows = [failing[(read.symbol, read.is_next)]]
            else:
                rows = partial.of(read.symbol) + ([row] if read.symbol == symbol else [])
            values = [shown(self._value(read.column, each)) for each in rows[:_MAX_VALUES]]
            more = ", ..." if len(rows) > _MAX_VALUES else ""
            texts.append(
                f"{read.text} = {values[0]}" if len(rows) == 1 else f"{read.text} = [{', '.join(values)}{more}]"
            )
        return texts

    def _aggregates(self, test: int | None, symbol: str, row: int, partial: _Partial) -> list[str]:
        """The aggregates of a test over the events of the partial match, a candidate for a symbol among them."""
        if test is None:
            return []
        question, texts = self._question, {}
        closing = question.closing[test]
        for leaf in aggregate_leaves(closing.tree):
            aggregate = closing.aggregates[leaf.value]
            rows = partial.of(aggregate.symbol) + ([row] if aggregate.symbol == symbol else [])
            at = pa.array(self._ordered.order[rows], pa.int64())
            events = pa.table({name: self._block.column(own).take(at) for name, own in question.names.items()})
            value = None if aggregate.value is None else question.values[aggregate.value]
            texts[shown_text(question.plan, leaf.span)] = shown(compute_aggregate(aggregate, value, events))
        return [f"{text} = {value}" for text, value in texts.items()]

    def _value(self, column: str, row: int) -> Any:
        return self._block.column(self._question.names[column])[int(self._ordered.order[row])].as_py()

    def _time(self, row: int) -> Any:
        return self._question.plan.time_type.restore(self._ordered.ts_us[row : row + 1])[0].as_py()
