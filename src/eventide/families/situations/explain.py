"""`explain` of situation queries: durations, what decides a match, the order of evaluation and its estimates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from eventide.expressions.types import type_name
from eventide.families.situations.bind import bind_situations
from eventide.families.situations.lower import lower_situations
from eventide.families.situations.program import Estimates, Program, cost, whole_groups
from eventide.families.situations.spec import SituationSpec
from eventide.lang import write
from eventide.lang.durations import write_length
from eventide.lang.relations import inverse, names_of
from eventide.lang.tree import SituationQuery
from eventide.lang.write import write_constraint, write_duration
from eventide.plan.assumed import assumed_schema
from eventide.plan.bound import Bound
from eventide.plan.explain import NO_COLUMNS, distributed, section
from eventide.plan.options import Options
from eventide.plan.physical import Physical


def explain_situations(
    query: SituationQuery,
    options: Options,
    schema: pa.Schema | None,
    *,
    engine: str,
    n_rows: int | None = None,
    observed: Program | None = None,
    choose: Callable[[Physical], str | None] | None = None,
) -> str:
    """The text; without a schema, the query as understood. `observed` is what a run has learned."""
    sections = [section("Query", write(query).splitlines())]
    if schema is None:
        assumed = assumed_schema(replace(query.events, returns=query.returns), options)
        bind_situations(query, options, assumed)
        sections.append(section("Plan", [NO_COLUMNS]))
        return "\n".join(sections)
    plan = bind_situations(query, options, schema)
    physical = lower_situations(query, plan, "local" if engine == "local" else "spark")
    spec = physical.spec
    assert isinstance(spec, SituationSpec)
    sections.append(section("Logical plan", logical_lines(query, plan)))
    program = decision_lines(query, spec) + order_lines(
        Program.of(spec), "order of evaluation, before anything is seen:"
    )
    if observed is not None:
        program += order_lines(observed, f"as the last run left it ({observed.n_plans} plans):")
    sections.append(section("Program", program))
    sections.append(section("Operator", operator_lines(spec)))
    chosen = None if choose is None else choose(physical)
    sections.append(distributed(distribution_line(spec, plan, engine, n_rows, chosen), physical, engine))
    return "\n".join(sections)


def logical_lines(query: SituationQuery, plan: Bound) -> list[str]:
    """The query as bound."""
    unit = f", integers in {plan.time_type.unit}" if plan.time_type.unit else ""
    order = f"the order of {plan.sequence}" if plan.sequence else "the order of the columns that are read"
    lines = [
        f"time        {plan.ts} ({type_name(plan.time_type.arrow)}{unit}); tied events in {order}",
        f"partition   {', '.join(plan.partition) or 'none: all events together'}",
    ]
    for each in query.define:
        lasts = write_duration(each).lower()
        gap = f", ended by a gap of more than {write_length(each.max_gap)}" if each.max_gap else ""
        lines.append(f"situation   {each.name.text}: {each.condition.text}{gap}" + (f", for {lasts}" if lasts else ""))
    lines += [f"relation    {write_constraint(each)}" for each in query.pattern]
    return lines


def decision_lines(query: SituationQuery, spec: SituationSpec) -> list[str]:
    """When each constraint is certain, and which instants are looked at."""
    if spec.complete:
        return ["a match is returned when all its situations have ended"]
    lines = ["a match is returned at the earliest instant at which it is certain:"]
    for constraint, related in zip(query.pattern, spec.related, strict=True):
        groups = whole_groups(related.mask)
        early = names_of(groups | related.mask & _apart())
        late = names_of(related.mask & ~groups & ~_apart())
        parts = [f"{', '.join(early)} when both have begun"] if early else []
        parts += [f"{', '.join(late)} when one has ended"] if late else []
        lines.append(f"  {constraint.left.text} and {constraint.right.text}: {'; '.join(parts)}")
    for name, (least, most) in zip(spec.symbols, spec.durations, strict=True):
        if most is not None:
            lines.append(f"  {name}: not before its end, which decides how long it lasted")
        elif least:
            lines.append(f"  {name}: not before the first event at which it has lasted {least / 1e6:g} s")
    return lines


def _apart() -> int:
    before = 0b11  # before, meets
    return before | inverse(before)


def order_lines(program: Program, title: str) -> list[str]:
    """For each situation whose instants are looked at: the order in which the others are bound to it."""
    names, estimates = program.spec.symbols, program.estimates
    lines = [title]
    for k, name in enumerate(names):
        moments = [word for word, on in zip(("begin", "end"), program.triggers[k].tolist(), strict=True) if on]
        if not moments:
            continue
        order = program.orders[k].tolist()
        path = " -> ".join(names[symbol] for symbol in order)
        lines.append(
            f"  {' and '.join(moments)} of {name}: {path}  (about {cost(order, estimates):.3g} partial matches)"
        )
    lines += [f"  {line}" for line in estimate_lines(program.spec, estimates)]
    return lines


def estimate_lines(spec: SituationSpec, estimates: Estimates) -> list[str]:
    """Situations in reach and shares of pairs that fit."""
    sizes = ", ".join(f"{name} {size:.3g}" for name, size in zip(spec.symbols, estimates.sizes, strict=True))
    lines = [f"in reach: {sizes}"]
    for each in spec.related:
        share = estimates.shares[each.left, each.right]
        lines.append(f"share that fits: {spec.symbols[each.left]}, {spec.symbols[each.right]} {share:.3g}")
    return lines


def operator_lines(spec: SituationSpec) -> list[str]:
    """What is kept."""
    n = len(spec.measures)
    kept = "situations that began within the window" if spec.within_us is not None else "all situations: add WITHIN"
    return [
        f"situation matcher, {len(spec.symbols)} situations, {len(spec.related)} relations",
        f"memory      {kept}, each with {n} aggregate{'' if n == 1 else 's'}; no events of situations",
    ]


def distribution_line(
    spec: SituationSpec, plan: Bound, engine: str, n_rows: int | None, chosen: str | None = None
) -> str:
    """Where the work is done; `chosen` is the engine's word on how these events are shared out."""
    seen = "" if n_rows is None else f" ({n_rows:,} events)"
    if engine == "spark" and chosen is not None:
        return f"spark{seen}: {chosen}"
    if engine == "spark stream" and spec.within_us is None:
        return "spark stream: refused, because no situation can be forgotten: add WITHIN 1 hour"
    if not plan.partition:
        if engine == "local":
            return f"local{seen}: one pass derives, stretches of time are matched on all cores"
        if engine == "spark":
            return f"spark{seen}: tasks derive slices of time, then match stretches of it; few events: one task"
        return "spark stream: one bucket, because there is no partition column"
    keys = ", ".join(plan.partition)
    if engine == "local":
        return f"local{seen}: partitions by {keys} are shared out over all cores"
    few = "; with a hot key, or few events that matter, tasks derive slices of time first, and match a hot key by time"
    sliced = few if engine == "spark" else ""
    return f"{engine}{seen}: hash of {keys} to buckets, one operator per bucket{sliced}"
