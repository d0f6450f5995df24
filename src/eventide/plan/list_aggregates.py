"""Aggregates over lists that an operator returns: a correlated subquery, which DuckDB evaluates for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from eventide.errors import QueryError
from eventide.expressions.navigation.aggregates import AGGREGATES, Use, columns
from eventide.expressions.navigation.leaves import AggregateLeaf
from eventide.expressions.typecheck import bind
from eventide.expressions.typed import Source, Typed, cast_to
from eventide.expressions.types import is_number, kind, type_name
from eventide.expressions.write_sql import write_typed
from eventide.lang.tree import Span
from eventide.plan.scope import is_orderable

# Spark has the function, but it is not Spark that evaluates what looks at several rows.
OF_ONE_ROW = "on Spark it works on the columns of one row, PREV(f(x)) in place of f(PREV(x))"

# What an aggregate takes, by the class of its argument, and what to try with something else.
_WANTED = {
    "number": ("numbers", "cast it: CAST(x AS DOUBLE)"),
    "numeric": ("numbers", "cast it: CAST(x AS DOUBLE)"),
    "integer": ("whole numbers", "cast it: CAST(x AS BIGINT)"),
    "string": ("strings", "cast it: CAST(x AS STRING)"),
    "boolean": ("booleans", "compare it with something"),
    "array": ("arrays", "single values are collected by collect_set(x)"),
}


def aggregate_lists(
    leaf: AggregateLeaf,
    lists: Sequence[tuple[str, pa.DataType]],
    whole: Source,
    numbers: Mapping[str, str] | None = None,
    before: str = "MATCH_RECOGNIZE",
) -> tuple[str, pa.DataType]:
    """The text of an aggregate and its type.

    `lists` are the columns with the leaf's lists and the types of their items, `numbers` whole numbers that its
    arguments may read, with their columns. `whole` is the source of the whole expression, `before` what is behind it.
    """
    numbers = numbers or {}
    aggregate = AGGREGATES[leaf.function]
    types = {str(i): dtype for i, (_, dtype) in enumerate(lists)} | dict.fromkeys(numbers, pa.int64())
    source = Source(whole.text, leaf.span)
    typed = [
        bind(argument, lambda column: pa.field(column.name, types[column.name]), source.text, leaf.span)
        for argument in leaf.arguments
    ]
    for argument in typed:
        need_type(argument.dtype, whole, before)
    n_values = len(typed) - leaf.n_keys - leaf.filtered
    classes = aggregate.classes(n_values, bool(leaf.order))
    values = [_fitted(value, wanted, leaf, source) for value, wanted in zip(typed[:n_values], classes, strict=True)]
    keys = [_fitted(key, "orderable", leaf, source) for key in typed[n_values : n_values + leaf.n_keys]]
    use = Use(
        tuple(need_type(value.dtype, whole, before) for value in values),
        leaf.constants,
        leaf.order,
        leaf.distinct,
        leaf.ignores_nulls,
    )
    made = dict(zip(columns(n_values), values, strict=True)) | {f"k{i}": key for i, key in enumerate(keys)}
    unnested = [f'unnest("{name}") AS "{i}"' for i, (name, _) in enumerate(lists)]
    has_place = leaf.distinct or aggregate.sorts
    if has_place:
        unnested.append(f'unnest(range(len("{lists[0][0]}"))) AS "i"')
    unnested += [f'"{column}" AS "{name}"' for name, column in numbers.items()]
    items = [f"{write_typed(value, source, OF_ONE_ROW)} AS {column}" for column, value in made.items()]
    items += ["i"] if has_place else []
    rows = f"SELECT {', '.join(items)} FROM (SELECT {', '.join(unnested)})"
    if leaf.filtered:
        rows += f" WHERE {write_typed(_fitted(typed[-1], 'boolean', leaf, source), source, OF_ONE_ROW)}"
    if leaf.distinct:
        rows = f"SELECT {', '.join(made)}, min(i) AS i FROM ({rows}) GROUP BY {', '.join(made)}"
    return f"({aggregate.write(use).replace('{rows}', f'({rows})')})", aggregate.result(use)


def _fitted(value: Typed, wanted: str, leaf: AggregateLeaf, source: Source) -> Typed:
    """An argument in the class that the aggregate wants."""
    dtype = value.dtype
    assert dtype is not None
    name = kind(dtype)
    fits = {
        "number": is_number(dtype),
        "numeric": is_number(dtype),
        "array": pa.types.is_list(dtype),
        "orderable": is_orderable(dtype),
        "any": True,
    }
    if not fits.get(wanted, name in (wanted, "null")):
        if wanted == "orderable":
            raise without_order(leaf.name, dtype, leaf.span, source)
        shown, hint = _WANTED[wanted]
        raise source.error(f"{leaf.name} takes {shown}, but this is {type_name(dtype)}", leaf.span, hint)
    if wanted == "number" or (wanted == "numeric" and name in ("float", "null")):
        return cast_to(value, pa.float64())
    return cast_to(value, pa.bool_()) if name == "null" and wanted == "boolean" else value


def need_type(dtype: pa.DataType | None, source: Source, before: str = "MATCH_RECOGNIZE") -> pa.DataType:
    """A type that must be known."""
    if dtype is None:
        hint = f"name its type with CAST, or compute it as a column before {before}"
        raise source.error("the type of this is not known before the query runs", source.span, hint)
    return dtype


def without_order(name: str, dtype: pa.DataType, span: Span, source: Source) -> QueryError:
    """Why an aggregate cannot order values: Spark orders structs and arrays, but otherwise than DuckDB."""
    if pa.types.is_struct(dtype) or pa.types.is_list(dtype):
        part = "a field of it, x.a" if pa.types.is_struct(dtype) else "an item of it, x[0]"
        message = f"{name} cannot order {type_name(dtype)}: a NULL inside would come last, on Spark it comes first"
        return source.error(message, span, f"take {part}")
    return source.error(
        f"there is no order for {name} of {type_name(dtype)}", span, "take a number, a string or a time"
    )
