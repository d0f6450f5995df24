"""Columns that DuckDB computes from the operator's rows, in this process or inside a Spark task."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from eventide.engines.database import connect
from eventide.engines.lengths import as_type
from eventide.errors import InputError
from eventide.runtime.computed import Computed

# The time in which DuckDB plans correlated subqueries grows with the cube of their number.
_AT_ONCE = 4


def add_computed(rows: pa.RecordBatch, computed: Sequence[Computed]) -> pa.RecordBatch:
    """The rows with the columns added; their order may change.

    >>> rows = pa.RecordBatch.from_pydict({"l0": [[1, 2], [5]]})
    >>> add = Computed("a0", "(SELECT max(x) FROM (SELECT unnest(l0) AS x))", pa.int64())
    >>> sorted(add_computed(rows, [add]).column("a0").to_pylist())
    [2, 5]
    """
    if not computed:
        return rows
    import duckdb

    table = pa.Table.from_batches([rows])
    with connect(threads=1) as connection:
        for start in range(0, len(computed), _AT_ONCE):
            some = computed[start : start + _AT_ONCE]
            items = ", ".join(f'{column.duckdb} AS "{column.name}"' for column in some)
            connection.register("matches", table)
            try:
                table = connection.sql(f"SELECT *, {items} FROM matches").to_arrow_table()
            except (duckdb.OutOfRangeException, duckdb.ConversionException) as error:
                hint = "cast its argument to DOUBLE, or take try_sum and try_avg, which give NULL then"
                raise InputError(f"an aggregate of {some[0].clause} leaves the range of its type", hint=hint) from error
            except duckdb.Error as error:
                raise InputError(f"a measure cannot be computed: {str(error).splitlines()[0]}") from error
    fields = [*rows.schema, *(pa.field(column.name, column.dtype) for column in computed)]
    arrays = []
    for field in fields:
        column = as_type(table.column(field.name), field.type)
        arrays.append(pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
