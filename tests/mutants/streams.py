"""Faults in what row and builder patterns keep from one micro-batch to the next."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ROWS = ("tests/rows/test_streams.py",)
BUILDER = ("tests/detection/test_streams.py",)
CHANGES = ("tests/streams/test_changes.py",)
SNAPSHOTS = ("tests/streams/test_snapshots.py",)
FILES = ("tests/streams/test_write_stream.py",)
SEALED = ("tests/operators/test_sealed.py",)
BUCKET = ("tests/engines/test_processor.py",)
WHOSE = ("tests/streams/test_whose_checkpoint.py",)
LATE = ("tests/metrics/test_late_watch.py",)

STREAMS = (
    Mutant(
        "stream rows: an attempt waits for a row too late for its window",
        "_attempt",
        "undecided = undecided or next_us - ts_us[start] < window_us",
        "undecided = undecided or next_us - ts_us[start] <= window_us",
        ROWS,
    ),
    Mutant(
        "stream rows: NEXT does not wait",
        "_match_partition",
        "known = span[HIGH] - limits.ahead if is_open else span[HIGH]",
        "known = span[HIGH]",
        ROWS,
    ),
    Mutant(
        "stream rows: the last row so far ends a partition",
        "_attempt",
        "undecided = undecided or (is_open and row == hi)",
        "undecided = undecided or False",
        ROWS,
    ),
    Mutant(
        "stream rows: an undecided match leaves",
        "_attempt",
        "if undecided:",
        "if False:",
        ROWS,
    ),
    Mutant(
        "stream rows: passed rows are searched again",
        "Progress.of",
        "table[:, NEXT_ROW] += n_passed",
        "table[:, NEXT_ROW] += 0 * n_passed",
        ROWS,
    ),
    Mutant(
        "stream rows: PREV finds nothing before the next attempt",
        "Progress.marks",
        "marks[(at < next_row - spec.n_kept) | ~is_open] = GONE",
        "marks[(at < next_row) | ~is_open] = GONE",
        ROWS,
    ),
    Mutant(
        "stream rows: nothing is forgotten",
        "Progress.marks",
        "marks[(at < next_row - spec.n_kept) | ~is_open] = GONE",
        "pass",
        ROWS,
    ),
    Mutant(
        "stream rows: numbers begin anew",
        "Progress.of",
        "table[begun, NEXT_NUMBER] = np.maximum(numbers[begun], 1)",
        "table[begun, NEXT_NUMBER] = 1",
        ROWS,
    ),
    Mutant(
        "stream rows: a matched row is forgotten to be one",
        "Progress.of",
        "matched = marks == MATCHED",
        "matched = marks == MATCHED + 1",
        ROWS,
    ),
    Mutant(
        "stream rows: the begin of a partition is forgotten",
        "RowsSpec.n_kept",
        "return max(self.back, int(self.shows_number or asks_begin))",
        "return max(self.back, int(self.shows_number))",
        ROWS,
    ),
    Mutant(
        "stream rows: a gap of the ttl does not end a partition",
        "split_sessions",
        "gaps = np.flatnonzero(np.diff(ts_us) >= gap_us) + 1",
        "gaps = np.flatnonzero(np.diff(ts_us) > gap_us) + 1",
        ROWS,
    ),
    Mutant(
        "stream rows: a partition stays open one microsecond longer",
        "RowsOperator._cut",
        "self._watermark_us + 1",
        "self._watermark_us",
        ROWS,
    ),
    Mutant(
        "stream rows: the end of a window wakes nobody",
        "RowsOperator.pending_us",
        "times = [self._buffer.earliest_after(self._watermark_us), self._next_us]",
        "times = [self._buffer.earliest_after(self._watermark_us)]",
        ROWS,
    ),
    Mutant(
        "stream: what is gone comes back",
        "MarkedBuffer.take",
        "if number in self._marks:\n    wanted &= self._marks[number] != GONE\nrows = np.flatnonzero(wanted)",
        "rows = np.flatnonzero(wanted)",
        ("tests/operators/test_marked.py",),
    ),
    Mutant(
        "stream: marks are lost when events move",
        "MarkedBuffer._tidy",
        "self._marks[number] = np.concatenate([marks for _, marks, _ in moved])",
        "self._marks[number] = np.concatenate([0 * marks for _, marks, _ in moved])",
        ROWS,
    ),
    Mutant(
        "stream builder: a binding loses what led to it",
        "_read_saved",
        "base + before if before >= 0 else -1",
        "-1",
        BUILDER,
    ),
    Mutant(
        "stream builder: what conditions ask is not carried over",
        "_read_saved",
        "carry(node, bindings[2, node], bindings[0, node], bindings[1, node], room.carried, cols)",
        "",
        BUILDER,
    ),
    Mutant(
        "stream builder: complete matches that wait are lost",
        "_read_saved",
        "state.n_runs, state.n_complete, state.n_bindings = n_runs, n_complete, base + n_bindings",
        "state.n_runs, state.n_complete, state.n_bindings = n_runs, 0, base + n_bindings",
        BUILDER,
    ),
    Mutant(
        "stream builder: complete matches do not wait for earlier ones",
        "_advance",
        "_settle(is_over, limits, state, room, out)",
        "_settle(is_end, limits, state, room, out)",
        BUILDER,
    ),
    Mutant(
        "stream builder: events are looked at again",
        "make_progress",
        "np.add.reduceat((held.marks[ordered.order] == KEPT).astype(np.int64), low)",
        "0 * np.add.reduceat((held.marks[ordered.order] == KEPT).astype(np.int64), low)",
        BUILDER,
    ),
    Mutant(
        "stream builder: the last partial match wakes the bucket",
        "_next_us",
        "(ts_us[runs[2]]).min()",
        "(ts_us[runs[2]]).max()",
        BUILDER,
    ),
    Mutant(
        "late events: what an operator derives is late at its end",
        "LateOperator._limits",
        "self._watermark_us - self.spec.lag_us",
        "self._watermark_us",
        ("tests/operators/test_late.py",),
    ),
    Mutant(
        "late events: one at the watermark is in time",
        "LateOperator.process",
        "pc.less_equal(block.column(TS), self._limits(block))",
        "pc.less(block.column(TS), self._limits(block))",
        ("tests/operators/test_late.py",),
    ),
    Mutant(
        "checkpoint: the types of columns do not matter",
        "with_facts",
        "(*((f'{COLUMN}{name}', _type(dtype)) for name, dtype in columns), *((f'{OPTION}{name}', "
        "_text(name, value)) for name, value in given), (PLACES, ', '.join((name for name, _ in "
        "columns))))",
        "(*((f'{OPTION}{name}', _text(name, value)) for name, value in given), (PLACES, ', "
        "'.join((name for name, _ in columns))))",
        CHANGES,
    ),
    Mutant(
        "checkpoint: options do not matter",
        "with_facts",
        "(*((f'{COLUMN}{name}', _type(dtype)) for name, dtype in columns), *((f'{OPTION}{name}', "
        "_text(name, value)) for name, value in given), (PLACES, ', '.join((name for name, _ in "
        "columns))))",
        "(*((f'{COLUMN}{name}', _type(dtype)) for name, dtype in columns), (PLACES, ', '.join((name "
        "for name, _ in columns))))",
        CHANGES,
    ),
    Mutant(
        "checkpoint: columns may change places",
        "changes",
        "if not found and old_facts.get(PLACES) != new_facts.get(PLACES):",
        "if False:",
        CHANGES,
    ),
    Mutant(
        "checkpoint: a new column is told where a clause says why",
        "_facts",
        "elif name.startswith(OPTION):",
        "else:",
        CHANGES,
    ),
    Mutant(
        "checkpoint: calls are cut at dots inside brackets",
        "_calls",
        'elif char == "." and depth == 0:',
        'elif char == ".":',
        CHANGES,
    ),
    Mutant(
        "snapshot: any version is read",
        "open_sealed",
        "if version is not None and version != SNAPSHOT_VERSION:",
        "if False:",
        SNAPSHOTS,
    ),
    Mutant(
        "sealed state: the bytes of a head are not checked",
        "open_sealed",
        "if digest(text) != found[3].decode():",
        "if False:",
        SEALED,
    ),
    Mutant(
        "sealed state: the length of a head is not checked",
        "open_sealed",
        "if len(text) != int(found[2]):",
        "if len(text) > int(found[2]):",
        SEALED,
    ),
    Mutant(
        "sealed state: segments may change places",
        "_summary",
        'each = [f"{number} {len(segments[number])} {digests[number]}" for number in sorted(segments)]',
        "each = sorted(digests.values())",
        SEALED,
    ),
    Mutant(
        "sealed state: what was read is hashed again when it is written",
        "make_snapshot",
        "known.get(number) or digest(data)",
        "digest(data)",
        SEALED,
    ),
    Mutant(
        "sealed state: a bucket takes another one's head",
        "Bucket._load",
        'engine["bucket"] != int(self._label) or engine["operator"] != digest(head)',
        'engine["operator"] != digest(head)',
        BUCKET,
    ),
    Mutant(
        "sealed state: a bucket takes the operator of another micro-batch",
        "Bucket._load",
        'engine["bucket"] != int(self._label) or engine["operator"] != digest(head)',
        'engine["bucket"] != int(self._label)',
        BUCKET,
    ),
    Mutant(
        "sealed state: damage switches a rule off",
        "RuleBucket._run",
        "except StateError:",
        "except KeyError:",
        ("tests/rules/test_damaged_state.py",),
    ),
    Mutant(
        "checkpoint: a start that failed binds the checkpoint",
        "check_checkpoint",
        "if not list_names(spark, f\"{checkpoint.rstrip('/')}/offsets\"):",
        "if read_file(spark, file) is None:",
        WHOSE,
    ),
    Mutant(
        "checkpoint: buckets are not compared before the start",
        "check_checkpoint",
        'check_buckets(before["n_buckets"], now.n_buckets)',
        "",
        WHOSE,
    ),
    Mutant(
        "late events: those that are returned are warned of",
        "LateWatch.onQueryProgress",
        "if n_late and made is not None and made.lateness is not None:",
        "if n_late and made is not None:",
        LATE,
    ),
    Mutant(
        "late events: every batch is warned of",
        "LateWatch.onQueryProgress",
        "self._warned.add(run_id)",
        "",
        LATE,
    ),
    Mutant(
        "snapshot: the watermark begins anew",
        "WatermarkOperator._take_counters",
        'self._watermark_us = head["watermark_us"]',
        "",
        SNAPSHOTS,
    ),
    Mutant(
        "file sink: rows without a checkpoint are taken",
        "check_places",
        "if written is not None and (planned is None or planned < written):",
        "if written is not None and planned is not None and planned < written:",
        FILES,
    ),
    Mutant(
        "file sink: the first batch is taken for the last",
        "_last_batch",
        "max((int(match[1]) for match in found if match), default=None)",
        "min((int(match[1]) for match in found if match), default=None)",
        FILES,
    ),
    Mutant(
        "file sink: a batch that is not finished counts",
        "check_places",
        "if done is not None and (written is None or written < done):",
        "if planned is not None and (written is None or written < planned):",
        FILES,
    ),
)
