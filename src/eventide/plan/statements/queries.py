"""A statement around MATCH_RECOGNIZE as DuckDB's text: every name found, every expression typed, Spark's meaning kept.

Goes in: a statement as sqlglot reads it, and the tables that it may read. Comes out: DuckDB's text, and the names and
types of its columns. What Spark and DuckDB would compute differently is refused, with its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError
from eventide.expressions.known_functions import check_spelt
from eventide.expressions.typed import Source
from eventide.expressions.types import column_type, common_type, kind, type_name
from eventide.lang.tree import Span
from eventide.plan.statements.names import Names, is_shown, needs_name
from eventide.plan.statements.scalars import INSTEAD, Scalars, Subquery, direction
from eventide.plan.statements.scopes import Named, Relation, Scope, relation
from eventide.plan.statements.tables import Table, Written, apart, cast, cast_columns, merge
from eventide.runtime.quoting import quoted

_Common = Mapping[str, Table]
_SELECT_PARTS = {
    "with_", "kind", "expressions", "hint", "distinct", "limit", "from_", "joins", "where", "group", "having", "order",
    "offset", "windows", "qualify",
}  # fmt: skip
_JOINS = {
    ("", ""): "JOIN", ("", "INNER"): "JOIN", ("", "CROSS"): "CROSS JOIN", ("LEFT", ""): "LEFT JOIN",
    ("LEFT", "OUTER"): "LEFT JOIN", ("RIGHT", ""): "RIGHT JOIN", ("RIGHT", "OUTER"): "RIGHT JOIN",
    ("FULL", ""): "FULL JOIN", ("FULL", "OUTER"): "FULL JOIN", ("LEFT", "SEMI"): "SEMI JOIN", ("", "SEMI"): "SEMI JOIN",
    ("LEFT", "ANTI"): "ANTI JOIN", ("", "ANTI"): "ANTI JOIN",
}  # fmt: skip

_NOBODYS = "\ue002"  # the name of a result that nothing can refer to


def write_statement(tree: exp.Query, tables: Mapping[str, Table], text: str) -> Written:
    """The statement for DuckDB; `tables` by their names in lower case.

    >>> import sqlglot
    >>> table = Table("table_0", pa.schema([("x", pa.int32())]), ("x",))
    >>> text = "SELECT max(x) AS m FROM t WHERE x > 1"
    >>> write_statement(sqlglot.parse_one(text, read="spark"), {"t": table}, text).sql
    'SELECT max("t"."x") AS "m" FROM table_0 AS "t" WHERE ("t"."x" > 1::INTEGER)'
    """
    check_spelt(tree, text)
    return _Writer(text, tables).query(tree, {}, None)


def name_of_result(tree: exp.Select, tables: Mapping[str, Table], text: str) -> str:
    """The name of the only result of a SELECT, also of one that DuckDB cannot compute; QueryError where it has none."""
    writer, scope = _Writer(text, tables), Scope(Source(text, Span(0, 0)))
    scalars = Scalars(text, writer._subquery({}))
    writer._from(tree, scope, scalars, {})
    return writer._name(tree, tree.expressions[0], scope, scalars)


@dataclass(slots=True)
class _Writer:
    text: str
    tables: Mapping[str, Table]
    n_common: int = 0

    def query(self, tree: exp.Expr, common: _Common, outer: Scope | None) -> Written:
        entries: list[str] = []
        with_ = tree.args.get("with_")
        is_recursive = with_ is not None and bool(with_.args.get("recursive"))
        if with_ is not None:
            for entry in with_.expressions:
                name = f"common_{self.n_common}"
                self.n_common += 1
                text, common = self._entry(entry, name, common, outer, is_recursive)
                entries.append(text)
        written = self._body(tree, common, outer)
        if not entries:
            return written
        head = "WITH RECURSIVE" if is_recursive else "WITH"
        return Written(f"{head} {', '.join(entries)} {written.sql}", written.columns)

    def _entry(
        self, entry: exp.Expr, name: str, common: _Common, outer: Scope | None, is_recursive: bool
    ) -> tuple[str, _Common]:
        """One entry of a WITH, and what queries behind it see."""
        body = entry.this
        given = [column.name for column in entry.args["alias"].args.get("columns") or ()]
        if is_recursive and isinstance(body, exp.Union):
            anchor = self.query(body.this, common, outer)
            common = {**common, entry.alias.lower(): self._table_of(anchor, name, given, entry)}
        written = self.query(body, common, outer)
        table = self._table_of(written, name, given, entry)
        names = ", ".join(map(quoted, table.names))
        return f"{quoted(name)}({names}) AS ({written.sql})", {**common, entry.alias.lower(): table}

    def _table_of(self, written: Written, name: str, given: Sequence[str], node: exp.Expr) -> Table:
        names = [column for column, _ in written.columns]
        if given and len(given) != len(names):
            message = f"{len(given)} names are given to {len(names)} columns"
            raise self._error(message, node, "name as many columns as there are")
        fields = [pa.field(one, dtype) for one, (_, dtype) in zip(given or names, written.columns, strict=True)]
        return Table(quoted(name), pa.schema(fields), apart(given or names))

    def _body(self, tree: exp.Expr, common: _Common, outer: Scope | None) -> Written:
        if isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Query):
            inner = self.query(tree.this, common, outer)
            return self._ordered(Written(f"({inner.sql})", inner.columns), tree, common, outer)
        if isinstance(tree, exp.SetOperation):
            return self._ordered(self._set_operation(tree, common, outer), tree, common, outer)
        if isinstance(tree, exp.Select):
            return self._select(tree, common, outer)
        if isinstance(tree, exp.Values):
            made, columns = self._values(tree, common, outer)
            return Written(f"SELECT * FROM {made}", tuple(columns))
        raise self._refused(tree)

    # --- set operations -------------------------------------------------------------------------------------

    def _set_operation(self, tree: exp.SetOperation, common: _Common, outer: Scope | None) -> Written:
        if any(tree.args.get(part) for part in ("by_name", "side", "kind", "on")):
            raise self._refused(tree)
        sides = [self.query(side, common, outer) for side in (tree.this, tree.expression)]
        if len(sides[0].columns) != len(sides[1].columns):
            message = "the queries of UNION, EXCEPT or INTERSECT have different numbers of columns"
            raise self._error(message, tree, "select as many in each")
        types = [self._common_type(a, b, tree) for a, b in zip(*(side.columns for side in sides), strict=True)]
        word = {exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT"}[type(tree)]
        everything = "" if tree.args.get("distinct") else " ALL"
        one, two = (cast_columns(side, types) for side in sides)
        columns = [(name, dtype) for (name, _), dtype in zip(sides[0].columns, types, strict=True)]
        return Written(f"({one}) {word}{everything} ({two})", tuple(columns))

    def _common_type(self, one: tuple[str, pa.DataType], two: tuple[str, pa.DataType], tree: exp.Expr) -> pa.DataType:
        if one[1] == two[1]:
            return one[1]
        dtype = common_type(column_type(one[1]), column_type(two[1]))
        if dtype is None or kind(dtype) in ("other", "interval"):
            kinds = " and ".join(type_name(column_type(side[1])) for side in (one, two))
            raise self._error(f"column '{one[0]}' is of {kinds}", tree, "cast one side: CAST(x AS STRING)")
        return dtype

    def _ordered(self, written: Written, tree: exp.Expr, common: _Common, outer: Scope | None) -> Written:
        """ORDER BY and LIMIT of a query that is not a SELECT: they see the columns of its result."""
        if not any(tree.args.get(part) is not None for part in ("order", "limit", "offset")):
            return written
        names = apart([name for name, _ in written.columns])
        scope = self._scope_of(relation("q", written.columns, names), outer)
        tail = self._tail(tree, scope, Scalars(self.text, self._subquery(common)))
        aliased = ", ".join(map(quoted, names))
        return Written(f"SELECT * FROM ({written.sql}) AS q({aliased}){tail}", written.columns)

    def _scope_of(self, only: Relation, outer: Scope | None) -> Scope:
        return Scope(self._source(), outer, [only], list(only.columns))

    # --- SELECT ---------------------------------------------------------------------------------------------

    def _select(self, tree: exp.Select, common: _Common, outer: Scope | None) -> Written:
        for part, value in tree.args.items():
            if value and part not in _SELECT_PARTS:
                raise self._error(f"the local engine cannot run {part.rstrip('_').upper()}", tree, INSTEAD)
        scalars = Scalars(self.text, self._subquery(common))
        scalars.windows = {window.this.name.lower(): window for window in tree.args.get("windows") or ()}
        scope = Scope(self._source(), outer)
        sql = self._from(tree, scope, scalars, common)
        if tree.args.get("where") is not None:
            sql += f" WHERE {scalars.condition(tree.args['where'].this, scope, 'WHERE')}"
        items = self._items(tree, scope, scalars)
        sql += self._group(tree, scope.seeing(items, first=False), scalars)
        late = scope.seeing(items, first=True)
        for part in ("having", "qualify"):
            if tree.args.get(part) is not None:
                sql += f" {part.upper()} {scalars.condition(tree.args[part].this, late, part.upper())}"
        sql += self._tail(tree, late, scalars)
        head = "SELECT DISTINCT" if self._is_distinct(tree) else "SELECT"
        shown = ", ".join(f"{item.value.sql} AS {quoted(item.name)}" for item in items)
        return Written(f"{head} {shown}{sql}", tuple((item.name, item.value.dtype) for item in items))

    def _is_distinct(self, tree: exp.Select) -> bool:
        distinct = tree.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            raise self._refused(distinct)
        return distinct is not None

    def _items(self, tree: exp.Select, scope: Scope, scalars: Scalars) -> list[Named]:
        items: list[Named] = []
        for item in tree.expressions:
            star = item.this if isinstance(item, exp.Column) and isinstance(item.this, exp.Star) else item
            if isinstance(star, exp.Star):
                items += self._star(item, star, scope)
                continue
            # A name of Spark's may stand for a result before it in the same list.
            seeing = scope.seeing(items, first=False)
            value = scalars.write(item.unalias(), seeing)
            items.append(Named(self._name(tree, item, seeing, scalars), value))
        return items

    def _name(self, tree: exp.Select, item: exp.Expr, scope: Scope, scalars: Scalars) -> str:
        name = Names(self.text, scope, lambda part: scalars.type_of(part, scope)).of(item)
        if name is None and is_shown(tree):
            raise needs_name(item, self.text)
        return _NOBODYS if name is None else name

    def _star(self, item: exp.Expr, star: exp.Star, scope: Scope) -> list[Named]:
        if any(star.args.get(part) for part in ("replace", "rename")) or (item is not star and item.args.get("db")):
            raise self._refused(item)
        columns = scope.visible if item is star else scope.star_of(item.args["table"])
        if not scope.relations:
            raise self._error("'*' has no table to refer to", item, "name one in FROM")
        left_out = {column.name.lower() for column in star.args.get("except_") or ()}
        return [named for named in columns if named.name.lower() not in left_out]

    def _group(self, tree: exp.Select, scope: Scope, scalars: Scalars) -> str:
        group = tree.args.get("group")
        if group is None:
            return ""
        if any(value for part, value in group.args.items() if part not in ("expressions", "all", "rollup", "cube")):
            raise self._refused(group)
        if group.args.get("all"):
            return " GROUP BY ALL"
        keys = [self._key(key, scope, scalars) for key in group.expressions]
        for part in ("rollup", "cube"):
            for behind in group.args.get(part) or ():
                if behind.expressions:
                    raise self._refused(group)
                keys = [f"{part.upper()}({', '.join(keys)})"]
        return f" GROUP BY {', '.join(keys)}"

    def _key(self, key: exp.Expr, scope: Scope, scalars: Scalars) -> str:
        if isinstance(key, (exp.Rollup, exp.Cube)):
            word = type(key).__name__.upper()
            return f"{word}({', '.join(self._key(part, scope, scalars) for part in key.expressions)})"
        if isinstance(key, exp.Literal) and not key.is_string and key.this.isdigit():
            return str(key.this)
        return scalars.write(key, scope).sql

    def _tail(self, tree: exp.Expr, scope: Scope, scalars: Scalars) -> str:
        sql, order = "", tree.args.get("order")
        if order is not None:
            keys = [f"{self._key(item.this, scope, scalars)} {direction(item)}" for item in order.expressions]
            sql += f" ORDER BY {', '.join(keys)}"
        for part in ("limit", "offset"):
            node = tree.args.get(part)
            if node is None or (isinstance(node.expression, exp.Var) and node.expression.name.upper() == "ALL"):
                continue
            if not (isinstance(node.expression, exp.Literal) and node.expression.this.isdigit()):
                raise self._error(f"{part.upper()} takes a whole number", node, None)
            sql += f" {part.upper()} {node.expression.this}"
        return sql

    # --- FROM -----------------------------------------------------------------------------------------------

    def _from(self, tree: exp.Select, scope: Scope, scalars: Scalars, common: _Common) -> str:
        first = tree.args.get("from_")
        if first is None:
            return ""
        sql = f" FROM {self._joined(first.this, scope, scalars, common)}"
        for join in tree.args.get("joins") or ():
            sql += self._join(join, scope, scalars, common)
        return sql

    def _joined(self, node: exp.Expr, scope: Scope, scalars: Scalars, common: _Common) -> str:
        """One item of FROM with the joins that sqlglot hangs on it."""
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table) and not node.args.get("alias"):
            return f"({self._joined(node.this, scope, scalars, common)})"
        made, sql = self._relation(node, scope, common)
        scope.relations.append(made)
        scope.visible += made.columns
        for join in node.args.get("joins") or ():
            sql += self._join(join, scope, scalars, common)
        return sql

    def _join(self, join: exp.Join, scope: Scope, scalars: Scalars, common: _Common) -> str:
        word = _JOINS.get((join.side or "", join.kind or ""))
        if word is None or any(
            value for part, value in join.args.items() if part not in ("this", "side", "kind", "on", "using", "method")
        ):
            raise self._refused(join)
        made, sql = self._relation(join.this, scope, common)
        left = list(scope.visible)
        scope.relations.append(made)
        shared = self._shared(join, left, made)
        scope.visible = left + list(made.columns)
        on = join.args.get("on")
        if shared:
            condition = " AND ".join(f"{one.value.sql} = {two.value.sql}" for one, two in shared)
            merge(scope, left, made, shared, word)
        elif on is not None:
            condition = scalars.condition(on, scope, "ON")
        elif word in ("JOIN", "CROSS JOIN"):
            word, condition = "CROSS JOIN", ""
        else:
            condition = "true"
        if word in ("SEMI JOIN", "ANTI JOIN"):
            scope.relations.pop()
            scope.visible = left
        return f" {word} {sql}" + (f" ON {condition}" if condition else "")

    def _shared(self, join: exp.Join, left: list[Named], right: Relation) -> list[tuple[Named, Named]]:
        """The columns that USING or NATURAL makes equal."""
        method = join.args.get("method")
        if method and str(method).upper() != "NATURAL":
            raise self._refused(join)
        ours = {named.name.lower(): named for named in left}
        theirs = {named.name.lower(): named for named in right.columns}
        names = [name for name in ours if name in theirs] if method else []
        for part in join.args.get("using") or ():
            name = part.name.lower()
            for side in (ours, theirs):
                if name not in side:
                    raise self._error(f"USING names '{part.name}', which one side has not", part, None)
            names.append(name)
        pairs = [(ours[name], theirs[name]) for name in names]
        for one, two in pairs:
            self._common_type((one.name, one.value.dtype), (two.name, two.value.dtype), join)
        return pairs

    def _relation(self, node: exp.Expr, scope: Scope, common: _Common) -> tuple[Relation, str]:
        """One table of FROM, and its text."""
        alias = node.args.get("alias")
        given = [column.name for column in alias.args.get("columns") or ()] if alias is not None else []
        called = alias.name if alias is not None and alias.this is not None else ""
        if isinstance(node, exp.Values):
            sql, columns = self._values(node, common, scope)
            return self._named(called, given, sql, columns, node)
        if isinstance(node, exp.Subquery):
            self._check_parts(node, {"this", "alias", "joins"})
            written = self.query(node.this, common, scope.parent)
            return self._named(called, given, f"({written.sql})", written.columns, node)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            message = "a statement in this process reads no file and calls no table function"
            raise self._error(message, node, "pass the table by name: ev.sql(text, trades='trades.csv')")
        self._check_parts(node, {"this", "alias", "joins"})
        table = common.get(node.name.lower()) or self.tables.get(node.name.lower())
        if table is None:
            raise self._error(f"unknown table '{node.name}'", node.this, None)
        called = called or node.name
        columns = [(item.name, item.type) for item in table.schema]
        if given:
            return self._named(called, given, f"(SELECT * FROM {table.sql})", columns, node)
        return relation(called, columns, table.names), f"{table.sql} AS {quoted(called)}"

    def _named(
        self, called: str, given: list[str], sql: str, columns: Sequence[tuple[str, pa.DataType]], node: exp.Expr
    ) -> tuple[Relation, str]:
        """A derived table under its alias, whose columns have names that differ."""
        self.n_common += 1
        called = called or f"derived_{self.n_common}"
        names = [name for name, _ in columns]
        if given and len(given) != len(names):
            message = f"{len(given)} names are given to {len(names)} columns"
            raise self._error(message, node, "name as many columns as there are")
        inside = apart(given or names)
        shown = [(name, dtype) for name, (_, dtype) in zip(given or names, columns, strict=True)]
        aliased = f"{quoted(called)}({', '.join(map(quoted, inside))})"
        return relation(called, shown, inside), f"{sql} AS {aliased}"

    def _values(
        self, node: exp.Expr, common: _Common, scope: Scope | None
    ) -> tuple[str, list[tuple[str, pa.DataType]]]:
        """VALUES: each column in the common type of its items."""
        scalars, none = Scalars(self.text, self._subquery(common)), Scope(self._source(), scope)
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
        if len({len(row) for row in rows}) != 1:
            raise self._error("the rows of VALUES have different lengths", node, None)
        columns = [[scalars.write(item, none) for item in column] for column in zip(*rows, strict=True)]
        types = []
        for values in columns:
            dtype = values[0].dtype
            for value in values[1:]:
                dtype = self._common_type(("", dtype), ("", value.dtype), node)
            types.append(dtype)
        alike = [[cast(value, dtype) for value in values] for values, dtype in zip(columns, types, strict=True)]
        made = ", ".join(f"({', '.join(row)})" for row in zip(*alike, strict=True))
        return f"(VALUES {made})", [(f"col{i + 1}", dtype) for i, dtype in enumerate(types)]

    def _subquery(self, common: _Common) -> Subquery:
        def write(node: exp.Expr, scope: Scope) -> tuple[str, list[pa.DataType]]:
            written = self.query(node, common, scope)
            return written.sql, [dtype for _, dtype in written.columns]

        return write

    def _check_parts(self, node: exp.Expr, known: set[str]) -> None:
        for part, value in node.args.items():
            if value and part not in known:
                raise self._error(f"the local engine cannot run {part.rstrip('_').upper()} of a table", node, INSTEAD)

    def _source(self) -> Source:
        return Source(self.text, Span(0, 0))

    def _error(self, message: str, node: exp.Expr, hint: str | None) -> QueryError:
        source = self._source()
        return source.error(message, source.span_of(node), hint)

    def _refused(self, node: exp.Expr) -> QueryError:
        span = self._source().span_of(node)
        shown = " ".join(self.text[span.start : span.end].split()) or type(node).__name__.upper()
        return self._error(f"the local engine cannot run {shown}", node, INSTEAD)
