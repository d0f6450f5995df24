"""The limit on rows of one partition, for families whose operators do not count their matches themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from eventide.errors import InputError
from eventide.plan.physical import Physical
from eventide.runtime.protocol import Results


def limited(results: Results, physical: Physical) -> Results:
    """The operator's rows, until a partition has more of them than the plan allows."""
    if physical.max_rows is None:
        yield from results
        return
    counts: Counter[tuple[Any, ...]] = Counter()
    for rows in results:
        for key, n_rows in _by_partition(rows, physical.intake.layout.partition):
            counts[key] += n_rows
            if counts[key] > physical.max_rows:
                shown = ", ".join("NULL" if value is None else str(value) for value in key)
                where = f"the partition {shown} has" if key else "there are"
                raise InputError(
                    f"{where} more than {physical.max_rows:,} matches",
                    hint="a shorter WITHIN, stricter conditions, or a higher max_matches_per_partition",
                )
        yield rows


def _by_partition(rows: pa.RecordBatch, names: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], int]]:
    """How many rows each partition has."""
    if not names:
        yield (), rows.num_rows
        return
    grouped = pa.Table.from_batches([rows]).select(names).group_by(list(names)).aggregate([([], "count_all")])
    columns = [grouped.column(name).to_pylist() for name in names]
    yield from zip(zip(*columns, strict=True), grouped.column("count_all").to_pylist(), strict=True)
