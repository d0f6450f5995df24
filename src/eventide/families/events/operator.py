"""Event patterns: buffers events for the windows that are open, returns one row per match.

State is the events that still matter and nothing else, as in `sequence.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import InputError
from eventide.families.events.indexes import index_events
from eventide.families.events.kernel_places import ALL, FIRST, MATCHES, PARTIAL, PARTITION, SCOPE_SIZE
from eventide.families.events.matches import bound_rows, make_rows
from eventide.families.events.offers import TooManyWaysError, no_offers
from eventide.families.events.scopes import make_scopes, share_scopes
from eventide.families.events.search import ROWS_PER_PIECE, Some, find_first, find_matches
from eventide.families.events.sequence import HINT
from eventide.families.events.spec import PatternSpec
from eventide.families.events.walk import Setting, Walk
from eventide.runtime.block import MAX_US, MIN_US, TS
from eventide.runtime.effort import Effort, TooManyStepsError, too_long
from eventide.runtime.encode import encode_columns
from eventide.runtime.generated import load_module
from eventide.runtime.hashes import hash_rows
from eventide.runtime.holding import WatermarkOperator
from eventide.runtime.limit import Tally, TooManyMatchesError, default_most, too_many
from eventide.runtime.ordered import Ordered, order_events
from eventide.runtime.protocol import Results
from eventide.runtime.threads import share_among_threads

_WAYS_PER_MATCH = 64  # a side of AND may have so many more matches than the limit, most of which find no partner


class PatternOperator(WatermarkOperator):
    """The operator of a `PatternSpec`."""

    def __init__(self, spec: PatternSpec, n_threads: int = 1) -> None:
        super().__init__(spec.query, spec.facts, spec.end_us)
        self.spec = spec
        self._n_threads = n_threads
        self._kernel, self._tests = load_kernel(spec)

    def process(self, block: pa.Table | None, watermark_us: int) -> Results:
        if block is not None:
            self._buffer.append(self._without_late(block))
        yield from self._advance(max(watermark_us, self._watermark_us))
        if self.spec.window_us is not None:
            self._buffer.purge(older_than_us=self._watermark_us - self.spec.kept_us + 1)

    def open_runs(self) -> int:
        """Events that fit a first step, and whose window, or that of a NOT behind it, is open: no match is kept."""
        spec = self.spec
        first_us = MIN_US
        if spec.window_us is not None:
            first_us = self._watermark_us - max(spec.window_us, spec.delay_us) + 1
        return self._buffer.count_marked(spec.program.first_bits, first_us)

    def pending_us(self) -> int | None:
        """The next event behind the watermark, or the next end of a window that NOT waits for."""
        times = [self._buffer.earliest_after(self._watermark_us)]
        if self.spec.delay_us and self.spec.window_us is not None:
            delay_us = self.spec.delay_us
            begun_us = self._buffer.earliest_after(self._watermark_us - delay_us)
            if begun_us is not None:
                # With SLIDE a window that holds the event may end at any instant up to then.
                soon_us = begun_us + delay_us if self.spec.slide is None else self._next_end_us()
                times.append(max(soon_us, self._watermark_us + 1))
        return min((time for time in times if time is not None), default=None)

    def _next_end_us(self) -> int:
        """The last instant of the window that ends next."""
        slide = self.spec.slide
        assert slide is not None
        passed = (self._watermark_us + 1 - slide.length_us - slide.origin_us) // slide.slide_us
        return slide.origin_us + (passed + 1) * slide.slide_us + slide.length_us - 1

    def _advance(self, watermark_us: int) -> Results:
        """Matches that events in (old watermark, new watermark], or their absence, decide."""
        newer_than_us, self._watermark_us = self._watermark_us, watermark_us
        if watermark_us <= newer_than_us:
            return
        block = self._buffer.select(up_to_us=watermark_us)
        if block is None:
            return
        if not self.spec.delay_us and pc.max(block.column(TS)).as_py() <= newer_than_us:
            return
        ordered = order_events(block, self.spec.layout.partition, self.spec.tie_columns, self._n_threads)
        setting = self._setting(block, ordered, newer_than_us)
        hashes = None if self.spec.identity is None else hash_rows(block, self.spec.identity)
        try:
            for scopes, found in self._found(setting, Tally(self.spec.max_matches, ordered.offsets)):
                if self.spec.first is not None:
                    yield bound_rows(block.column(self.spec.first.row), ordered, found)
                else:
                    yield make_rows(self.spec, block, ordered, hashes, scopes, found)
        except TooManyMatchesError as error:
            raise self._too_many(block, ordered, error) from None
        except TooManyStepsError as error:
            row = int(ordered.order[ordered.offsets[error.partition]])
            raise too_long(block, self.spec.layout.partition, row, error.limit, HINT) from None

    def _setting(self, block: pa.Table, ordered: Ordered, newer_than_us: int) -> Setting:
        spec = self.spec
        keep = ALL if spec.first is None else PARTIAL if spec.first.partial else FIRST
        events = index_events(spec.program, ordered, newer_than_us, whole=spec.window_us is None, keep=keep)
        return Setting(
            kernel=self._kernel,
            tests=self._tests,
            program=spec.program,
            events=events,
            offers=no_offers(),
            scopes=make_scopes(spec, ordered, newer_than_us),
            cols=encode_columns(block, spec.encodings, ordered.order, self._n_threads),
            reach_us=spec.reach_us,
            newer_than_us=newer_than_us,
            up_to_us=self._watermark_us,
            min_length=spec.min_length,
            max_ways=_most_ways(spec.max_matches, ordered.ts_us.size),
            effort=Effort(spec.max_steps, ordered.offsets, may_double=spec.program.may_double),
            keep=keep,
        )

    def _found(self, setting: Setting, tally: Tally) -> Iterator[Some]:
        """Matches, a bounded number at a time; each thread has a share of the partitions."""
        shares = share_scopes(setting.scopes, self._n_threads)
        first = self.spec.first
        if first is None:
            searches = [find_matches(replace(setting, scopes=scopes), tally) for scopes in shares]
        else:
            effort = Effort(first.max_steps, tally.offsets, may_double=True, most_at_once=first.max_steps)
            searches = [find_first(replace(setting, scopes=scopes), effort) for scopes in shares]
        while searches:
            found = share_among_threads(_next, searches)
            for some in found:
                if some is not None:
                    tally.add(some[0][some[1].scope, PARTITION])
                    yield some
            searches = [search for search, some in zip(searches, found, strict=True) if some is not None]

    def _too_many(self, block: pa.Table, ordered: Ordered, error: TooManyMatchesError) -> InputError:
        row = int(ordered.order[ordered.offsets[error.partition]])
        what = "matches of one side of AND" if isinstance(error, TooManyWaysError) else "matches"
        return too_many(block, self.spec.layout.partition, row, self.spec.max_matches or error.limit, what, HINT)


def _most_ways(most: int | None, n_events: int) -> int:
    """Of one side of an AND, in the events that are looked at together."""
    if most is None:
        return default_most(min(n_events, ROWS_PER_PIECE))
    return min(MAX_US, _WAYS_PER_MATCH * most)


def _next(search: Iterator[Some]) -> Some | None:
    return next(search, None)


def warm(spec: PatternSpec) -> None:
    """Compile the spec's kernel into the cache, so that workers that share it only load it."""
    kernel, tests = load_kernel(spec)
    nothing, index = np.empty(0, np.int64), np.empty(0, np.int32)
    ordered = Ordered(nothing, np.zeros(1, np.int64), nothing, nothing, index, index)
    cols = np.empty((0, 0), np.int64), np.empty((0, 0), np.float64), np.empty((0, 0), np.bool_)
    setting = Setting(
        kernel=kernel,
        tests=tests,
        program=spec.program,
        events=index_events(spec.program, ordered),
        offers=no_offers(),
        scopes=np.empty((0, SCOPE_SIZE), np.int64),
        cols=cols,
        reach_us=spec.reach_us,
        newer_than_us=MIN_US,
        up_to_us=MAX_US,
        min_length=1,
        max_ways=MAX_US,
        effort=Effort(None, ordered.offsets, may_double=False),
    )
    Walk(setting, spec.program.main, MATCHES, 0, 0).fill()


def load_kernel(spec: PatternSpec) -> tuple[ModuleType, tuple[Any, Any, Any]]:
    """The kernel, and the tests of the query."""
    # Importing it compiles it, once per machine: not before a query needs it.
    from eventide.families.events import kernel as patterns

    if spec.tests_source is None:
        return patterns, patterns.NO_TESTS
    tests = load_module(spec.tests_source)
    return patterns, (tests.bound_holds, tests.adjacent_holds, tests.closes)
