"""What `explain` says of a key that has far more events than others, on a stream."""

from __future__ import annotations

from eventide.operators.situations.spec import SituationSpec
from eventide.operators.trends.slices import slice_tables
from eventide.operators.trends.spec import TrendSpec
from eventide.plan.physical import Physical


def hot_key_lines(physical: Physical) -> list[str]:
    """A line for streams whose events are shared out by key; none where all belong together."""
    if not physical.intake.layout.distribution:
        return []
    return [
        "hot key: all tasks read and filter its events, then one task works on them while those of other buckets go "
        f"on; {_kept(physical)}; ev.metrics has the largest bucket's share"
    ]


def _kept(physical: Physical) -> str:
    spec = physical.spec
    if isinstance(spec, SituationSpec):
        return "it keeps situations, never their events"
    if not isinstance(spec, TrendSpec):
        return "it is not sliced, because matches are made of the events themselves"
    tables = slice_tables(spec)
    if isinstance(tables, str):
        return f"it is not sliced: {tables}"
    return "matrices stand for slices of its events that the watermark has passed"
