"""Which columns the expressions of a SELECT see, and what a name means there, as Spark finds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError, did_you_mean
from eventide.expressions.typed import Source
from eventide.lang.tree import Span
from eventide.runtime.quoting import quoted


@dataclass(frozen=True, slots=True)
class Value:
    """What DuckDB computes, and the type in which an expression reads it."""

    sql: str
    dtype: pa.DataType


@dataclass(frozen=True, slots=True)
class Named:
    """A column of a result, or of what stands in FROM."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Relation:
    """A table in FROM, under its alias."""

    alias: str
    columns: tuple[Named, ...]


def relation(alias: str, columns: Sequence[tuple[str, pa.DataType]], duckdb_names: Sequence[str]) -> Relation:
    """A relation whose columns have other names in DuckDB."""
    table = quoted(alias)
    return Relation(
        alias,
        tuple(
            Named(name, Value(f"{table}.{quoted(inside)}", dtype))
            for (name, dtype), inside in zip(columns, duckdb_names, strict=True)
        ),
    )


@dataclass(slots=True)
class Scope:
    """The relations of a FROM; `visible` are the columns that `*` stands for, in Spark's order."""

    source: Source
    parent: Scope | None = None
    relations: list[Relation] = field(default_factory=list)
    visible: list[Named] = field(default_factory=list)
    aliases: dict[str, Value] = field(default_factory=dict)  # of the SELECT list, by lower-case name
    aliases_first: bool = False

    def seeing(self, aliases: Iterable[Named], *, first: bool) -> Scope:
        """The same scope, where names of results are known too."""
        known = {named.name.lower(): named.value for named in aliases}
        return Scope(self.source, self.parent, self.relations, self.visible, known, first)

    def find(self, column: exp.Column) -> tuple[Value, list[exp.Identifier]]:
        """The column that a name stands for, and the names of fields behind it."""
        parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
        scope: Scope | None = self
        while scope is not None:
            found = scope._find(parts, column)
            if found is not None:
                return found
            scope = scope.parent
        raise self._unknown(parts)

    def is_result(self, column: exp.Column) -> bool:
        """Whether a name stands for a result of the same SELECT list, and not for a column."""
        parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
        hidden = Scope(self.source, self.parent, self.relations, self.visible)
        return parts[0].name.lower() in self.aliases and hidden._find(parts, column) is None

    def star_of(self, table: exp.Identifier) -> Sequence[Named]:
        """The columns of one relation."""
        found = self._relation(table.name)
        if found is None:
            raise self._unknown([table, exp.to_identifier("*")])
        return found.columns

    def _find(self, parts: list[exp.Identifier], column: exp.Column) -> tuple[Value, list[exp.Identifier]] | None:
        first = parts[0].name.lower()
        if len(parts) > 1:
            table = self._relation(first)
            fitting = [] if table is None else _named(table.columns, parts[1].name)
            if fitting:
                return self._only(fitting, parts[1], column), parts[2:]
        if self.aliases_first and first in self.aliases:
            return self.aliases[first], parts[1:]
        fitting = _named(self.visible, first)
        if fitting:
            return self._only(fitting, parts[0], column), parts[1:]
        return (self.aliases[first], parts[1:]) if first in self.aliases else None

    def _relation(self, alias: str) -> Relation | None:
        return next((known for known in self.relations if known.alias.lower() == alias.lower()), None)

    def _only(self, fitting: list[Named], part: exp.Identifier, column: exp.Column) -> Value:
        if len({named.value.sql for named in fitting}) == 1:
            return fitting[0].value
        owners = [known.alias for known in self.relations if _named(known.columns, part.name)]
        hint = "write " + " or ".join(f"{alias}.{part.name}" for alias in owners) if len(owners) > 1 else None
        raise self.source.error(f"column '{part.name}' is ambiguous", self.source.span_of(part), hint)

    def _unknown(self, parts: list[exp.Identifier]) -> QueryError:
        scopes = [self]
        while scopes[-1].parent is not None:
            scopes.append(scopes[-1].parent)
        if len(parts) > 1:
            for scope in scopes:
                table = scope._relation(parts[0].name)
                if table is not None:
                    hint = did_you_mean(parts[1].name, [named.name for named in table.columns])
                    message = f"'{parts[0].name}' has no column '{parts[1].name}'"
                    return self.source.error(message, self._place(parts[1]), hint)
            known = [relation.alias for scope in scopes for relation in scope.relations]
            hint = did_you_mean(parts[0].name, known)
            return self.source.error(f"unknown table '{parts[0].name}'", self._place(parts[0]), hint)
        names = sorted({named.name for scope in scopes for named in scope.visible})
        hint = did_you_mean(parts[0].name, names)
        return self.source.error(f"unknown column '{parts[0].name}'", self._place(parts[0]), hint)

    def _place(self, part: exp.Identifier) -> Span:
        return self.source.span_of(part)


def _named(columns: Iterable[Named], name: str) -> list[Named]:
    return [named for named in columns if named.name.lower() == name.lower()]
