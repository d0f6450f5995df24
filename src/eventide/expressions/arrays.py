"""Functions of arrays that are equal on Catalyst and on DuckDB: a typed call holds its text on DuckDB.

`element_at` of an index that is not there is NULL on both, as a division by zero is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.typed import Source, Typed, cast_to
from eventide.expressions.types import column_type, common_type, duckdb_type, kind, type_name
from eventide.lang.tree import Span

_OUTSIDE = "error('an index is outside its array')"
_ITEM = (
    f"CASE WHEN {{0}} IS NULL OR {{1}} IS NULL THEN NULL WHEN {{1}} < 0 OR {{1}} >= len({{0}}) THEN {_OUTSIDE} "
    "ELSE list_extract({0}, {1} + 1) END"
)
_ITEM_OR_NULL = "CASE WHEN {1} >= 0 THEN list_extract({0}, {1} + 1) END"
_CONTAINS = (
    "CASE WHEN {0} IS NULL OR {1} IS NULL THEN NULL WHEN list_contains({0}, {1}) THEN true "
    "WHEN len({0}) = list_count({0}) THEN false END"
)

# Functions of Spark SQL whose first argument is an array; of some it may be a map.
_NAMES = """
    size cardinality array_append array_compact array_contains array_distinct array_except array_insert array_intersect
    array_join array_max array_min array_position array_prepend array_remove array_size array_sort array_union
    arrays_overlap element_at try_element_at flatten get slice sort_array
"""
_OF_ARRAYS = frozenset(_NAMES.split())


def array_call(node: exp.Expr | None) -> str | None:
    """What takes an array as its first argument: the name of a function, or "[...]"; None for anything else.

    >>> import sqlglot
    >>> [array_call(sqlglot.parse_one(text, read="spark")) for text in ("size(x)", "x[0]", "abs(x)")]
    ['size', '[...]', None]
    """
    if isinstance(node, exp.Bracket):
        return "element_at" if node.args.get("offset") == 1 else "[...]"
    if not isinstance(node, exp.Func):
        return None
    called = re.match(r"\w+", node.sql("spark"))
    return called[0].lower() if called is not None and called[0].lower() in _OF_ARRAYS else None


def check_array(node: exp.Expr, args: Sequence[Typed], source: Source, span: Span) -> None:
    """Refuse what takes an array where it gets a plain value, whatever engine would run it."""
    name = array_call(node)
    dtype = args[0].dtype if args else None
    if name is None or dtype is None or pa.types.is_nested(dtype) or kind(dtype) == "null":
        return
    written = re.match(r"(\w+)\s*\(", source.text[span.start : span.end])
    raise source.error(
        f"{written[1] if written else name} needs an array, but this is {type_name(dtype)}", args[0].span
    )


def bind_array(
    node: exp.Expression, bind: Callable[[exp.Expression], Typed], source: Source, span: Span
) -> Typed | None:
    """The call of a function of arrays; None where it is another one, or of what has no type."""
    match node:
        case exp.Array():
            return _array([bind(item) for item in node.expressions], source, span)
        case exp.ArraySize():
            return _call([bind(node.this)], "CAST(len({0}) AS INTEGER)", pa.int32(), span)
        case exp.Anonymous() if node.name.upper() == "CARDINALITY" and len(node.expressions) == 1:
            return _call([bind(node.expressions[0])], "CAST(len({0}) AS INTEGER)", pa.int32(), span)
        case exp.ArrayToString():
            return _join(node, bind, span)
        case exp.ConcatWs():
            return _concat_ws([bind(item) for item in node.expressions], span)
        case exp.Bracket() if len(node.expressions) == 1:
            text = "list_extract({0}, {1})" if node.args.get("offset") == 1 else _ITEM
            if node.args.get("safe") and not node.args.get("offset"):
                text = _ITEM_OR_NULL
            args = [bind(node.this), bind(node.expressions[0])]
            if args[1].dtype is None or kind(args[1].dtype) not in ("integer", "null"):
                return None
            return _call([args[0], cast_to(args[1], pa.int64())], text, _item_type(args[0].dtype), span)
        case exp.ArrayContains():
            return _contains(bind(node.this), bind(node.expression), source, span)
        case exp.ArrayMax() | exp.ArrayMin():
            array = bind(node.this)
            text = "list_max({0})" if isinstance(node, exp.ArrayMax) else "list_min({0})"
            return _call([array], text, _item_type(array.dtype), span)
        case exp.ArraySort() if node.args.get("expression") is None and node.args.get("asc") is None:
            array = bind(node.this)
            nulls = "FIRST" if node.args.get("nulls_first") == exp.true() else "LAST"
            return _call([array], f"list_sort({{0}}, 'ASC', 'NULLS {nulls}')", array.dtype, span)
    return None


def common_arrays(left: Typed, right: Typed) -> tuple[Typed, Typed] | None:
    """Two arrays with items of one type, so that they can be compared; None where they are no such arrays."""
    types = _item_type(left.dtype), _item_type(right.dtype)
    if types[0] is None or types[1] is None:
        return None
    item = common_type(*types)
    return None if item is None else (_of_items(left, item), _of_items(right, item))


def write_array(typed: Typed, texts: Sequence[str]) -> str:
    """The call on DuckDB.

    >>> write_array(Typed("array", (), pa.int32(), "CAST(len({0}) AS INTEGER)"), ["x"])
    '(CAST(len(x) AS INTEGER))'
    """
    return f"({typed.value.format(*texts)})"


def _item_type(dtype: pa.DataType | None) -> pa.DataType | None:
    """The type of an array's items, where it is one that DuckDB and Spark have alike."""
    if dtype is None or not pa.types.is_list(dtype):
        return None
    item = dtype.value_type
    return item if column_type(item) == item and kind(item) not in ("other", "interval", "months") else None


def _call(args: list[Typed], text: str, dtype: pa.DataType | None, span: Span) -> Typed | None:
    """A call whose first argument is an array."""
    if dtype is None or _item_type(args[0].dtype) is None:
        return None
    return Typed("array", tuple(args), dtype, text, span)


def _of_items(array: Typed, item: pa.DataType) -> Typed:
    if _item_type(array.dtype) == item:
        return array
    return Typed("array", (array,), pa.list_(item), f"CAST({{0}} AS {duckdb_type(item)}[])", array.span)


def _array(items: list[Typed], source: Source, span: Span) -> Typed | None:
    dtype: pa.DataType = pa.null()
    for item in items:
        if item.dtype is None or kind(item.dtype) in ("other", "interval", "months"):
            return None
        wider = common_type(dtype, item.dtype)
        if wider is None:
            message = f"an array cannot hold {type_name(dtype)} and {type_name(item.dtype)}"
            raise source.error(message, span, "cast its items to one type")
        dtype = wider
    if kind(dtype) == "null":
        return None
    text = f"list_value({', '.join(f'{{{i}}}' for i in range(len(items)))})"
    return Typed("array", tuple(cast_to(item, dtype) for item in items), pa.list_(dtype), text, span)


def _join(node: exp.ArrayToString, bind: Callable[[exp.Expression], Typed], span: Span) -> Typed | None:
    parts = [node.this, node.expression, *([node.args["null"]] if node.args.get("null") is not None else [])]
    args = [bind(part) for part in parts]
    if _item_type(args[0].dtype) != pa.string() or any(arg.op != "literal" for arg in args[1:]):
        return None
    if any(arg.dtype != pa.string() or arg.value is None for arg in args[1:]):
        return None
    items = "{0}" if len(args) == 2 else "list_transform({0}, lambda x: coalesce(x, {2}))"
    text = f"CASE WHEN {{0}} IS NOT NULL THEN coalesce(list_aggregate({items}, 'string_agg', {{1}}), '') END"
    return Typed("array", tuple(args), pa.string(), text, span)


def _concat_ws(args: list[Typed], span: Span) -> Typed | None:
    """Strings and arrays of strings with a text between them; NULLs are left out."""
    if args[0].op != "literal" or args[0].dtype != pa.string() or len(args) == 1:
        return None
    lists = []
    for i, arg in enumerate(args[1:], 1):
        if arg.dtype == pa.string():
            lists.append(f"[{{{i}}}]")
        elif _item_type(arg.dtype) == pa.string():
            lists.append(f"coalesce({{{i}}}, [])")
        else:
            return None
    joined = lists[0] if len(lists) == 1 else f"list_concat({', '.join(lists)})"
    return Typed(
        "array", tuple(args), pa.string(), f"coalesce(list_aggregate({joined}, 'string_agg', {{0}}), '')", span
    )


def _contains(array: Typed, item: Typed, source: Source, span: Span) -> Typed | None:
    wanted = _item_type(array.dtype)
    if wanted is None or item.dtype is None or kind(item.dtype) == "null":
        return None
    dtype = common_type(wanted, item.dtype)
    if dtype is None:
        message = f"an array of {type_name(wanted)} holds no {type_name(item.dtype)}"
        raise source.error(message, span, "cast one to the type of the other")
    return Typed("array", (_of_items(array, dtype), cast_to(item, dtype)), pa.bool_(), _CONTAINS, span)
