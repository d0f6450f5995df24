"""From the logical plan of an event pattern to the algebra: the words of the pattern, their matches, and the result.

Seed 003, section 4: SEQ and AND are joins, OR is a union, repetitions are self joins, NOT is a running extreme.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from eventide.lang.tree import Strategy
from eventide.plan.logical import Match, Trends
from eventide.plan.physical import Physical
from eventide.plan.references import references
from eventide.plan.relational.absences import absent, linked_symbols, negated_words, running
from eventide.plan.relational.algebra import Extend, Filter, Named, Project, Relation, Spread, Union
from eventide.plan.relational.bucket_ranges import bucket_ranges
from eventide.plan.relational.chains import chains
from eventide.plan.relational.count_iterations import count_iterations
from eventide.plan.relational.dialects import DIALECTS, Dialect
from eventide.plan.relational.matches import Matched, Matches, Var, Window
from eventide.plan.relational.order_joins import match_any
from eventide.plan.relational.refusals import check_mapped, refused
from eventide.plan.relational.steps import FITS, Steps, relates_events
from eventide.plan.relational.words import NotMappedError, is_filter, is_one_event, words_of
from eventide.plan.relational.write_statement import write_statement
from eventide.plan.windows import slide_of, time_unit_us

LATEST, EARLIEST = "latest_us", "earliest_us"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A column of an operator's rows: what it says of the events that a match binds to a symbol."""

    name: str
    symbol: str
    columns: tuple[str, ...]  # of the events; more than one, or `is_whole`: a struct of them
    dtype: pa.DataType
    is_array: bool = False
    is_last: bool = False  # of several events the last one's, else the first one's
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A query to be mapped: what it asks, what an operator would return, and what the user gets."""

    plan: Match
    wanted: tuple[Wanted, ...]
    physical: Physical


@dataclass(frozen=True, slots=True)
class Mapped:
    """The statement over a table of events, and why it is as it is."""

    statement: str
    relation: Relation
    reasons: tuple[str, ...]


def map_pattern(
    asked: Asked,
    dialect: str,
    *,
    table: str = "events",
    estimates: Mapping[str, float] | None = None,
    finished: bool = True,
) -> Mapped:
    """One statement that returns the rows of the query; what has no such form is an error that says so.

    Without `finished` it returns what an operator would, before the user's columns are made of that.
    """
    mapping = _Mapping(asked, DIALECTS[dialect], estimates or {})
    try:
        relation = mapping.rows()
        if finished:
            relation = mapping.finished(relation)
    except NotMappedError as error:
        raise refused(asked.plan, error.what, error.span) from None
    relation, reasons = bucket_ranges(relation, mapping.dialect)
    text = write_statement(relation, mapping.dialect, table, mapping.scalars())
    return Mapped(text, relation, tuple(dict.fromkeys((*mapping.matches.reasons, *reasons))))


class _Mapping:
    def __init__(self, asked: Asked, dialect: Dialect, estimates: Mapping[str, float]) -> None:
        check_mapped(asked.plan, asked.physical)
        plan = self.plan = _without_order(asked.plan)
        self.asked, self.dialect = asked, dialect
        self.slide = slide_of(plan)
        given = plan.query.window
        self.width = None if given is None else given.length.amount
        self.steps = Steps(plan, dialect, _reads(asked))
        window = Window(self.width, self.slide is not None)
        self.matches = Matches(plan, self.steps, dialect, window, match_any, estimates)
        self._scalars: dict[str, str] = {}

    def rows(self) -> Relation:
        """What an operator would return."""
        if isinstance(self.plan, Trends):
            self.matches.reasons.append("O2: trends of a repeated event are counted by aggregation, without self joins")
            return count_iterations(self.plan, self.asked.physical, self.dialect)
        words = words_of(self.plan.pattern)
        least = self.plan.query.min_length or 1
        if len(words) > 1 and least == 1 and all(map(is_one_event, words)) and len(self.steps.ordering) == 1:
            return self._one_scan([word.symbols[0] for word in words])
        if self.plan.strategy is Strategy.NEXT:
            if self.slide is not None and any(word.has_and and len(word.elements) > 1 for word in words):
                raise NotMappedError("an AND inside a SEQ, with SEMANTICS next and SLIDE", self.plan.pattern.span)
            found = chains(self.matches, words)
        else:
            found = [(word, match_any(self.matches, word)) for word in words if len(word.symbols) >= least]
        parts = [self._rows(matched) for word, matched in found if len(word.symbols) >= least]
        if not parts:
            raise NotMappedError("a pattern without a match of that length", self.plan.pattern.span)
        return parts[0] if len(parts) == 1 else Union(tuple(parts))

    def finished(self, rows: Relation) -> Relation:
        """The user's columns over these."""
        project = self.asked.physical.project
        return Project(rows, tuple((column.name, self.dialect.result(column)) for column in project), is_result=True)

    def _one_scan(self, symbols: list[str]) -> Relation:
        """OR of single events: the events of all steps in one scan, each once for every step that it is fit for."""
        texts = [self.steps.condition(symbol) for symbol in symbols]
        types = {self.plan.symbols[symbol].type for symbol in symbols}
        named = {each.name for each in self.asked.physical.types}
        is_one_of = len(types) == len(symbols) and types <= named
        var, relation = Var(1, symbols[0]), self.steps.together(symbols, self.dialect.fitting(texts, is_one_of))
        columns = [(name, name) for name in (*self.steps.keys, FITS)]
        columns += [(var.column(name), name) for name in relation.columns if (name, name) not in columns]
        found = [
            Matched(Project(relation, tuple(columns)), (each,), (each,), (each,))
            for each in (Var(1, symbol) for symbol in symbols)
        ]
        several = [dict(self._named(matched)) for matched in found]
        self.matches.reasons.append("OR of single events: one scan with the conditions of all, in place of a union")
        return Project(
            self._spread(found[0].relation, found[0]),
            tuple((name, _by_number([texts[name] for texts in several])) for name in several[0]),
        )

    def scalars(self) -> Mapping[str, str]:
        """What the statement asks of all events before: names and aggregates."""
        return self._scalars

    def _scalar(self, name: str, function: str) -> str:
        us = self.dialect.micros(self.dialect.quoted(self.plan.ts), self.plan.time_type)
        self._scalars[name] = f"{function}({us})"
        return f"(SELECT {name} FROM ends)"

    # --- matches to the operator's rows

    def _rows(self, matched: Matched) -> Relation:
        relation, later, asked = matched.relation, [], []
        for gap in matched.gaps:
            for word in negated_words(self.matches, gap.pattern):
                linked = linked_symbols(self.matches, word, matched.vars)
                made = None if linked else running(self.matches, relation, gap, word, matched)
                if made is None:
                    asked.append((gap, word))
                else:
                    relation = made[0]
                    later.append(made[1].text)
        relation = self._spread(relation, matched)
        later += self._over(matched)
        if later:
            relation = Filter(relation, tuple(later))
        for gap, word in asked:
            relation = absent(self.matches, relation, gap, word, matched)
        return Project(relation, tuple(self._named(matched)))

    def _spread(self, relation: Relation, matched: Matched) -> Relation:
        """With SLIDE, a row for each window that holds the match."""
        if self.slide is None:
            return relation
        first, last = self._ends(matched)
        origin = str(self.slide.origin_us)
        if self.plan.options.origin == "first":
            origin = self._scalar(EARLIEST, "min")
        length, step = self.slide.length_us, self.slide.slide_us
        begins = f"{self.dialect.floor(f'{last} - {origin} - {length}', step)} + 1"
        ends = self.dialect.floor(f"{first} - {origin}", step)
        if self.plan.query.window is not None and self.plan.query.window.length.in_events:
            begins = f"greatest({begins}, 0)"
        spread = Spread(relation, "k", begins, ends)
        start = f"{origin} + k * {step}"
        return Extend(spread, (("window_start_us", start), ("window_end_us", f"{start} + {length}")))

    def _ends(self, matched: Matched) -> tuple[str, str]:
        place = self.steps.place
        return self.matches.first(matched.firsts, place), self.matches.last(matched.lasts, place)

    def _decided(self, matched: Matched) -> str | None:
        """The end of the window that has to be waited for."""
        if not matched.waits or self.width is None:
            return None
        if self.slide is not None:
            return "window_end_us"
        return f"{self._ends(matched)[0]} + {self.width}"

    def _over(self, matched: Matched) -> list[str]:
        """What is still open when the input ends is not returned."""
        decided = self._decided(matched)
        if decided is None or self.plan.options.close_at_end:
            return []
        return [f"{decided} <= {self._scalar(LATEST, 'max')} + 1"]

    def _named(self, matched: Matched) -> Sequence[Named]:
        plan, named = self.plan, [(name, name) for name in self.steps.keys]
        by_symbol: dict[str, list[Var]] = {}
        for var in matched.vars:
            by_symbol.setdefault(var.symbol, []).append(var)
        named += [(wanted.name, self._wanted(wanted, by_symbol.get(wanted.symbol, []))) for wanted in self.asked.wanted]
        if self.slide is not None:
            in_events = plan.query.window is not None and plan.query.window.length.in_events
            for name in ("window_start", "window_end"):
                named.append((name, f"{name}_us" if in_events else self.dialect.time(f"{name}_us", plan.time_type)))
        return [*named, ("detected_at", self._detected(matched))]

    def _detected(self, matched: Matched) -> str:
        decided, time_type = self._decided(matched), self.plan.time_type
        if decided is None:
            return self.matches.last(matched.lasts, self.steps.column(self.plan.ts))
        unit_us = time_unit_us(time_type)
        whole = (
            decided if unit_us == 1 else f"({self.dialect.floor(f'{decided} + {unit_us - 1}', unit_us)}) * {unit_us}"
        )
        return self.dialect.time(whole, time_type)

    def _wanted(self, wanted: Wanted, events: list[Var]) -> str:
        texts = [self._value(wanted, var) for var in events]
        if wanted.is_array:
            return self.dialect.array(texts, wanted.dtype.value_type)
        if not texts:
            return f"CAST(NULL AS {self.dialect.type(wanted.dtype)})"
        return texts[-1 if wanted.is_last else 0]

    def _value(self, wanted: Wanted, var: Var) -> str:
        names = [(name, var.column(self.steps.column(name))) for name in wanted.columns]
        return self.dialect.struct(names) if wanted.is_whole else names[0][1]


def _without_order(plan: Match) -> Match:
    """Where every match is one event, nothing follows anything, so events need no order."""
    window = plan.query.window
    if not is_filter(plan) or (window is not None and window.length.in_events):
        return plan
    scan = replace(plan.input, options=replace(plan.options, ties="strict"))
    return replace(plan, input=scan, strategy=Strategy.ANY)


def _by_number(texts: list[str]) -> str:
    """What a row says, by the number of the step that it is fit for."""
    if len(set(texts)) == 1:
        return texts[0]
    return f"CASE {FITS} {' '.join(f'WHEN {i} THEN {text}' for i, text in enumerate(texts))} END"


def _reads(asked: Asked) -> dict[str, tuple[str, ...]]:
    """The columns that are carried along with the events of each symbol."""
    plan = asked.plan
    found: dict[str, set[str]] = {name: set() for name in plan.symbols}
    for conjunct in plan.conjuncts:
        if relates_events(conjunct):
            for reference in references(conjunct.tree):
                found[str(reference.symbol)].add(reference.column)
    for wanted in asked.wanted:
        found[wanted.symbol] |= set(wanted.columns)
    for name, symbol in plan.symbols.items():
        if not symbol.negated:
            found[name].add(plan.ts)
    return {name: plan.in_order(columns) for name, columns in found.items()}
