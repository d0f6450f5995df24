"""Mutants of event queries: expressions, kernels, operators, engines."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

OPERATOR = ("tests/operators/test_sequence.py",)
SAME_ROWS = ("tests/engines/test_same_rows.py::test_the_embedded_engine_returns_the_oracles_rows",)
SPILL = ("tests/engines/test_same_rows.py::test_files_cut_by_partition_return_the_same_rows",)
STREAM = ("tests/engines/test_processor.py",)
RESIDUE = ("tests/plan/expressions/test_residue.py::test_generated_tests_equal_duckdb",)
KERNEL = "kernels/sequence.py"
ORDER = "kernels/order.py"
PROCESSOR = "engines/spark/processor.py"

EVENTS = (
    Mutant(
        "a test that is NULL holds",
        "plan/expressions/write_code.py",
        'self.line(f"return {value} and not {null}")',
        'self.line(f"return {value} or {null}")',
        RESIDUE,
    ),
    Mutant(
        "any: an event at the window's end is out of reach",
        ORDER,
        "ts_us[row] - first_us >= window_us",
        "ts_us[row] - first_us + 1 >= window_us",
        OPERATOR,
    ),
    Mutant(
        "any: what an earlier chain reached is forgotten",
        ORDER,
        "if fresh[k] > latest[k]:",
        "if True:",
        OPERATOR,
    ),
    Mutant(
        "any: the window's end belongs to the window",
        KERNEL,
        "ts_us[rows[last]] - ts_us[row] >= window_us",
        "ts_us[rows[last]] - ts_us[row] > window_us",
        OPERATOR,
    ),
    Mutant(
        "next: the window's end belongs to the window",
        KERNEL,
        "ts_us[row] - ts_us[rows[0]] >= window_us",
        "ts_us[row] - ts_us[rows[0]] > window_us",
        OPERATOR,
    ),
    Mutant(
        "any: a match that ends at the old watermark is returned again",
        KERNEL,
        "if row < lo or ts_us[row] <= newer_than_us:",
        "if row < lo or ts_us[row] < newer_than_us:",
        OPERATOR,
    ),
    Mutant(
        "next: a match that ends at the old watermark is returned again",
        KERNEL,
        "            if ts_us[row] > newer_than_us:\n                for k",
        "            if ts_us[row] >= newer_than_us:\n                for k",
        OPERATOR,
    ),
    Mutant(
        "contiguous skips an event after the first step",
        KERNEL,
        "end[1] = follows[follows[row]] if contiguous and follows[row] < hi else hi",
        "end[1] = hi",
        OPERATOR,
    ),
    Mutant(
        "contiguous skips an event after a later step",
        KERNEL,
        "end[level + 1] = follows[follows[row]] if contiguous and follows[row] < hi else hi",
        "end[level + 1] = hi",
        OPERATOR,
    ),
    Mutant(
        "next goes on after the earliest event",
        KERNEL,
        "if follows[row] < end[level]:",
        "if follows[row] < 0:",
        OPERATOR,
    ),
    Mutant(
        "next takes one of several tied earliest events",
        KERNEL,
        "            end[level] = follows[row]",
        "            end[level] = row + 1",
        OPERATOR,
    ),
    Mutant(
        "any: tied events follow one another at the end",
        KERNEL,
        "cursor[last - 1] = precedes[row] - 1",
        "cursor[last - 1] = row - 1",
        OPERATOR,
    ),
    Mutant(
        "any: tied events follow one another in the middle",
        KERNEL,
        "cursor[level - 1] = precedes[row] - 1",
        "cursor[level - 1] = row - 1",
        OPERATOR,
    ),
    Mutant(
        "a full result array loses a match",
        KERNEL,
        "        if level == last and n_out == out.shape[0]:\n            return n_out\n",
        "        if level == last and n_out == out.shape[0]:\n"
        "            cursor[level] = row + 1\n            return n_out\n",
        ("tests/operators/test_sequence.py::test_a_small_result_array_pauses_and_resumes",),
    ),
    Mutant("ties are ordered where they should not be", ORDER, "if strict:", "if not strict:", SAME_ROWS),
    Mutant(
        "the last event of a partition fits every step",
        ORDER,
        "nearest = offsets[p + 1]\n",
        "nearest = offsets[p + 1] - 1\n",
        OPERATOR,
    ),
    Mutant(
        "the NULL partition joins another",
        "operators/partitions.py",
        "pc.fill_null(indices, n_values)",
        "pc.fill_null(indices, 0)",
        OPERATOR,
    ),
    Mutant(
        "the second partition column is ignored",
        "operators/partitions.py",
        "codes.astype(np.int64) * n_more + more",
        "codes.astype(np.int64) * n_more",
        ("tests/operators/test_partitions.py",),
    ),
    Mutant(
        "the buffer forgets too early",
        "operators/sequence.py",
        "older_than_us=self._watermark_us - self.spec.window_us + 1",
        "older_than_us=self._watermark_us - self.spec.window_us + 3",
        OPERATOR,
    ),
    Mutant(
        "an event at the watermark is not decided",
        "operators/buffer.py",
        "_cut(block, up_to_us + 1)[0]",
        "_cut(block, up_to_us)[0]",
        OPERATOR,
    ),
    Mutant(
        "an event at the watermark is not late",
        "operators/holding.py",
        "pc.greater(block.column(TS), self._watermark_us)",
        "pc.greater_equal(block.column(TS), self._watermark_us)",
        OPERATOR,
    ),
    Mutant(
        "a restart forgets the watermark",
        "operators/holding.py",
        'self._watermark_us = head["watermark_us"]',
        "self._watermark_us = MIN_US",
        OPERATOR,
    ),
    Mutant(
        "a restart reuses segment numbers",
        "operators/buffer.py",
        "        self._next_number = next_number\n",
        "        self._next_number = 0\n",
        OPERATOR,
    ),
    Mutant(
        "a sliding window holds its end",
        "operators/windows.py",
        "(slide.length_us - 1 - (last_us - slide.origin_us))",
        "(slide.length_us - (last_us - slide.origin_us))",
        SAME_ROWS,
    ),
    Mutant(
        "a match lies in windows that begin after its first event",
        "operators/windows.py",
        "newest = (first_us - slide.origin_us)",
        "newest = (last_us - slide.origin_us)",
        SAME_ROWS,
    ),
    Mutant(
        "a bucket decides a millisecond too early",
        PROCESSOR,
        "(newest_us // 1000 - self._delay_ms) * 1000",
        "(newest_us // 1000 + 1 - self._delay_ms) * 1000",
        STREAM,
    ),
    Mutant(
        "a bucket forgets the allowed lateness",
        PROCESSOR,
        "(newest_us // 1000 - self._delay_ms) * 1000",
        "(newest_us // 1000) * 1000",
        STREAM,
    ),
    Mutant(
        "a bucket takes events before it advances to the watermark",
        PROCESSOR,
        "yield from self._frames(operator.process(None, watermark_us))",
        "pass",
        STREAM,
    ),
    Mutant(
        "a quiet bucket's timer comes too late",
        PROCESSOR,
        "-(-pending_us // 1000)",
        "pending_us // 1000 + 3",
        STREAM,
    ),
    Mutant(
        "a restart forgets the segments",
        PROCESSOR,
        'for number in engine["segments"]}',
        'for number in engine["segments"][1:]}',
        STREAM,
    ),
    Mutant(
        "the buffer trims events that still matter",
        "operators/buffer.py",
        "_cut(segment.block, older_than_us)[1]",
        "_cut(segment.block, older_than_us + 2)[1]",
        STREAM,
    ),
    Mutant(
        "a bucket loses its last event",
        "operators/block.py",
        "yield bucket, rearranged.slice(int(offsets[bucket]), size)",
        "yield bucket, rearranged.slice(int(offsets[bucket]), size - 1)",
        SPILL,
    ),
    Mutant(
        "a bucket begins one event late",
        "operators/block.py",
        "yield bucket, rearranged.slice(int(offsets[bucket]), size)",
        "yield bucket, rearranged.slice(int(offsets[bucket]) + 1, size)",
        SPILL,
    ),
    Mutant(
        "NEXT looks at the event before",
        "plan/sequence.py",
        "i + 1 if slot.is_next else i",
        "i if slot.is_next else i + 1",
        SAME_ROWS,
    ),
    Mutant(
        "walking backward, tests are made too early",
        "plan/sequence.py",
        "backward=plan.strategy is Strategy.ANY",
        "backward=False",
        SAME_ROWS,
    ),
    Mutant(
        "contiguous does not see events that no step wants",
        "plan/sequence.py",
        "keep_all=plan.strategy is Strategy.CONTIGUOUS",
        "keep_all=False",
        ("tests/engines/test_same_rows.py::test_every_event_of_the_partition_counts_for_contiguity",),
    ),
    Mutant(
        "a predicate on one symbol is tested on all",
        "plan/columns.py",
        "for local in parts.locals if local.symbol == step.symbol",
        "for local in parts.locals",
        SAME_ROWS,
    ),
    Mutant(
        "seconds are taken for milliseconds",
        "operators/times.py",
        "ts_us // UNIT_US[self.unit]",
        "ts_us // min(UNIT_US[self.unit], 1_000)",
        SAME_ROWS,
    ),
)
