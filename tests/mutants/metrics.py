"""Faults in what streams count and tell."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, tests_of

RUNS, TALLY, BUCKET, TEXT = tests_of(
    "metrics",
    "open_runs",
    "tally",
    "bucket",
    "exposition",
)

METRICS = (
    Mutant(
        "metrics: a sequence counts events whose window is over",
        "SequenceOperator.open_runs",
        "first_us = MIN_US if self.spec.window_us is None else self._watermark_us - self.spec.window_us + 1",
        "first_us = MIN_US if self.spec.window_us is None else self._watermark_us - self.spec.window_us",
        RUNS,
    ),
    Mutant(
        "metrics: the sides of AND begin no match",
        "PatternProgram.first_bits",
        "waiting += [number for side in self.conjunctions[position.conjunction].sides for number in side]",
        "waiting += []",
        RUNS,
    ),
    Mutant(
        "metrics: a window counts once for each event",
        "count_windows",
        "return int(np.maximum(newest - np.maximum(oldest, before + 1) + 1, 0).sum())",
        "return int(np.maximum(newest - oldest + 1, 0).sum())",
        RUNS,
    ),
    Mutant(
        "metrics: situations that ended go on",
        "SituationOperator.open_runs",
        "pc.sum(pc.equal(self._known.column(END), OPEN)).as_py() or 0",
        "self._known.num_rows",
        RUNS,
    ),
    Mutant(
        "metrics: a restart forgets that partitions wait",
        "RowsOperator._take_counters",
        'self._n_open = head["open_runs"]',
        "self._n_open = 0",
        RUNS,
    ),
    Mutant(
        "metrics: late events are those of all calls",
        "Bucket._results",
        "operator.late_events() - late_before",
        "operator.late_events()",
        BUCKET,
    ),
    Mutant(
        "metrics: the counters' row stands at the watermark",
        "counter_rows",
        "[max(watermark_us, 0) + 1000]",
        "[max(watermark_us, 0)]",
        BUCKET,
    ),
    Mutant(
        "metrics: state without its segments",
        "Bucket._keep",
        "len(snapshot.head) + sum(map(len, snapshot.segments.values()))",
        "len(snapshot.head)",
        BUCKET,
    ),
    Mutant(
        "metrics: a bucket that is not called has no state",
        "Tally.add",
        "self._calls |= batch.calls",
        "self._calls = dict(batch.calls)",
        TALLY,
    ),
    Mutant(
        "metrics: a report of nothing is a batch",
        "Tally.add",
        'if "addBatch" not in (progress["durationMs"] or {}):',
        "if False:",
        TALLY,
    ),
    Mutant(
        "metrics: rules share their open runs",
        "Tally.held",
        "rule is None or each.rule == rule",
        "True",
        TALLY,
    ),
    Mutant(
        "metrics: a hot bucket is said in every batch",
        "Tally._warn",
        "if is_hot and self._run_id not in _WARNED:",
        "if is_hot:",
        TALLY,
    ),
    Mutant(
        "metrics: what the listener has not seen yet counts for nothing",
        "numbers_of",
        "return max([(tally.n_batches, tally.numbers()), *counted], key=lambda each: each[0])[1]",
        "return [(tally.n_batches, tally.numbers()), *counted][-1][1]",
        TALLY,
    ),
    Mutant(
        "metrics: Prometheus reads microseconds as seconds",
        "_by_rule",
        'value / 1e6 if name.endswith("_us") else value',
        "value",
        TEXT,
    ),
)
