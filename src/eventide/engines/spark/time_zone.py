"""Expressions compute in UTC on every engine, whatever the zone of a Spark session."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from eventide.engines.spark.ship import is_connect
from eventide.errors import InputError

_KEY = "spark.sql.session.timeZone"
_UTC = {"UTC", "ETC/UTC", "GMT", "Z", "+00:00", "UTC+00:00", "GMT+00:00"}
# Texts for which the zone may matter: parts of times, and casts between times, dates and strings.
_ZONED = re.compile(
    r"\b(hour|minute|second|year|quarter|month|day\w*|week\w*|date\w*|to_\w+|from_\w+|trunc|last_day|next_day|"
    r"add_months|months_between|unix_timestamp|extract|make_\w+|current_\w+|now|localtime\w*|window|timestamp\w*)\s*\(|"
    r"\bAS\s+(TIMESTAMP|DATE|STRING)\b|\b(TIMESTAMP|DATE)\s*'",
    re.IGNORECASE,
)


@contextmanager
def in_utc(spark: SparkSession, texts: Iterable[str]) -> Iterator[None]:
    """Inside, Spark gives expressions the zone UTC, which they keep: a zone is chosen when a plan is analysed.

    With Spark Connect that happens later, on the server: there another zone is refused where it may matter.
    """
    zone = spark.conf.get(_KEY) or "UTC"
    if zone.upper() not in _UTC and is_connect(spark) and any(map(is_zoned, texts)):
        raise InputError(
            f"the session's time zone is {zone}, and Eventide computes in UTC",
            hint=f'spark.conf.set("{_KEY}", "UTC")',
        )
    if zone.upper() in _UTC or is_connect(spark):
        yield
        return
    spark.conf.set(_KEY, "UTC")
    try:
        yield
    finally:
        spark.conf.set(_KEY, zone)


def is_zoned(text: str) -> bool:
    """Whether the zone may matter for a text.

    >>> is_zoned("hour(`ts`)"), is_zoned("`price` * 2")
    (True, False)
    """
    return _ZONED.search(text) is not None
