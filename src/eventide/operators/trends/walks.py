"""Every window walked on its own: patterns with conditions on adjacent events, count windows, tied events in order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa

from eventide.kernels.arrays import IntArray
from eventide.operators.encode import encode_columns
from eventide.operators.ordered import order_events
from eventide.operators.trends.indexes import count_by_index
from eventide.operators.trends.inputs import Inputs, event_values
from eventide.operators.trends.kernel import Kernel, load_relate
from eventide.operators.trends.letters import Letters, read_letters
from eventide.operators.trends.records import Counted, new_records, share_out
from eventide.operators.trends.scopes import count_windows, time_windows, whole_partitions
from eventide.operators.trends.spec import TrendSpec
from eventide.operators.trends.states import States
from eventide.operators.trends.tables import Tables, make_tables


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
    order, letters, walked = read_letters(ordered, scopes, spec)
    tables = make_tables(states, letters.masks, letters.groups)
    values, distinct = event_values(block, order, inputs, kernel.numbers.WEIGHT)
    # A row may stand in several windows of positions.
    cols = encode_columns(block.take(pa.array(order)), spec.encodings) if spec.encodings else encode_columns(block, ())
    indexed = count_by_index(walked, letters, tables, spec, inputs, kernel, values, cols, n_threads)
    records, ambiguous = indexed or run_walks(kernel, load_relate(spec.tests_source), tables, inputs, n_threads)(
        walked, letters, values, cols
    )
    first, last = ordered.order[scopes.lo], ordered.ts_us[scopes.hi - 1]
    return Counted(first, scopes.start, scopes.end, last, records, ambiguous, distinct)


def run_walks(kernel: Kernel, relate: Any, tables: Tables, inputs: Inputs, n_threads: int) -> Any:
    """The kernel over scopes; every thread has its own memory."""
    n_sets = tables.verdicts[0].shape[0]
    sizes = np.array([tables.n_classes, len(inputs.weights), len(inputs.sums), len(inputs.extremes)])
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

    def count(walked: IntArray, letters: Letters, values: Any, cols: Any) -> tuple[Any, Any]:
        out_sizes = np.array([1, *sizes[1:]])
        out = new_records(kernel, len(walked) * n_sets, out_sizes)
        ambiguous = np.zeros(len(walked) * n_sets, dtype=np.bool_)

        def run(share: tuple[int, int]) -> None:
            first, stop = share
            mine = walked[first:stop]
            n_held = 0
            if tables.holds_events.any():
                n_held = int((mine[:, 1] - mine[:, 0]).max()) * int(tables.holds_events.sum())
            memory = (
                new_records(kernel, 3 * tables.n_states + n_held + 1, sizes),
                *(np.empty(n_held, dtype=np.int64) for _ in range(3)),
            )
            part = tuple(
                array[first * n_sets * width : stop * n_sets * width]
                for array, width in zip(out, (1, *out_sizes[1:].tolist()), strict=True)
            )
            flags = ambiguous[first * n_sets : stop * n_sets]
            with np.errstate(all="ignore"):
                kernel.trends.count_scopes(
                    mine, letters.events, program, relate, cols, values, memory, sizes, (part, flags)
                )

        shares = share_out(walked, n_threads)
        if len(shares) == 1:
            run(shares[0])
        else:
            with ThreadPoolExecutor(max_workers=len(shares)) as pool:
                list(pool.map(run, shares))
        return out, ambiguous

    return count
