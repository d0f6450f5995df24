"""The beginnings of an event pattern: its program, with other places at which a match may end.

The rank of a position counts the steps of the pattern up to it, from 1: a repetition counts as often as it must, or
may up to its bound, and once when it has none; of alternatives the longer one counts for what comes behind them. AND is
one step. A beginning of some rank ends at every position of that rank or a higher one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from eventide.families.events.failures import Question, failures
from eventide.families.events.lower import lower_pattern, split_conjuncts
from eventide.families.events.matches import BOUND
from eventide.families.events.prepare import named_types
from eventide.families.events.program import Branch, Edge, Ending, PatternProgram, Position
from eventide.families.events.spec import First, PatternSpec
from eventide.families.registry import family_named, make_operator
from eventide.lang.tree import EventQuery
from eventide.plan.bind import bind
from eventide.plan.columns import read_columns
from eventide.plan.diagnosis import ROW, Arranged, Beginnings, Evidence, Failure, InMicroseconds, Witness, by_time
from eventide.plan.ending import with_end, with_origin
from eventide.plan.one_match import column_item
from eventide.plan.options import Options
from eventide.plan.rules import rewrite
from eventide.plan.scope import is_orderable
from eventide.runtime.block import MAX_US, MIN_US

MAX_STEPS = 100_000_000  # candidates that one run looks at in all partitions together
LEAST_STEPS = 100_000  # in one partition, however many there are
_FAR = 1 << 40


@dataclass(frozen=True, slots=True)
class Progress:
    """Of each position its rank, 0 outside the pattern's own branches; and the least events that complete a match."""

    rank: tuple[int, ...]
    missing: tuple[int, ...]
    cost: tuple[int, ...]  # events that one step into a position takes

    def needed(self, program: PatternProgram, reached: Sequence[int]) -> tuple[int, list[Edge]]:
        """How many more events a match needs that stands at one of some positions, and the steps that lead there."""
        least = min((self.missing[position] for position in reached), default=None)
        if least == 0:
            return 0, []
        near = [position for position in reached if self.missing[position] == least]
        edges = [edge for position in near for edge in program.positions[position].edges]
        if not reached:
            edges = [edge for number in program.main for edge in program.branches[number].starts]
        total = [self.missing[edge.target] + self.cost[edge.target] for edge in edges]
        return min(total), [edge for edge, events in zip(edges, total, strict=True) if events == min(total)]


def measure_progress(program: PatternProgram) -> Progress:
    """How far into the pattern each position lies.

    >>> from eventide.lang import parse
    >>> from eventide.families.events.automaton import compile_pattern
    >>> made = measure_progress(compile_pattern(parse("PATTERN SEQ(A, B+, OR(SEQ(C, D), E), F)").pattern, "any"))
    >>> made.rank, made.missing
    ((1, 2, 3, 4, 3, 5), (3, 2, 2, 1, 1, 0))
    """
    rank = [0] * len(program.positions)
    for number in program.main:
        for edge in program.branches[number].starts:
            rank[edge.target] = max(1, rank[edge.target])
        for position in program.reached(program.branches[number]):
            for edge in program.positions[position].edges:
                # Positions are numbered as the pattern is read: a step back is a loop.
                if edge.target > position:
                    rank[edge.target] = max(rank[edge.target], rank[position] + 1)
    cost = [_least_events(program, position) for position in program.positions]
    return Progress(tuple(rank), tuple(_missing(program, cost)), tuple(cost))


def cut(program: PatternProgram, rank: Sequence[int], least: int) -> PatternProgram:
    """The program whose matches end at every position of at least some rank; nothing is asked of them at their end."""
    positions = [
        position if not own else replace(position, endings=(Ending(),) if own >= least else ())
        for position, own in zip(program.positions, rank, strict=True)
    ]
    return replace(program, positions=tuple(positions))


def _least_events(program: PatternProgram, position: Position) -> int:
    """1 for a symbol; for an AND, the fewest events of each side together."""
    if position.conjunction is None:
        return 1
    sides = program.conjunctions[position.conjunction].sides
    return sum(min(_shortest(program, program.branches[number]) for number in side) for side in sides)


def _shortest(program: PatternProgram, branch: Branch) -> int:
    cost = [0] * len(program.positions)
    for number in program.reached(branch):
        cost[number] = _least_events(program, program.positions[number])
    missing = _missing(program, cost)
    return min(missing[edge.target] + cost[edge.target] for edge in branch.starts)


def _missing(program: PatternProgram, cost: Sequence[int]) -> list[int]:
    missing = [0 if position.endings else _FAR for position in program.positions]
    changed = True
    while changed:
        changed = False
        for i, position in enumerate(program.positions):
            for edge in position.edges:
                through = missing[edge.target] + cost[edge.target]
                if through < missing[i]:
                    missing[i], changed = through, True
    return missing


def _run(spec: PatternSpec, block: pa.Table) -> list[dict[str, Any]]:
    operator = make_operator(spec, os.cpu_count() or 1)
    batches = [*operator.process(block, MIN_US), *operator.finish()] if block.num_rows else []
    return list(pa.Table.from_batches(batches, BOUND).to_pylist())


class EventBeginnings(Beginnings):
    """Those of a query over events of a schema."""

    def __init__(self, query: EventQuery, options: Options, schema: pa.Schema) -> None:
        # What is returned plays no part; a trend begins as a match does.
        query, options = replace(query, returns=(), whole_events=False), replace(options, match_id=False)
        family_named("events").prepare(query, options, schema)  # what cannot run is no question of the events
        plan = rewrite(bind(query, options, schema.append(pa.field(ROW, pa.int64()))))
        self.columns, self.partition, self.time = read_columns(plan), plan.partition, plan.ts
        numbered = replace(plan, items=(column_item(next(iter(plan.symbols)), ROW, query.pattern.span),))
        self.physical = lower_pattern(numbered, "local")
        self.types = named_types(plan)
        self._plan = plan
        self._progress = measure_progress(self._spec.program)
        self.n_ranks = max(self._progress.rank) + 1
        self.certain = range(self.n_ranks)

    @property
    def _spec(self) -> PatternSpec:
        assert isinstance(self.physical.spec, PatternSpec)
        return self.physical.spec

    def arrange(self, table: pa.Table, in_us: InMicroseconds) -> Arranged:
        told = [name for name in self.columns or () if is_orderable(table.schema.field(name).type)]
        ties = sorted(told, key=lambda name: name != self._plan.sequence)
        return by_time(table, self.partition, self.time, ties)

    def find(self, rank: int | None, codes: Sequence[int], seen: Evidence) -> dict[int, Witness]:
        if rank is None:
            self._set_times(seen)
            self._block = seen.block(self.physical, seen.table)
        spec = self._spec
        row = spec.returned[0].column
        first = First(row, max(LEAST_STEPS, MAX_STEPS // len(seen.witnesses)), partial=rank is not None)
        asked = replace(spec, first=first)
        if rank is not None:
            asked = replace(asked, program=cut(spec.program, self._progress.rank, rank), min_length=1, end_us=MAX_US)
        found: dict[int, Witness] = {}
        for bound in _run(asked, seen.only(self._block, row, codes)):
            witness = found.setdefault(int(seen.codes[bound["rows"][0]]), Witness(rank or 0, matched=rank is None))
            if bound["symbols"][0] < 0:
                witness.stopped = True
                continue
            size = bound["first_size"] if rank is None else len(bound["rows"])
            witness.rows = tuple(bound["rows"][:size])
            witness.symbols = tuple(spec.program.symbols[number] for number in bound["symbols"][:size])
            witness.positions, witness.first_size = tuple(bound["positions"]), bound["first_size"]
        for witness in found.values():
            witness.matched = witness.matched and bool(witness.rows)
        return found

    def _set_times(self, seen: Evidence) -> None:
        """Windows and the end of time are those of all events, not of the partitions that a run is about."""
        first_us, last_us = seen.times_us([0, seen.table.num_rows - 1])
        if self.physical.align_to_first:
            self.physical = replace(with_origin(self.physical, first_us), align_to_first=False)
        if self.physical.needs_end:
            self.physical = with_end(self.physical, last_us)

    def needed(self, witness: Witness, seen: Evidence) -> tuple[str, int]:
        missing, edges = self._progress.needed(self._spec.program, witness.positions)
        return " or ".join(dict.fromkeys(self._question.name(edge.target) for edge in edges)), missing

    def failures(self, codes: Sequence[int], seen: Evidence) -> Iterator[tuple[int, Failure]]:
        if codes:
            yield from failures(self._question, codes, seen)

    @cached_property
    def _question(self) -> Question:
        return Question(self._plan, self.physical, self._spec, *split_conjuncts(self._plan), self._progress.needed)
