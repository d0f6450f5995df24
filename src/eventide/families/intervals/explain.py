"""What `explain` says about derived intervals and about related ones: what is asked, what runs, and where."""

from __future__ import annotations

from collections.abc import Sequence

from eventide.families.allen.spec import AllenSpec
from eventide.families.intervals.spec import RUNS, IntervalSpec
from eventide.families.registry import family_of
from eventide.lang.durations import write_length
from eventide.lang.tree import Length
from eventide.plan.ending import at_the_end
from eventide.plan.physical import Physical

LOCAL, SPARK, STREAM = "local", "spark", "stream"
_NO_COLUMNS = "needs the columns: pass the inputs to explain"


def explain_intervals(query: str, physical: Physical | None, engine: str) -> str:
    """The derivation, its operator and its distribution; without a plan, what is asked."""
    if physical is None:
        return _unplanned(query.splitlines())
    engine = engine.split()[-1]
    spec = physical.spec
    assert isinstance(spec, IntervalSpec)
    partition = _partition(physical)
    kept = f"its first and last event, {len(spec.extremes)} with extreme values, {sum(spec.sizes[:3])} numbers"
    if spec.kind == RUNS:
        name, relates = "runs of events", "compiled for this condition" if spec.source else "nothing"
    else:
        name, relates = "spans from a start to an end", "compiled for these values" if spec.source else "nothing"
    operator = [
        f"{name}, one pass",
        f"per event   {len(physical.select)} columns from {len(physical.reads)}, computed by the SQL engine",
        f"between     what relates an event to its interval: {relates}",
        f"memory      of each open interval {kept}; on a stream the events before the watermark, too",
        f"decided     {_decided(spec)}",
    ]
    if spec.kind == RUNS:
        operator.append(f"at the end  {at_the_end(physical.closes_at_end)}")
    asked = [line for line in spec.query.splitlines() if not line.startswith("PARTITION BY ")]
    asked.append(f"BY {physical.intake.ts_column}, {_apart(partition)}")
    return _text(asked, operator, [_derived(spec, partition, engine)], physical)


def explain_allen(query: str, physical: Physical | None, engine: str) -> str:
    """The relation of two tables, its operator and its distribution; without a plan, what is asked."""
    if physical is None:
        return _unplanned([query])
    engine = engine.split()[-1]
    spec = physical.spec
    assert isinstance(spec, AllenSpec)
    partition = _partition(physical)
    window = None if spec.window_us is None else write_length(Length(spec.window_us))
    operator = [
        "pairs of intervals, by ranges of an index over the right side",
        f"memory      {'all intervals' if window is None else f'on a stream the intervals of the last {window}'}",
        "decided     when the watermark has passed the later end of the two",
    ]
    if engine == LOCAL:
        where = "left intervals on all cores, in equal shares"
    elif engine == STREAM:
        where = _by_hash(partition) or "one task: all intervals belong together"
    else:
        sliced = "slices of time of eight windows, each with the last window of the one before"
        alone = "one task: there is neither a partition nor a within"
        where = _by_hash(partition) or (alone if window is None else sliced)
    return _text([spec.query], operator, [f"{engine}: {where}"], physical)


def _unplanned(query: Sequence[str]) -> str:
    return "\n".join(["Intervals", *(f"  {line}" for line in query), "Plan", f"  {_NO_COLUMNS}"])


def _text(query: Sequence[str], operator: Sequence[str], distribution: Sequence[str], physical: Physical) -> str:
    shown = [f"  {column.name}" for column in physical.project]
    parts = ["Intervals", *(f"  {line}" for line in query), "Result", *shown]
    parts += ["Operator", *(f"  {line}" for line in operator)]
    return "\n".join([*parts, "Distribution", *(f"  {line}" for line in distribution)])


def _partition(physical: Physical) -> list[str]:
    """The user's names of the partition columns."""
    partition = physical.intake.layout.partition
    by_block = {column.spark.strip("`"): column.name for column in physical.project}
    return [by_block.get(name, name) for name in partition]


def _apart(partition: Sequence[str]) -> str:
    return f"for each {', '.join(partition)}" if partition else "all events together"


def _by_hash(partition: Sequence[str]) -> str | None:
    return f"hash of {', '.join(partition)} to tasks" if partition else None


def _decided(spec: IntervalSpec) -> str:
    if spec.kind != RUNS:
        return "with the event that ends it"
    gap = None if spec.gap_us is None else f"{write_length(Length(spec.gap_us))} after its last event"
    full = None if spec.maximum is None else f"with event {spec.maximum}"
    if spec.maximum is not None and spec.maximum == spec.minimum:
        return f"{full}"
    return ", or ".join(part for part in (full, "with the event that breaks it", gap) if part)


def _derived(spec: IntervalSpec, partition: Sequence[str], engine: str) -> str:
    why_not = family_of(spec).needs_events(spec)
    if partition:
        return f"{engine}: {'partitions on all cores' if engine == LOCAL else _by_hash(partition)}"
    if engine == STREAM:
        return f"{engine}: one task: all events belong together"
    if why_not is not None:
        return f"{engine}: one {'thread' if engine == LOCAL else 'task'}: {why_not}"
    if engine == LOCAL:
        return f"{engine}: stretches of time on all cores, cut behind events that end whatever is open"
    return (
        f"{engine}: slices of time in parallel tasks, cut behind events that end whatever is open; what is at "
        "their borders goes to one task; few events: one task"
    )
