"""A query on Spark: finds the input's schema, plans, and picks direct reads, batch or stream."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sf

from eventide.engines.file_input import FileInput, why_not_direct
from eventide.engines.file_versions import Version, versions_of
from eventide.engines.likely_unit import doubt_of_unit
from eventide.engines.local.sources import ARROW, CSV, JSON, PARQUET, file_format, no_columns
from eventide.engines.names import Named, absolute
from eventide.engines.parquet import group_times, in_microseconds
from eventide.engines.raw_columns import coded_for
from eventide.engines.spark import batch, stream
from eventide.engines.spark.counters import INTAKE, intake_counters, unique
from eventide.engines.spark.exchange import Events, Reading, blocks_by_key, from_dataframe, from_paths, select_events
from eventide.engines.spark.far_files import read_far_text
from eventide.engines.spark.files import address, read_parquet_files, read_text_files, whole_names
from eventide.engines.spark.following import with_lag
from eventide.engines.spark.frame_input import FrameInput
from eventide.engines.spark.functions import planning_for
from eventide.engines.spark.latest import first_us, until_latest_in_files, until_latest_row
from eventide.engines.spark.near_events import near_in_files, near_in_frame
from eventide.engines.spark.parallelism import count_buckets, is_local
from eventide.engines.spark.ship import ensure_shipped
from eventide.engines.spark.slices import run_slices
from eventide.engines.spark.sources import can_read_directly, find
from eventide.engines.spark.tables import look_remotely, read_table
from eventide.engines.spark.types import arrow_schema, input_schema, spark_schema
from eventide.engines.table_folders import TableFolder
from eventide.engines.together import TYPE_COLUMN, check_together
from eventide.errors import InputError, UnsupportedError, is_of_spark, warn
from eventide.families.registry import family_named, family_of
from eventide.plan.choose import KEYS, ONE_TASK, Choice, choose
from eventide.plan.ending import with_origin
from eventide.plan.physical import Physical
from eventide.runtime.protocol import Spec

Plan = Callable[[pa.Schema], Physical]


@dataclass(slots=True)
class Run:
    """A result that Spark will compute, and where its counters will be."""

    rows: DataFrame
    reason: str  # why the events are read as they are
    observation: Observation | None = field(default=None)

    def metrics(self) -> dict[str, int]:
        """The counters of the first action; empty before it, and when nothing was counted."""
        if self.observation is None:
            return {}
        # `get` waits for an action, on Connect it does not; only the JVM's object tells whether there was one.
        observed = getattr(self.observation, "_jo", None)
        return {} if observed is not None and not observed.future().isCompleted() else dict(self.observation.get)


def run_path(path: str, plan: Plan, spark: SparkSession) -> Run:
    """Parquet that tasks can read themselves is read by them, anything else through `spark.read`."""
    named = find(path, local_master=is_local(spark))
    # Workers need not have the working folder of this process.
    files = tuple(map(absolute, named.files)) if named is not None else ()
    versions, reason = versions_of(files), can_read_directly(named)
    if reason is None:
        # The footer tells what `spark.read` would, without a job.
        with planning_for(spark):
            physical = plan(arrow_schema(spark_schema(in_microseconds(pq.read_schema(files[0])))))
        reason = why_not_direct(physical)
        if reason is None:
            _warm(physical, spark)
            _warn_of_unit(files[0], physical)
            physical = until_latest_in_files(physical, files, lambda: _frame(path, named, spark))
            return _run_files(files, physical, spark, versions)
    run = run_frame(_frame(path, named, spark), plan)
    return Run(run.rows, f"Spark reads the files: {reason}", run.observation)


def warn_of_path(path: str, physical: Physical, spark: SparkSession) -> None:
    """What the footers of a path tell of its times, where Spark's own operators read it."""
    named = find(path, local_master=is_local(spark))
    if named is not None and can_read_directly(named) is None:
        _warn_of_unit(absolute(named.files[0]), physical)


def _run_files(files: Sequence[str], physical: Physical, spark: SparkSession, versions: tuple[Version, ...]) -> Run:
    ensure_shipped(spark)
    given, how = FileInput(files, physical), Reading(tuple(coded_for(physical, files)), versions)
    n_shares, told = count_buckets(spark), ""
    reduction = given.reduction()
    if reduction is not None:
        near = near_in_files(spark, given.pieces(n_shares), physical, reduction, how)
        if near is not None:
            given.keep_near(near)
            how, told = replace(how, near=near), f", {reduction.told(near.times_us.size)}"
    shares, choice = given.pieces(n_shares), choose(physical, given, n_shares)
    if choice.form == ONE_TASK:
        pieces = [piece for share in shares for piece in share]
        return Run(batch.run_pieces(pieces, physical, spark, how), f"one task reads the files and matches{told}")
    return _run_chosen(
        from_paths(spark, choice.shares or shares, physical, how),
        choice,
        physical,
        spark,
        f"tasks read the files themselves{told}",
    )


def _run_chosen(events: Events, choice: Choice, physical: Physical, spark: SparkSession, where: str) -> Run:
    """By key, or by time; `where` the events are is told with the reason."""
    n_buckets = _count_buckets(physical, spark)
    if choice.form == KEYS:
        return Run(batch.run(blocks_by_key(events, physical, n_buckets), physical, spark, n_buckets), where)
    return Run(run_slices(events, choice, physical, n_buckets), f"{where}, by time: {choice.reason}")


def _warn_of_unit(file: str, physical: Physical) -> None:
    """The footer of one file tells the unit well enough, without a job."""
    intake = physical.intake
    times = None if intake.time_type.unit is None else group_times([file], intake.ts_column)
    if times:
        first, last = min(first for first, _ in times), max(last for _, last in times)
        doubt = doubt_of_unit(intake.time_name, first, last, str(intake.time_type.unit))
        if doubt is not None:
            warn(doubt)


def read_frame(path: str, spark: SparkSession) -> DataFrame:
    """Files and tables through Spark's own readers."""
    return _frame(path, find(path, local_master=is_local(spark)), spark)


def _frame(path: str, named: Named | None, spark: SparkSession) -> DataFrame:
    with _told(path):
        frame = _open(path, named, spark)
        if not frame.columns:
            raise no_columns(path)
        return frame


def _open(path: str, named: Named | None, spark: SparkSession) -> DataFrame:
    """Through Spark's own readers, local files with the types that the embedded engine finds in them."""
    if named is None:
        name, table = look_remotely(spark, path)
        if table is not None:
            return read_table(spark, table)
        suffix = _ending(path)
        return read_far_text(spark, suffix, name) if suffix in (*CSV, *JSON) else _read(spark.read, [name], suffix)
    if named.table is not None and not named.files:
        return read_table(spark, TableFolder(named.table.kind, address(named.table.path)))
    suffix = file_format(path, list(named.files))
    if suffix in (*CSV, *JSON):
        return read_text_files(spark, suffix, named)
    several = read_parquet_files(spark, named) if suffix in PARQUET else None
    if several is not None:
        return several
    if named.table is None:
        return _read(spark.read, whole_names(named.roots), suffix)
    # The files of a stream's folder, as its log has them wherever the folder is now.
    reader = spark.read.option("basePath", address(named.roots[0]))
    return _read(reader, whole_names(named.files), suffix)


def run_frame(frame: DataFrame, plan: Plan) -> Run:
    """A batch or streaming DataFrame."""
    with planning_for(frame.sparkSession):
        physical = plan(input_schema(frame))
    ensure_shipped(frame.sparkSession)
    if physical.align_to_first:
        physical = _aligned(frame, physical)
    _warm(physical, frame.sparkSession)
    physical = until_latest_row(physical, frame)
    spark, observation = frame.sparkSession, None
    n_tasks = count_buckets(spark)
    given = FrameInput(frame, physical, n_tasks)
    choice = None if frame.isStreaming else choose(physical, given, n_tasks)
    near = None if choice is None else near_in_frame(frame, physical, given)
    if physical.intake.drop_bad_events:
        # Behind the jobs above: an observation has the counters of one action.
        frame, observation = _observed(frame, physical)
    if choice is None:
        rows = stream.run(frame, physical, n_buckets=None if physical.intake.layout.distribution else 1)
        lag = family_of(physical.spec).lag(physical.spec)
        return Run(rows if lag is None else with_lag(rows, *lag), "stream")
    events = from_dataframe(frame, physical, select_events if near is None else near.select)
    made = _run_chosen(events, choice, physical, spark, "DataFrame" if near is None else f"DataFrame, {near.told}")
    made.observation = observation
    return made


def run_late(frame: DataFrame, plan: Plan) -> DataFrame:
    """The events of a stream that come after the watermark has passed them."""
    return run_frame(frame, lambda schema: family_named("late").prepare(plan(schema), None, schema)).rows


def record_batches(rows: DataFrame, n_rows: int) -> Iterator[pa.RecordBatch]:
    """The rows of a batch DataFrame, one partition after the other in this process."""
    schema = arrow_schema(rows.schema)
    held: list[dict[str, Any]] = []
    for row in rows.toLocalIterator(prefetchPartitions=True):
        held.append(row.asDict(recursive=True))
        if len(held) == n_rows:
            yield pa.RecordBatch.from_pylist(held, schema=schema)
            held = []
    if held:
        yield pa.RecordBatch.from_pylist(held, schema=schema)


def merge_frames(by_type: Mapping[str, DataFrame]) -> DataFrame:
    """One input per event type, as one: columns by name, what an input lacks is NULL, plus the type."""
    check_together({name: input_schema(frame) for name, frame in by_type.items()})
    frames = [frame.withColumn(TYPE_COLUMN, sf.lit(name)) for name, frame in by_type.items()]
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), frames)


def _count_buckets(physical: Physical, spark: SparkSession) -> int:
    """Without partition columns all events belong together: one bucket."""
    return count_buckets(spark) if physical.intake.layout.distribution else 1


def _warm(physical: Physical, spark: SparkSession) -> None:
    """Compile once where the tasks share this machine's cache: two cold workers would compile twice."""
    if is_local(spark):
        _warm_once(physical.spec)


@lru_cache(maxsize=128)
def _warm_once(spec: Spec) -> None:
    family_of(spec).warm(spec)


def _ending(path: str) -> str:
    return Path(path.rstrip("/").removesuffix(".gz")).suffix.lower()


def _read(reader: Any, names: Sequence[str], suffix: str) -> DataFrame:
    """Files that say their types themselves."""
    if suffix in ARROW:
        raise InputError(f"Spark does not read '{suffix}' files", hint="write them as Parquet, or leave out engine")
    return cast(DataFrame, reader.parquet(*names))


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Spark's complaints about what a path names, as ours."""
    try:
        yield
    except Exception as error:
        if not is_of_spark(error):
            raise
        # A failure in a task comes wrapped: Spark's own words stand behind their error class.
        said = _ERROR_CLASS.search(str(error))
        reason = said.group(1) if said else str(error).strip().splitlines()[0]
        hint = _NANOSECONDS_HINT if "NANOS" in reason else None
        raise InputError(f"cannot read '{path}': {reason}", hint=hint) from error


_NANOSECONDS_HINT = (
    'Spark does not read times in nanoseconds: write them with df.to_parquet(path, coerce_timestamps="us"), or read '
    "them as whole numbers with spark.sql.legacy.parquet.nanosAsLong"
)
_ERROR_CLASS = re.compile(r"\[[A-Z_.]+\] (.+?)(?: SQLSTATE: \w+)?$", re.MULTILINE)


def _aligned(frame: DataFrame, physical: Physical) -> Physical:
    if frame.isStreaming:
        raise UnsupportedError(
            "origin='first' needs the first event, and on a stream an earlier one may still come",
            hint="give origin as a time, or leave it out",
        )
    return with_origin(physical, first_us(frame, physical.intake) or 0)


def _observed(frame: DataFrame, physical: Physical) -> tuple[DataFrame, Observation | None]:
    """The frame with a count of events without a time; on a stream it is in each batch's progress."""
    counters = intake_counters(physical.intake)
    if frame.isStreaming:
        return frame.observe(unique(INTAKE), *counters), None
    observation = Observation("eventide")
    return frame.observe(observation, *counters), observation
