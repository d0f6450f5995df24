"""A spec to its operator, so that engines never name an operator class."""

from __future__ import annotations

from eventide.operators.protocol import Operator
from eventide.operators.sequence import SequenceOperator, SequenceSpec, warm


def make_operator(spec: SequenceSpec, n_threads: int = 1) -> Operator:
    """A new operator without state."""
    return SequenceOperator(spec, n_threads)


def warm_operator(spec: SequenceSpec) -> None:
    """Compile what the operator needs before work fans out to processes that share the cache."""
    warm(spec)
