"""All situations of a block, as a table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.families.base import LISTED
from eventide.families.situations.operator import nothing_known, partition_values
from eventide.families.situations.runs import OPEN, derive, read_input
from eventide.families.situations.spec import SituationSpec


def situations_of(block: pa.Table, spec: SituationSpec) -> pa.Table:
    """Partition columns, `symbol`, `start`, `end`, by partition and time; the end of what goes on is NULL.

    What has not lasted as long as it must, or may yet last too long, is not listed.
    """
    known = nothing_known(spec, block.schema)
    given = read_input(block, known, spec, 1)
    runs = derive(given, spec, (0, given.n_partitions), spec.closes)
    places = runs.places()
    meets = runs.ready[places[0]] != OPEN
    place, symbol, partition = (each[meets] for each in places)
    order = np.lexsort((symbol, runs.start[place], partition))
    place, symbol, partition = place[order], symbol[order], partition[order]
    end = runs.end[place]
    times = spec.time_type.restore(np.where(end == OPEN, 0, end))
    columns = partition_values(given, known, block, spec.layout.partition, partition)
    ends = pc.if_else(pa.array(end == OPEN), pa.scalar(None, times.type), times)
    symbols, starts = pa.array(spec.symbols).take(pa.array(symbol)), spec.time_type.restore(runs.start[place])
    return pa.table(columns | dict(zip(LISTED, (symbols, starts, ends), strict=True)))
