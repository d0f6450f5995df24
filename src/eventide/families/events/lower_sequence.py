"""SEQ of single events to its executable form: masks, values, tests, and where each result column comes from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.residue import compile_tests
from eventide.expressions.split import Split, Test, split
from eventide.families.events.sequence import Returned, SequenceSpec
from eventide.lang.tree import Pattern, Seq, Step, Strategy
from eventide.plan.columns import MAX_STEPS, Columns, check_ties, columns_of_plan, conditions_of, of_plan, read_columns
from eventide.plan.facts import meaning
from eventide.plan.logical import Match
from eventide.plan.needed import needed_of
from eventide.plan.physical import Physical, SqlColumn
from eventide.plan.places import error_at
from eventide.plan.references import never_adjacent, sides_of
from eventide.plan.results import added_columns, added_fields, project_columns
from eventide.plan.windows import check_windows, slide_of
from eventide.runtime.block import SEQUENCE, TS

APART = "leave out NEXT to relate events that are not side by side"


@dataclass(frozen=True, slots=True)
class Placed:
    """A test with the step of each of its slots."""

    test: Test
    steps: tuple[int, ...]


def sequence_steps(pattern: Pattern) -> tuple[Step, ...] | None:
    """The steps when the pattern is a SEQ of single events, else None."""
    match pattern:
        case Step():
            return (pattern,)
        case Seq() if all(isinstance(part, Step) for part in pattern.parts):
            return tuple(part for part in pattern.parts if isinstance(part, Step))
    return None


def place_tests(plan: Match, steps: tuple[Step, ...], parts: Split) -> tuple[Placed, ...]:
    """Each test with its steps; an adjacent-event test stands once for every adjacent pair it concerns."""
    at = {step.symbol: i for i, step in enumerate(steps)}
    placed: list[Placed] = []
    for test in parts.tests:
        if not any(slot.is_next for slot in test.slots):
            placed.append(Placed(test, tuple(at[slot.symbol] for slot in test.slots)))
            continue
        for i in _adjacent_pairs(test, steps, plan):
            placed.append(Placed(test, tuple(i + 1 if slot.is_next else i for slot in test.slots)))
    return tuple(placed)


def _adjacent_pairs(test: Test, steps: tuple[Step, ...], plan: Match) -> list[int]:
    """The steps that are directly followed by one that the test relates them to."""
    left, right = sides_of(test)
    names = [step.symbol for step in steps]
    follows = list(pairwise(names))
    pairs = [i for i, pair in enumerate(follows) if pair == (left, right)]
    if not pairs:
        once = f"'{left}' occurs once: name the event after it, NEXT(symbol)"
        raise never_adjacent(plan, test, set(follows), once if left == right else APART)
    return pairs


def lower_sequence(plan: Match, steps: tuple[Step, ...], engine: str) -> Physical:
    """The executable form; `engine` "local" needs every expression on the allow-list."""
    if len(steps) > MAX_STEPS:
        raise error_at(plan.query, steps[MAX_STEPS].span, f"a SEQ has at most {MAX_STEPS} steps")
    check_windows(plan)
    check_ties(plan)
    parts = split(plan.conjuncts, list(plan.symbols), plan.schema, plan.query.text, plan.types)
    placed = place_tests(plan, steps, parts)
    columns = columns_of_plan(plan, engine)
    value_names = [columns.add_value(value) for value in parts.values]
    told = told_apart(plan, columns)
    returned, project, output = _results(plan, steps, columns)
    holds_source, encodings = compile_tests(
        [(place.test, place.steps) for place in placed],
        parts.values,
        value_names,
        len(steps),
        backward=plan.strategy is Strategy.ANY,
    )
    spec = SequenceSpec(
        n_steps=len(steps),
        strategy=plan.strategy.name.lower(),
        returned=returned,
        encodings=encodings,
        holds_source=holds_source,
        **of_events(plan, columns, told),
    )
    masks = columns.masks(conditions_of(plan, steps, parts))
    needed = needed_of(plan, steps, columns.wanted_by_step, spec.span_us)
    return columns.physical(spec, masks, project, output, needed=needed, **of_plan(plan))


def told_apart(plan: Match, columns: Columns) -> list[str]:
    """The columns that tell events with equal times apart: what is read, and not what RETURN adds later."""
    reads = read_columns(plan)
    if plan.options.match_id or plan.options.ties == "sequence":
        return columns.hold(reads)
    return [name for name in reads if name in columns.returned]


def of_events(plan: Match, columns: Columns, told: list[str]) -> dict[str, Any]:
    """The fields that the specs of event patterns have in common."""
    layout, window, options = columns.layout(), plan.query.window, plan.options
    sequence = [SEQUENCE] if layout.has_sequence else []
    ties = (*sequence, *(columns.returned[name] for name in told))
    # By name: an id must not depend on the order of the columns.
    identity = (*layout.partition, TS, *sequence, *(columns.returned[name] for name in sorted(told)))
    return {
        "query": meaning(plan),
        "layout": layout,
        "window_us": window.length.amount if window else None,
        "time_type": plan.time_type,
        "slide": slide_of(plan),
        "tie_columns": ties if options.ties == "sequence" else None,
        "identity": identity if options.match_id else None,
        "max_matches": options.max_matches_per_partition,
        "max_steps": options.max_steps_per_partition,
    }


def _results(
    plan: Match, steps: tuple[Step, ...], columns: Columns
) -> tuple[tuple[Returned, ...], tuple[SqlColumn, ...], pa.Schema]:
    """What the operator returns, how the user's columns are made of it, and the operator's schema."""
    at = {step.symbol: i for i, step in enumerate(steps)}
    returned: dict[Returned, pa.Field] = {}

    def output_name(node: exp.Column) -> str:
        if not node.table or node.name in plan.partition:
            return f"p{plan.partition.index(node.name)}"
        source = TS if node.name == plan.ts else columns.of_column(node.name)
        item = Returned(at[node.table], source)
        returned.setdefault(item, pa.field(item.name, plan.schema.field(node.name).type))
        return item.name

    project = [project_columns(item, output_name, plan, columns) for item in plan.items]
    schema = pa.schema([*plan.input.partition_fields(), *returned.values(), *added_fields(plan)])
    return tuple(returned), (*project, *added_columns(plan)), schema
