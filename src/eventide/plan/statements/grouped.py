"""Which SELECT over a table function of windows the window operator answers, and what is left of the SELECT then.

`SELECT symbol, avg(price) FROM HOP(...) WHERE price > 0 GROUP BY symbol, window_start, window_end HAVING count(*) > 1`
becomes `SELECT symbol, a0 FROM result WHERE a1 > 1`: the operator leaves out events, groups and aggregates, and the SQL
engine does the rest. What the operator cannot say is `UnfitError`: then the SQL engine groups the expanded rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from eventide.errors import QueryError
from eventide.expressions.functions import FUNCTIONS
from eventide.expressions.navigation.calls import read_call
from eventide.lang.positions import call_span
from eventide.lang.rows.places import keyword_at
from eventide.lang.rows.tree import Statement, WindowFunction
from eventide.lang.scalars import read_scalar
from eventide.lang.tokens import Token
from eventide.lang.tree import Name, ReturnItem, Scalar, Span, WindowQuery
from eventide.plan.statements.aggregates import is_aggregate
from eventide.plan.statements.expand import WINDOW_COLUMNS

Pieces = tuple[str | Span, ...]  # what stands for a part of a statement: text, and other parts of it
_KEPT = {
    "with_", "kind", "hint", "distinct", "expressions", "from_", "where", "group", "having", "order", "limit", "offset",
    "windows", "qualify",
}  # fmt: skip
_CLAUSES = ("WHERE", "GROUP", "HAVING", "QUALIFY", "WINDOW", "ORDER", "LIMIT", "OFFSET")
_ENDS = ("UNION", "EXCEPT", "MINUS", "INTERSECT")
_NOT_ALONE = "it is not alone in FROM"
_WRAPPERS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


class UnfitError(Exception):
    """Why the window operator does not answer a SELECT, as `explain` says it."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """A query for the operator, and what is left of the SELECT over its result.

    `unnamed` are the results whose names Spark makes of their text, by their positions.
    """

    query: WindowQuery
    select: Span
    edits: dict[Span, Pieces]
    unnamed: dict[int, Span]
    needs_time: bool  # window_time is read


def find_grouped(
    select: exp.Expr | None,
    text: str,
    place: Callable[[Span], Span | None],
    statement: Statement,
    function: WindowFunction,
    columns: Sequence[str],
) -> Grouped:
    """The query of the SELECT around a function, over events with these columns; `UnfitError` where there is none.

    `select` was read from `text`, and `place` tells where a part of that stands in the statement.
    """
    if not isinstance(select, exp.Select) or select.args.get("group") is None:
        raise UnfitError("no GROUP BY stands directly over it")
    for part, value in select.args.items():
        if value and part not in _KEPT:
            is_table = part in ("joins", "laterals", "pivots", "sample")
            raise UnfitError(_NOT_ALONE if is_table else f"the SELECT over it has {part.rstrip('_').upper()}")
    if function.columns:
        raise UnfitError("its columns are renamed")
    return _Reader(select, text, place, statement, function, {name.lower(): name for name in columns}).read()


@dataclass(slots=True)
class _Reader:
    tree: exp.Select
    text: str  # that the tree was read from
    place: Callable[[Span], Span | None]
    statement: Statement
    function: WindowFunction
    columns: dict[str, str]
    items: list[Span] = field(default_factory=list)  # of the SELECT list, with their aliases
    groups: dict[str, str] = field(default_factory=dict)
    aggregates: dict[str, tuple[str, Scalar]] = field(default_factory=dict)
    edits: dict[Span, Pieces] = field(default_factory=dict)
    needs_time: bool = False

    def read(self) -> Grouped:
        select, clauses = self._clauses()
        self._group_by()
        unnamed: dict[int, Span] = {}
        for at, item in enumerate(self.tree.expressions):
            n_before = len(self.edits)
            self._visit(item.unalias(), {name for name in self._aliases() if name not in self.columns})
            if len(self.edits) > n_before and not isinstance(item, exp.Alias):
                unnamed[at] = self.items[at]
        for part in ("having", "qualify", "order", "windows"):
            for node in _listed(self.tree.args.get(part)):
                self._visit(node, set(self._aliases()))
        where, conditions = self._where(clauses)
        if "HAVING" in clauses:
            self._inline_aliases()
            conditions.append(_behind(clauses["HAVING"]))
        return Grouped(
            self._query(where), select, self.edits | self._instead(clauses, conditions), unnamed, self.needs_time
        )

    # --- where everything stands ------------------------------------------------------------------------------

    def _clauses(self) -> tuple[Span, dict[str, Sequence[Token]]]:
        """Where the SELECT stands, and the tokens of each clause behind FROM; the items are found on the way."""
        tokens = self.statement.tokens
        at = next(i for i, token in enumerate(tokens) if token.start >= self.function.span.end)
        clauses: dict[str, Sequence[Token]] = {}
        opened, depth = at, 0
        for i in range(at, len(tokens)):
            word = keyword_at(tokens, i) if depth == 0 else ""
            is_end = depth == 0 and (tokens[i].text in (")", ";", "") or word in _ENDS)
            if is_end or (word in _CLAUSES and not (word == "GROUP" and tokens[i + 1].word != "BY")):
                if i > opened:
                    clauses[tokens[opened].word] = tokens[opened:i]
                opened = i
            if is_end:
                break
            depth += (tokens[i].text in ("(", "[")) - (tokens[i].text in (")", "]"))
        if any(word not in _CLAUSES for word in clauses) or "GROUP" not in clauses:
            raise UnfitError(_NOT_ALONE)
        return Span(self._read_items(), tokens[opened - 1].end), clauses

    def _read_items(self) -> int:
        """Find the items between SELECT and FROM; where SELECT stands."""
        tokens = self.statement.tokens
        at = next(i for i, token in enumerate(tokens) if token.end > self.function.span.start) - 1
        if tokens[at].word != "FROM":
            raise UnfitError(_NOT_ALONE)
        end, depth = at, 0
        while at > 0 and not (depth == 0 and tokens[at].word == "SELECT"):
            at -= 1
            depth += (tokens[at].text in (")", "]")) - (tokens[at].text in ("(", "["))
        start = at + 1 + (tokens[at + 1].word in ("DISTINCT", "ALL"))
        first = start
        for i in range(start, end + 1):
            depth += (tokens[i].text in ("(", "[")) - (tokens[i].text in (")", "]"))
            if i == end or (depth == 0 and tokens[i].is_punctuation(",")):
                self.items.append(Span(tokens[first].start, tokens[i - 1].end))
                first = i + 1
        if len(self.items) != len(self.tree.expressions):
            raise UnfitError("its SELECT list is not understood")
        return tokens[at].start

    def _tokens(self, span: Span) -> tuple[tuple[Token, ...], Token]:
        """The tokens of a part of the statement, and the one behind them."""
        tokens = self.statement.tokens
        inside = [i for i, token in enumerate(tokens) if span.start <= token.start and token.end <= span.end]
        return tokens[inside[0] : inside[-1] + 1], tokens[inside[-1] + 1]

    def _scalar(self, span: Span, node: exp.Expr) -> Scalar:
        """The expression that stands at a place; it must be what the tree has there."""
        try:
            scalar = read_scalar(self.statement.text, *self._tokens(span), "the expression")
        except QueryError as error:
            raise UnfitError(error.message) from error
        if scalar.tree != node:
            raise UnfitError(f"{node.sql('spark')} is not understood")
        return scalar

    # --- the clauses ------------------------------------------------------------------------------------------

    def _aliases(self) -> dict[str, int]:
        """The names that the SELECT list gives, and to which item."""
        items = enumerate(self.tree.expressions)
        return {item.alias.lower(): at for at, item in items if isinstance(item, exp.Alias)}

    def _group_by(self) -> None:
        group = self.tree.args["group"]
        if any(value for part, value in group.args.items() if part != "expressions"):
            raise UnfitError("GROUP BY has more than columns")
        named = [self._key(key) for key in group.expressions]
        windows = {name for name in named if name in WINDOW_COLUMNS}
        if not windows & {"window_start", "window_end"} or (
            self.function.windowing.kind != "time" and not windows >= {"window_start", "window_end"}
        ):
            raise UnfitError("GROUP BY has not both window_start and window_end")
        for name in named:
            if name not in WINDOW_COLUMNS:
                if name not in self.columns:
                    raise UnfitError(f"GROUP BY has '{name}', which is no column of the events")
                self.groups[name] = self.columns[name]
        partition = {name.text.lower() for name in self.function.partition_by}
        if self.function.windowing.kind == "session" and partition != set(self.groups):
            raise UnfitError("the sessions are of other columns than the groups")

    def _key(self, key: exp.Expr) -> str:
        """The column that a key of GROUP BY is."""
        if isinstance(key, exp.Literal) and key.this.isdigit() and 0 < int(key.this) <= len(self.tree.expressions):
            key = self.tree.expressions[int(key.this) - 1].unalias()
        elif isinstance(key, exp.Column) and not key.table and key.name.lower() not in (*self.columns, *WINDOW_COLUMNS):
            at = self._aliases().get(key.name.lower())
            key = key if at is None else self.tree.expressions[at].unalias()
        if not isinstance(key, exp.Column) or not self._is_ours(key):
            raise UnfitError("GROUP BY has more than columns")
        return key.name.lower()

    def _is_ours(self, column: exp.Column) -> bool:
        is_plain = isinstance(column.this, exp.Identifier) and not column.args.get("db")
        return is_plain and (not column.table or column.table.lower() == (self.function.alias or "").lower())

    def _visit(self, node: exp.Expr, also: set[str]) -> None:
        """Note the aggregates of an expression; every other column must be of the result, or one of `also`."""
        if isinstance(node, exp.Query | exp.Star | exp.UDTF):
            raise UnfitError("its SELECT has a subquery or '*'")
        if isinstance(node, exp.Window):
            function = node.this
            while isinstance(function, _WRAPPERS):
                function = function.this
            parts = [*function.iter_expressions(), *(part for part in node.iter_expressions() if part is not node.this)]
            for part in parts:
                self._visit(part, also)
            return
        if _is_aggregate(node):
            self._aggregate(node)
            return
        if isinstance(node, exp.Column):
            self._check_column(node, also)
            return
        if isinstance(node, exp.Anonymous) and node.name.lower() not in FUNCTIONS:
            raise UnfitError(f"{node.name} may be an aggregate")
        for part in node.iter_expressions():
            self._visit(part, also)

    def _check_column(self, column: exp.Column, also: set[str]) -> None:
        name = column.name.lower()
        if not self._is_ours(column) or not (name in self.groups or name in WINDOW_COLUMNS or name in also):
            raise UnfitError(f"'{column.name}' is not grouped")
        self.needs_time = self.needs_time or name == "window_time"

    def _aggregate(self, node: exp.Expr) -> None:
        span = self.place(call_span(node, Span(0, 0), self.text))
        if span is None:
            raise UnfitError(f"{node.sql('spark')} is not understood")
        behind = [token for token in self.statement.tokens if token.start >= span.end][:2]
        if behind[0].word in ("IGNORE", "RESPECT") and isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
            span = Span(span.start, behind[1].end)
        scalar, key = self._scalar(span, node), node.sql("spark", comments=False)
        if key not in self.aggregates:
            words = {token.value.lower() for token in self.statement.tokens}
            name = f"a{len(self.aggregates)}"
            while name in words or name in self.columns:
                name += "_"
            self.aggregates[key] = name, scalar
        self.edits[span] = (f"`{self.aggregates[key][0]}`",)

    def _where(self, clauses: dict[str, Sequence[Token]]) -> tuple[Scalar | None, list[Span]]:
        """The condition on events, and those on windows, which hold after grouping as well."""
        if "WHERE" not in clauses:
            return None, []
        condition, span = self.tree.args["where"].this, _behind(clauses["WHERE"])
        if self.function.name == "SESSION" and not self._reads_groups(condition):
            raise UnfitError("WHERE stands behind the sessions, which all events make")
        if not self._reads_windows(condition):
            return self._scalar(span, condition), []
        trees = list(condition.flatten()) if isinstance(condition, exp.And) else [condition]
        spans = list(_conjuncts(clauses["WHERE"][1:]))
        if len(trees) != len(spans):
            raise UnfitError("WHERE reads the windows")
        events: list[Scalar] = []
        windows: list[Span] = []
        for tree, each in zip(trees, spans, strict=True):
            if self._reads_windows(tree):
                if any(True for node in tree.walk() if _is_aggregate(node)):
                    raise UnfitError("WHERE has an aggregate")
                self._visit(tree, set())
                windows.append(each)
            else:
                events.append(self._scalar(each, tree))
        if len(events) < 2:
            return events[0] if events else None, windows
        tree = exp.and_(*(each.tree for each in events))
        assert isinstance(tree, exp.Expression)
        return Scalar(tree, " AND ".join(each.text for each in events), span), windows

    def _reads_groups(self, condition: exp.Expr) -> bool:
        """Whether a condition is about whole sessions: what all of their events have in common."""
        names = {node.name.lower() for node in condition.find_all(exp.Column)}
        return names <= {*map(str.lower, self.groups), *WINDOW_COLUMNS}

    def _reads_windows(self, condition: exp.Expr) -> bool:
        return any(node.name.lower() in WINDOW_COLUMNS for node in condition.find_all(exp.Column))

    def _inline_aliases(self) -> None:
        """HAVING knows the names of results, WHERE does not."""
        aliases = self._aliases()
        for column in _outside_aggregates(self.tree.args["having"].this):
            at = aliases.get(column.name.lower()) if not column.table else None
            if at is None:
                continue
            value = self.tree.expressions[at].unalias()
            own = {name for name in aliases if name not in self.columns and name not in WINDOW_COLUMNS}
            if any(other.name.lower() in own for other in _outside_aggregates(value)):
                raise UnfitError("HAVING reads a result of results")
            span = self.place(call_span(column, Span(0, 0), self.text))
            if span is None:
                raise UnfitError("HAVING is not understood")
            self.edits[span] = ("(", self._value_span(at), ")")

    def _value_span(self, at: int) -> Span:
        """Where the value of an item stands, without the name behind it."""
        tokens, _ = self._tokens(self.items[at])
        is_said = len(tokens) > 2 and tokens[-2].word == "AS"
        return Span(tokens[0].start, tokens[-3 if is_said else -2].end)

    # --- what comes of it -------------------------------------------------------------------------------------

    def _instead(self, clauses: dict[str, Sequence[Token]], conditions: Sequence[Span]) -> dict[Span, Pieces]:
        """WHERE, GROUP BY and HAVING are done, but for conditions on results."""
        places = {word: self._from_before(clauses[word]) for word in ("WHERE", "GROUP", "HAVING") if word in clauses}
        pieces: list[str | Span] = []
        for condition in conditions:
            pieces += [" AND (" if pieces else " WHERE (", condition, ")"]
        return {place: tuple(pieces) if word == "GROUP" else () for word, place in places.items()}

    def _from_before(self, clause: Sequence[Token]) -> Span:
        """Where a clause stands, with the blanks before it."""
        start = max(token.end for token in self.statement.tokens if token.end <= clause[0].start)
        return Span(start, clause[-1].end)

    def _query(self, where: Scalar | None) -> WindowQuery:
        groups = [Name(name) for name in self.groups.values()]
        items = [ReturnItem(Scalar(_column(each.text), each.text), None) for each in groups]
        items += [ReturnItem(scalar, Name(name), scalar.span) for name, scalar in self.aggregates.values()]
        return WindowQuery(
            text=self.statement.text,
            returns=tuple(items),
            source=None if self.function.alias is None else Name(self.function.alias),
            where=where,
            group_by=tuple(groups),
            windowing=self.function.windowing,
        )


def _column(name: str) -> exp.Column:
    return exp.column(name, quoted=not name.isidentifier())


def _is_aggregate(node: exp.Expr) -> bool:
    if isinstance(node, _WRAPPERS):
        return _is_aggregate(node.this)
    is_any = isinstance(node, exp.Any) and not isinstance(node.parent, exp.Binary)
    return is_any or is_aggregate(node) or read_call(node) is not None


def _outside_aggregates(node: exp.Expr) -> Iterator[exp.Column]:
    if isinstance(node, exp.Column):
        yield node
    elif not _is_aggregate(node):
        for part in node.iter_expressions():
            yield from _outside_aggregates(part)


def _listed(value: object) -> list[exp.Expr]:
    found = value if isinstance(value, list) else [value]
    return [each for each in found if isinstance(each, exp.Expr)]


def _whole(tokens: Sequence[Token]) -> Span:
    return Span(tokens[0].start, tokens[-1].end)


def _behind(clause: Sequence[Token]) -> Span:
    """What stands behind the keyword of a clause."""
    return _whole(clause[1:])


def _conjuncts(tokens: Sequence[Token]) -> Iterator[Span]:
    """What stands between the ANDs of a condition; BETWEEN has one of its own."""
    depth, first, is_between = 0, 0, False
    for i, token in enumerate(tokens):
        depth += (token.text in ("(", "[") or token.word == "CASE") - (token.text in (")", "]") or token.word == "END")
        is_between = is_between or (depth == 0 and token.word == "BETWEEN")
        if depth == 0 and token.word == "AND":
            if not is_between:
                yield _whole(tokens[first:i])
                first = i + 1
            is_between = False
    yield _whole(tokens[first:])
