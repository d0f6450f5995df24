"""What users call for row patterns: `ev.sql(...)` and `ev.match_recognize(...)`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from eventide.engines.local import run as local
from eventide.engines.local.diagnosis.result import Diagnosis, refuse_spark
from eventide.engines.local.diagnosis.rows import diagnose_rows
from eventide.engines.local.sources import is_local, open_source
from eventide.engines.local.statement import run_statement
from eventide.errors import EventideError, InputError
from eventide.lang.rows import parse_clause, parse_statement
from eventide.lang.rows.names import write_column
from eventide.lang.rows.tree import RowQuery
from eventide.plan.arguments import check_dict, names_of, wrong_argument
from eventide.plan.options import Options
from eventide.plan.physical import Physical
from eventide.plan.rows.explain import explain_rows
from eventide.plan.rows.lower import prepare_rows


def sql(
    text: str,
    *,
    spark: Any = None,
    ts_unit: str | None = None,
    state_ttl: Any = None,
    allowed_lateness: Any = None,
    **tables: Any,
) -> Any:
    """The result of a SQL statement with MATCH_RECOGNIZE in it.

    Tables by name: Spark DataFrames give a Spark DataFrame, anything else that holds rows a pyarrow Table. With
    `spark`, names that are not given are those of its catalog. `ts_unit` is the unit of an integer ORDER BY column that
    is a time. `state_ttl` and `allowed_lateness` are as in `match_recognize`.

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
    if not isinstance(text, str):
        raise EventideError(f"a statement is text, found {type(text).__name__}")
    options = Options.of(ts_unit=ts_unit, state_ttl=state_ttl, allowed_lateness=allowed_lateness)
    statement = parse_statement(text)
    if spark is None and all(is_local(table) for table in tables.values()):
        return run_statement(statement, tables, options)
    for name, table in tables.items():
        if is_local(table):
            raise InputError(f"'{name}' is no Spark DataFrame", hint=f"pass spark.createDataFrame({name})")
    from eventide.engines.spark.statement import run_statement as run_on_spark

    session = spark if spark is not None else next(iter(tables.values())).sparkSession
    return run_on_spark(statement, tables, session, options)


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
) -> Recognizer:
    """One MATCH_RECOGNIZE as a function from rows to rows, for `df.transform(...)` or any input of the embedded engine.

    `rows` is "one", "all", or what the clause says: "ALL ROWS PER MATCH WITH UNMATCHED ROWS". A gap of `state_ttl`
    between two rows ends a partition and begins it anew, and no match is longer: that bounds what a stream keeps.
    `allowed_lateness` is how much later than others a row of a stream may come.

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
        Options.of(ts_unit=ts_unit, state_ttl=state_ttl, allowed_lateness=allowed_lateness),
    )


class Recognizer:
    """A MATCH_RECOGNIZE clause that can be called with rows."""

    def __init__(self, clause: RowQuery, options: Options) -> None:
        self.clause = clause
        self._options = options
        self._plans: dict[tuple[pa.Schema, str, bool], Physical] = {}

    def __call__(self, events: Any, *, engine: str | None = None, spark: Any = None) -> Any:
        """The result: a Spark DataFrame for one, a pyarrow Table for anything else.

        `engine="spark"` with a path lets Spark tasks read the files themselves.
        """
        if engine == "spark" and isinstance(events, str | os.PathLike):
            if spark is None:
                raise InputError("engine='spark' with a path needs a session", hint="pass spark=spark")
            from eventide.engines.spark.run import run_path

            return run_path(os.fspath(events), lambda schema: self._plan(schema, "spark"), spark).rows
        if not is_local(events):
            from eventide.engines.spark.run import run_frame

            return run_frame(events, lambda schema: self._plan(schema, "spark", on_stream=events.isStreaming)).rows
        source = open_source(events)
        return local.run(self._plan(source.schema, "local"), source)[0]

    def _plan(self, schema: pa.Schema, engine: str, *, on_stream: bool = False) -> Physical:
        """The plan for rows of this kind, made once."""
        key = schema, engine, on_stream
        if key not in self._plans:
            plan = prepare_rows(self.clause, schema, engine=engine, options=self._options, on_stream=on_stream)
            self._plans[key] = plan
        return self._plans[key]

    def explain(self, events: Any) -> str:
        """The clause as understood, the program, and what each condition needs."""
        if is_local(events):
            schema = open_source(events).schema
        else:
            from eventide.engines.spark.types import input_schema

            schema = input_schema(events)
        engine = "local" if is_local(events) else "spark"
        return explain_rows(self.clause, self._plan(schema, engine))

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
    lines = [
        _listed("PARTITION BY", names_of("partition_by", partition_by, _USAGE["partition_by"])),
        _listed("ORDER BY", names_of("order_by", order_by, _USAGE["order_by"])),
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


def _listed(keyword: str, items: Sequence[str]) -> str:
    return f"{keyword} {', '.join(items)}" if items else ""
