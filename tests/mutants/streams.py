"""Faults in what row and builder patterns keep from one micro-batch to the next."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ROWS = ("tests/rows/test_streams.py",)
BUILDER = ("tests/detection/test_streams.py",)
CHANGES = ("tests/streams/test_changes.py",)
SNAPSHOTS = ("tests/streams/test_snapshots.py",)
FILES = ("tests/streams/test_write_stream.py",)

STREAMS = (
    Mutant(
        "stream rows: an attempt waits for a row too late for its window",
        "kernels/rows.py",
        "undecided = undecided or next_us - ts_us[start] < window_us",
        "undecided = undecided or next_us - ts_us[start] <= window_us",
        ROWS,
    ),
    Mutant(
        "stream rows: NEXT does not wait",
        "kernels/rows.py",
        "known = hi - limits[AHEAD] if is_open else hi",
        "known = hi",
        ROWS,
    ),
    Mutant(
        "stream rows: the last row so far ends a partition",
        "kernels/rows.py",
        "undecided = undecided or (is_open and row == hi)",
        "undecided = undecided or False",
        ROWS,
    ),
    Mutant(
        "stream rows: an undecided match leaves",
        "kernels/rows.py",
        "            if undecided:\n                pass\n            elif matched:",
        "            if matched:",
        ROWS,
    ),
    Mutant(
        "stream rows: passed rows are searched again",
        "operators/rows/progress.py",
        "table[:, NEXT_ROW] += n_passed",
        "table[:, NEXT_ROW] += 0 * n_passed",
        ROWS,
    ),
    Mutant(
        "stream rows: PREV finds nothing before the next attempt",
        "operators/rows/progress.py",
        "marks[(at < next_row - spec.n_kept) | ~is_open] = GONE",
        "marks[(at < next_row) | ~is_open] = GONE",
        ROWS,
    ),
    Mutant(
        "stream rows: nothing is forgotten",
        "operators/rows/progress.py",
        "marks[(at < next_row - spec.n_kept) | ~is_open] = GONE",
        "pass",
        ROWS,
    ),
    Mutant(
        "stream rows: numbers begin anew",
        "operators/rows/progress.py",
        "table[begun, NEXT_NUMBER] = np.maximum(numbers[begun], 1)",
        "table[begun, NEXT_NUMBER] = 1",
        ROWS,
    ),
    Mutant(
        "stream rows: a matched row is forgotten to be one",
        "operators/rows/progress.py",
        "matched = marks == MATCHED",
        "matched = marks == MATCHED + 1",
        ROWS,
    ),
    Mutant(
        "stream rows: the begin of a partition is forgotten",
        "operators/rows/spec.py",
        "return max(self.back, int(self.shows_number or asks_begin))",
        "return max(self.back, int(self.shows_number))",
        ROWS,
    ),
    Mutant(
        "stream rows: a gap of the ttl does not end a partition",
        "operators/rows/progress.py",
        "gaps = np.flatnonzero(np.diff(ts_us) >= gap_us) + 1",
        "gaps = np.flatnonzero(np.diff(ts_us) > gap_us) + 1",
        ROWS,
    ),
    Mutant(
        "stream rows: a partition stays open one microsecond longer",
        "operators/rows/operator.py",
        "is_last &= self._watermark_us + 1 - ts_us",
        "is_last &= self._watermark_us - ts_us",
        ROWS,
    ),
    Mutant(
        "stream rows: the end of a window wakes nobody",
        "operators/rows/operator.py",
        "times = [self._buffer.earliest_after(self._watermark_us), self._next_us]",
        "times = [self._buffer.earliest_after(self._watermark_us)]",
        ROWS,
    ),
    Mutant(
        "stream: what is gone comes back",
        "operators/marked.py",
        "                if number in self._marks:\n                    wanted &= self._marks[number] != GONE\n"
        "                rows = np.flatnonzero(wanted)",
        "                rows = np.flatnonzero(wanted)",
        ("tests/operators/test_marked.py",),
    ),
    Mutant(
        "stream: marks are lost when events move",
        "operators/marked.py",
        "self._marks[number] = np.concatenate([marks for _, marks, _ in moved])",
        "self._marks[number] = np.concatenate([0 * marks for _, marks, _ in moved])",
        ROWS,
    ),
    Mutant(
        "stream builder: a binding loses what led to it",
        "kernels/detection.py",
        "bindings[2, node] = base + before if before >= 0 else -1\n        carry(",
        "bindings[2, node] = -1\n        carry(",
        BUILDER,
    ),
    Mutant(
        "stream builder: what conditions ask is not carried over",
        "kernels/detection.py",
        "        carry(node, bindings[2, node], bindings[0, node], bindings[1, node], carried, cols)\n",
        "",
        BUILDER,
    ),
    Mutant(
        "stream builder: complete matches that wait are lost",
        "kernels/detection.py",
        "state[N_RUNS], state[N_COMPLETE], state[N_BINDINGS] = n_runs, n_complete, base + n_bindings",
        "state[N_RUNS], state[N_COMPLETE], state[N_BINDINGS] = n_runs, 0, base + n_bindings",
        BUILDER,
    ),
    Mutant(
        "stream builder: complete matches do not wait for earlier ones",
        "kernels/detection.py",
        "is_end and not is_open,\n                    partition,",
        "is_end,\n                    partition,",
        BUILDER,
    ),
    Mutant(
        "stream builder: events are looked at again",
        "operators/detection/partial.py",
        "progress[:, NEXT_ROW] += np.add.reduceat",
        "progress[:, NEXT_ROW] += 0 * np.add.reduceat",
        BUILDER,
    ),
    Mutant(
        "stream builder: the last partial match wakes the bucket",
        "operators/detection/partial.py",
        "(ts_us[runs[2]]).min()",
        "(ts_us[runs[2]]).max()",
        BUILDER,
    ),
    Mutant(
        "late events: one at the watermark is in time",
        "operators/late.py",
        "pc.less_equal(block.column(TS), self._watermark_us)",
        "pc.less(block.column(TS), self._watermark_us)",
        ("tests/operators/test_late.py",),
    ),
    Mutant(
        "checkpoint: the types of columns do not matter",
        "plan/facts.py",
        '        *((f"{COLUMN}{name}", _type(dtype)) for name, dtype in columns),\n',
        "",
        CHANGES,
    ),
    Mutant(
        "checkpoint: options do not matter",
        "plan/facts.py",
        '        *((f"{OPTION}{name}", _text(name, value)) for name, value in given),\n',
        "",
        CHANGES,
    ),
    Mutant(
        "checkpoint: columns may change places",
        "operators/changes.py",
        "if not found and old_facts.get(PLACES) != new_facts.get(PLACES):",
        "if False:",
        CHANGES,
    ),
    Mutant(
        "checkpoint: a new column is told where a clause says why",
        "operators/changes.py",
        "        elif name.startswith(OPTION):\n",
        "        else:\n",
        CHANGES,
    ),
    Mutant(
        "checkpoint: calls are cut at dots inside brackets",
        "operators/changes.py",
        'elif char == "." and depth == 0:',
        'elif char == ".":',
        CHANGES,
    ),
    Mutant(
        "snapshot: any version is read",
        "operators/holding.py",
        'if head.get("version") != SNAPSHOT_VERSION:',
        "if False:",
        SNAPSHOTS,
    ),
    Mutant(
        "snapshot: the watermark begins anew",
        "operators/holding.py",
        '        self._watermark_us = head["watermark_us"]\n',
        "",
        SNAPSHOTS,
    ),
    Mutant(
        "file sink: rows without a checkpoint are taken",
        "engines/spark/sinks.py",
        "if written is not None and (planned is None or planned < written):",
        "if written is not None and planned is not None and planned < written:",
        FILES,
    ),
    Mutant(
        "file sink: the first batch is taken for the last",
        "engines/spark/sinks.py",
        "return max((int(match[1])",
        "return min((int(match[1])",
        FILES,
    ),
    Mutant(
        "file sink: a batch that is not finished counts",
        "engines/spark/sinks.py",
        "if done is not None and (written is None or written < done):",
        "if planned is not None and (written is None or written < planned):",
        FILES,
    ),
)
