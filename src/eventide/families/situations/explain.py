"""`explain` of situation queries: durations, what decides a match, the order of evaluation and its estimates."""

from __future__ import annotations

from dataclasses import replace

from eventide.families.situations.bind import bind_situations
from eventide.families.situations.program import Estimates, Program, cost, whole_groups
from eventide.families.situations.spec import SituationSpec
from eventide.lang.relations import inverse, names_of
from eventide.lang.tree import SituationQuery
from eventide.plan.assumed import assumed_schema
from eventide.plan.explain import Explanation, Sections
from eventide.plan.logical import Situations
from eventide.plan.options import Options
from eventide.plan.physical import Physical, Planned


class SituationsExplanation(Explanation):
    """Situations are derived first, then matched."""

    def outline(self, tree: SituationQuery, options: Options) -> Sections:
        bind_situations(tree, options, assumed_schema(replace(tree.events, returns=tree.returns), options))
        return {}

    def sections(self, planned: Planned, physical: Physical, learned: Program | None) -> Sections:
        """When matches are certain, and in which order partners are looked for, also as the last run has learned."""
        node, spec = planned.node, physical.spec
        assert isinstance(node, Situations)
        assert isinstance(spec, SituationSpec)
        program = decision_lines(node.tree, spec)
        program += order_lines(Program.of(spec), "order of evaluation, before anything is seen:")
        if learned is not None:
            program += order_lines(learned, f"as the last run left it ({learned.n_plans} plans):")
        return {"Program": program, "Operator": operator_lines(spec)}

    def shared_out(self, spec: SituationSpec, engine: str, keys: str) -> str | None:
        if not keys:
            return {
                "local": "one pass derives, stretches of time are matched on all cores",
                "spark": "tasks derive slices of time, then match stretches of it; few events: one task",
            }.get(engine)
        if engine != "spark":
            return None
        few = "tasks derive slices of time first, and match a hot key by time"
        return f"hash of {keys} to buckets, one operator per bucket; with a hot key, or few events that matter, {few}"

    def kept_on_stream(self, spec: SituationSpec) -> list[str]:
        return ["keeps the situations that began within the window, and no events of them"]


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
