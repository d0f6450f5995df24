"""What users call for row patterns: `ev.sql(...)` and `ev.match_recognize(...)`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import Any

import pyarrow as pa

from eventide.engines.local import run as local
from eventide.engines.local.diagnosis.result import Diagnosis, refuse_spark
from eventide.engines.local.diagnosis.rows import diagnose_rows
from eventide.engines.local.sources import is_local, open_source, plain_frame
from eventide.engines.local.statement import explain_statement, run_statement
from eventide.engines.statements import check_syntax
from eventide.errors import EventideError, InputError, UnsupportedError
from eventide.lang.rows import parse_clause, parse_statement
from eventide.lang.rows.names import write_column
from eventide.lang.rows.tree import RowQuery, Statement
from eventide.lang.rows.write import write_clause
from eventide.metrics import of as metrics_of
from eventide.plan.arguments import check_dict, names_of, wrong_argument
from eventide.plan.options import Options
from eventide.plan.physical import Physical
from eventide.plan.rows.explain import explain_rows
from eventide.plan.rows.lower import prepare_rows
from eventide.streams import refuse_bounded


def sql(
    text: str,
    *,
    spark: Any = None,
    ts_unit: str | None = None,
    state_ttl: Any = None,
    allowed_lateness: Any = None,
    match_id: bool = False,
    on_bad_event: str = "error",
    max_steps_per_partition: int | str | None = None,
    **tables: Any,
) -> Any:
    """The result of a SQL statement with MATCH_RECOGNIZE in it.

    Tables by name: Spark DataFrames give a Spark DataFrame, anything else that holds rows a pyarrow Table. With
    `spark`, names that are not given are those of its catalog. `ts_unit` is the unit of an integer ORDER BY column that
    is a time. `state_ttl`, `allowed_lateness`, `match_id`, `on_bad_event` and `max_steps_per_partition` are as in
    `match_recognize`.

    >>> import eventide as ev
    >>> ticks = [{"ts": i, "price": price} for i, price in enumerate([10, 8, 6, 7, 9, 5])]
    >>> ev.sql('''
    ...     SELECT bottom, up FROM ticks MATCH_RECOGNIZE (
    ...         ORDER BY ts
    ...         MEASURES LAST(DOWN.price) AS bottom, count(UP.*) AS up
    ...         PATTERN (DOWN+ UP+)
    ...         DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
    ...     )''', ticks=ticks).to_pylist()
    [{'bottom': 6, 'up': 2}]
    """
    options = Options.of(
        ts_unit=ts_unit,
        state_ttl=state_ttl,
        allowed_lateness=allowed_lateness,
        match_id=match_id,
        on_bad_event=on_bad_event,
        max_steps_per_partition=max_steps_per_partition,
    )
    tables = {name: plain_frame(table) for name, table in tables.items()}
    statement = _statement(text, tables)
    if not _is_on_spark(tables, spark):
        return run_statement(statement, tables, options)
    from eventide.engines.spark.statement import run_statement as run_on_spark

    return run_on_spark(statement, tables, _session(tables, spark), options)


def explain_sql(text: str, *, spark: Any = None, **given: Any) -> str:
    """What a statement does, without running it; the arguments are those of `sql`.

    Each MATCH_RECOGNIZE as `match_recognize(...).explain` tells it, the inner ones first, then the statement that is
    left. Only subqueries inside MEASURES and DEFINE are run, for their values are part of the program.

    >>> import eventide as ev
    >>> text = ev.explain_sql("SELECT n FROM t MATCH_RECOGNIZE (MEASURES count(*) AS n PATTERN (A+))", t=[{"x": 1}])
    >>> print(text[: text.index("  Conditions")])
    MATCH_RECOGNIZE over t (line 1)
    <BLANKLINE>
      Clause
        MEASURES COUNT(*) AS n
        ONE ROW PER MATCH
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A+)
    <BLANKLINE>
      Program
        0  label A
        1  split 0, 2
        2  accept
    <BLANKLINE>
    <BLANKLINE>
    """
    options = Options.of(**{name: given.pop(name) for name in _OPTIONS if name in given})
    given = {name: plain_frame(table) for name, table in given.items()}
    statement = _statement(text, given)
    if not _is_on_spark(given, spark):
        return explain_statement(statement, given, options)
    from eventide.engines.spark.statement import explain_statement as explain_on_spark

    return explain_on_spark(statement, given, _session(given, spark), options)


def outline(text: str) -> str:
    """The clauses of a statement as they are understood, without its tables.

    >>> print(outline("SELECT n FROM t MATCH_RECOGNIZE (MEASURES count(*) AS n PATTERN (A+))"))
    MATCH_RECOGNIZE over t
      MEASURES COUNT(*) AS n
      ONE ROW PER MATCH
      AFTER MATCH SKIP PAST LAST ROW
      PATTERN (A+)
    <BLANKLINE>
    Plan
      needs the tables' columns: pass them with --table name=path
    """
    statement = _statement(text, {})
    check_syntax(statement)
    parts = [
        f"MATCH_RECOGNIZE over {each.relation}\n{indent(write_clause(each.clause), '  ')}"
        for each in statement.recognitions
    ]
    return "\n\n".join([*parts, "Plan\n  needs the tables' columns: pass them with --table name=path"])


def diagnose_sql(text: str, events: Any, *, ts_unit: str | None = None, partitions: int = 1000) -> Diagnosis:
    """Why the one MATCH_RECOGNIZE of a statement has no match in events of this process."""
    found = _statement(text, {}).recognitions
    if len(found) != 1 or not found[0].relation.strip().replace("_", "a").replace("`", "").isalnum():
        message = f"diagnose is for one MATCH_RECOGNIZE over a table; the statement has {len(found)}"
        if len(found) == 1:
            message = f"diagnose is for a MATCH_RECOGNIZE over a table, not over '{found[0].relation}'"
        raise UnsupportedError(message, hint="diagnose the clause alone, over the rows that it reads")
    return diagnose_rows(found[0].clause, Options.of(ts_unit=ts_unit), open_source(events), partitions)


_OPTIONS = ("ts_unit", "state_ttl", "allowed_lateness", "match_id", "on_bad_event", "max_steps_per_partition")


def _statement(text: str, tables: Mapping[str, Any]) -> Statement:
    if not isinstance(text, str):
        raise EventideError(f"a statement is text, found {type(text).__name__}")
    for name, table in tables.items():
        if name == "close_at_end" and isinstance(table, bool):
            message = "MATCH_RECOGNIZE has no close_at_end: a match is made of rows, so the end leaves nothing open"
            raise EventideError(message, hint="leave it out")
        if isinstance(table, bool | int | float):
            hint = f"{', '.join(_OPTIONS)} are options; all other names are tables"
            raise EventideError(f"ev.sql has no option '{name}'", hint=hint)
    return parse_statement(text)


def _is_on_spark(tables: Mapping[str, Any], spark: Any) -> bool:
    """Whether the statement runs on Spark; then all tables must be there."""
    if spark is None and all(is_local(table) for table in tables.values()):
        return False
    if spark is not None and not hasattr(spark, "sql"):
        message = f"spark= takes a Spark session, found {type(spark).__name__}"
        raise EventideError(message, hint="a table cannot be called 'spark': pass it under another name")
    for name, table in tables.items():
        if is_local(table):
            raise InputError(f"'{name}' is no Spark DataFrame", hint=f"pass spark.createDataFrame({name})")
    return True


def _session(tables: Mapping[str, Any], spark: Any) -> Any:
    return spark if spark is not None else next(iter(tables.values())).sparkSession


def match_recognize(
    *,
    pattern: str,
    define: Mapping[str, str] | None = None,
    measures: Mapping[str, str] | None = None,
    partition_by: str | Sequence[str] = (),
    order_by: str | Sequence[str] = (),
    rows: str = "one",
    after_match: str | None = None,
    subset: Mapping[str, Sequence[str]] | None = None,
    within: str | None = None,
    ts_unit: str | None = None,
    state_ttl: Any = None,
    allowed_lateness: Any = None,
    match_id: bool = False,
    on_bad_event: str = "error",
    max_steps_per_partition: int | str | None = None,
) -> Recognizer:
    """One MATCH_RECOGNIZE as a function from rows to rows, for `df.transform(...)` or any input of the embedded engine.

    `rows` is "one", "all", or what the clause says: "ALL ROWS PER MATCH WITH UNMATCHED ROWS". A gap of `state_ttl`
    between two rows ends a partition and begins it anew, and no match is longer: that bounds what a stream keeps.
    `allowed_lateness` is how much later than others a row of a stream may come. With `match_id` every row has the id
    of its match in a last column: a stable hash of the clause, the partition and the rows of the match. Where time is
    measured, a row without one is an error; `on_bad_event="drop"` drops and counts such rows.
    A search of more steps in one partition than `max_steps_per_partition` is an error. By default that holds where a
    condition of DEFINE looks at other rows of the match: 200 million, or a million for each row of the partition where
    that is more, and "unlimited" lifts it.

    >>> import eventide as ev
    >>> falls = ev.match_recognize(order_by="ts", pattern="A B{2,}", define={"B": "price < PREV(price)"},
    ...                            measures={"start": "A.price", "n": "count(B.*)"})
    >>> falls([{"ts": i, "price": price} for i, price in enumerate([10, 8, 6, 7])]).to_pylist()
    [{'start': 10, 'n': 2}]
    """
    return Recognizer(
        parse_clause(
            _clause(
                pattern, define or {}, measures or {}, partition_by, order_by, rows, after_match, subset or {}, within
            )
        ),
        Options.of(
            ts_unit=ts_unit,
            state_ttl=state_ttl,
            allowed_lateness=allowed_lateness,
            match_id=match_id,
            on_bad_event=on_bad_event,
            max_steps_per_partition=max_steps_per_partition,
        ),
    )


class Recognizer:
    """A MATCH_RECOGNIZE clause that can be called with rows."""

    def __init__(self, clause: RowQuery, options: Options) -> None:
        self.clause = clause
        self._options = options
        self._plans: dict[tuple[pa.Schema, str, bool], Physical] = {}
        self._last_run: Any = None

    def __call__(self, events: Any, *, engine: str | None = None, spark: Any = None) -> Any:
        """The result: a Spark DataFrame for one, a pyarrow Table for anything else.

        `engine="spark"` with a path lets Spark tasks read the files themselves.
        """
        events = plain_frame(events)
        if engine == "spark" and isinstance(events, str | os.PathLike):
            if spark is None:
                raise InputError("engine='spark' with a path needs a session", hint="pass spark=spark")
            from eventide.engines.spark.run import run_path

            self._last_run = run_path(os.fspath(events), lambda schema: self._plan(schema, "spark"), spark)
            return self._last_run.rows
        if not is_local(events):
            from eventide.engines.spark.run import run_frame

            on_stream = events.isStreaming
            self._last_run = run_frame(events, lambda schema: self._plan(schema, "spark", on_stream=on_stream))
            return self._last_run.rows
        source = open_source(events)
        table, self._last_run = local.run(self._plan(source.schema, "local"), source)
        return table

    def late(self, events: Any) -> Any:
        """The late rows of a stream, which a call drops, with all their columns: a streaming DataFrame.

        It is a stream of its own, with a checkpoint of its own.
        """
        from eventide.engines.spark.run import run_late

        refuse_bounded(events)
        return run_late(events, lambda schema: self._plan(schema, "spark", on_stream=True))

    def metrics(self, query: Any = None) -> dict[str, Any]:
        """What the last call counted, or what a StreamingQuery has: as `Query.metrics`."""
        if query is not None:
            return metrics_of(query)
        return dict(self._last_run.metrics()) if self._last_run is not None else {}

    def _plan(self, schema: pa.Schema, engine: str, *, on_stream: bool = False) -> Physical:
        """The plan for rows of this kind, made once."""
        key = schema, engine, on_stream
        if key not in self._plans:
            plan = prepare_rows(self.clause, schema, engine=engine, options=self._options, on_stream=on_stream)
            self._plans[key] = plan
        return self._plans[key]

    def explain(self, events: Any) -> str:
        """The clause as understood, the program, and what each condition needs."""
        events = plain_frame(events)
        if is_local(events):
            schema = open_source(events).schema
        else:
            from eventide.engines.spark.types import input_schema

            schema = input_schema(events)
        engine = "local" if is_local(events) else "spark"
        on_stream = engine == "spark" and events.isStreaming
        return explain_rows(self.clause, self._plan(schema, engine), on_stream=on_stream)

    def diagnose(self, events: Any, *, partitions: int = 1000) -> Diagnosis:
        """Why there is no match: per partition the longest partial match, and what failed at the next row.

        A partial match has matched the pattern up to one of its labels. The longest has come furthest in the pattern;
        of several it is the one that begins first and, of those, the one that the standard prefers, with all the rows
        that its last repetition takes. So many `partitions` without a match are looked at for the reason.

        >>> import eventide as ev
        >>> rises = ev.match_recognize(order_by="ts", pattern="A UP{2}", define={"UP": "price > PREV(price)"})
        >>> print(rises.diagnose([{"ts": i, "price": price} for i, price in enumerate([10, 8, 9, 9])]))
        There is no match.
        <BLANKLINE>
        no match; at least 1 more event needed
          found    A at 1, UP at 2
          failed   UP at 3: price > PREV(price)
                   price = 9, PREV(price) = 9
        """
        refuse_spark(events)
        return diagnose_rows(self.clause, self._options, open_source(events), partitions)


_DIRECTION = re.compile(r"\s+(?:(?:ASC|DESC)(?:\s+NULLS\s+(?:FIRST|LAST))?|NULLS\s+(?:FIRST|LAST))$", re.IGNORECASE)
_ROWS = {"one": "ONE ROW PER MATCH", "all": "ALL ROWS PER MATCH"}
_USAGE = {
    "pattern": 'pattern="A B+"',
    "rows": 'rows="one" or rows="all"',
    "after_match": 'after_match="skip to next row"',
    "within": 'within="5 minutes"',
    "partition_by": 'partition_by=["user"]',
    "order_by": 'order_by=["ts"]',
    "subset": 'subset={"U": ["A", "B"]}',
}


def _clause(
    pattern: str,
    define: Mapping[str, str],
    measures: Mapping[str, str],
    partition_by: str | Sequence[str],
    order_by: str | Sequence[str],
    rows: str,
    after_match: str | None,
    subset: Mapping[str, Sequence[str]],
    within: str | None,
) -> str:
    """The arguments as the text of a clause, a line each: messages about them show the line."""
    check_dict("measures", measures, 'measures={"n": "count(*)"}')
    check_dict("define", define, 'define={"B": "price < PREV(price)"}')
    if not isinstance(subset, Mapping):
        raise wrong_argument("subset", "a dict from names to lists of labels", subset, 'subset={"U": ["A", "B"]}')
    texts = {"pattern": pattern, "rows": rows, "after_match": after_match, "within": within}
    for name, value in texts.items():
        if not isinstance(value, str) and not (value is None and name in ("after_match", "within")):
            raise wrong_argument(name, "text", value, _USAGE[name])
    if not re.match(r"(one|all)(\s|$)", rows.strip(), re.IGNORECASE):
        hint = f"write {_USAGE['rows']}, or what the clause says: rows='ALL ROWS PER MATCH WITH UNMATCHED ROWS'"
        raise EventideError(f"rows={rows!r} is not possible", hint=hint)
    lines = [
        _listed("PARTITION BY", _keys("partition_by", partition_by)),
        _listed("ORDER BY", _keys("order_by", order_by)),
        _listed("MEASURES", [f"{value} AS {write_column(name)}" for name, value in measures.items()]),
        _ROWS.get(rows.lower(), rows),
        f"AFTER MATCH {after_match}" if after_match else "",
        f"PATTERN ({pattern})" + (f" WITHIN {within}" if within else ""),
        _listed(
            "SUBSET",
            [
                f"{name} = ({', '.join(names_of('subset', labels, _USAGE['subset']))})"
                for name, labels in subset.items()
            ],
        ),
        _listed("DEFINE", [f"{name} AS {condition}" for name, condition in define.items()]),
    ]
    return "\n".join(line for line in lines if line)


def _keys(argument: str, given: str | Sequence[str]) -> list[str]:
    """Columns as SQL, in backticks where they need them; those in quotes are SQL already.

    A text may hold several, with commas between them.
    """
    keys = names_of(argument, given, _USAGE[argument])
    if isinstance(given, str) and not re.search(r"[`\"]", given):
        keys = given.split(",")
    return [_key(key.strip(), has_direction=argument == "order_by") for key in keys]


def _key(text: str, *, has_direction: bool) -> str:
    found = _DIRECTION.search(text) if has_direction else None
    name = text[: found.start()] if found else text
    written = name if name[:1] in ("`", '"') else write_column(name)
    return written + (found[0] if found else "")


def _listed(keyword: str, items: Sequence[str]) -> str:
    return f"{keyword} {', '.join(items)}" if items else ""
