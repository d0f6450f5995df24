"""A spec to its operator, so that engines never name an operator class."""

from __future__ import annotations

from typing import TypeAlias

from eventide.operators.allen.operator import AllenOperator
from eventide.operators.allen.operator import warm as warm_allen
from eventide.operators.allen.spec import AllenSpec
from eventide.operators.computed import Compute, cannot_compute
from eventide.operators.detection.operator import DetectionOperator
from eventide.operators.detection.operator import warm as warm_detection
from eventide.operators.detection.spec import DetectionSpec
from eventide.operators.intervals.combine import IntervalCombiner
from eventide.operators.intervals.operator import IntervalOperator
from eventide.operators.intervals.operator import warm as warm_intervals
from eventide.operators.intervals.settling import why_not_settled
from eventide.operators.intervals.spec import IntervalSpec
from eventide.operators.late import LateOperator, LateSpec
from eventide.operators.patterns.operator import PatternOperator
from eventide.operators.patterns.operator import warm as warm_pattern
from eventide.operators.patterns.spec import PatternSpec
from eventide.operators.protocol import Combiner, Operator
from eventide.operators.rows.operator import RowsOperator
from eventide.operators.rows.operator import warm as warm_rows
from eventide.operators.rows.spec import RowsSpec
from eventide.operators.sequence import SequenceOperator, SequenceSpec
from eventide.operators.sequence import warm as warm_sequence
from eventide.operators.situations.combine import SituationCombiner
from eventide.operators.situations.operator import SituationOperator
from eventide.operators.situations.spec import SituationSpec
from eventide.operators.situations.warm import warm as warm_situations
from eventide.operators.trends.operator import TrendOperator
from eventide.operators.trends.operator import warm as warm_trends
from eventide.operators.trends.slices import make_slicer, slice_tables
from eventide.operators.trends.spec import TrendSpec

Spec: TypeAlias = (
    SequenceSpec
    | PatternSpec
    | RowsSpec
    | DetectionSpec
    | TrendSpec
    | SituationSpec
    | IntervalSpec
    | LateSpec
    | AllenSpec
)


def make_operator(spec: Spec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
    """A new operator without state; `compute` is the engine's way to compute columns."""
    if isinstance(spec, RowsSpec):
        return RowsOperator(spec, n_threads, compute)
    if isinstance(spec, DetectionSpec):
        return DetectionOperator(spec, n_threads)
    if isinstance(spec, PatternSpec):
        return PatternOperator(spec, n_threads)
    if isinstance(spec, TrendSpec):
        return TrendOperator(spec, n_threads)
    if isinstance(spec, IntervalSpec):
        return IntervalOperator(spec, n_threads)
    if isinstance(spec, SituationSpec):
        return SituationOperator(spec, n_threads)
    if isinstance(spec, LateSpec):
        return LateOperator(spec)
    if isinstance(spec, AllenSpec):
        return AllenOperator(spec, n_threads)
    return SequenceOperator(spec, n_threads)


def make_combiner(spec: Spec) -> Combiner | None:
    """What puts smaller blocks in place of blocks of events; None where the operator needs the events."""
    if isinstance(spec, SituationSpec):
        return SituationCombiner(spec)
    if isinstance(spec, IntervalSpec):
        return IntervalCombiner(spec) if needs_events(spec) is None else None
    return make_slicer(spec) if isinstance(spec, TrendSpec) else None


def needs_events(spec: Spec) -> str | None:
    """Why the operator needs the events themselves; None where it has a combiner."""
    if isinstance(spec, SituationSpec):
        return None
    if isinstance(spec, IntervalSpec):
        return "partitions are worked off apart" if spec.layout.partition else why_not_settled(spec)
    if not isinstance(spec, TrendSpec):
        return "matches are made of the events themselves"
    tables = slice_tables(spec)
    return tables if isinstance(tables, str) else None


def warm_operator(spec: Spec) -> None:
    """Compile what the operator needs before work fans out to processes that share the cache."""
    if isinstance(spec, RowsSpec):
        warm_rows(spec)
    elif isinstance(spec, DetectionSpec):
        warm_detection(spec)
    elif isinstance(spec, PatternSpec):
        warm_pattern(spec)
    elif isinstance(spec, TrendSpec):
        warm_trends(spec)
    elif isinstance(spec, IntervalSpec):
        warm_intervals(spec)
    elif isinstance(spec, AllenSpec):
        warm_allen(spec)
    elif isinstance(spec, SituationSpec):
        warm_situations(spec)
    elif isinstance(spec, SequenceSpec):
        warm_sequence(spec)
