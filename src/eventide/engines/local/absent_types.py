"""Event types of a query that no event has: most often a slip of the pen, and under NOT one that nobody sees."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa

from eventide.engines.local.sources import Source
from eventide.errors import did_you_mean, warn
from eventide.plan.physical import NamedType, Physical
from eventide.runtime.block import MASK
from eventide.runtime.quoting import quoted

_MOST_SUGGESTED = 1_000  # types among which a similar name is looked for


def seen_bits(block: pa.Table) -> int:
    """The steps for which some event of a block is wanted, as bits."""
    found = 0
    for chunk in block.column(MASK).chunks:
        if pa.types.is_dictionary(chunk.type):
            present = np.flatnonzero(np.bincount(np.asarray(chunk.indices)))
            masks = np.asarray(chunk.dictionary)[present]
        else:
            masks = np.asarray(chunk)
        found |= int(np.bitwise_or.reduce(masks, initial=0))
    return found


def warn_of_absent(physical: Physical, source: Source, bits: int) -> None:
    """A warning for each type that no event has; `bits` are the steps that some event was wanted for.

    The events are looked at again only where a step got none, which also the conditions on it may be the reason for.
    What can be read only once is not looked at.
    """
    (n_bits,) = [column.n_bits for column in physical.select if column.name == MASK] or [0]
    if physical.types and bits != (1 << n_bits) - 1 and not source.once:
        for message in absent_types(physical.types, source):
            warn(message)


def absent_types(types: tuple[NamedType, ...], source: Source) -> list[str]:
    """What to say of each type that no event has, where there is an event at all."""
    found: list[str] = []
    for column in dict.fromkeys(named.column for named in types):
        try:
            rows = source.connection.sql(f"SELECT DISTINCT {quoted(column)} FROM {source.sql}").fetchall()
        except duckdb.Error:
            return []  # it has just been read; whatever went wrong is no reason to lose the result
        present = {value for (value,) in rows}
        known = sorted(value for value in present if value is not None)[:_MOST_SUGGESTED]
        for named in types:
            if named.column == column and named.name not in present and present:
                so = f", so NOT {named.name} holds everywhere" if named.negated else ""
                hint = did_you_mean(named.name, known)
                found.append(f"no event has {column} = '{named.name}'{so}{'' if hint is None else f'; {hint}'}")
    return found
