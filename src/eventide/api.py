"""What users call: `ev.query(...)` and what it returns."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from eventide.engines.distribution import describe_files
from eventide.engines.local import run as local
from eventide.engines.local.diagnosis.events import diagnose_events
from eventide.engines.local.diagnosis.result import Diagnosis, refuse_spark
from eventide.engines.local.live import Live, default_workers
from eventide.engines.local.sources import Source, is_local, open_source, open_sources, plain_frame
from eventide.engines.local.tuning import Tuner
from eventide.engines.together import TYPE_COLUMN
from eventide.errors import EventideError, InputError, UnsupportedError, did_you_mean
from eventide.lang import AnyQuery, SituationQuery, parse, write
from eventide.metrics import of as metrics_of
from eventide.plan.arguments import (
    check_session,
    count_of,
    engine_of,
    in_one_line,
    not_for_spark,
    session_for_path,
    wrong_argument,
)
from eventide.plan.explain import explain, explain_situations
from eventide.plan.options import Options
from eventide.plan.physical import Physical
from eventide.plan.places import within_the_stack
from eventide.plan.prepare import prepare
from eventide.plan.symbols import walk_steps
from eventide.streams import refuse_bounded


def query(text: str, **options: Any) -> Query:
    """A query that runs on whatever holds the events.

    >>> import eventide as ev
    >>> q = ev.query("PATTERN SEQ(Login L, Buy B) WITHIN 10 seconds RETURN L.user, B.amount",
    ...              ts="ts", ts_unit="s", type="kind", partition_by="user")
    >>> events = [{"ts": 1, "user": "ann", "kind": "Login", "amount": None},
    ...           {"ts": 4, "user": "ann", "kind": "Buy", "amount": 30}]
    >>> q.run(events).to_pylist()
    [{'L_user': 'ann', 'B_amount': 30, 'detected_at': 4}]
    """
    if not isinstance(text, str):
        hint = "ev.query(path.read_text())" if isinstance(text, os.PathLike) else None
        raise EventideError(f"a query is text, found {type(text).__name__}", hint=hint)
    tree = parse(text)
    return Query(text, tree, Options.for_query(tree, **options))


@dataclass(slots=True, repr=False)
class Query:
    """One query; `run` takes the events."""

    text: str
    tree: AnyQuery
    options: Options
    last_run: Any = None

    def run(
        self,
        events: Any = None,
        *,
        engine: str | None = None,
        spark: Any = None,
        memory_limit: int | str | None = None,
        **inputs: Any,
    ) -> Any:
        """Spark DataFrame in, Spark DataFrame out; anything else in, pyarrow Table out.

        `engine="spark"` with a path lets Spark tasks read the files themselves. `Order=df1, Payment=df2` gives
        one input per event type. `memory_limit`, bytes or text such as "2GB", bounds the events that the embedded
        engine holds.
        """
        limit_bytes = None if memory_limit is None else local.size_bytes(memory_limit)
        engine = engine_of(engine)
        events, inputs = plain_frame(events), {name: plain_frame(value) for name, value in inputs.items()}
        self._check_inputs("run", events, inputs, engine)
        if engine == "spark" or not all(is_local(value) for value in (events, *inputs.values())):
            return self._run_on_spark(events, inputs, spark)
        source, options = self._open(events, inputs)
        physical = prepare(self.tree, options, source.schema, engine="local")
        if inputs:
            # An input may well be empty, and its name was checked.
            physical = replace(physical, types=())
        table, self.last_run = local.run(physical, source, limit_bytes)
        return table

    def late(self, events: Any = None, **inputs: Any) -> Any:
        """The late events of a stream, which `run` drops, with all their columns: a streaming DataFrame.

        It is a stream of its own, with a checkpoint of its own, and takes the inputs of `run`.
        """
        from eventide.engines.spark.run import run_late

        self._check_inputs("late", events, inputs)
        refuse_bounded(*(inputs.values() if inputs else (events,)))
        frame, options = self._frame(events, inputs)
        return run_late(frame, lambda schema: prepare(self.tree, options, schema, engine="spark"))

    def explain(self, events: Any = None, *, engine: str | None = None, **inputs: Any) -> str:
        """The query as understood, the plan, the chosen operator and distribution, and why."""
        engine = engine_of(engine)
        if events is None and not inputs:
            return self._explain(self.options, None, engine or "local")
        events, inputs = plain_frame(events), {name: plain_frame(value) for name, value in inputs.items()}
        self._check_inputs("explain", events, inputs, engine)
        if all(is_local(value) for value in (events, *inputs.values())):
            source, options = self._open(events, inputs)
            return self._explain(options, source.schema, engine or "local", source.n_rows, source.files)
        from eventide.engines.spark.types import input_schema

        frame, options = self._frame(events, inputs)
        name = "spark stream" if frame.isStreaming else "spark"
        return self._explain(options, input_schema(frame), name)

    def _explain(
        self,
        options: Options,
        schema: pa.Schema | None,
        engine: str,
        n_rows: int | None = None,
        files: tuple[str, ...] = (),
    ) -> str:
        choose = partial(describe_files, files) if engine == "spark" else None
        with within_the_stack(self.text):
            if isinstance(self.tree, SituationQuery):
                observed = getattr(self.last_run, "program", None)
                return explain_situations(
                    self.tree, options, schema, engine=engine, n_rows=n_rows, observed=observed, choose=choose
                )
            return explain(self.tree, options, schema, engine=engine, n_rows=n_rows, choose=choose)

    def diagnose(self, events: Any = None, *, partitions: int = 1000, **inputs: Any) -> Diagnosis:
        """Why there is no match: per partition the longest partial match, and what failed behind it.

        A partial match is what a match can be before its last events are there: events bound to the first steps of the
        pattern, in one window, under the strategy, that meet every conjunct and every NOT between them that they
        decide. AND is one step: all of its sides, or nothing. The longest stands furthest in the pattern; of several it
        is the first in event order, with all the events that its last repetition takes. So many `partitions` without a
        match are looked at for the reason. The events are read into this process, whole.

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
        self._check_inputs("diagnose", events, inputs)
        refuse_spark(events, *inputs.values())
        if isinstance(self.tree, SituationQuery):
            hint = "look at the situations themselves: q.situations(events), or ev.timeline(...)"
            raise UnsupportedError("diagnose is for event patterns", hint=hint)
        source, options = self._open(events, inputs)
        # What is returned plays no part; a trend begins as a match does.
        with within_the_stack(self.text):
            tree = replace(self.tree, returns=(), whole_events=False)
            return diagnose_events(tree, options, source, count_of("partitions", partitions))

    def live(
        self,
        source: Any,
        *,
        blocks_per_second: float = 50.0,
        max_workers: int | None = None,
        tune_every: float = 1.0,
    ) -> Live:
        """Run over input that is still coming, in this process: iterate over the result for tables of rows.

        `source` is an iterator of blocks (tables, DataFrames of pandas or polars, lists of dicts), or a `queue.Queue`
        of them that None ends. The size of blocks and the number of workers follow the rate of the input: as small as
        `blocks_per_second` allows, so that results come early, and as few as keep up. `metrics()` of the result has
        both, and every decision. Events may be late by `allowed_lateness`.

        >>> import eventide as ev
        >>> q = ev.query("DEFINE Hot AS t > 30, Wet AS rain PATTERN Hot meets Wet WITHIN 1 hour", ts_unit="s")
        >>> blocks = [[{"ts": 1, "t": 31, "rain": False}], [{"ts": 5, "t": 20, "rain": True}]]
        >>> [row for table in q.live(blocks) for row in table.to_pylist()]
        [{'Hot_start': 1, 'Hot_end': 5, 'Wet_start': 5, 'Wet_end': None, 'detected_at': 5}]
        """
        for name, value in (("blocks_per_second", blocks_per_second), ("tune_every", tune_every)):
            if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
                raise EventideError(f"{name} is a number above 0, found {value!r}")
        if max_workers is not None:
            count_of("max_workers", max_workers)
        if isinstance(source, str | dict) or not (hasattr(type(source), "__iter__") or hasattr(type(source), "get")):
            hint = "an iterator of tables, DataFrames or lists of dicts, or a queue.Queue of them"
            raise InputError(f"live input comes in blocks, found {type(source).__name__}", hint=hint)
        tuner = Tuner(float(blocks_per_second), max_workers or default_workers(), period_seconds=float(tune_every))
        return Live(lambda schema: prepare(self.tree, self.options, schema, engine="local"), source, tuner)

    def situations(self, events: Any) -> pa.Table:
        """The situations that a situation query derives: partition columns, `symbol`, `start`, `end`.

        The end of one that goes on is NULL; it is listed when it has lasted as long as FOR says. Where a partition
        column is called `symbol`, `start` or `end`, the other column of that name begins with `situation_`. A Spark
        DataFrame is collected.

        >>> import eventide as ev
        >>> q = ev.query("DEFINE Hot AS t > 30, Wet AS rain PATTERN Hot overlaps Wet", ts_unit="s")
        >>> q.situations([{"ts": 1, "t": 31, "rain": False}, {"ts": 5, "t": 20, "rain": True}]).to_pylist()
        [{'symbol': 'Hot', 'start': 1, 'end': 5}, {'symbol': 'Wet', 'start': 5, 'end': None}]
        """
        if not isinstance(self.tree, SituationQuery):
            raise UnsupportedError("only a query that relates situations has any", hint="PATTERN A overlaps B")
        source = open_source(events if is_local(events) else plain_frame(events).toArrow())
        return local.list_situations(prepare(self.tree, self.options, source.schema, engine="local"), source)

    def metrics(self, query: Any = None) -> dict[str, Any]:
        """What the last run counted, empty before a run; or, given a StreamingQuery, the stream: see `ev.metrics.of`.

        Embedded: `events` (where their number is known without reading), `relevant_events`, `dropped_events`,
        `matches`, `spilled_bytes`, and of aggregates over trends `overflows`, the NULLs in place of numbers past their
        range. On Spark only with `on_bad_event="drop"`: `events` and `dropped_events` of the
        first action on the result, empty before it.
        """
        if query is not None:
            return metrics_of(query)
        return self.last_run.metrics() if self.last_run is not None else {}

    def plan(self, schema: pa.Schema, engine: str = "local") -> Physical:
        """The executable form over a schema."""
        if not isinstance(schema, pa.Schema):
            raise wrong_argument("schema", "a pyarrow Schema", schema, "q.plan(table.schema)")
        return prepare(self.tree, self.options, schema, engine=engine)

    def __str__(self) -> str:
        return write(self.tree)

    def __repr__(self) -> str:
        return f"<Query {in_one_line(write(self.tree))}>"

    def _run_on_spark(self, events: Any, inputs: dict[str, Any], spark: Any) -> Any:
        from eventide.engines.spark.run import run_frame, run_path

        if isinstance(events, str | os.PathLike):
            session_for_path(spark)
            self.last_run = run_path(os.fspath(events), lambda schema: self.plan(schema, "spark"), spark)
        else:
            frame, options = self._frame(events, inputs)
            self.last_run = run_frame(frame, lambda schema: prepare(self.tree, options, schema, engine="spark"))
        return self.last_run.rows

    def _frame(self, events: Any, inputs: dict[str, Any]) -> tuple[Any, Options]:
        from eventide.engines.spark.run import merge_frames

        for value in inputs.values() if inputs else (events,):
            if is_local(value):
                raise not_for_spark(value)
        if inputs:
            return merge_frames(inputs), typed_by_input(self.options)
        return events, self.options

    def _open(self, events: Any, inputs: dict[str, Any]) -> tuple[Source, Options]:
        if inputs:
            return open_sources(inputs), typed_by_input(self.options)
        return open_source(events), self.options

    def _check_inputs(self, method: str, events: Any, inputs: dict[str, Any], engine: str | None = None) -> None:
        option = next((name for name in inputs if name in Options.__slots__), None)
        if events is not None and option is not None:
            hint = f"ev.query(text, {option}=...).{method}(events)"
            raise InputError(f"{option} is an option of the query", hint=hint)
        ways = f"q.{method}(events), or q.{method}(Order=orders, Payment=payments)"
        other = next((name for name in inputs if name not in self._types()), None)
        if events is not None and other is not None:
            raise InputError(f"{method} has no option '{other}'", hint=ways)
        if (events is None) == (not inputs):
            raise InputError(f"{method} takes one input, or one per event type", hint=ways)
        if engine == "local" and not all(is_local(value) for value in (events, *inputs.values())):
            raise InputError(
                "engine='local' does not read Spark DataFrames", hint="leave out engine, or pass df.toArrow()"
            )
        if inputs:
            self._check_types(inputs)

    def _types(self) -> list[str]:
        """The types of the pattern that have no definition: each may be an input of its own."""
        if isinstance(self.tree, SituationQuery):
            return []
        defined = {definition.name.text for definition in self.tree.define}
        types = dict.fromkeys(step.type for step, _, _ in walk_steps(self.tree.pattern))
        return [name for name in types if name not in defined]

    def _check_types(self, inputs: dict[str, Any]) -> None:
        """Every input is a type of the pattern, and every type without a definition has an input."""
        if isinstance(self.tree, SituationQuery):
            raise InputError("a situation query reads one input", hint="join the inputs before: q.run(events)")
        types = self._types()
        for name in inputs:
            if name not in types:
                hint = did_you_mean(name, types) or "every type of PATTERN has a definition: pass one input"
                raise InputError(f"the input {name} is no event type of PATTERN", hint=hint)
        missing = [name for name in types if name not in inputs]
        if missing:
            raise InputError(f"there is no input for the event type {missing[0]}", hint=f"pass {missing[0]}=...")


def typed_by_input(options: Options) -> Options:
    """The options when each event type is an input of its own."""
    if options.type is not None:
        raise InputError("one input per event type leaves nothing for type= to say", hint="leave out type=")
    return replace(options, type=TYPE_COLUMN)


def stream_metrics(checkpoint: str | os.PathLike[str], spark: Any) -> dict[str, int]:
    """What a stream has counted since its first start, read from its checkpoint.

    `late_events`, `held_segments`, `buckets`, and of aggregates over trends `overflows`, the NULLs in place of numbers
    past their range.
    """
    if not isinstance(checkpoint, str | os.PathLike):
        raise wrong_argument("checkpoint", "the path of a folder", checkpoint, 'checkpoint="alerts-checkpoint"')
    check_session(spark)
    from eventide.engines.spark.state import read_counters

    return read_counters(os.fspath(checkpoint), spark)
