"""Rules over events that have an end: all rules over one table, or one after the other over an input."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import duckdb
import pyarrow as pa

from eventide.engines.computed import add_computed
from eventide.engines.intake import take_in
from eventide.engines.local.memory import collect
from eventide.engines.local.run import Run, run_batches
from eventide.engines.local.sources import Source, reason
from eventide.engines.raw_columns import wanted_columns
from eventide.engines.row_limit import limited
from eventide.engines.rule_files import Rules
from eventide.engines.rule_rows import found_rows, found_schema, problem_of, problem_row, to_found
from eventide.engines.rules import Rule, Shared, plan_rule
from eventide.errors import InputError
from eventide.families.registry import make_operator
from eventide.plan.ending import with_end
from eventide.runtime.block import MIN_US
from eventide.runtime.protocol import Operator, Results


def run_bounded(events: pa.Table, rules: Rules, shared: Shared, end_us: int | None = None) -> Iterator[pa.RecordBatch]:
    """What the rules find in all events of a bucket; one that fails is a problem, and the others go on.

    `end_us` is the time of the latest event of all buckets, where a rule asks for it.
    """
    for name, written in rules.items():
        try:
            rule = plan_rule(written, shared)
            block = rule_block(events, rule)
            physical = rule.physical
            if physical.needs_end and end_us is not None:
                physical = with_end(physical, end_us)
            operator = make_operator(physical.spec, compute=add_computed)
            results = chain(operator.process(block, MIN_US), operator.finish())
            yield from finish_rows(name, rule, shared, operator, results)
        except Exception as error:
            yield problem_row(name, problem_of(error), found_schema(shared))


def finish_rows(name: str, rule: Rule, shared: Shared, operator: Operator, results: Results) -> Results:
    """What a rule's operator finds as rows that all rules have, within the limits of the set."""
    schema = found_schema(shared)
    for matches in limited(results, rule.physical):
        shared.limits.check_memory(operator, matches)
        yield found_rows(name, rule, matches, schema)
    shared.limits.check_memory(operator)


def rule_block(events: pa.Table, rule: Rule) -> pa.Table:
    """What a rule takes in of a table of events."""
    try:
        raw = wanted_columns(events, rule.physical, ("UTC", 1))
    except duckdb.Error as error:
        raise InputError(f"the events cannot be read: {reason(error)}") from error
    return take_in(raw, rule.physical.intake)[0]


def check_rules(rules: Rules, shared: Shared) -> dict[str, str]:
    """What is wrong with which rule."""
    found = {}
    for name, written in rules.items():
        try:
            plan_rule(written, shared)
        except Exception as error:
            found[name] = problem_of(error)
    return found


def run_source(source: Source, rules: Rules, shared: Shared) -> pa.Table:
    """What the rules find in an input of the embedded engine, each in memory that the engine bounds."""
    schema, most_bytes = found_schema(shared), shared.limits.memory_bytes
    found: list[pa.RecordBatch] = []
    source.hold()
    for name, written in rules.items():
        try:
            rule = plan_rule(written, shared)
            rows = run_batches(rule.physical, source, Run(events=source.n_rows), most_bytes)
            found += collect((to_found(name, rule, batch, schema) for batch in rows), most_bytes)
        except Exception as error:
            found.append(problem_row(name, problem_of(error), schema))
    return pa.Table.from_batches(found, schema)
