"""Matches of temporal patterns: events to situations, situations to matches, each at the instant that decides it.

Between blocks it keeps the situations that a later match can hold, with their aggregates so far, and the events behind
the watermark: never the events of a situation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.families.situations import kernel as situations
from eventide.families.situations import kernel_matches as situation_matches
from eventide.families.situations.matcher import find_matches
from eventide.families.situations.measures import Measures, Requests, finish, output_type, state_fields
from eventide.families.situations.program import Program
from eventide.families.situations.runs import (
    END,
    LAST,
    OPEN,
    READY,
    START,
    SYMBOL,
    Input,
    Runs,
    derive,
    read_input,
)
from eventide.families.situations.spec import SituationSpec
from eventide.runtime.block import MAX_US, MIN_US, TS
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.known import KnowingOperator
from eventide.runtime.protocol import Results
from eventide.runtime.threads import share_among_threads

_ROWS_AT_ONCE = 1 << 17
_EVENTS_PER_SHARE = 1 << 15


class SituationOperator(KnowingOperator):
    """The operator of a `SituationSpec`."""

    def __init__(self, spec: SituationSpec, n_threads: int = 1) -> None:
        super().__init__(spec.query, spec.facts)
        self.spec = spec
        self.program = Program.of(spec)
        self.n_threads = n_threads
        self._until_us = OPEN - 1

    def process(self, block: pa.Table | None, watermark_us: int) -> Results:
        if block is not None:
            self._buffer.append(self._without_late(block))
        yield from self._advance(max(watermark_us, self._watermark_us))
        self._buffer.purge(older_than_us=self._watermark_us + 1)

    def finish_until(self, until_us: int) -> Results:
        """`finish` without the matches that are decided later."""
        self._until_us = until_us
        yield from self.finish()

    def look_back(self, block: pa.Table, watermark_us: int) -> None:
        """Begin at a watermark with the situations of the events before it, as if their matches had been returned."""
        self._watermark_us = watermark_us
        if not block.num_rows:
            return
        known = nothing_known(self.spec, block.schema)
        given = read_input(block, known, self.spec, self.n_threads)
        measures = Measures(self.spec, block, known, given, self.n_threads)
        runs = self._derive(given, (0, given.n_partitions), closes=False)
        self._know(self._keep(runs, given, measures, block, known))

    def open_runs(self) -> int:
        """Situations that have begun and not ended, as of the watermark."""
        return 0 if self._known is None else pc.sum(pc.equal(self._known.column(END), OPEN)).as_py() or 0

    def pending_us(self) -> int | None:
        """The next event is what decides."""
        return self._buffer.earliest_after(self._watermark_us)

    def _advance(self, watermark_us: int) -> Results:
        """The matches decided in (old watermark, new watermark]."""
        newer_than_us, self._watermark_us = self._watermark_us, watermark_us
        if watermark_us <= newer_than_us:
            return
        closes = watermark_us == MAX_US and self.spec.closes
        block = self._new_events(newer_than_us, closes)
        if block is None:
            return
        known = self._known if self._known is not None else nothing_known(self.spec, block.schema)
        given = read_input(block, known, self.spec, self.n_threads)
        n_shares = max(1, min(self.n_threads, block.num_rows // _EVENTS_PER_SHARE))
        shares = given.share(n_shares)
        measures = Measures(self.spec, block, known, given, self.n_threads)
        times = (newer_than_us, min(watermark_us, self._until_us))
        # Partitions on threads of their own, or, where they are few, stretches of time.
        inner = self.n_threads if len(shares) == 1 and n_shares > 1 else 1
        if len(shares) == 1:
            runs = self._derive(given, shares[0], closes)
            for found in find_matches(runs, self.program, times, inner):
                yield from _in_order(self._rows(found, runs, given, measures, block, known))
            kept = [self._keep(runs, given, measures, block, known)]
        else:

            def work(share: tuple[int, int]) -> tuple[list[pa.Table], pa.Table]:
                runs = self._derive(given, share, closes)
                chunks = find_matches(runs, self.program, times, 1)
                rows = [self._rows(found, runs, given, measures, block, known) for found in chunks]
                return rows, self._keep(runs, given, measures, block, known)

            made = share_among_threads(work, shares)
            kept = [each for _, each in made]
            yield from _in_order(pa.concat_tables([each for rows, _ in made for each in rows]))
        self._known = pa.concat_tables(kept).combine_chunks()
        self._known_number = self._buffer.take_number()

    def _new_events(self, newer_than_us: int, closes: bool) -> pa.Table | None:
        """The events up to the watermark that have not been worked off; None where there is nothing to do."""
        block = self._buffer.select(self._watermark_us)
        if block is not None and newer_than_us > MIN_US:
            block = block.filter(pc.greater(block.column(TS), newer_than_us))
        if block is not None and block.num_rows:
            return block
        if not closes or self._known is None or not self._known.num_rows:
            return None
        # The end of the input may close what is known without another event.
        block = self._known.slice(0, 0)
        for name in self.spec.layout.columns:
            if name not in block.schema.names:
                block = block.append_column(name, pa.array([], column_type(name, self.spec)))
        return block

    def _derive(self, given: Input, share: tuple[int, int], closes: bool) -> Runs:
        runs = derive(given, self.spec, share, closes)
        runs.drop_alone(self.program.masks)
        return runs

    # --- rows -----------------------------------------------------------------------------------------------

    def _rows(
        self, found: IntArray, runs: Runs, given: Input, measures: Measures, block: pa.Table, known: pa.Table
    ) -> pa.Table:
        """The operator's columns of some matches, and their instants as `at`."""
        spec = self.spec
        at, partition = found[:, 0].copy(), found[:, 1] + runs.first_partition
        bound = [found[:, k + 2].copy() for k in range(len(spec.symbols))]
        columns = partition_values(given, known, block, spec.layout.partition, partition)
        for k in spec.starts:
            columns[f"s{k}"] = spec.time_type.restore(runs.start[bound[k]])
        for k in spec.ends:
            end = runs.end[bound[k]]
            is_open = end > at
            times = spec.time_type.restore(np.where(is_open, 0, end))
            columns[f"e{k}"] = pc.if_else(pa.array(is_open), pa.scalar(None, times.type), times)
        wanted = sorted({measure.symbol for measure in spec.measures})
        requests = {k: _requests(runs, given, bound[k], at) for k in wanted}
        for i, measure in enumerate(spec.measures):
            asked, place = requests[measure.symbol]
            values = finish(measure, measures.fold(i, runs, asked))
            columns[f"a{i}"] = values.take(pa.array(place))
        if spec.possible:
            for i, related in enumerate(spec.related):
                masks = np.empty(at.size, dtype=np.int64)
                situation_matches.possible(runs.start, runs.end, bound[related.left], bound[related.right], at, masks)
                columns[f"r{i}"] = pa.array(masks)
        # An end that a gap makes lies before the event that tells it.
        detected = np.max([runs.end[each] for each in bound], axis=0) if spec.complete else at
        columns["detected_at"] = spec.time_type.restore(detected)
        columns["at"] = pa.array(detected)
        return pa.table(columns)

    # --- what is kept ---------------------------------------------------------------------------------------

    def _keep(self, runs: Runs, given: Input, measures: Measures, block: pa.Table, known: pa.Table) -> pa.Table:
        """The runs that a later match can hold: those that go on, and those that began within the window."""
        spec = self.spec
        if self._watermark_us == MAX_US:
            return known.slice(0, 0)
        place, symbol, partition = runs.places()
        last = given.last_events()
        if spec.within_us is not None:
            since = np.full(given.n_partitions, self._watermark_us)
            if spec.complete and spec.has_gaps:
                # What goes on may end a gap behind the last event, however late another event tells so.
                goes_on = partition[runs.end[place] == OPEN]
                since[goes_on] = np.minimum(since[goes_on], last[goes_on])
            is_kept = (runs.end[place] == OPEN) | (runs.start[place] > since[partition] - spec.within_us)
            place, symbol, partition = place[is_kept], symbol[is_kept], partition[is_kept]
        columns = partition_values(given, known, block, spec.layout.partition, partition)
        parts = (symbol, runs.start[place], runs.end[place], runs.ready[place], last[partition])
        columns |= {name: pa.array(p) for name, p in zip((SYMBOL, START, END, READY, LAST), parts, strict=True)}
        # Places of a symbol's runs ascend, so these are sorted as requests must be.
        asked = Requests(place, runs.hi[place])
        for i, measure in enumerate(spec.measures):
            mine = symbol == measure.symbol
            folded = measures.fold(i, runs, Requests(asked.run[mine], asked.to[mine]))
            row = np.cumsum(mine) - 1
            for j, values in enumerate(folded):
                columns[f"m{i}_{j}"] = values.take(pa.array(row, mask=~mine)) if len(values) else _nulls(values, row)
        return pa.table(columns).cast(known.schema) if columns else known.slice(0, 0)


def _in_order(rows: pa.Table) -> Results:
    """Rows by the instant that decided them."""
    if not rows.num_rows:
        return
    at = rows.column("at").to_numpy()
    rows = rows.drop_columns(["at"])
    if not bool((at[1:] >= at[:-1]).all()):
        rows = rows.take(pa.array(np.argsort(at, kind="stable")))
    yield from rows.combine_chunks().to_batches(_ROWS_AT_ONCE)


def nothing_known(spec: SituationSpec, schema: pa.Schema) -> pa.Table:
    """What is known before the first block of a schema."""
    fields = [schema.field(name) for name in spec.layout.partition]
    fields += [pa.field(name, pa.int64()) for name in (SYMBOL, START, END, READY, LAST)]
    return pa.schema([*fields, *state_fields(spec)]).empty_table()


def _nulls(values: pa.Array, row: IntArray) -> pa.Array:
    return pa.nulls(row.size, values.type)


def _requests(runs: Runs, given: Input, bound: IntArray, at: IntArray) -> tuple[Requests, IntArray]:
    """What matches ask for, each once, and where each match finds it."""
    to = np.empty(bound.size, dtype=np.int64)
    situations.cut_runs(given.ts, runs.lo[bound], runs.hi[bound], runs.end[bound], at, to)
    order = np.lexsort((to, bound))
    run, stop = bound[order], to[order]
    is_new = np.ones(run.size, dtype=np.bool_)
    is_new[1:] = (run[1:] != run[:-1]) | (stop[1:] != stop[:-1])
    place = np.empty(run.size, dtype=np.int64)
    place[order] = np.cumsum(is_new) - 1
    return Requests(run[is_new], stop[is_new]), place


def partition_values(
    given: Input, known: pa.Table, block: pa.Table, names: Sequence[str], partition: IntArray
) -> dict[str, pa.Array]:
    """The partition columns of some partitions."""
    rows = given.sample[partition]
    made: dict[str, pa.Array] = {}
    for name in names:
        column = pa.chunked_array([*known.column(name).chunks, *block.column(name).chunks])
        taken = column.take(pa.array(rows)).combine_chunks()
        if isinstance(taken, pa.ChunkedArray):
            taken = pa.concat_arrays(taken.chunks) if taken.num_chunks else pa.array([], column.type)
        made[name] = taken
    return made


def column_type(name: str, spec: SituationSpec) -> pa.DataType:
    """The type of a column of a block without events."""
    types = dict(column for measure in spec.measures for column in measure.columns())
    return types.get(name, pa.int64())


def output_fields(spec: SituationSpec, partition: Sequence[pa.DataType]) -> list[pa.Field]:
    """The operator's columns."""
    times = spec.time_type.arrow
    fields = [pa.field(name, dtype) for name, dtype in zip(spec.layout.partition, partition, strict=True)]
    fields += [pa.field(f"s{k}", times) for k in spec.starts]
    fields += [pa.field(f"e{k}", times) for k in spec.ends]
    fields += [pa.field(f"a{i}", output_type(measure)) for i, measure in enumerate(spec.measures)]
    if spec.possible:
        fields += [pa.field(f"r{i}", pa.int64()) for i in range(len(spec.related))]
    return [*fields, pa.field("detected_at", times)]
