"""A spec to its operator, so that engines never name an operator class."""

from __future__ import annotations

from eventide.operators.protocol import Operator
from eventide.operators.sequence import SequenceOperator, SequenceSpec


def make_operator(spec: SequenceSpec, n_threads: int = 1) -> Operator:
    """A new operator without state."""
    return SequenceOperator(spec, n_threads)
