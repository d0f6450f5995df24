"""What `explain` says of a key that has far more events than others, on a stream."""

from __future__ import annotations

from eventide.families.registry import family_of
from eventide.plan.physical import Physical


def hot_key_lines(physical: Physical) -> list[str]:
    """A line for streams whose events are shared out by key; none where all belong together."""
    if not physical.intake.layout.distribution:
        return []
    kept = family_of(physical.spec).kept_of_hot_key(physical.spec)
    return [
        "hot key: all tasks read and filter its events, then one task works on them while those of other buckets "
        f"continue; {kept}; ev.metrics has the largest bucket's share"
    ]
