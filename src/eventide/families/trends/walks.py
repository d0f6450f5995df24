"""Every window walked on its own: patterns with conditions on adjacent events, count windows, tied events in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from eventide.families.trends.batches import make_batches
from eventide.families.trends.compiled import Kernel, load_relate
from eventide.families.trends.indexes import count_by_index
from eventide.families.trends.inputs import Inputs, event_values
from eventide.families.trends.latest_starts import date_absences
from eventide.families.trends.letters import lay_out, read_letters
from eventide.families.trends.records import Counted, new_records
from eventide.families.trends.scope_walk import ScopeWalk
from eventide.families.trends.scopes import count_windows, time_windows, whole_partitions
from eventide.families.trends.spec import TrendSpec
from eventide.families.trends.states import States
from eventide.families.trends.tables import make_tables
from eventide.runtime.encode import encode_columns
from eventide.runtime.ordered import order_events


def count_by_walks(
    block: pa.Table, spec: TrendSpec, states: States, inputs: Inputs, kernel: Kernel, n_threads: int
) -> Counted:
    """The records of every partition and window that holds an event."""
    ordered = order_events(block, spec.layout.partition, spec.tie_columns, n_threads)
    if spec.slide is not None:
        scopes = time_windows(ordered, spec.slide)
    elif spec.count_windows is not None:
        scopes = count_windows(ordered, spec.count_windows)
    else:
        scopes = whole_partitions(ordered)
    rows = lay_out(ordered, scopes, spec)
    # A row may stand in several windows of positions.
    taken = block.take(pa.array(rows.order)) if spec.encodings else block
    rows, cols = date_absences(rows, encode_columns(taken, spec.encodings), spec, n_threads)
    letters = read_letters(rows)
    tables = make_tables(states, letters.masks, letters.groups)
    values, distinct = event_values(block, rows.order, inputs, kernel.numbers.WEIGHT)
    walk = ScopeWalk(rows.scopes, letters, tables, inputs, values, cols)
    records, ambiguous = count_by_index(walk, spec, kernel, n_threads) or _scan(walk, spec, kernel, n_threads)
    # The last event of each scope that a symbol takes; where there is none, there is no trend.
    wanted = np.maximum.accumulate(np.where(ordered.mask != 0, np.arange(ordered.mask.size), 0))[scopes.hi - 1]
    first, last = ordered.order[scopes.lo], ordered.ts_us[wanted]
    return Counted(first, scopes.start, scopes.end, last, records, ambiguous, distinct)


def _scan(walk: ScopeWalk, spec: TrendSpec, kernel: Kernel, n_threads: int) -> tuple[Any, Any]:
    """The records of all scopes and whether they are ambiguous; held events are looked at one by one."""
    tables, relate = walk.tables, load_relate(spec.tests_source)
    program = (
        tables.moves,
        tables.letters,
        tables.holds_events,
        tables.grained,
        tables.keeps,
        tables.rests,
        tables.verdicts,
        tables.keeps_all,
    )
    sizes = walk.sizes(tables.n_classes)

    batches = make_batches(walk.scopes)

    def run(first: int, stop: int, out: Any) -> None:
        scopes = batches.scopes[first:stop]
        n_held = 0
        if tables.holds_events.any():
            n_held = int((scopes[:, 1] - scopes[:, 0]).max()) * int(tables.holds_events.sum())
        memory = (
            new_records(kernel, 3 * tables.n_states + n_held + 1, sizes),
            *(np.empty(n_held, dtype=np.int64) for _ in range(3)),
        )
        kernel.trends.count_scopes(
            scopes, walk.letters.events, program, relate, walk.cols, walk.values, memory, sizes, out
        )

    return walk.share_out(kernel, n_threads, batches, run)
