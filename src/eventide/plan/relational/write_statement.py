"""The algebra as one SQL statement: a common table for each relation, each written once however often it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from eventide.plan.relational.algebra import (
    Absent,
    Earliest,
    Events,
    Extend,
    Filter,
    Grouped,
    Join,
    Named,
    Project,
    Relation,
    Running,
    Spread,
    Union,
)
from eventide.plan.relational.dialects import Dialect

ENDS = "ends"  # what is asked of all events
_WORDS = {
    Events: "step",
    Join: "joined",
    Running: "absence",
    Earliest: "earliest",
    Spread: "spread",
    Union: "together",
    Absent: "without",
    Grouped: "groups",
}


def write_statement(relation: Relation, dialect: Dialect, table: str, scalars: Mapping[str, str]) -> str:
    """The statement over a table of events."""
    return _Writer(dialect, table, scalars).statement(relation)


class _Writer:
    def __init__(self, dialect: Dialect, table: str, scalars: Mapping[str, str]) -> None:
        self._dialect = dialect
        self._table = table
        self._names: dict[Relation, str] = {}
        self._tables: list[tuple[str, exp.Query]] = []
        if scalars:
            self._tables.append((ENDS, self._select(list(scalars.items()), self._from_table())))

    def statement(self, relation: Relation) -> str:
        main = self._query(relation)
        for name, query in self._tables:
            main = main.with_(name, as_=query, copy=False)
        return main.sql(dialect=self._dialect.name, pretty=True)

    # --- leaves: texts are written as they are

    def _as(self, name: str, text: str) -> exp.Expression:
        if name == text:
            return exp.Var(this=name)
        return exp.Alias(this=exp.Var(this=text), alias=exp.Var(this=name))

    def _from_table(self) -> exp.Table:
        return exp.Table(this=exp.Var(this=self._dialect.quoted(self._table)))

    def _select(self, named: Sequence[Named], source: exp.Expression, where: Sequence[str] = ()) -> exp.Select:
        made = exp.Select(expressions=[self._as(name, text) for name, text in named])
        made = made.from_(source, copy=False)
        if where:
            made = made.where(exp.Var(this=" AND ".join(_own(text) for text in where)), copy=False)
        return made

    def _star(self, source: exp.Expression, more: Sequence[Named] = (), where: Sequence[str] = ()) -> exp.Select:
        return self._select([("*", "*"), *more], source, where)

    # --- relations

    def _named(self, relation: Relation) -> exp.Table:
        """The common table of a relation."""
        if relation not in self._names:
            query = self._query(relation)
            word = _WORDS.get(type(relation), "rows")
            name = f"{word}_{sum(other.startswith(f'{word}_') for other, _ in self._tables) + 1}"
            self._names[relation] = name
            self._tables.append((name, query))
        return exp.Table(this=exp.to_identifier(self._names[relation]))

    def _source(self, relation: Relation) -> exp.Expression:
        """What stands in FROM: plain renaming needs no table of its own."""
        if isinstance(relation, Project | Extend | Filter):
            return self._query(relation).subquery(copy=False)
        return self._named(relation)

    def _query(self, relation: Relation) -> exp.Query:
        match relation:
            case Events():
                return self._events(relation)
            case Filter():
                return self._star(self._source(relation.input), where=relation.conditions)
            case Project():
                named = relation.named
                if relation.is_result:
                    named = tuple((self._dialect.quoted(name), text) for name, text in named)
                return self._select(named, self._source(relation.input))
            case Extend():
                return self._star(self._source(relation.input), relation.named)
            case Join():
                return self._join(relation)
            case Absent():
                return self._absent(relation)
            case Union():
                return self._union(
                    [self._select([(c, c) for c in relation.columns], self._source(p)) for p in relation.parts]
                )
            case Running():
                return self._running(relation)
            case Earliest():
                return self._earliest(relation)
            case Spread():
                return self._spread(relation)
            case Grouped():
                return self._grouped(relation)
        raise TypeError(type(relation).__name__)

    def _events(self, relation: Events) -> exp.Select:
        where = list(relation.always)
        if relation.conditions:
            some = list(dict.fromkeys(relation.conditions))
            where.append(some[0] if len(some) == 1 else "(" + " OR ".join(f"({text})" for text in some) + ")")
        return self._select(relation.named, self._from_table(), where)

    def _keys(self, keys: Sequence[tuple[str, str]], plain: Sequence[tuple[str, str]] = ()) -> list[str]:
        equal = [f"{left} = {right}" for left, right in plain]
        return [*(self._dialect.same(left, right) for left, right in keys), *equal]

    def _join(self, relation: Join) -> exp.Select:
        on = [*self._keys(relation.keys, relation.plain), *relation.conditions] or ["TRUE"]
        left, right = (
            _aliased(self._source(side), name) for side, name in ((relation.left, "l"), (relation.right, "r"))
        )
        condition = exp.Var(this=" AND ".join(_own(text) for text in on))
        return self._star(left).join(right, on=condition, copy=False)

    def _absent(self, relation: Absent) -> exp.Select:
        where = [*self._keys(relation.keys), *relation.conditions]
        inner = self._select([("1", "1")], self._source(relation.negated), where)
        made = self._star(self._source(relation.input))
        return made.where(exp.Not(this=exp.Exists(this=inner)), copy=False)

    def _union(self, parts: Sequence[exp.Query]) -> exp.Query:
        made = parts[0]
        for part in parts[1:]:
            made = exp.Union(this=made, expression=part, distinct=False)
        return made

    def _running(self, relation: Running) -> exp.Select:
        """Both relations in one order: the extreme of the one is known to the rows of the other."""
        name = relation.name
        mine = [(column, column) for column in relation.input.columns]
        keys = dict(relation.keys)
        others = [(column, keys.get(column, "NULL")) for column in relation.input.columns]
        one = self._select(
            [*mine, (f"{name}_at", relation.order), (f"{name}_is", "NULL")], self._source(relation.input)
        )
        two = self._select(
            [*others, (f"{name}_at", relation.at), (f"{name}_is", relation.value)], self._source(relation.other)
        )
        both = self._union([one, two]).subquery(copy=False)
        by = f"PARTITION BY {', '.join(keys)} " if keys else ""
        frame = "UNBOUNDED PRECEDING AND 1 PRECEDING" if relation.before else "1 FOLLOWING AND UNBOUNDED FOLLOWING"
        extreme = f"{'max' if relation.before else 'min'}({name}_is)"
        text = f"{extreme} OVER ({by}ORDER BY {name}_at RANGE BETWEEN {frame})"
        ranged = self._star(both, [(name, text)]).subquery(copy=False)
        return self._select([(column, column) for column in relation.columns], ranged, [f"{name}_is IS NULL"])

    def _earliest(self, relation: Earliest) -> exp.Select:
        by = f"PARTITION BY {', '.join(relation.by)}" if relation.by else ""
        least = f"{relation.value}_least"
        ranked = self._star(self._source(relation.input), [(least, f"min({relation.value}) OVER ({by})")])
        return self._star(ranked.subquery(copy=False), where=[f"{relation.value} = {least}"])

    def _grouped(self, relation: Grouped) -> exp.Select:
        by = [(name, name) for name in relation.by]
        made = self._select([*by, *relation.named], self._source(relation.input))
        return made.group_by(*(exp.Var(this=name) for name in relation.by), copy=False) if by else made

    def _spread(self, relation: Spread) -> exp.Select:
        # Spark's `sequence` runs backwards where the last number is below the first one.
        bounds = [("first_k", relation.first), ("last_k", relation.last)]
        bounded = self._star(self._source(relation.input), bounds).subquery(copy=False)
        some = self._star(bounded, where=["first_k <= last_k"]).subquery(copy=False)
        each = self._dialect.each_between("first_k", "last_k")
        return self._select([*((c, c) for c in relation.input.columns), (relation.name, each)], some)


def _own(text: str) -> str:
    return f"({text})" if " OR " in text and not (text.startswith("(") and text.endswith(")")) else text


def _aliased(source: exp.Expression, name: str) -> exp.Expression:
    source.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
    return source
