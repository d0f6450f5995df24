"""All situations of a block, as a table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.operators.situations.operator import nothing_known, partition_values
from eventide.operators.situations.runs import OPEN, derive, read_input
from eventide.operators.situations.spec import SituationSpec


def situations_of(block: pa.Table, spec: SituationSpec) -> pa.Table:
    """Partition columns, `symbol`, `start`, `end`, by partition and time; the end of what goes on is NULL."""
    known = nothing_known(spec, block.schema)
    given = read_input(block, known, spec, 1)
    runs = derive(given, spec, (0, given.n_partitions), spec.closes)
    place, symbol, partition = runs.places()
    order = np.lexsort((symbol, runs.start[place], partition))
    place, symbol, partition = place[order], symbol[order], partition[order]
    end = runs.end[place]
    times = spec.time_type.restore(np.where(end == OPEN, 0, end))
    columns = partition_values(given, known, block, spec.layout.partition, partition)
    columns["symbol"] = pa.array(spec.symbols).take(pa.array(symbol))
    columns["start"] = spec.time_type.restore(runs.start[place])
    columns["end"] = pc.if_else(pa.array(end == OPEN), pa.scalar(None, times.type), times)
    return pa.table(columns)
