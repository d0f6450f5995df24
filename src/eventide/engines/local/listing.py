"""The situations that a situation query derives, in this process."""

from __future__ import annotations

import pyarrow as pa

from eventide.engines.local.added_names import added_names
from eventide.engines.local.run import Run, default_memory_limit, read_blocks
from eventide.engines.local.sources import Source
from eventide.families.base import LISTED
from eventide.families.registry import family_of
from eventide.plan.physical import Physical


def list_situations(physical: Physical, source: Source) -> pa.Table:
    """The situations of a situation query: partition columns under the user's names, `symbol`, `start`, `end`.

    Where a partition column has one of these names, the other column is called `situation_symbol` and so on.
    """
    names = dict(physical.intake.names)
    partition = physical.intake.layout.partition
    names |= added_names(LISTED, [names[name] for name in partition], "situation_")
    seen, tables = Run(), []
    for block in read_blocks(physical, source, seen, default_memory_limit()):
        listed = family_of(physical.spec).listed(physical.spec, block)
        tables.append(listed.rename_columns([names[name] for name in listed.column_names]))
    if tables:
        return pa.concat_tables(tables)
    times = physical.intake.time_type.arrow
    fields = [pa.field(names[name], source.given_type(names[name])) for name in partition]
    listed = zip(LISTED, (pa.string(), times, times), strict=True)
    return pa.schema([*fields, *((names[name], kind) for name, kind in listed)]).empty_table()
