"""Binding a join: both schemas in, the logical plan out; every name found, every condition typed and in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa
from sqlglot import exp

from eventide.errors import InputError, QueryError
from eventide.expressions.navigation.calls import read_call
from eventide.expressions.readings import is_next
from eventide.expressions.relate import conjuncts
from eventide.expressions.typecheck import Resolve, Types, bind, columns_of
from eventide.expressions.typed import Source
from eventide.expressions.types import kind
from eventide.lang.joins import whole_side
from eventide.lang.nodes import copied, every_node
from eventide.lang.positions import span_of
from eventide.lang.tree import JoinQuery, ReturnItem, Scalar, Span
from eventide.plan.logical import Equal, Item, Join, Scan
from eventide.plan.options import Options
from eventide.plan.places import error_at, option_error
from eventide.plan.scope import find_column, is_orderable
from eventide.plan.sides import common_type
from eventide.plan.time_column import guess_time, time_type_of

LEFT, RIGHT = "left", "right"
_ADDED = "detected_at"


def bind_join(
    query: JoinQuery, options: Options, left: pa.Schema, right: pa.Schema, *, on_stream: bool = False
) -> Join:
    """The logical plan over the schemas of both sides."""
    return _Binding(query, options, (left, right)).join(on_stream)


def raw_schema(left: pa.Schema, right: pa.Schema) -> pa.Schema:
    """The columns of both sides under names of their own."""
    fields = [pa.field(f"l{i}", field.type) for i, field in enumerate(left)]
    return pa.schema([*fields, *(pa.field(f"r{i}", field.type) for i, field in enumerate(right))])


class _Binding:
    def __init__(self, query: JoinQuery, options: Options, schemas: tuple[pa.Schema, pa.Schema]) -> None:
        self.query, self.options = query, options
        self.schemas = dict(zip((LEFT, RIGHT), schemas, strict=True))
        self.symbols = {LEFT: query.left.name, RIGHT: query.right.name}
        self.types = Types()
        self.raw = raw_schema(*schemas)

    def join(self, on_stream: bool) -> Join:
        scans = self._scans(on_stream)
        keys: list[Equal] = []
        found: list[Scalar] = []
        for condition in self._conditions(self.query.on, "ON"):
            key = self._key(condition)
            if key is None:
                found.append(condition)
            else:
                keys.append(key)
        filters = self._conditions(self.query.where, "WHERE")
        self._check_visible(filters, "WHERE")
        within = self.query.within
        lengths = [] if within is None else [each.amount for each in (within.before, within.after) if each is not None]
        left, right = (
            replace(scan, partition=self._partition(keys, side))
            for side, scan in zip((LEFT, RIGHT), scans, strict=True)
        )
        return Join(
            left,
            right,
            window_us=max(lengths, default=None),
            tree=self.query,
            kind=self.query.kind,
            keys=tuple(keys),
            conjuncts=tuple(found),
            filters=tuple(filters),
            items=self._items(keys),
            types=self.types,
        )

    # --- the inputs -----------------------------------------------------------------------------------------

    def _scans(self, on_stream: bool) -> list[Scan]:
        times = self._columns_of_option("ts", self.options.ts)
        hint = "pass ts='column', or ts='one, other' for a column of each input"
        given = zip(self.schemas.values(), times, strict=True)
        names = [guess_time(schema, hint) if time is None else time for schema, time in given]
        places = [
            (self.symbols[side], self.schemas[side], name) for side, name in zip(self.schemas, names, strict=True)
        ]
        common, schema = common_type("time", places), self.schemas[LEFT]
        timed = schema.set(schema.get_field_index(names[0]), pa.field(names[0], common))
        time_type = time_type_of(names[0], timed, self.options.ts_unit, partial(option_error, self.query))
        sequences = self._columns_of_option("sequence", self.options.sequence)
        inputs = zip(self.schemas.values(), names, sequences, strict=True)
        return [Scan(self.options, schema, ts, time_type, seq, (), is_stream=on_stream) for schema, ts, seq in inputs]

    def _columns_of_option(self, option: str, given: str | None) -> list[str | None]:
        """The column of each side that an option names: one for both, or one for each."""
        if given is None:
            return [None, None]
        fail = partial(option_error, self.query, option)
        names = [given] if any(given.lower() == name.lower() for name in self.schemas[LEFT].names) else given.split(",")
        if len(names) > 2:
            raise fail(f"{option} names {len(names)} columns, and a join has two inputs", f"{option}='one, other'")
        found: list[str | None] = []
        for (side, schema), name in zip(self.schemas.items(), (names[0], names[-1]), strict=True):
            missing = f"{option}: there is no column '{{}}' in {self.symbols[side]}"
            found.append(find_column(name.strip(), schema, fail, missing))
        return found

    # --- conditions -----------------------------------------------------------------------------------------

    def _conditions(self, whole: Scalar | None, clause: str) -> list[Scalar]:
        if whole is None:
            return []
        made = []
        for part in conjuncts(whole.tree):
            span = span_of(part, whole.span)
            tree = self._qualified(part, span, clause)
            source = Source(self.query.text, span)
            source.need_boolean(bind(tree, self._columns(span), self.query.text, span, self.types))
            made.append(Scalar(tree, self.query.text[span.start : span.end], span))
        return made

    def _columns(self, span: Span) -> Resolve:
        return columns_of(self.raw, self.query.text, span, self.types)

    def _key(self, condition: Scalar) -> Equal | None:
        """The condition as an equality of a value of each side; None where it is another one."""
        tree = condition.tree
        if not isinstance(tree, exp.EQ):
            return None
        ends = (tree.this, tree.expression)
        sides = [sides_of(end) for end in ends]
        if sides not in ([{LEFT}, {RIGHT}], [{RIGHT}, {LEFT}]):
            return None
        typed = self.types.of(tree)
        if typed is None or typed.op != "eq" or typed.args[0].dtype is None or typed.args[1].dtype is None:
            return None
        dtype = typed.args[0].dtype
        if not is_orderable(dtype) or kind(dtype) in ("null", "other"):
            return None
        left, right = ends if sides[0] == {LEFT} else ends[::-1]
        return Equal(left, right, dtype, condition.text)

    def _partition(self, keys: Sequence[Equal], side: str) -> tuple[str, ...]:
        """The columns of a side that are keys as they are."""
        trees = [key.left if side == LEFT else key.right for key in keys]
        names = self._names(side)
        return tuple(dict.fromkeys(names[int(tree.name[1:])] for tree in trees if _is_plain(tree)))

    def _check_visible(self, conditions: Sequence[Scalar], clause: str) -> None:
        """A result of SEMI and ANTI is a left row."""
        for condition in conditions:
            if self.query.kind in ("semi", "anti") and RIGHT in sides_of(condition.tree):
                raise self._invisible(condition.span, clause)

    def _invisible(self, span: Span, clause: str) -> QueryError:
        name, word = self.symbols[RIGHT], self.query.kind.upper()
        hint = f"move it to ON: a condition there says which rows of {name} join"
        if clause == "RETURN":
            hint = f"return columns of {self.symbols[LEFT]}; JOIN or LEFT JOIN has those of both"
        return error_at(self.query, span, f"a row of {word} JOIN has no columns of {name}", hint)

    # --- names ----------------------------------------------------------------------------------------------

    def _qualified(self, tree: exp.Expr, span: Span, clause: str) -> exp.Expression:
        """A copy of the tree with columns as left.l0 and right.r3."""

        def rewrite(node: exp.Expr) -> exp.Expr | None:
            if is_next(node):
                message = "NEXT relates events of a PATTERN, and a join has none"
                raise error_at(self.query, span_of(node, span), message, "compare columns: o.amount < p.amount")
            call = read_call(node)
            if call is not None or isinstance(node, exp.AggFunc):
                name = call.name if call is not None else type(node).__name__.upper()
                message = f"{clause} of a join is about one pair, and {name} is about many"
                raise error_at(self.query, span_of(node, span), message, "aggregate the result of the join")
            return self._column(node, span) if isinstance(node, exp.Column) else None

        made = copied(tree, rewrite)
        assert isinstance(made, exp.Expression)
        return made

    def _column(self, node: exp.Column, default: Span) -> exp.Expr:
        first, *rest = node.parts
        named = [side for side, symbol in self.symbols.items() if symbol.lower() == first.name.lower()]
        if rest and named:
            return self._reference(named[0], rest[0], rest[1:], node, default)
        sides = [side for side, schema in self.schemas.items() if _has(schema, first.name)]
        if len(sides) == 1:
            return self._reference(sides[0], first, rest, node, default)
        span = span_of(first, default)
        if sides:
            hint = "write " + " or ".join(f"{symbol}.{first.name}" for symbol in self.symbols.values())
            raise error_at(self.query, span, f"which row's '{first.name}'?", hint)
        if named:
            example = f"{first.name}.{self.schemas[named[0]].names[0]}"
            raise error_at(self.query, span, f"'{first.name}' is a row, not a value", f"name a column of it: {example}")
        if rest:
            known = " and ".join(self.symbols.values())
            raise error_at(self.query, span, f"there is no input '{first.name}' in FROM", f"its inputs are {known}")
        both = pa.schema([pa.field(name, pa.null()) for schema in self.schemas.values() for name in schema.names])
        find_column(first.name, both, partial(error_at, self.query, span))
        raise AssertionError(first.name)

    def _reference(
        self, side: str, column: exp.Expr, fields: Sequence[exp.Expr], node: exp.Column, default: Span
    ) -> exp.Expr:
        schema, fail = self.schemas[side], partial(error_at, self.query, span_of(column, default))
        name = find_column(column.name, schema, fail, f"there is no column '{{}}' in {self.symbols[side]}")
        identifier = exp.Identifier(this=f"{side[0]}{schema.get_field_index(name)}", quoted=True)
        positions = [part.meta for part in node.parts if "start" in part.meta]
        if positions:
            identifier.meta.update(start=positions[0]["start"], end=positions[-1]["end"])
        built: exp.Expr = exp.Column(this=identifier, table=exp.Identifier(this=side, quoted=True))
        for field in fields:
            built = exp.Dot(this=built, expression=field.copy())
        return built

    # --- RETURN ---------------------------------------------------------------------------------------------

    def _items(self, keys: Sequence[Equal]) -> tuple[Item, ...]:
        query = self.query
        if query.returns:
            items = [made for item in query.returns for made in self._returned(item)]
        else:
            items = self._all_columns(keys)
        for item in items:
            bind(item.tree, self._columns(item.span), query.text, item.span, self.types)
        self._check_names(items)
        return tuple(items)

    def _returned(self, item: ReturnItem) -> list[Item]:
        span = item.value.span
        whole = whole_side(item)
        if whole is not None:
            side = next((side for side, symbol in self.symbols.items() if symbol.lower() == whole.lower()), None)
            if side is None:
                known = " and ".join(f"{symbol}.*" for symbol in self.symbols.values())
                raise error_at(self.query, span, f"there is no input '{whole}' in FROM", f"possible are {known}")
            if side == RIGHT and self.query.kind in ("semi", "anti"):
                raise self._invisible(span, "RETURN")
            return [self._item(side, i, f"{self.symbols[side]}_{name}") for i, name in enumerate(self._names(side))]
        tree = self._qualified(item.value.tree, span, "RETURN")
        if self.query.kind in ("semi", "anti") and RIGHT in sides_of(tree):
            raise self._invisible(span, "RETURN")
        name = item.alias.text if item.alias is not None else self._default_name(tree, item.value.text)
        return [Item(name, tree, (), False, item.span)]

    def _default_name(self, tree: exp.Expr, text: str) -> str:
        """`o.price` is o_price, anything else its text."""
        if isinstance(tree, exp.Column):
            return f"{self.symbols[tree.table]}_{self._names(tree.table)[int(tree.name[1:])]}"
        return " ".join(text.split())

    def _all_columns(self, keys: Sequence[Equal]) -> list[Item]:
        """The columns that are equal once, then those of the left and of the right row; of SEMI and ANTI the left."""
        left = range(len(self._names(LEFT)))
        if self.query.kind in ("semi", "anti"):
            return [self._item(LEFT, i, self._names(LEFT)[i]) for i in left]
        pairs = [(key.left, key.right) for key in keys if _is_plain(key.left) and _is_plain(key.right)]
        once = [int(one.name[1:]) for one, _ in pairs]
        shown: dict[str, set[str]] = {LEFT: {one.name for one, _ in pairs}, RIGHT: {two.name for _, two in pairs}}
        items = [self._item(LEFT, i, self._names(LEFT)[i]) for i in dict.fromkeys(once)]
        for side in (LEFT, RIGHT):
            rest = [i for i in range(len(self._names(side))) if f"{side[0]}{i}" not in shown[side]]
            items += [self._item(side, i, f"{self.symbols[side]}_{self._names(side)[i]}") for i in rest]
        return items

    def _item(self, side: str, i: int, name: str) -> Item:
        column = exp.Identifier(this=f"{side[0]}{i}", quoted=True)
        tree = exp.Column(this=column, table=exp.Identifier(this=side, quoted=True))
        return Item(name, tree, (), False, Span(0, 0))

    def _names(self, side: str) -> list[str]:
        names: list[str] = self.schemas[side].names
        return names

    def _check_names(self, items: Sequence[Item]) -> None:
        seen = {_ADDED}
        for item in items:
            if item.name.lower() in seen:
                is_added = item.name.lower() == _ADDED
                message = f"the result would have two columns '{item.name}'"
                message = f"'{item.name}' is the name of a column that Eventide adds" if is_added else message
                hint = "give this one another name with AS" if self.query.returns else "name the columns: RETURN ..."
                at = item.span if item.span.end else None
                raise error_at(self.query, at, message, hint) if at else InputError(message, hint=hint)
            seen.add(item.name.lower())


def sides_of(tree: exp.Expr) -> set[str]:
    """The sides whose columns a bound tree reads."""
    return {node.table for node in every_node(tree) if isinstance(node, exp.Column)}


def _is_plain(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Column)


def _has(schema: pa.Schema, name: str) -> bool:
    return any(known.lower() == name.lower() for known in schema.names)
