"""A spec to its operator, so that engines never name an operator class.

Modules load when an operator is asked for: a worker of Spark needs one of them, and waits for all that it loads.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from eventide.operators.computed import Compute, cannot_compute
from eventide.operators.protocol import Combiner, Operator

if TYPE_CHECKING:
    from eventide.operators.allen.spec import AllenSpec
    from eventide.operators.detection.spec import DetectionSpec
    from eventide.operators.intervals.spec import IntervalSpec
    from eventide.operators.late import LateSpec
    from eventide.operators.patterns.spec import PatternSpec
    from eventide.operators.rows.spec import RowsSpec
    from eventide.operators.sequence import SequenceSpec
    from eventide.operators.situations.spec import SituationSpec
    from eventide.operators.trends.spec import TrendSpec

Spec: TypeAlias = (
    "SequenceSpec | PatternSpec | RowsSpec | DetectionSpec | TrendSpec"
    " | SituationSpec | IntervalSpec | LateSpec | AllenSpec"
)

# By the class of the spec: the module that has its operator. `XSpec` has an `XOperator`.
_MODULES = {
    "AllenSpec": "allen.operator",
    "DetectionSpec": "detection.operator",
    "IntervalSpec": "intervals.operator",
    "LateSpec": "late",
    "PatternSpec": "patterns.operator",
    "RowsSpec": "rows.operator",
    "SequenceSpec": "sequence",
    "SituationSpec": "situations.operator",
    "TrendSpec": "trends.operator",
}


def make_operator(spec: Spec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
    """A new operator without state; `compute` is the engine's way to compute columns."""
    kind = _kind(spec)
    make: Any = getattr(_load(_MODULES[kind]), kind.replace("Spec", "Operator"))
    more = {"RowsSpec": (n_threads, compute), "LateSpec": ()}.get(kind, (n_threads,))
    operator: Operator = make(spec, *more)
    return operator


def make_combiner(spec: Spec) -> Combiner | None:
    """What puts smaller blocks in place of blocks of events; None where the operator needs the events."""
    combiner: Combiner | None = None
    match _kind(spec):
        case "SituationSpec":
            combiner = _load("situations.combine").SituationCombiner(spec)
        case "IntervalSpec" if needs_events(spec) is None:
            combiner = _load("intervals.combine").IntervalCombiner(spec)
        case "TrendSpec":
            combiner = _load("trends.slices").make_slicer(spec)
    return combiner


def needs_events(spec: Spec) -> str | None:
    """Why the operator needs the events themselves; None where it has a combiner."""
    reason: str | None
    match _kind(spec):
        case "SituationSpec":
            return None
        case "IntervalSpec" if spec.layout.partition:
            return "partitions are worked off apart"
        case "IntervalSpec":
            reason = _load("intervals.settling").why_not_settled(spec)
            return reason
        case "TrendSpec":
            tables = _load("trends.slices").slice_tables(spec)
            return tables if isinstance(tables, str) else None
    return "matches are made of the events themselves"


def warm_operator(spec: Spec) -> None:
    """Compile what the operator needs before work fans out to processes that share the cache."""
    kind = _kind(spec)
    if kind != "LateSpec":  # which compiles nothing
        _load("situations.warm" if kind == "SituationSpec" else _MODULES[kind]).warm(spec)


def _kind(spec: Spec) -> str:
    """The class by name: to compare with the classes themselves, all would have to be loaded."""
    return type(spec).__name__


def _load(module: str) -> ModuleType:
    return import_module(f"eventide.operators.{module}")
