"""What the engines may ask of event patterns. A SEQ of single steps has a quick walk of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from eventide.errors import EventideError
from eventide.families.base import NO_SITUATIONS, WITHIN_OR_TTL, Family, refuse_unbounded
from eventide.families.events.sequence import SequenceOperator, SequenceSpec, warm
from eventide.families.events.spec import PatternSpec
from eventide.families.registry import register
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.limit import is_exact, tighter
from eventide.runtime.protocol import Operator
from eventide.runtime.slicing import NEEDS_EVENTS, LookBack, Slicing

if TYPE_CHECKING:
    from eventide.families.events.beginnings import EventBeginnings
    from eventide.lang.tree import EventQuery
    from eventide.plan.explain import Explanation
    from eventide.plan.logical import Match
    from eventide.plan.options import Options
    from eventide.plan.physical import Physical, Planned
    from eventide.plan.relational.map_pattern import Asked

EventSpec = PatternSpec | SequenceSpec


class Events(Family):
    """Matches are made of events of the last window."""

    name = "events"
    what = "an event pattern"
    refusals = NO_SITUATIONS
    has_joins = True

    def bind(self, tree: EventQuery, options: Options, schema: pa.Schema, *, on_stream: bool = False) -> Match:
        from eventide.families.events.prepare import bind_events

        return bind_events(tree, options, schema, on_stream=on_stream)

    def missing(self, node: Match) -> EventideError | None:
        from eventide.families.events.prepare import not_there_yet

        return not_there_yet(node)

    def lower(self, node: Match, engine: str) -> Physical:
        from eventide.families.events.prepare import lower

        return lower(node, engine)

    def asked(self, planned: Planned, engine: str) -> Asked:
        from eventide.families.events.mapped import asked_of

        return asked_of(planned, engine)

    def text(self, tree: EventQuery) -> str:
        return tree.text

    def explanation(self) -> Explanation:
        from eventide.families.events.explain import EventsExplanation

        return EventsExplanation()

    def write(self, tree: EventQuery) -> str:
        from eventide.lang.write import write

        return write(tree)

    def input_types(self, tree: EventQuery) -> tuple[str, ...]:
        """Those without a definition."""
        from eventide.plan.references import walk_steps

        defined = {definition.name.text for definition in tree.define}
        types = dict.fromkeys(step.type for step, _, _ in walk_steps(tree.pattern))
        return tuple(name for name in types if name not in defined)

    def beginnings(self, tree: EventQuery, options: Options, schema: pa.Schema) -> EventBeginnings:
        from eventide.families.events.beginnings import EventBeginnings

        return EventBeginnings(tree, options, schema)

    def operator(self, spec: EventSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        if isinstance(spec, SequenceSpec):
            return SequenceOperator(spec, n_threads)
        from eventide.families.events.operator import PatternOperator

        return PatternOperator(spec, n_threads)

    def warm(self, spec: EventSpec) -> None:
        if isinstance(spec, SequenceSpec):
            warm(spec)
            return
        from eventide.families.events.operator import warm as warm_pattern

        warm_pattern(spec)

    def with_limit(self, spec: EventSpec, max_matches: int) -> EventSpec:
        return replace(spec, max_matches=tighter(spec.max_matches, max_matches))

    def on_stream(self, spec: EventSpec) -> EventSpec:
        if spec.window_us is None:
            raise refuse_unbounded("event", WITHIN_OR_TTL)
        return spec

    def slicing(self, spec: EventSpec) -> Slicing | str:
        """A limit on matches that is asked for counts those of all slices together; the default one, slice by slice."""
        if spec.window_us is None or is_exact(spec.max_matches):
            return NEEDS_EVENTS
        return LookBack(spec.window_us if isinstance(spec, SequenceSpec) else spec.kept_us)


register(Events())
