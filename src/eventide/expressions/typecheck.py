"""The type check: from a sqlglot tree to a `Typed` one, or an error that underlines what does not fit.

Goes in: a tree read with `read="spark"` and a function that finds a column. Comes out: types by Spark's ANSI rules, but
stricter: a string never turns into a number by itself. What is off the allow-list has no type, and nothing
above it is checked: on Spark it goes to Catalyst as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pyarrow as pa
from sqlglot import exp

from eventide.errors import did_you_mean
from eventide.expressions import arithmetic
from eventide.expressions.arrays import bind_array, check_array, common_arrays
from eventide.expressions.casts import is_equal_cast
from eventide.expressions.functions import FUNCTIONS, Function, function_of
from eventide.expressions.known_functions import check_known
from eventide.expressions.literals import literal, target_type
from eventide.expressions.readings import is_next, readings
from eventide.expressions.regular import as_re2
from eventide.expressions.typed import Source, Typed, cast_to
from eventide.expressions.types import (
    TIMESTAMP,
    TIMESTAMP_NTZ,
    column_type,
    common_type,
    is_number,
    is_time,
    kind,
    type_name,
)
from eventide.lang.deadline import check_deadline
from eventide.lang.positions import span_of
from eventide.lang.tree import Span

Resolve = Callable[[exp.Column], pa.Field]

COMPARISONS: dict[type[exp.Expression], str] = {
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
    exp.NullSafeEQ: "same",
}
_CONNECTORS: dict[type[exp.Expression], str] = {exp.And: "and", exp.Or: "or"}
# Spark refuses a backslash before anything but %, _ and \\; DuckDB takes it for nothing.
_LIKE = re.compile(r"([^\\]|\\[%_\\])*", re.DOTALL)
# What an argument may be, and what it is cast to.
_FITTING = {
    "double": (("integer", "decimal", "float", "double", "null"), pa.float64()),
    "integer": (("integer", "null"), pa.int64()),
    "string": (("string", "null"), pa.string()),
    "date": (("date", "timestamp", "null"), pa.date32()),
    "timestamp": (("date", "timestamp", "null"), TIMESTAMP),
}
_COMPARABLE = (
    "boolean",
    "integer",
    "decimal",
    "float",
    "double",
    "string",
    "date",
    "timestamp",
    "interval",
    "null",
)


class Types:
    """What the nodes of a plan's expressions were typed as: a step of planning that asks again is answered from here.

    It is kept beside the trees, not on their nodes: sqlglot would copy it with every node.

    >>> import sqlglot
    >>> tree, types = sqlglot.parse_one("n > 1"), Types()
    >>> first = bind(tree, columns_of(pa.schema([("n", pa.int32())])), "n > 1", Span(0, 5), types)
    >>> types.of(tree) is first, types.of(tree.this).value[0]
    (True, 'n')
    """

    def __init__(self) -> None:
        # With each node, so that its id stays its own.
        self._found: dict[int, tuple[exp.Expr, Typed]] = {}
        self._fields: tuple[pa.Schema, dict[str, list[pa.Field]]] | None = None

    def of(self, node: exp.Expr) -> Typed | None:
        """What a node was typed as; None where nobody asked yet."""
        found = self._found.get(id(node))
        return None if found is None else found[1]

    def fields(self, schema: pa.Schema) -> dict[str, list[pa.Field]]:
        """The fields of a schema by their names in lower case, remembered for the schema that is asked for again."""
        if self._fields is None or self._fields[0] is not schema:
            self._fields = (schema, _by_name(schema))
        return self._fields[1]

    def keep(self, node: exp.Expr, typed: Typed) -> Typed:
        """Remember what a node was typed as."""
        self._found[id(node)] = (node, typed)
        return typed


def bind(tree: exp.Expression, resolve: Resolve, text: str, default_span: Span, types: Types | None = None) -> Typed:
    """The typed expression, without a type when it is off the allow-list; QueryError when it makes no sense.

    Nodes that `types` knows are not typed again.

    >>> import sqlglot
    >>> schema = pa.schema([("price", pa.float64()), ("name", pa.string())])
    >>> def check(text):
    ...     return bind(sqlglot.parse_one(text, read="spark"), columns_of(schema, text), text, Span(0, 0)).dtype
    >>> check("price * 2 > 10")
    DataType(bool)
    >>> check("price > '5'")
    Traceback (most recent call last):
    ...
    eventide.errors.QueryError: cannot compare double with string (line 1, column 1)
      price > '5'
      ^^^^^^^^^^^
    Hint: strings do not become numbers by themselves: CAST('5' AS DOUBLE)
    """
    return _Binder(resolve, Source(text, default_span), Types() if types is None else types).bind(tree)


def bind_nexts(tree: exp.Expr, resolve: Resolve, text: str, default_span: Span, types: Types) -> None:
    """Type each `NEXT(s).c` of a tree as `s.c`, so that `bind` finds it typed."""
    for node in readings(tree):
        if is_next(node) and types.of(node) is None:
            span = span_of(node, default_span)
            column = exp.Column(this=exp.Identifier(this=node.expression.name, quoted=True))
            column.meta.update(start=span.start, end=span.end - 1)
            types.keep(node, bind(column, resolve, text, span))


def _by_name(schema: pa.Schema) -> dict[str, list[pa.Field]]:
    fields: dict[str, list[pa.Field]] = {}
    for field in schema:
        fields.setdefault(field.name.lower(), []).append(field)
    return fields


def columns_of(
    schema: pa.Schema, text: str = "", default_span: Span | None = None, types: Types | None = None
) -> Resolve:
    """A resolver over one schema; names match in any case, as in Spark.

    >>> columns_of(pa.schema([("Price", pa.float64())]))(exp.column("price")).name
    'Price'
    """
    span = default_span or Span(0, len(text))
    fields = _by_name(schema) if types is None else types.fields(schema)

    def resolve(column: exp.Column) -> pa.Field:
        found = fields.get(column.name.lower(), [])
        if len(found) == 1:
            return found[0]
        where = Source(text, span)
        if not found:
            hint = did_you_mean(column.name, schema.names)
            raise where.error(f"unknown column '{column.name}'", where.span_of(column), hint)
        names = ", ".join(field.name for field in found)
        raise where.error(f"column '{column.name}' is ambiguous: {names}", where.span_of(column))

    return resolve


class _Binder:
    def __init__(self, resolve: Resolve, source: Source, types: Types) -> None:
        self.resolve = resolve
        self.source = source
        self.types = types

    def bind(self, node: exp.Expression) -> Typed:
        known = self.types.of(node)
        if known is not None:
            return known
        check_deadline()
        return self.types.keep(node, self._bind(node))

    def _bind(self, node: exp.Expression) -> Typed:
        # What long conditions are made of comes first.
        if type(node) is exp.Column:
            return self._column(node)
        if type(node) in COMPARISONS:
            left, right = self.bind(node.this), self.bind(node.expression)
            return self._compare(COMPARISONS[type(node)], left, right, self.source.span_of(node))
        if type(node) in _CONNECTORS:
            return self._connector(node, self.source.span_of(node))
        if type(node) is exp.DPipe:
            return self._concat(node, self.source.span_of(node))
        found = literal(node, self.source)
        if found is not None:
            return found
        span = self.source.span_of(node)
        match node:
            case exp.Paren():
                return self.bind(node.this)
            case exp.Column():
                return self._column(node)
            case exp.Dot() if isinstance(node.expression, exp.Identifier):
                return self._field(node, span)
            case exp.Not():
                return Typed("not", (self._boolean(node.this, "NOT"),), pa.bool_(), None, span)
            case exp.NullSafeNEQ():
                return _not(self._compare("same", self.bind(node.this), self.bind(node.expression), span))
            case exp.Between():
                return self._between(node, span)
            case exp.In() if node.expressions:
                return self._in(node, span)
            case exp.Is() if isinstance(node.expression, (exp.Null, exp.Boolean)):
                return self._is(node, span)
            case exp.Like() | exp.ILike() | exp.Escape():
                return self._like(node, span)
            case exp.RegexpLike():
                return self._matches(node, span)
            case exp.StrToUnix():
                return self._unix_timestamp(node, span)
            case exp.Anonymous() if node.name.upper() == "PMOD" and len(node.expressions) == 2:
                return self._pmod(node, span)
            case exp.Case() | exp.If() | exp.Nvl2():
                return self._case(node, span)
            case exp.Coalesce() | exp.Least() | exp.Greatest():
                return self._choice(node, span)
            case exp.Nullif():
                return self._nullif(node, span)
            case exp.Concat() if not isinstance(node, exp.ConcatWs):
                return self._concat(node, span)
            case exp.Cast():
                return self._cast(node, span)
            case exp.TsOrDsToDate():
                return self._day(node, span)
            case exp.Anonymous() if node.name.upper() in ("ISNULL", "ISNOTNULL") and len(node.expressions) == 1:
                test = Typed("is_null", (self.bind(node.expressions[0]),), pa.bool_(), None, span)
                return test if node.name.upper() == "ISNULL" else _not(test)
        if type(node) in arithmetic.OPERATORS:
            return self._arithmetic(node, span)
        call = function_of(node)
        if call is not None:
            return self._call(node, *call, span)
        return bind_array(node, self.bind, self.source, span) or self._unknown(node, span)

    # --- leaves ---------------------------------------------------------------------------------------------

    def _column(self, node: exp.Column) -> Typed:
        field, span = self.resolve(node), self.source.span_of(node)
        return Typed("column", (), column_type(field.type), (field.name, field.type), span)

    def _field(self, node: exp.Dot, span: Span) -> Typed:
        base = self.bind(node.this)
        name = node.expression.name
        if base.dtype is None:
            return self._unknown(node, span)
        if not pa.types.is_struct(base.dtype):
            raise self.source.error(f"{type_name(base.dtype)} has no field '{name}'", span)
        for field in base.dtype:
            if field.name.lower() == name.lower():
                return Typed("field", (base,), column_type(field.type), (field.name, field.type), span)
        hint = did_you_mean(name, [field.name for field in base.dtype])
        raise self.source.error(f"unknown field '{name}'", span, hint)

    def _unknown(self, node: exp.Expression, span: Span) -> Typed:
        args = tuple(self.bind(child) for child in node.iter_expressions() if isinstance(child, exp.Condition))
        check_known(node, self.source, span)
        check_array(node, args, self.source, span)
        return Typed("unknown", args, None, node.sql("spark"), span)

    # --- booleans -------------------------------------------------------------------------------------------

    def _boolean(self, node: exp.Expression, word: str) -> Typed:
        typed = self.bind(node)
        if typed.dtype is None or kind(typed.dtype) == "boolean":
            return typed
        if kind(typed.dtype) == "null":
            return cast_to(typed, pa.bool_())
        raise self.source.error(
            f"{word} needs a boolean, but this is {type_name(typed.dtype)}",
            typed.span,
            "compare it with something",
        )

    def _connector(self, node: exp.Expression, span: Span) -> Typed:
        word = _CONNECTORS[type(node)]
        args = tuple(self._boolean(side, word.upper()) for side in (node.this, node.expression))
        return Typed(word, args, pa.bool_(), None, span)

    def _compare(self, op: str, left: Typed, right: Typed, span: Span) -> Typed:
        arrays = common_arrays(left, right) if op in ("eq", "ne", "same") else None
        args = self._common([left, right], span, "compare") if arrays is None else list(arrays)
        if args is None:
            return Typed("unknown", (left, right), pa.bool_(), op, span)
        return Typed(op, tuple(args), pa.bool_(), None, span)

    def _between(self, node: exp.Between, span: Span) -> Typed:
        value, low, high = (self.bind(node.args[name]) for name in ("this", "low", "high"))
        if node.args.get("symmetric"):
            return self._unknown(node, span)
        above, below = self._compare("ge", value, low, span), self._compare("le", value, high, span)
        return Typed("and", (above, below), pa.bool_(), None, span)

    def _in(self, node: exp.In, span: Span) -> Typed:
        items = [self.bind(item) for item in (node.this, *node.expressions)]
        args = self._common(items, span, "compare")
        if args is None:
            return Typed("unknown", tuple(items), pa.bool_(), "in", span)
        return Typed("in", tuple(args), pa.bool_(), None, span)

    def _is(self, node: exp.Is, span: Span) -> Typed:
        if isinstance(node.expression, exp.Null):
            return Typed("is_null", (self.bind(node.this),), pa.bool_(), None, span)
        truth = Typed("literal", (), pa.bool_(), bool(node.expression.this), span)
        return Typed("same", (self._boolean(node.this, "IS"), truth), pa.bool_(), None, span)

    def _like(self, node: exp.Expression, span: Span) -> Typed:
        pattern = node.expression
        if isinstance(pattern, exp.Null) and not isinstance(node, exp.Escape):
            return self._of_null(node.this, "LIKE", span)
        if isinstance(node, exp.Escape) or not isinstance(pattern, exp.Literal) or not _LIKE.fullmatch(pattern.this):
            return self._unknown(node, span)
        value = self._need(node.this, "string", "LIKE")
        if value.dtype is None:
            return self._unknown(node, span)
        literal = self.bind(pattern)
        if isinstance(node, exp.ILike):
            # Spark compares what LOWER makes of both.
            if not pattern.this.isascii():
                return self._unknown(node, span)
            value = Typed("call", (value,), pa.string(), FUNCTIONS["LOWER"], span)
            literal = Typed("literal", (), pa.string(), pattern.this.lower(), literal.span)
        like = Typed("like", (value, literal), pa.bool_(), None, span)
        return _not(like) if node.args.get("negate") else like

    def _matches(self, node: exp.RegexpLike, span: Span) -> Typed:
        """RLIKE with a pattern that means the same to Java and to RE2."""
        pattern = node.expression
        if isinstance(pattern, exp.Null) and node.args.get("flag") is None:
            return self._of_null(node.this, "RLIKE", span)
        known = as_re2(pattern.this) if isinstance(pattern, exp.Literal) and pattern.is_string else None
        if known is None or node.args.get("flag") is not None:
            return self._unknown(node, span)
        value = self._need(node.this, "string", "RLIKE")
        if value.dtype is None:
            return self._unknown(node, span)
        made = Typed("matches", (value, Typed("literal", (), pa.string(), known, span)), pa.bool_(), None, span)
        return _not(made) if node.args.get("negate") else made

    def _of_null(self, value: exp.Expression, word: str, span: Span) -> Typed:
        """No text is known to be like NULL."""
        typed = self._need(value, "string", word)
        return Typed("literal", (), pa.bool_(), None, span) if typed.dtype is not None else self._unknown(value, span)

    def _unix_timestamp(self, node: exp.StrToUnix, span: Span) -> Typed:
        """Of a time; a text would have to be read in a format."""
        value, form = self.bind(node.this), node.args.get("format")
        # The format that sqlglot adds by itself has no place in the text.
        if value.dtype is None or not is_time(value.dtype) or (form is not None and "start" in form.meta):
            return self._unknown(node, span)
        return Typed("seconds", (cast_to(value, _moment(value.dtype)),), pa.int64(), None, span)

    def _pmod(self, node: exp.Anonymous, span: Span) -> Typed:
        """The remainder of a whole number by a literal above 0, never negative."""
        value, by = (self.bind(argument) for argument in node.expressions)
        is_known = value.dtype is not None and kind(value.dtype) == "integer" and by.op == "literal"
        if not is_known or kind(by.dtype) != "integer" or by.value is None or by.value <= 0:
            return self._unknown(node, span)
        args = self._common([value, by], span, "divide")
        if args is None:
            return self._unknown(node, span)
        dtype = args[0].dtype
        rest = Typed("mod", tuple(args), dtype, None, span)
        zero = Typed("literal", (), dtype, 0, span)
        moved = Typed("add", (rest, args[1]), dtype, None, span)
        return Typed("case", (Typed("lt", (rest, zero), pa.bool_(), None, span), moved, rest), dtype, None, span)

    # --- choices --------------------------------------------------------------------------------------------

    def _case(self, node: exp.Expression, span: Span) -> Typed:
        if isinstance(node, exp.Nvl2):
            present = _not(Typed("is_null", (self.bind(node.this),), pa.bool_(), None, span))
            tests, values = [present], [node.args["true"], node.args.get("false")]
        elif isinstance(node, exp.If):
            tests, values = [self._boolean(node.this, "IF")], [node.args["true"], node.args.get("false")]
        else:
            tests, values = self._branches(node), [branch.args["true"] for branch in node.args["ifs"]]
            values.append(node.args.get("default"))
        bound = [self.bind(exp.Null() if value is None else value) for value in values]
        results = self._common(bound, span, "choose between")
        if results is None:
            return Typed("unknown", (*tests, *bound), None, "CASE", span)
        pairs = [part for pair in zip(tests, results, strict=False) for part in pair]
        return Typed("case", (*pairs, results[-1]), results[-1].dtype, None, span)

    def _branches(self, node: exp.Expression) -> list[Typed]:
        branches = [branch.this for branch in node.args["ifs"]]
        if node.this is None:
            return [self._boolean(branch, "WHEN") for branch in branches]
        operand = self.bind(node.this)
        return [self._compare("eq", operand, self.bind(b), self.source.span_of(b)) for b in branches]

    def _choice(self, node: exp.Expression, span: Span) -> Typed:
        bound = [self.bind(item) for item in (node.this, *node.expressions)]
        args = self._common(bound, span, "choose between")
        if args is None:
            return Typed("unknown", tuple(bound), None, type(node).__name__.upper(), span)
        return Typed(type(node).__name__.lower(), tuple(args), args[0].dtype, None, span)

    def _nullif(self, node: exp.Nullif, span: Span) -> Typed:
        left, right = self.bind(node.this), self.bind(node.expression)
        equal = self._compare("eq", left, right, span)
        if equal.op == "unknown" or left.dtype is None:
            return Typed("unknown", (left, right), None, "NULLIF", span)
        return Typed("case", (equal, Typed("literal", (), left.dtype, None, span), left), left.dtype, None, span)

    def _common(self, args: Sequence[Typed], span: Span, verb: str) -> list[Typed] | None:
        """The arguments in their common type; None when one is unknown or the type is off the list."""
        if verb == "compare" and any(arg.dtype is not None and _has_map(arg.dtype) for arg in args):
            raise self.source.error(f"cannot {verb} maps", span, "take their parts: m['key'], map_keys(m), size(m)")
        dtype: pa.DataType = pa.null()
        for i, arg in enumerate(args):
            if arg.dtype is None or kind(arg.dtype) not in _COMPARABLE:
                return None
            wider = common_type(dtype, arg.dtype)
            if wider is None and is_number(dtype) and is_number(arg.dtype):
                return None
            if wider is None:
                raise self._mismatch(args[:i], arg, dtype, span, verb)
            dtype = wider
        return [cast_to(arg, dtype) for arg in args]

    def _mismatch(self, before: Sequence[Typed], arg: Typed, dtype: pa.DataType, span: Span, verb: str) -> Exception:
        # The string side is what the hint casts, preferably a literal.
        hint = None
        kinds = {kind(dtype), kind(arg.dtype)}
        if "string" in kinds:
            texts = [t for t in (*before, arg) if t.dtype == pa.string()]
            other = dtype if arg.dtype == pa.string() else arg.dtype
            shown = self.source.text[texts[0].span.start : texts[0].span.end]
            if is_time(other) and texts[0].op == "literal":
                hint = f"write {type_name(other).upper()} {shown}"
            elif is_number(other):
                hint = f"strings do not become numbers by themselves: CAST({shown} AS {type_name(other).upper()})"
            else:
                hint = f"cast one side: CAST({shown} AS {type_name(other).upper()})"
        joined = "with" if verb == "compare" else "and"
        message = f"cannot {verb} {type_name(dtype)} {joined} {type_name(arg.dtype)}"
        return self.source.error(message, span, hint)

    # --- calls ----------------------------------------------------------------------------------------------

    def _arithmetic(self, node: exp.Expression, span: Span) -> Typed:
        names = ("this",) if isinstance(node, arithmetic.UNARY) else ("this", "expression")
        args = [self.bind(node.args[name]) for name in names]
        if isinstance(node, exp.Round) and node.args.get("decimals") is not None:
            args.append(self.bind(node.args["decimals"]))
        if any(arg.dtype is None or kind(arg.dtype) == "other" for arg in args):
            return Typed("unknown", tuple(args), None, node.sql("spark"), span)
        return arithmetic.typed_arithmetic(node, args, self.source, span)

    def _concat(self, node: exp.Expression, span: Span) -> Typed:
        items = node.expressions if isinstance(node, exp.Concat) else [node.this, node.expression]
        args = tuple(self._need(item, "string", "CONCAT" if isinstance(node, exp.Concat) else "||") for item in items)
        if any(arg.dtype is None for arg in args):
            return self._unknown(node, span)
        return Typed("concat", args, pa.string(), None, span)

    def _cast(self, node: exp.Cast, span: Span) -> Typed:
        value, dtype = self.bind(node.this), target_type(node.to)
        if value.dtype is None or dtype is None or node.args.get("safe") or not is_equal_cast(value.dtype, dtype):
            return Typed("unknown", (value,), dtype, node.sql("spark"), span)
        return value if value.dtype == dtype else Typed("cast", (value,), dtype, None, span)

    def _day(self, node: exp.Expression, span: Span) -> Typed:
        value = self.bind(node.this)
        if value.dtype is None or not is_time(value.dtype):
            return self._unknown(node, span)
        return cast_to(value, pa.date32())

    def _call(self, node: exp.Expression, row: Function, nodes: list[exp.Expression], span: Span) -> Typed:
        least, most = len(row.params) - row.optional, len(row.params)
        if not least <= len(nodes) <= most:
            wanted = str(most) if least == most else f"{least} to {most}"
            plural = "s" if wanted != "1" else ""
            raise self.source.error(f"{row.name} takes {wanted} argument{plural}, got {len(nodes)}", span)
        args = [
            Typed("literal", (), pa.string(), arg.name.upper(), span)
            if param == "unit"
            else self._need(arg.this if isinstance(arg, exp.TsOrDsToDate) else arg, param, row.name)
            for arg, param in zip(nodes, row.params, strict=False)
        ]
        if any(arg.dtype is None for arg in args):
            return Typed("unknown", tuple(args), None, node.sql("spark"), span)
        return Typed("call", tuple(args), row.result, row, span)

    def _need(self, node: exp.Expression, param: str, name: str) -> Typed:
        """An argument, cast to the class that the function wants."""
        typed = self.bind(node)
        dtype = typed.dtype
        if dtype is None:
            return typed
        kinds, target = _FITTING[param]
        if kind(dtype) in kinds:
            if param == "timestamp":
                zoned = name in ("UNIX_MICROS", "DATE_TRUNC") or dtype == TIMESTAMP
                target = TIMESTAMP if zoned else TIMESTAMP_NTZ
            return cast_to(typed, target)
        words = {
            "double": "number",
            "integer": "whole number",
            "date": "date or timestamp",
            "timestamp": "date or timestamp",
        }
        wanted = words.get(param, param)
        hint = None
        if kind(dtype) == "string":
            target_name = {"double": "DOUBLE", "integer": "BIGINT", "date": "DATE"}.get(param, "TIMESTAMP")
            shown = self.source.text[typed.span.start : typed.span.end]
            hint = f"cast it: CAST({shown} AS {target_name})"
        elif param == "string":
            hint = "cast it: CAST(... AS STRING)"
        raise self.source.error(f"{name} needs a {wanted}, but this is {type_name(dtype)}", typed.span, hint)


def _has_map(dtype: pa.DataType) -> bool:
    return pa.types.is_map(dtype) or any(_has_map(dtype.field(i).type) for i in range(dtype.num_fields))


def _moment(dtype: pa.DataType) -> pa.DataType:
    return TIMESTAMP if dtype == TIMESTAMP else TIMESTAMP_NTZ


def _not(typed: Typed) -> Typed:
    return Typed("not", (typed,), pa.bool_(), None, typed.span)
