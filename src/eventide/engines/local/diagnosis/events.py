"""`diagnose` for event patterns: one search over all partitions, then a closer look at those without a match."""

from __future__ import annotations

import os
from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.engines.intake import take_in
from eventide.engines.local.absent_types import absent_types
from eventide.engines.local.diagnosis.columns import failure_columns
from eventide.engines.local.diagnosis.failure import Investigator, Question
from eventide.engines.local.diagnosis.result import Diagnosis, Failure
from eventide.engines.local.sources import Source, reason
from eventide.engines.together import TYPE_COLUMN
from eventide.errors import InputError
from eventide.families.events.longest import MAX_STEPS, LongestOperator, Searched
from eventide.families.events.lower import lower_pattern, split_conjuncts
from eventide.families.events.prepare import lower, named_types
from eventide.families.events.progress import measure_progress
from eventide.families.events.spec import PatternSpec
from eventide.lang.tree import EventQuery
from eventide.plan.bind import bind
from eventide.plan.checks import check_columns, symbol_checks, user_columns
from eventide.plan.ending import with_end, with_origin
from eventide.plan.logical import Match
from eventide.plan.options import Options
from eventide.plan.physical import Physical, SqlColumn
from eventide.plan.references import is_orderable
from eventide.plan.rules import rewrite
from eventide.runtime.block import MASK, TS


def diagnose_events(
    query: EventQuery, options: Options, source: Source, partitions: int, max_steps: int = MAX_STEPS
) -> Diagnosis:
    """The diagnosis of a query; `partitions` without a match are looked at in detail."""
    # What is returned plays no part; a trend begins as a match does.
    query = replace(query, returns=(), whole_events=False)
    plan = rewrite(bind(query, options, source.schema))
    lower(plan, "local")  # what cannot run is no question of the events
    physical = lower_pattern(plan, "local")
    assert isinstance(physical.spec, PatternSpec)
    parts, values, closing = split_conjuncts(plan)
    checks = symbol_checks(plan, parts)
    bits, bit_columns = check_columns(checks)
    columns = user_columns(plan)
    block = _read(plan, physical, [*physical.select, *bit_columns, *columns.values()], source)
    if physical.align_to_first and block.num_rows:
        physical = with_origin(physical, int(block.column(TS)[0].as_py()))
    if physical.needs_end and block.num_rows:
        physical = with_end(physical, int(pc.max(block.column(TS)).as_py()))
    spec = physical.spec
    assert isinstance(spec, PatternSpec)
    progress = measure_progress(plan.pattern, spec.program)
    searched = LongestOperator(spec, os.cpu_count() or 1).search(block, progress.ranks, max_steps)
    names = {name: column.name for name, column in columns.items()}
    question = Question(plan, spec, parts, values, closing, checks, bits, names, progress)
    absent = tuple(absent_types(named_types(plan), source)) if options.type != TYPE_COLUMN else ()
    return replace(_diagnosis(question, block, searched, partitions, source), absent=absent)


def _read(plan: Match, physical: Physical, columns: list[SqlColumn], source: Source) -> pa.Table:
    """All events as a block, by time; tied ones in an order that does not depend on their arrival."""
    items = ", ".join(f"{column.duckdb} AS {column.name}" for column in columns)
    ties = [
        f"{column.name}" for name, column in user_columns(plan).items() if is_orderable(plan.schema.field(name).type)
    ]
    order = ", ".join(f"{name} ASC NULLS FIRST" for name in (TS, *ties))
    try:
        raw = source.connection.sql(
            f"SELECT * FROM (SELECT {items} FROM {source.sql}) ORDER BY {order}"
        ).to_arrow_table()
        source.check_unchanged()
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise InputError(f"the events cannot be read: {reason(error)}") from error
    # Events that no step wants are looked at, too.
    block, _ = take_in(raw, replace(physical.intake, keep_all=True))
    assert MASK in block.column_names
    return block


def _diagnosis(question: Question, block: pa.Table, searched: Searched, partitions: int, source: Source) -> Diagnosis:
    plan, longest, ordered = question.plan, searched.longest, searched.ordered
    investigator = Investigator(question, block, searched)
    # Those without a match come first, and both in the order of their first events.
    first = ordered.order[ordered.offsets[longest.partition]]
    shown = np.lexsort((first, longest.matched))
    detailed = {int(i) for i in shown[~longest.matched[shown]][:partitions]}
    failures: list[Failure | None] = []
    missing: list[int] = []
    needed: dict[tuple[int, ...], tuple[str, int]] = {}
    for i in shown.tolist():
        if longest.matched[i]:
            failures.append(None)
            missing.append(0)
            continue
        key = tuple(longest.reached(i))
        if key not in needed:
            needed[key] = " or ".join(investigator.needed(i)), investigator.missing(i)
        symbol, n_missing = needed[key]
        failures.append(investigator.failure(i) if i in detailed else Failure(symbol, ""))
        missing.append(n_missing)
    keys: dict[str, pa.Array] = {}
    for k, name in enumerate(plan.partition):
        values = block.column(f"p{k}").take(pa.array(first[shown])).combine_chunks()
        given = source.given_type(name)
        keys[name] = values if given is None else values.cast(given)
    details = {
        "matched": pa.array(longest.matched[shown]),
        "length": pa.array(np.diff(longest.ends, prepend=0)[shown]),
        "missing": pa.array(missing, pa.int64()),
        "events": _lists(longest.ends, plan.time_type.restore(ordered.ts_us[longest.rows])).take(pa.array(shown)),
        "symbols": _lists(longest.ends, pa.array(question.spec.program.symbols).take(pa.array(longest.symbols))).take(
            pa.array(shown)
        ),
    }
    details |= failure_columns(failures, plan.time_type.arrow)
    details["searched"] = pa.array(~longest.stopped[shown])
    return Diagnosis(pa.table(keys), pa.table(details), len(detailed))


def _lists(ends: np.ndarray, values: pa.Array) -> pa.ListArray:
    offsets = np.concatenate([[0], ends])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
