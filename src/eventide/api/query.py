"""`Query`: what every constructor returns, whatever the language of the query. Engines load with the first need."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eventide.api.metrics import of as metrics_of
from eventide.api.plans import Planning
from eventide.api.streams import refuse_bounded
from eventide.engines.diagnose.result import Diagnosis, refuse_spark
from eventide.engines.local import run as local
from eventide.engines.local.sources import Source, is_local, open_source, open_sources, plain_frame
from eventide.engines.together import TYPE_COLUMN
from eventide.errors import EventideError, InputError, UnsupportedError, did_you_mean
from eventide.families.registry import family_named
from eventide.lang.tree import Or, Repeat, Step
from eventide.plan.arguments import (
    count_of,
    engine_of,
    in_one_line,
    not_for_spark,
    one_of,
    session_for_path,
    wrong_argument,
)
from eventide.plan.choose import AUTO, JOINS, PlanChoice
from eventide.plan.logical import Provided
from eventide.plan.options import NAMES
from eventide.plan.physical import Physical, Planned
from eventide.plan.places import within_the_stack

if TYPE_CHECKING:
    from eventide.engines.local.live import Live
    from eventide.plan.explain import Sections

Inputs = Mapping[str, Any]
ROWS_PER_BATCH = 10_000  # that Spark's rows are put into
DROPPED = b"eventide.dropped_events"
MOST_PLANS = 16  # that a query keeps, for events of several kinds


class Query:
    """One query, in any of the languages. `run` takes the events.

    A call of the query does the same as `run`, so `df.transform(query)` works.
    """

    def __init__(self, family: str, text: str, tree: Any, options: Any) -> None:
        self.text = text  # for messages
        self.tree = tree
        self.options = options
        self.last_run: Any = None
        self._family = family_named(family)
        self._plans: dict[tuple[Any, Any, str, bool], Planned] = {}

    # --- what users call

    def run(
        self,
        events: Any = None,
        *,
        engine: str | None = None,
        spark: Any = None,
        memory_limit: int | str | None = None,
        plan: str | None = None,
        **inputs: Any,
    ) -> Any:
        """The rows: a Spark DataFrame for Spark DataFrames, a pyarrow Table for anything else.

        With `engine="spark"` and a path, Spark's tasks read the files themselves. `Order=df1, Payment=df2` gives one
        input per event type. `memory_limit`, bytes or text such as "2GB", bounds the events that the engine in this
        process holds. `plan="joins"` runs an event pattern as joins of Spark or DuckDB, without operators of Eventide.
        """
        limit_bytes = None if memory_limit is None else local.size_bytes(memory_limit)
        word = self._planning().word(plan)
        events, inputs, on_spark = self._where("run", events, inputs, engine)
        if on_spark:
            self.last_run = self._chosen_on_spark(events, inputs, spark, word)
            return self._shown_on_spark(self.last_run.rows, events, inputs)
        if word == JOINS:
            from eventide.engines.local.relational import run as run_joins

            source, options = self._open(events, inputs)
            table, self.last_run = run_joins(*self._planning(options).local_joins(source), source)
            return self._shown(table, source)
        source, physical = self._opened(events, inputs)
        table, self.last_run = local.run(physical, source, limit_bytes)
        return self._shown(table, source)

    def __call__(self, events: Any = None, **given: Any) -> Any:
        """The same as `run`."""
        return self.run(events, **given)

    def batches(
        self,
        events: Any = None,
        *,
        engine: str | None = None,
        spark: Any = None,
        memory_limit: int | str | None = None,
        plan: str | None = None,
        **inputs: Any,
    ) -> Iterator[pa.RecordBatch]:
        """The rows as record batches, in bounded memory however many rows there are. The arguments are those of `run`.

        >>> import eventide as ev
        >>> q = ev.query("PATTERN SEQ(Login L, Buy B) RETURN L.user", ts_unit="s", type="kind")
        >>> events = [{"ts": 1, "user": "ann", "kind": "Login"}, {"ts": 4, "user": "ann", "kind": "Buy"}]
        >>> [batch.num_rows for batch in q.batches(events)]
        [1]
        """
        self._refuse("batches")
        limit_bytes = None if memory_limit is None else local.size_bytes(memory_limit)
        word = self._planning().word(plan)
        events, inputs, on_spark = self._where("batches", events, inputs, engine)
        if on_spark:
            self.last_run = self._chosen_on_spark(events, inputs, spark, word)
            return self._spark_batches(self.last_run.rows)
        if word == JOINS:
            from eventide.engines.local.relational import run_batches

            source, options = self._open(events, inputs)
            self.last_run = local.Run(events=source.n_rows)
            return run_batches(*self._planning(options).local_joins(source), source, self.last_run)
        source, physical = self._opened(events, inputs)
        self.last_run = local.Run(events=source.n_rows)
        return local.run_batches(physical, source, self.last_run, limit_bytes)

    def late(self, events: Any = None, **inputs: Any) -> Any:
        """The late events of a stream, with all their columns: a streaming DataFrame. `run` drops these events.

        The result is a stream of its own, with a checkpoint of its own. The inputs are those of `run`.
        """
        self._refuse("late")
        events, inputs, _ = self._where("late", events, inputs, None)
        refuse_bounded(*(inputs.values() if inputs else (events,)))
        return self._late_on_spark(events, inputs)

    def explain(
        self,
        events: Any = None,
        *,
        engine: str | None = None,
        spark: Any = None,
        plan: str | None = None,
        **inputs: Any,
    ) -> str:
        """How the query was understood, its plan, the chosen operator and distribution, and the reasons.

        With `plan="joins"`, and where joins are chosen, it has the SQL statement and Spark's own plan.
        """
        if events is None and not inputs:
            from eventide.plan.explain import outlined

            engine_of(engine)
            with within_the_stack(self.text):
                return outlined(self._family, self.tree, self.options)
        events, inputs, on_spark = self._where("explain", events, inputs, engine)
        if spark is None and all(map(is_local, inputs.values() if inputs else (events,))):
            source, options = self._open(events, inputs)
            name = "spark" if on_spark else "local"
            found = self._planning(options).explained(source.schema, name, plan, n_events=source.n_rows)
            return self._explained(options, source.schema, name, Provided(source.n_rows, source.files), found)
        from eventide.engines.spark.types import input_schema

        frame, options = self._frame(events, inputs, spark)
        name = "spark stream" if frame.isStreaming else "spark"
        found = self._planning(options).explained(input_schema(frame), name, plan, frame)
        return self._explained(options, input_schema(frame), name, how=found)

    def diagnose(self, events: Any = None, *, partitions: int = 1000, **inputs: Any) -> Diagnosis:
        """Why there is no match: for each partition the longest partial match, and what failed after it.

        docs/diagnose.md says what the longest partial match is in each language. At most `partitions` partitions
        without a match are examined. All events are read into this process.

        >>> import eventide as ev
        >>> q = ev.query("PATTERN SEQ(Login L, Buy B) WHERE [user] AND B.amount > 50", ts_unit="s", type="kind")
        >>> print(q.diagnose([{"ts": 1, "user": "ann", "kind": "Login", "amount": None},
        ...                   {"ts": 4, "user": "ann", "kind": "Buy", "amount": 30}]))
        1 of 1 partitions have no match.
          1 stops at B: B.amount > 50
        <BLANKLINE>
        user = ann: no match; at least 1 more event needed
          found    L at 1
          failed   B at 4: B.amount > 50
                   B.amount = 30
        """
        self._refuse("diagnose")
        refuse_spark(events, *inputs.values())
        events, inputs, _ = self._where("diagnose", events, inputs, None)
        source, options = self._open(events, inputs)
        from eventide.engines.diagnose.investigation import diagnose

        with within_the_stack(self.text):
            return diagnose(self._family.name, self.tree, options, source, count_of("partitions", partitions))

    def live(
        self,
        source: Any,
        *,
        blocks_per_second: float = 50.0,
        max_workers: int | None = None,
        tune_every: float = 1.0,
    ) -> Live:
        """Run over input that is still coming, in this process: iterate over the result for tables of rows.

        `source` is an iterator of blocks (tables, DataFrames of pandas or Polars, lists of dicts), or a `queue.Queue`
        of blocks that None ends. Blocks are as small as `blocks_per_second` allows, so that results come early.
        There are as few workers as keep up with the input. `metrics()` of the result has both numbers, and every
        decision. Events may be late by `allowed_lateness`.

        >>> import eventide as ev
        >>> q = ev.query("DEFINE Hot AS t > 30, Wet AS rain PATTERN Hot meets Wet WITHIN 1 hour", ts_unit="s")
        >>> blocks = [[{"ts": 1, "t": 31, "rain": False}], [{"ts": 5, "t": 20, "rain": True}]]
        >>> [row for table in q.live(blocks) for row in table.to_pylist()]
        [{'Hot_start': 1, 'Hot_end': 5, 'Wet_start': 5, 'Wet_end': None, 'detected_at': 5}]
        """
        self._refuse("live")
        from eventide.engines.local.live import Live, default_workers
        from eventide.engines.local.tuning import Tuner

        for name, value in (("blocks_per_second", blocks_per_second), ("tune_every", tune_every)):
            if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
                raise EventideError(f"{name} is a number above 0, found {value!r}")
        if max_workers is not None:
            count_of("max_workers", max_workers)
        if isinstance(source, str | dict) or not (hasattr(type(source), "__iter__") or hasattr(type(source), "get")):
            hint = "an iterator of tables, DataFrames or lists of dicts, or a queue.Queue of them"
            raise InputError(f"live input comes in blocks, found {type(source).__name__}", hint=hint)
        tuner = Tuner(float(blocks_per_second), max_workers or default_workers(), period_seconds=float(tune_every))
        plan = partial(self._plan, self.options, on_stream=True)
        return Live(plan, source, tuner, shown=self._shown_live)

    def metrics(self, query: Any = None) -> dict[str, Any]:
        """What the last run counted; empty before a run. Given a StreamingQuery, what the stream counted.

        A run in this process counts `events` (if the number is known without reading), `relevant_events`,
        `dropped_events`, `matches` and `spilled_bytes`. Aggregates over trends also count `overflows`: the NULLs that
        replace numbers past their range. Spark counts only with `on_bad_event="drop"`: `events` and `dropped_events`
        of the first action on the result. `ev.metrics.of` lists the numbers of a stream.
        """
        if query is not None:
            return metrics_of(query)
        return dict(self.last_run.metrics()) if self.last_run is not None else {}

    def plan(self, schema: pa.Schema, engine: str = "local") -> Physical:
        """The executable form of the query over events of a schema."""
        self._refuse("plan")
        if not isinstance(schema, pa.Schema):
            raise wrong_argument("schema", "a pyarrow Schema", schema, "q.plan(table.schema)")
        return self._plan(self.options, schema, one_of("engine", engine, ("local", "spark")))

    def situations(self, events: Any) -> pa.Table:
        """The situations that a situation query derives: partition columns, `symbol`, `start`, `end`.

        An ongoing situation has the end NULL; it is listed once it has lasted as long as FOR says. If a partition
        column is called `symbol`, `start` or `end`, the column of the listing begins with `situation_`. A Spark
        DataFrame is collected.

        >>> import eventide as ev
        >>> q = ev.query("DEFINE Hot AS t > 30, Wet AS rain PATTERN Hot overlaps Wet", ts_unit="s")
        >>> q.situations([{"ts": 1, "t": 31, "rain": False}, {"ts": 5, "t": 20, "rain": True}]).to_pylist()
        [{'symbol': 'Hot', 'start': 1, 'end': 5}, {'symbol': 'Wet', 'start': 5, 'end': None}]
        """
        self._refuse("situations")
        from eventide.engines.local.listing import list_situations

        source = open_source(events if is_local(events) else plain_frame(events).toArrow())
        return list_situations(self._plan(self.options, source.schema), source)

    def __str__(self) -> str:
        return self._family.write(self.tree)

    def __repr__(self) -> str:
        return f"<Query {in_one_line(str(self))}>"

    def altered(self, *, tree: Any = None, options: Any = None) -> Query:
        """The same query with another tree, or with other options."""
        made = copy(self)
        made.tree = self.tree if tree is None else tree
        made.options = self.options if options is None else options
        made.last_run = None
        made._plans = {}
        return made

    # --- plans

    def _planning(self, options: Any = None) -> Planning:
        """The ways in which the query may run."""
        options = self.options if options is None else options
        return Planning(self._family, self.text, options, partial(self._planned, options))

    def _planned(self, options: Any, schema: Any, engine: str = "local", *, on_stream: bool = False) -> Planned:
        """What is known of the query over events of this kind, found out once."""
        key = options, schema, engine, on_stream
        if key not in self._plans:
            if len(self._plans) == MOST_PLANS:
                self._plans.clear()
            self._plans[key] = self._family.plan(self.tree, options, schema, engine=engine, on_stream=on_stream)
        return self._plans[key]

    def _plan(self, options: Any, schema: Any, engine: str = "local", *, on_stream: bool = False) -> Physical:
        return self._planned(options, schema, engine, on_stream=on_stream).ready()

    def _explained(
        self,
        options: Any,
        schema: Any,
        engine: str,
        provided: Provided | None = None,
        how: tuple[PlanChoice, Sections] | None = None,
    ) -> str:
        """What `explain` says over inputs of this kind; `engine` is "local", "spark" or "spark stream".

        `how` is the choice between an operator and joins, and what there is to say about it.
        """
        from eventide.engines.file_input import describe_files
        from eventide.plan.explain import explained, explained_as_joins

        with within_the_stack(self.text):
            planned = self._for_explain(options, schema, engine)
            chosen = None
            if provided is not None:
                planned = replace(planned, node=planned.node.over(provided))
                if engine == "spark" and planned.physical is not None:
                    chosen = describe_files(provided.files, planned.physical)
            if how is not None and how[0].plan == JOINS:
                return explained_as_joins(str(self), planned, how[1])
            learned, more = getattr(self.last_run, "learned", None), how[1] if how is not None else {}
            return explained(str(self), planned, engine, chosen, learned, more)

    def _for_explain(self, options: Any, schema: Any, engine: str) -> Planned:
        """The plan that a run has. What a stream refuses is part of the text, so it is planned as a table is then."""
        if engine == "spark stream":
            with suppress(EventideError):
                return self._planned(options, schema, "spark", on_stream=True)
        return self._planned(options, schema, engine.split()[0])

    def _refuse(self, method: str) -> None:
        """An error where a method has no meaning for this family of queries."""
        refusal = self._family.refusals.get(method)
        if refusal is not None:
            raise UnsupportedError(refusal[0], hint=refusal[1])

    # --- inputs

    def _where(self, method: str, events: Any, inputs: Inputs, engine: str | None) -> tuple[Any, dict[str, Any], bool]:
        """The inputs, checked, and whether Spark holds them or shall read them."""
        engine = engine_of(engine)
        events, frames = plain_frame(events), {name: plain_frame(value) for name, value in inputs.items()}
        self._check_inputs(method, events, frames)
        given = list(frames.values()) if frames else [events]
        if engine == "local" and not all(map(is_local, given)):
            hint = "leave out engine, or pass df.toArrow()"
            raise InputError("engine='local' does not read Spark DataFrames", hint=hint)
        return events, frames, engine == "spark" or not all(map(is_local, given))

    def _check_inputs(self, method: str, events: Any, inputs: Inputs) -> None:
        """One input, or one for each event type of the pattern."""
        option = next((name for name in inputs if name in NAMES), None)
        if events is not None and option is not None:
            hint = f"give it to the constructor: ev.query(text, {option}=...).{method}(events)"
            raise InputError(f"{option} is an option of the query", hint=hint)
        types = self._family.input_types(self.tree)
        ways = f"q.{method}(events)" + (f", or q.{method}(Order=orders, Payment=payments)" if types is not None else "")
        other = next((name for name in inputs if name not in (types or ())), None)
        if events is not None and other is not None:
            raise InputError(f"{method} has no option '{other}'", hint=ways)
        if (events is None) == (not inputs):
            several = ", or one per event type" if types is not None else ""
            raise InputError(f"{method} takes one input{several}", hint=ways)
        if inputs:
            self._check_types(types, inputs)

    def _check_types(self, types: tuple[str, ...] | None, inputs: Inputs) -> None:
        """Every input is a type of the pattern, and every type without a definition has an input."""
        if types is None:
            what = self._family.what
            raise InputError(f"{what} reads one input", hint="join the inputs before: q.run(events)")
        for name in inputs:
            if name not in types:
                hint = did_you_mean(name, types) or "every type of PATTERN has a definition: pass one input"
                raise InputError(f"the input {name} is not an event type of PATTERN", hint=hint)
        missing = [name for name in types if name not in inputs]
        if missing:
            raise InputError(f"there is no input for the event type {missing[0]}", hint=f"pass {missing[0]}=...")

    def _typed_by_input(self) -> Any:
        """The options when each event type is an input of its own."""
        if self.options.type is not None:
            raise InputError("type= cannot be combined with one input per event type", hint="leave out type=")
        return replace(self.options, type=TYPE_COLUMN)

    # --- in this process

    def _open(self, events: Any, inputs: Inputs) -> tuple[Source, Any]:
        if inputs:
            return open_sources(dict(inputs)), self._typed_by_input()
        return open_source(events), self.options

    def _opened(self, events: Any, inputs: Inputs) -> tuple[Source, Physical]:
        source, options = self._open(events, inputs)
        physical = self._plan(options, source.schema)
        # An input of its own may well be empty, and its name was checked.
        return source, replace(physical, types=()) if inputs else physical

    def _shown(self, table: pa.Table, source: Source) -> Any:
        return table

    def _noting_dropped(self, table: pa.Table) -> pa.Table:
        """The table with the number of dropped events in its metadata."""
        dropped = {DROPPED: str(self.last_run.dropped_events)}
        return table.replace_schema_metadata({**(table.schema.metadata or {}), **dropped})

    def _shown_live(self, table: pa.Table) -> Any:
        return table

    # --- on Spark

    def _frame(self, events: Any, inputs: Inputs, spark: Any = None) -> tuple[Any, Any]:
        from eventide.engines.spark.run import merge_frames, read_frame

        if isinstance(events, str | os.PathLike):
            return read_frame(os.fspath(events), session_for_path(spark)), self.options
        for value in inputs.values() if inputs else (events,):
            if is_local(value):
                raise not_for_spark(value)
        if inputs:
            return merge_frames(dict(inputs)), self._typed_by_input()
        return events, self.options

    def _chosen_on_spark(self, events: Any, inputs: Inputs, spark: Any, word: str) -> Any:
        """The rows by the plan that is asked for, or the better one."""
        from eventide.engines.spark.ship import WrongPythonError

        if word == JOINS or (word == AUTO and self._may_be_filter()):
            made = self._joins_on_spark(events, inputs, spark, word)
            if made is not None:
                return made
        try:
            return self._run_on_spark(events, inputs, spark)
        except WrongPythonError as error:
            if word != AUTO or not self._family.has_joins:
                raise
            return self._without_python(events, inputs, spark, error)

    def _run_on_spark(self, events: Any, inputs: Inputs, spark: Any) -> Any:
        from eventide.engines.spark.run import run_frame, run_path

        if isinstance(events, str | os.PathLike):
            session = session_for_path(spark)
            return run_path(os.fspath(events), lambda schema: self._plan(self.options, schema, "spark"), session)
        frame, options = self._frame(events, inputs)
        stream = frame.isStreaming
        return run_frame(frame, lambda schema: self._plan(options, schema, "spark", on_stream=stream))

    def _may_be_filter(self) -> bool:
        """Whether Spark's own operators may be faster, as far as the text tells."""
        if not self._family.has_joins:
            return False
        pattern = self.tree.pattern
        return all(
            isinstance(part, Step | Or | Repeat) for part in (pattern.parts if isinstance(pattern, Or) else (pattern,))
        )

    def _joins_on_spark(self, events: Any, inputs: Inputs, spark: Any, word: str) -> Any:
        """The rows as joins of Spark; None where these are not chosen."""
        from eventide.engines.spark import relational
        from eventide.engines.spark.functions import planning_for
        from eventide.engines.spark.run import warn_of_path
        from eventide.engines.spark.types import input_schema
        from eventide.plan.relational.refusals import check_stream

        frame, options = self._frame(events, inputs, spark)
        if frame.isStreaming and word == AUTO:
            return None
        with planning_for(frame.sparkSession):
            plans = self._planning(options)
            choice, asked = plans.on_spark(input_schema(frame), word)
            if asked is None:
                return None
            if frame.isStreaming:
                check_stream(asked.plan)
            mapped = plans.mapped(asked, "spark", relational.TABLE, finished=False)
        if isinstance(events, str | os.PathLike):
            warn_of_path(os.fspath(events), asked.physical, frame.sparkSession)
        return relational.run(frame, mapped, asked.physical, choice.reason)

    def _without_python(self, events: Any, inputs: Inputs, spark: Any, error: EventideError) -> Any:
        """Joins where Spark's workers cannot run operators; what has no such form is an error about both."""
        try:
            return self._joins_on_spark(events, inputs, spark, JOINS)
        except EventideError as refusal:
            hint = f"{error.hint}; plan='joins' needs no Python, but {refusal.message}"
            raise InputError(error.message, hint=hint) from error

    def to_sql(self, dialect: str, events: Any, *, table: str = "events", **inputs: Any) -> str:
        """The statement that `plan="joins"` runs: Spark's or DuckDB's SQL over a table of events.

        >>> import eventide as ev
        >>> q = ev.query("PATTERN A WHERE A.x > 1 RETURN A.x", ts_unit="s", type="kind")
        >>> print(q.to_sql("spark", [{"ts": 1, "kind": "A", "x": 5}]).splitlines()[-1])
        )
        """
        self._planning().word(JOINS)
        if not isinstance(table, str):
            raise wrong_argument("table", "the name of a table", table, 'table="events"')
        dialect = one_of("dialect", dialect, ("spark", "duckdb"))
        events, inputs, on_spark = self._where("to_sql", events, inputs, None)
        if on_spark:
            from eventide.engines.spark.types import input_schema

            frame, options = self._frame(events, inputs)
            schema = input_schema(frame)
        else:
            source, options = self._open(events, inputs)
            schema = source.schema
        plans = self._planning(options)
        return plans.mapped(plans.asked(schema, "spark" if dialect == "spark" else "local"), dialect, table).statement

    def _late_on_spark(self, events: Any, inputs: Inputs) -> Any:
        from eventide.engines.spark.run import run_late

        frame, options = self._frame(events, inputs)
        return run_late(frame, lambda schema: self._plan(options, schema, "spark", on_stream=True))

    def _shown_on_spark(self, rows: Any, events: Any, inputs: Inputs) -> Any:
        return rows

    def _spark_batches(self, rows: Any) -> Iterator[pa.RecordBatch]:
        if rows.isStreaming:
            message = "a stream's rows come as it runs, and not as batches of one result"
            raise UnsupportedError(message, hint="ev.write_stream(rows, ...), or rows.writeStream.foreachBatch(...)")
        from eventide.engines.spark.run import record_batches

        return record_batches(rows, ROWS_PER_BATCH)
