"""SEQ of single events to its executable form: masks, values, tests, and where each result column comes from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.residue import compile_tests
from eventide.expressions.split import Split, Test, split
from eventide.families.events.sequence import Returned, SequenceSpec
from eventide.lang.tree import Pattern, Seq, Step, Strategy
from eventide.plan.columns import MAX_STEPS, Columns, check_ties, mask_column, read_columns
from eventide.plan.logical import Match
from eventide.plan.meaning import meaning
from eventide.plan.physical import Intake, Physical, SqlColumn
from eventide.plan.places import error_at
from eventide.plan.references import is_orderable
from eventide.plan.results import added_columns, added_fields, project_columns
from eventide.plan.windows import check_windows, slide_of
from eventide.runtime.block import SEQUENCE, TS

_STRATEGY = {Strategy.ANY: "any", Strategy.NEXT: "next", Strategy.CONTIGUOUS: "contiguous"}


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
    (left,) = (slot.symbol for slot in test.slots if not slot.is_next)
    (right,) = (slot.symbol for slot in test.slots if slot.is_next)
    names = [step.symbol for step in steps]
    follows = list(pairwise(names))
    pairs = [i for i, pair in enumerate(follows) if pair == (left, right)]
    if not pairs:
        hint = "leave out NEXT to relate events that do not stand side by side"
        if left == right:
            hint = f"'{left}' stands once: name the event after it, NEXT(symbol)"
        elif (right, left) in follows:
            hint = f"'{right}' comes first: write {right}.column and NEXT({left}).column"
        message = f"'{left}' is never directly followed by '{right}' in this pattern"
        raise error_at(plan.query, test.source.span, message, hint)
    return pairs


def lower_sequence(plan: Match, steps: tuple[Step, ...], engine: str) -> Physical:
    """The executable form; `engine` "local" needs every expression on the allow-list."""
    _check(plan, steps)
    query = plan.query
    parts = split(plan.conjuncts, list(plan.symbols), plan.schema, query.text, plan.types)
    placed = place_tests(plan, steps, parts)
    columns = Columns(plan, engine)
    columns.add_values(parts.values)
    needs_identity, by_sequence = plan.options.match_id, plan.options.ties == "sequence"
    if needs_identity or by_sequence:
        for name in read_columns(plan):
            if is_orderable(plan.schema.field(name).type):
                columns.block_column(name)
    # These, and not what RETURN adds below, tell events with equal times apart.
    told = [name for name in read_columns(plan) if name in columns.returned]
    returned, project, output = _results(plan, steps, columns)
    holds_source, encodings = compile_tests(
        [(place.test, place.steps) for place in placed],
        parts.values,
        columns.value_names,
        len(steps),
        backward=plan.strategy is Strategy.ANY,
    )
    layout = columns.layout()
    sequence = [SEQUENCE] if layout.has_sequence else []
    tie_columns = [*sequence, *(columns.returned[name] for name in told)]
    # By name: an id must not depend on the order of the columns.
    identity = [*layout.partition, TS, *sequence, *(columns.returned[name] for name in sorted(told))]
    window = query.window
    spec = SequenceSpec(
        query=meaning(plan),
        layout=layout,
        n_steps=len(steps),
        strategy=_STRATEGY[plan.strategy],
        window_us=window.length.amount if window else None,
        time_type=plan.time_type,
        returned=returned,
        slide=slide_of(plan),
        tie_columns=tuple(tie_columns) if by_sequence else None,
        encodings=encodings,
        holds_source=holds_source,
        identity=tuple(identity) if needs_identity else None,
        max_matches=plan.options.max_matches_per_partition,
        max_steps=plan.options.max_steps_per_partition,
    )
    intake = Intake(
        layout=layout,
        time_type=plan.time_type,
        ts_column=plan.ts,
        drop_bad_events=plan.options.on_bad_event == "drop",
        keep_all=plan.strategy is Strategy.CONTIGUOUS,
        names=columns.names(),
    )
    select = columns.select(mask_column(plan, steps, parts, columns))
    return Physical(
        text=query.text,
        intake=intake,
        select=select,
        spec=spec,
        project=project,
        reads=read_columns(plan),
        align_to_first=plan.options.origin == "first",
        allowed_lateness_us=plan.options.allowed_lateness,
        output_schema=output,
    )


def _check(plan: Match, steps: tuple[Step, ...]) -> None:
    query = plan.query
    if len(steps) > MAX_STEPS:
        raise error_at(query, steps[MAX_STEPS].span, f"a SEQ has at most {MAX_STEPS} steps")
    check_windows(plan)
    check_ties(plan)


def _results(
    plan: Match, steps: tuple[Step, ...], columns: Columns
) -> tuple[tuple[Returned, ...], tuple[SqlColumn, ...], pa.Schema]:
    """What the operator returns, how the user's columns are made of it, and the operator's schema."""
    at = {step.symbol: i for i, step in enumerate(steps)}
    fields = [pa.field(f"p{i}", plan.schema.field(name).type) for i, name in enumerate(plan.partition)]
    returned: dict[Returned, pa.Field] = {}

    def output_name(node: exp.Column) -> str:
        if not node.table:
            return f"p{plan.partition.index(node.name)}"
        step = at[node.table]
        if node.name in plan.partition:
            return f"p{plan.partition.index(node.name)}"
        source = TS if node.name == plan.ts else columns.block_column(node.name)
        item = Returned(step, source)
        returned.setdefault(item, pa.field(item.name, plan.schema.field(node.name).type))
        return item.name

    project = [project_columns(item, output_name, plan, columns) for item in plan.items]
    schema = pa.schema([*fields, *returned.values(), *added_fields(plan)])
    return tuple(returned), (*project, *added_columns(plan)), schema
