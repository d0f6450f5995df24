"""A spec to its operator, so that engines never name an operator class."""

from __future__ import annotations

from typing import TypeAlias

from eventide.operators.computed import Compute, cannot_compute
from eventide.operators.detection.operator import DetectionOperator
from eventide.operators.detection.operator import warm as warm_detection
from eventide.operators.detection.spec import DetectionSpec
from eventide.operators.late import LateOperator, LateSpec
from eventide.operators.patterns.operator import PatternOperator
from eventide.operators.patterns.operator import warm as warm_pattern
from eventide.operators.patterns.spec import PatternSpec
from eventide.operators.protocol import Operator
from eventide.operators.rows.operator import RowsOperator
from eventide.operators.rows.operator import warm as warm_rows
from eventide.operators.rows.spec import RowsSpec
from eventide.operators.sequence import SequenceOperator, SequenceSpec
from eventide.operators.sequence import warm as warm_sequence
from eventide.operators.trends.operator import TrendOperator
from eventide.operators.trends.operator import warm as warm_trends
from eventide.operators.trends.spec import TrendSpec

Spec: TypeAlias = SequenceSpec | PatternSpec | RowsSpec | DetectionSpec | TrendSpec | LateSpec


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
    if isinstance(spec, LateSpec):
        return LateOperator(spec)
    return SequenceOperator(spec, n_threads)


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
    elif isinstance(spec, SequenceSpec):
        warm_sequence(spec)
