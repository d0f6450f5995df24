"""What is known of the streams that this program makes: to check a checkpoint before the start, and to warn later.

An operator's observed metric has a name that no other has, and the plan of a stream names it, whatever was done to the
rows since; so the name leads from a DataFrame, or from a progress report, to the query behind it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.sql import DataFrame

from eventide.engines.spark.counters import OBSERVED
from eventide.engines.spark.following import plan_text

_NAME = re.compile(rf"{OBSERVED}_[0-9a-f]{{12}}")
_MOST = 10_000  # operators that are remembered
_MADE: dict[str, Made] = {}


@dataclass(frozen=True, slots=True)
class Made:
    """One operator of a stream: the query with what it depends on, and how long late events are waited for."""

    query: str
    facts: tuple[tuple[str, str], ...]
    n_buckets: int
    lateness: str | None  # in words; None where late events are not dropped


def remember(name: str, made: Made) -> None:
    """Keep what the operator with this metric is."""
    _MADE[name] = made
    while len(_MADE) > _MOST:
        del _MADE[next(iter(_MADE))]


def made_of(name: str) -> Made | None:
    """The operator with this metric, if this program made it."""
    return _MADE.get(name)


def operators_of(rows: DataFrame) -> list[Made]:
    """The operators behind the rows of a stream; none where another program made one of them."""
    made = [made_of(name) for name in dict.fromkeys(_NAME.findall(plan_text(rows)))]
    known = [each for each in made if each is not None]
    return known if len(known) == len(made) else []
