"""What users call for many queries at once: `ev.RuleSet(...)`, whose rules may change while a stream runs."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa

from eventide.engines.local.sources import is_local, open_source, plain_frame
from eventide.engines.rule_files import Rules, check_endings, make_reader
from eventide.engines.rule_limits import Limits, seconds_of
from eventide.engines.rule_rows import PROBLEM, ROW, RULE, typed_rows
from eventide.engines.rules import Shared, plan_rule, share
from eventide.engines.rules_run import check_rules, run_source
from eventide.errors import EventideError, InputError, did_you_mean
from eventide.plan.arguments import check_session, count_of, kind_of, shown, wrong_argument
from eventide.plan.options import NAMES, Options
from eventide.plan.streams import no_end

_OPTIONS = ("ts", "ts_unit", "sequence", "type", "partition_by", "allowed_lateness", "on_bad_event", "close_at_end")


class RuleSet:
    """Queries from a folder or a table, run together over one input.

    In a folder every file NAME.evq or NAME.query is a rule; NAME.sql is a rule with MATCH_RECOGNIZE. NAME.json beside
    it has the options of the rule. A table has the columns name, query and options; options are JSON text. The options
    here are those of every rule. `partition_by` says which events are kept together, so the partition columns of every
    rule include these columns.

    Four limits hold for every rule, whatever its own options say. `max_matches_per_partition` bounds its matches.
    `memory_limit` bounds what a rule holds in one bucket or, without Spark, what its rows take. `planning_limit` bounds
    the time from text to compiled code, and `max_steps_per_partition` the search. A rule that exceeds a limit is
    switched off with a problem, and the other rules continue.

    >>> import eventide as ev, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "repeat.query").write_text("PATTERN SEQ(Buy a, Buy b) WITHIN 5 seconds RETURN a.user, b.amount")
    >>> _ = (folder / "broken.query").write_text("PATTERN SEQ(Buy a, Pay p) WITHIN 5 seconds RETURN p.sum")
    >>> rules = ev.RuleSet(folder, ts="ts", ts_unit="s", type="kind", partition_by="user")
    >>> events = [{"ts": 1, "user": "ann", "kind": "Buy", "amount": 9},
    ...           {"ts": 4, "user": "ann", "kind": "Buy", "amount": 30}]
    >>> found = rules.run(events)
    >>> found.select(["rule", "row", "detected_at"]).to_pylist()[1]
    {'rule': 'repeat', 'row': '{"a_user": "ann", "b_amount": 30}', 'detected_at': 4}
    >>> found["problem"][0].as_py().splitlines()[0]
    "unknown column 'sum' (line 1, column 53)"
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        table: str | None = None,
        spark: Any = None,
        poll: Any = "10 seconds",
        n_buckets: int | None = None,
        max_matches_per_partition: int | str | None = None,
        memory_limit: int | str | None = None,
        planning_limit: Any = None,
        max_steps_per_partition: int | str | None = None,
        **options: Any,
    ) -> None:
        if (folder is None) == (table is None):
            raise EventideError("a rule set reads a folder or a table", hint='ev.RuleSet("rules/", ts="ts")')
        if folder is not None and not isinstance(folder, str | os.PathLike):
            hint = "write each query to a file of its own, and give the folder"
            raise EventideError(f"a rule set reads a folder, found {type(folder).__name__}", hint=hint)
        if table is not None:
            if not isinstance(table, str) or not table:
                raise wrong_argument("table", "the name of a table", table, 'table="rules"')
            if spark is None:
                raise EventideError("a table of rules needs a session", hint="pass spark=spark")
            check_session(spark)
        for name in options:
            if name not in _OPTIONS:
                hint = did_you_mean(name, _OPTIONS) if name not in NAMES else "give it to a rule"
                raise EventideError(f"a rule set has no option '{name}'", hint=hint)
        if n_buckets is not None:
            count_of("n_buckets", n_buckets)
        Options.of(**options)
        self._options = {name: value for name, value in options.items() if value is not None}
        self._folder = None if folder is None else os.path.abspath(os.fspath(folder))
        self._table, self._spark = table, spark
        self._poll_seconds = seconds_of("poll", poll)
        self._limits = Limits.of(max_matches_per_partition, memory_limit, planning_limit, max_steps_per_partition)
        self._n_buckets = n_buckets
        self._shared: Shared | None = None
        self._mirror: Any = None

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self._options.items())
        return f"<RuleSet of {(self._folder or self._table)!r}{options}>"

    def run(self, events: Any) -> Any:
        """What the rules find: a DataFrame for a DataFrame of Spark, streaming for a stream; else a pyarrow Table.

        Columns: `rule`; `detected_at`, NULL for MATCH_RECOGNIZE; `match_id`, NULL for aggregates and situations; `row`,
        the rule's columns as JSON; `problem`, NULL for a match. A stream follows the folder or table while it runs:
        each micro-batch begins with the rules that are there then. Other input takes the rules as of now.
        """
        events = plain_frame(events)
        if is_local(events):
            source = open_source(events)
            self._shared = share(source.schema, self._options, self._limits)
            return run_source(source, self._read(), self._shared)
        from eventide.engines.spark.rules_stream import run_batch, run_stream
        from eventide.engines.spark.types import input_schema

        if events.isStreaming and Options.of(**self._options).close_at_end:
            raise no_end()
        self._shared = share(input_schema(events), self._options, self._limits)
        rules = self._read()
        if not events.isStreaming:
            return run_batch(events, rules, self._shared, self._n_buckets)
        return run_stream(events, self._path(), rules, self._shared, self._n_buckets)

    def rows(self, found: Any, name: str) -> Any:
        """The rows of one rule from the result of `run`, with the columns and types of that rule.

        The columns are those of the rule as it is written now. A match of an earlier version has NULL in the columns
        that the earlier version lacked.
        """
        if self._shared is None:
            raise EventideError("there are no rows before a run", hint="found = rules.run(events)")
        _check_found(found)
        written = self._read()
        if not isinstance(name, str) or name not in written:
            raise InputError(f"there is no rule {shown(name)}", hint=did_you_mean(str(name), written))
        rule = plan_rule(written[name], self._shared)
        if is_local(found):
            return typed_rows(found, name, rule)
        from eventide.engines.spark.rules_stream import typed_frame

        return typed_frame(found, name, rule)

    def check(self, events: Any) -> dict[str, str]:
        """What is wrong with each wrong rule. `events` is a pyarrow Schema, or anything that `run` takes.

        >>> import eventide as ev, pathlib, pyarrow as pa, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "all.query").write_text("PATTERN SEQ(A a, B b)")
        >>> problems = ev.RuleSet(folder, ts_unit="s", type="kind").check([{"ts": 1, "kind": "A"}])
        >>> print(problems["all"].splitlines()[0])
        a stream cannot run this query: without a WITHIN clause every event stays relevant for ever
        """
        return check_rules(self._read(), share(_schema(events), self._options, self._limits))

    def stop(self) -> None:
        """End the thread that looks for changes in a table; a folder has no such thread."""
        if self._mirror is not None:
            self._mirror.stop()
            self._mirror = None

    def _read(self) -> Rules:
        """The rules as of now."""
        if self._table is not None:
            from eventide.engines.spark.rules_source import read_table

            return read_table(self._spark, self._table)
        assert self._folder is not None
        if not os.path.isdir(self._folder):
            raise InputError(f"there is no folder '{self._folder}'", hint="make it: it may be empty at first")
        check_endings(self._folder)
        return make_reader()(self._folder, {})

    def _path(self) -> str:
        """What the source of rules reads."""
        if self._table is None:
            assert self._folder is not None
            return self._folder
        if self._mirror is None:
            from eventide.engines.spark.rules_source import Mirror

            self._mirror = Mirror(self._spark, self._table, self._poll_seconds)
        else:
            self._mirror.refresh()
        path: str = self._mirror.path
        return path


def _check_found(found: Any) -> None:
    """What `run` gave has its columns."""
    names = getattr(found, "column_names", None) if is_local(found) else getattr(found, "columns", None)
    if not isinstance(names, list) or not {RULE, ROW, PROBLEM} <= set(names):
        message = f"rows takes what run gave, found {kind_of(found)}"
        raise InputError(message, hint="found = rules.run(events); rules.rows(found, name)")


def _schema(events: Any) -> pa.Schema:
    if isinstance(events, pa.Schema):
        return events
    if is_local(events):
        return open_source(events).schema
    from eventide.engines.spark.types import input_schema

    return input_schema(plain_frame(events))
