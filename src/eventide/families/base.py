"""What the planner and the engines may ask of a kind of query: they hold a spec, and never look what kind it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from eventide.errors import EventideError, UnsupportedError
from eventide.runtime.combining import Combining
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.limit import tighter
from eventide.runtime.protocol import Operator, Spec
from eventide.runtime.slicing import NEEDS_EVENTS, Slicing

if TYPE_CHECKING:
    from eventide.plan.diagnosis import Beginnings
    from eventide.plan.explain import Explanation
    from eventide.plan.logical import Logical
    from eventide.plan.physical import Physical, Planned
    from eventide.plan.relational.map_pattern import Asked

LISTED = ("symbol", "start", "end")  # what is told of a situation, beside its partition
NO_SITUATIONS = {
    "situations": ("only a query that relates situations has any", "PATTERN A overlaps B"),
}
NO_DIAGNOSIS = {
    "diagnose": (
        "diagnose looks for the step of a pattern that failed, and this query has no steps",
        "it is for ev.query, ev.match_recognize and ev.detect",
    ),
}


class Family:
    """One kind of query. A method that a family leaves out is inherited.

    `spec` is `Any` in every method: the registry gives a family no other specs than its own.
    """

    name: ClassVar[str]
    what: ClassVar[str] = "this query"  # what a query of the family is called in messages
    refusals: ClassVar[Mapping[str, tuple[str, str]]] = {**NO_SITUATIONS, **NO_DIAGNOSIS}  # by method: why, and a hint
    is_grouped: ClassVar[bool] = False  # a result may stand for several partitions, where their columns are left out
    has_joins: ClassVar[bool] = False  # a query may have a form as joins: see `asked`
    drops_late: ClassVar[bool] = True  # events that come too late are left out, and their number told

    # --- from a query to a plan; `tree` and `options` are what the constructor made of its arguments

    def bind(self, tree: Any, options: Any, schema: Any, *, on_stream: bool = False) -> Logical:
        """The logical plan over inputs of a schema, or of several: every name found, every expression checked."""
        raise NotImplementedError

    def missing(self, node: Any) -> EventideError | None:
        """The error about a plan that has no operator yet."""

    def lower(self, node: Any, engine: str) -> Physical:
        """What an engine runs; "local" needs every expression on the allow-list."""
        raise NotImplementedError

    def plan(self, tree: Any, options: Any, schema: Any, *, engine: str = "local", on_stream: bool = False) -> Planned:
        """Bind, rewrite, lower: all that is known of a query before it runs."""
        from eventide.expressions.known_functions import for_engine
        from eventide.lang.deadline import check_deadline
        from eventide.plan.physical import Planned
        from eventide.plan.places import within_the_stack
        from eventide.plan.rules import rewrite

        applied: list[str] = []
        with within_the_stack(self.text(tree)), for_engine(engine):
            node = rewrite(self.bind(tree, options, schema, on_stream=on_stream), applied)
            check_deadline()
            missing = self.missing(node)
            made = None if missing is not None else self.lower(node, engine)
        check_deadline()
        return Planned(node, tuple(applied), made, missing)

    def prepare(
        self, tree: Any, options: Any, schema: Any, *, engine: str = "local", on_stream: bool = False
    ) -> Physical:
        """What an engine runs over inputs of a schema."""
        return self.plan(tree, options, schema, engine=engine, on_stream=on_stream).ready()

    def asked(self, planned: Planned, engine: str) -> Asked:
        """The query as `plan.relational` maps it to joins; an error where it has no such form."""
        raise NotImplementedError

    def text(self, tree: Any) -> str:
        """The text that messages are about."""
        return self.write(tree)

    def write(self, tree: Any) -> str:
        """The query as text."""
        return str(tree)

    def explanation(self) -> Explanation:
        """What the family contributes to `explain`."""
        from eventide.plan.explain import Explanation

        return Explanation()

    def input_types(self, tree: Any) -> tuple[str, ...] | None:
        """The event types that may be inputs of their own; None where there is one input."""

    def beginnings(self, tree: Any, options: Any, schema: pa.Schema) -> Beginnings:
        """What `diagnose` asks about; of a family that refuses it nothing is asked."""
        raise NotImplementedError

    # --- the operator

    def operator(self, spec: Any, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        """A new operator without state; `compute` is the engine's way to compute columns."""
        raise NotImplementedError

    def warm(self, spec: Any) -> None:
        """Compile what the operator needs, before work fans out to processes that share the cache."""

    def learned(self, operator: Any) -> object | None:
        """What an operator finds out about its input while it runs, for `explain`."""

    def set_threads(self, operator: Any, n_threads: int) -> None:
        """Tell an operator that works alone how many threads there are now."""

    def follows_time(self, spec: Any) -> bool:
        """Whether an operator must be told every watermark before the next events, also if it waits for none."""
        return False

    # --- variants of a spec

    def with_end(self, spec: Any, end_us: int) -> Spec:
        """The spec for input that ends at an instant."""
        made: Spec = replace(spec, end_us=end_us)
        return made

    def with_origin(self, spec: Any, origin_us: int) -> Spec:
        """The spec with its windows aligned to another instant."""
        made: Spec = replace(spec, slide=replace(spec.slide, origin_us=origin_us))
        return made

    def with_limit(self, spec: Any, max_matches: int) -> Spec | None:
        """The spec with a limit on the matches in a partition; None where the operator does not count them."""

    def with_steps(self, spec: Any, max_steps: int) -> Spec:
        """The spec with a limit on the steps of a search in a partition; unchanged where nothing is searched."""
        kept: Spec = spec
        if hasattr(spec, "max_steps"):
            kept = replace(spec, max_steps=tighter(spec.max_steps, max_steps))
        return kept

    def on_stream(self, spec: Any) -> Spec:
        """The spec as a stream runs it; what no stream could run is an error that says what is missing."""
        kept: Spec = spec
        return kept

    def lag(self, spec: Any) -> tuple[str, int | None] | None:
        """The result column with the time that rows of a stream are about, and how long after it they may come.

        None where rows come when their time has come.
        """

    def listed(self, spec: Any, block: pa.Table) -> pa.Table:
        """The situations of a block: partition columns and `LISTED`."""
        raise NotImplementedError

    # --- two inputs as one

    def behind(self, pair: Physical, following: int, lag_us: int) -> Physical:
        """The plan for sides, as bits, that come up to so long after their end."""
        raise NotImplementedError

    def late_of(self, pair: Physical, schema: pa.Schema) -> Physical:
        """What returns the rows that come too late; `schema` is that of both inputs as one."""
        raise NotImplementedError

    # --- less in place of events

    def combining(self, spec: Any) -> Combining | None:
        """What tasks exchange in place of the events that they read; None: nothing stands for events."""

    # --- slices of time

    def slicing(self, spec: Any) -> Slicing | str:
        """How the events are cut by time; text: why they are not."""
        return NEEDS_EVENTS

    def kept_of_hot_key(self, spec: Any) -> str:
        """What `explain` says a stream keeps of a key with many events."""
        return f"it is not sliced, because {NEEDS_EVENTS}"


def refuse_unbounded(what: str, hint: str) -> UnsupportedError:
    """The error about a stream whose query forgets nothing."""
    message = f"a stream cannot run this query: without a WITHIN clause every {what} stays relevant for ever"
    return UnsupportedError(message, hint=hint)


WITHIN_OR_TTL = "add a WITHIN clause, such as WITHIN 1 hour, or give state_ttl='1 hour', which bounds every match so"
