"""Whose checkpoint it is: checked before a stream starts, so that a changed query is refused when no event comes, too.

Each bucket checks its own state as well, in the first micro-batch that has events. For a stream that is started by
`writeStream` alone that is all, for nothing of ours runs there before.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from eventide.engines.spark.made import Made, operators_of
from eventide.engines.spark.places import list_names, read_file, write_file
from eventide.errors import InputError
from eventide.runtime.changes import check_same
from eventide.runtime.sealed import open_sealed, seal

_FILE = "eventide-query"


def check_checkpoint(rows: DataFrame, checkpoint: str) -> None:
    """Refuse the checkpoint of another query before the stream starts, also when no event has come since.

    The first start writes down beside the checkpoint whose it is. A checkpoint that another program began without
    this check is left to the check of each bucket, and so is a stream that another program put together.
    """
    known = operators_of(rows)
    if not known:
        return
    spark, file = rows.sparkSession, f"{checkpoint.rstrip('/')}/{_FILE}"
    if not list_names(spark, f"{checkpoint.rstrip('/')}/offsets"):
        # Nothing has run yet; an earlier try may have failed, with another query.
        write_file(spark, file, seal({"operators": [_plain(made) for made in known]}))
        return
    data = read_file(spark, file)
    if data is None:
        return
    saved = open_sealed(data, f"the checkpoint '{checkpoint}'")["operators"]
    if len(saved) != len(known):
        raise InputError(
            f"the checkpoint '{checkpoint}' belongs to another stream: one of {len(saved)} queries, not {len(known)}",
            hint="go back to the stream that it belongs to, or start with a new checkpoint",
        )
    for before, now in zip(saved, known, strict=True):
        check_same(f"the checkpoint '{checkpoint}'", before["query"], now.query, before["facts"], dict(now.facts))
        check_buckets(before["n_buckets"], now.n_buckets)


def check_buckets(before: int, now: int) -> None:
    """Refuse state that was spread over another number of buckets."""
    if before != now:
        raise InputError(
            f"the checkpoint was made with {before} buckets, the query now runs with {now}",
            hint=f"set spark.sql.shuffle.partitions to {before}, or start with a new checkpoint",
        )


def _plain(made: Made) -> dict[str, Any]:
    return {"query": made.query, "facts": dict(made.facts), "n_buckets": made.n_buckets}
