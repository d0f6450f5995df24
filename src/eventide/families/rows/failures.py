"""`diagnose` for MATCH_RECOGNIZE: the clause itself is run with beginnings of its pattern.

The highest rank of a beginning that a partition has a match of is found for all partitions at once: by bisection, or
from the top where optional parts make a higher rank possible without a lower one. Then
the next row is bound to the label that failed whatever its DEFINE says, and the conditions are measured there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from eventide.engines.intake import microseconds
from eventide.engines.local import run as local
from eventide.engines.local.diagnosis.columns import failure_columns, table_hint, taken_lists
from eventide.engines.local.diagnosis.result import Diagnosis, Failure, shown
from eventide.engines.local.sources import Source, open_source
from eventide.errors import QueryError
from eventide.expressions.relate import conjuncts
from eventide.families.rows.beginnings import Beginning, beginnings, first_labels, skips_ranks, without_exclusions
from eventide.families.rows.lower import prepare_rows
from eventide.families.rows.progress import split_sessions
from eventide.families.rows.spec import RowsSpec
from eventide.lang.durations import write_length
from eventide.lang.positions import span_of
from eventide.lang.rows.tree import (
    Choice,
    Concat,
    Excluded,
    Label,
    LabelDefinition,
    Measure,
    Permute,
    Quantified,
    RowPattern,
    RowQuery,
    Rows,
    Skip,
    SkipTo,
    SortItem,
)
from eventide.lang.tree import Length, Name, Scalar, Span
from eventide.plan.checks import read_parts
from eventide.plan.options import Options
from eventide.plan.physical import Physical
from eventide.runtime.row_order import OrderedRows, order_rows

_NOWHERE = Span(0, 0)
_ROW = "eventide_row"
_WANTED = "eventide_label"
_NUMBER = "eventide_match"
_NEXT = " next "  # no label: labels have no spaces around them unless quoted so
_NEVER = "EVENTIDE NEVER"
MAX_PERMUTED = 6  # 720 orders


def diagnose_rows(clause: RowQuery, options: Options, source: Source, partitions: int) -> Diagnosis:
    """The diagnosis of a clause; `partitions` without a match are looked at in detail."""
    _check_permuted(clause)
    # A diagnosis needs no measures; what is wrong with those that are there is said.
    asked = clause if clause.measures else replace(clause, rows=Rows.ALL)
    physical = prepare_rows(asked, source.schema, engine="local", options=options)
    table = source.connection.sql(f"SELECT * FROM {source.sql}").to_arrow_table()
    source.check_unchanged()
    table = pa.table(dict(zip(source.schema.names, table.columns, strict=True)))
    return _RowDiagnosis(clause, replace(options, match_id=False), physical, table).diagnosis(partitions, source)


def _check_permuted(clause: RowQuery) -> None:
    """Refuse what has too many beginnings."""
    waiting: list[RowPattern] = [clause.pattern]
    while waiting:
        pattern = waiting.pop()
        match pattern:
            case Permute(parts, span) if len(parts) > MAX_PERMUTED:
                message = f"diagnose tries each order of PERMUTE, and {len(parts)} parts have too many"
                hint = f"diagnose the pattern with at most {MAX_PERMUTED} of them"
                raise QueryError(message, clause.text, span.start, span.end, hint=hint)
            case Concat(parts) | Choice(parts) | Permute(parts):
                waiting += parts
            case Quantified(part) | Excluded(part):
                waiting.append(part)


@dataclass(slots=True)
class _Witness:
    """The rows of a match or of the longest partial match, with their labels."""

    rank: int = 0
    rows: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    matched: bool = False


@dataclass(frozen=True, slots=True)
class _Condition:
    """A conjunct of DEFINE with what it reads: texts and trees."""

    text: str
    tree: exp.Expression
    reads: tuple[tuple[str, exp.Expr], ...]


class _RowDiagnosis:
    def __init__(self, clause: RowQuery, options: Options, physical: Physical, table: pa.Table) -> None:
        self._options = options
        self._physical = physical
        self._cuts = beginnings(clause.pattern)
        known = {name.lower(): name for name in table.column_names}
        self._partition = [known[name.text.lower()] for name in clause.partition_by]
        ordered = self._in_order(table)
        self._came = ordered.order  # where each row stood before
        self._table = table.take(pa.array(ordered.order)).append_column(_ROW, pa.array(np.arange(table.num_rows)))
        # In the order of the run, also where keys are equal and a diagnosis reads more columns.
        last = (SortItem(Name(_ROW)),) if clause.order_by else ()
        self._clause = replace(clause, pattern=without_exclusions(clause.pattern), order_by=(*clause.order_by, *last))
        self._order_column = known[clause.order_by[0].column.text.lower()] if clause.order_by else _ROW
        times = self._table.column(self._order_column)
        self._times_of_all = pa.concat_arrays(times.chunks) if times.num_chunks else pa.array([], times.type)
        self._hints: dict[str, str | None] = {}
        self._sessions, self._is_last = self._split(ordered)
        borders = self._sessions.offsets
        self._codes = np.repeat(np.arange(borders.size - 1), np.diff(borders))  # of the session of each row
        self._witnesses = {code: _Witness() for code in range(borders.size - 1) if borders[code] < borders[code + 1]}

    def diagnosis(self, partitions: int, source: Source) -> Diagnosis:
        self._find_matches()
        self._find_longest()
        order = {code: list(range(*self._sessions.offsets[code : code + 2])) for code in self._furthest()}
        first = {code: rows[0] for code, rows in order.items()}
        codes = sorted(order, key=lambda code: (self._witnesses[code].matched, self._came[first[code]]))
        unmatched = [code for code in codes if not self._witnesses[code].matched]
        failures = self._failures(unmatched[:partitions], order)
        for code in unmatched[partitions:]:
            failures[code] = Failure(" or ".join(self._needed(code)), "")
        return self._result(codes, first, failures, source)

    # --- order ----------------------------------------------------------------------------------------------

    def _in_order(self, table: pa.Table) -> OrderedRows:
        """The rows in the order of the run."""
        spec, names = self._physical.spec, dict(self._physical.intake.names)
        assert isinstance(spec, RowsSpec)
        keys = [replace(key, column=names[key.column]) for key in spec.order]
        return order_rows(table, self._partition, keys, [names[column] for column in spec.tie_columns])

    def _split(self, ordered: OrderedRows) -> tuple[OrderedRows, NDArray[np.bool_]]:
        """The partitions, or with state_ttl their sessions, and which of them are the last ones."""
        ttl, whole = self._options.state_ttl, np.ones(ordered.offsets.size - 1, dtype=np.bool_)
        if ttl is None or self._times_of_all.null_count:
            return ordered, whole
        times_us = microseconds(pa.chunked_array([self._times_of_all]), self._physical.intake).to_numpy()
        return split_sessions(ordered, times_us, ttl)

    def _furthest(self) -> list[int]:
        """Of every partition the session with a match, or else with the longest partial match; the first of several."""
        chosen, best = [], -1
        for code, is_last in enumerate(self._is_last):
            if code in self._witnesses and (best < 0 or self._rank(code) > self._rank(best)):
                best = code
            if is_last and best >= 0:
                chosen.append(best)
                best = -1
        return chosen

    def _rank(self, code: int) -> int:
        witness = self._witnesses[code]
        return len(self._cuts) + 1 if witness.matched else witness.rank

    # --- how far it goes ------------------------------------------------------------------------------------

    def _find_matches(self) -> None:
        for code, rows, labels in self._first_matches(self._clause.pattern, self._table):
            self._witnesses[code] = _Witness(len(self._cuts) + 1, rows, labels, matched=True)

    def _find_longest(self) -> None:
        """Rank `low` is reached, rank `high` is not, and with bisection none above it is."""
        may_skip = skips_ranks(self._clause.pattern)
        top = max((cut.rank for cut in self._cuts), default=0) + 1
        unmatched = [code for code, witness in self._witnesses.items() if not witness.matched]
        waiting = [(0, top, np.array(unmatched, dtype=np.int64))]
        while waiting:
            low, high, codes = waiting.pop()
            if high - low <= 1 or not codes.size:
                continue
            middle = high - 1 if may_skip else (low + high) // 2
            cuts = tuple(cut.pattern for cut in self._cuts if cut.rank == middle)
            pattern = cuts[0] if len(cuts) == 1 else Choice(cuts)
            table = self._table.filter(pa.array(np.isin(self._codes, codes)))
            reached = []
            for code, rows, labels in self._first_matches(pattern, table):
                self._witnesses[code] = _Witness(middle, rows, labels)
                reached.append(code)
            is_reached = np.isin(codes, reached)
            waiting += [(middle, high, codes[is_reached]), (low, middle, codes[~is_reached])]

    def _first_matches(
        self, pattern: RowPattern, table: pa.Table
    ) -> Iterator[tuple[int, tuple[int, ...], tuple[str, ...]]]:
        """The first match of every partition that has one: its code, its rows and their labels."""
        # The whole pattern stays, where it can never match, so that every label is known.
        asked = Choice((pattern, Concat((Label(_NEVER), self._clause.pattern))))
        never = LabelDefinition(Name(_NEVER), Scalar(exp.false(), "FALSE", self._clause.span))
        rows = self._run(
            replace(
                self._clause,
                pattern=asked,
                define=(*self._clause.define, never),
                measures=(_measure(_call("MATCH_NUMBER"), _NUMBER), _measure(_call("CLASSIFIER"), _WANTED)),
                rows=Rows.ALL,
                skip=Skip(SkipTo.PAST_LAST_ROW),
            ),
            table,
        )
        rows = rows.filter(pc.equal(rows.column(_NUMBER), 1))
        at, labels = rows.column(_ROW).to_numpy(), rows.column(_WANTED).to_pylist()
        codes = self._codes[at]
        borders = np.flatnonzero(np.diff(codes, prepend=-1)).tolist() if codes.size else []
        for start, stop in pairwise([*borders, codes.size]):
            bound = [i for i in range(start, stop) if labels[i] is not None]
            yield int(codes[start]), tuple(int(at[i]) for i in bound), tuple(labels[i] for i in bound)

    def _run(self, clause: RowQuery, table: pa.Table) -> pa.Table:
        source = open_source(table)
        physical = prepare_rows(clause, source.schema, engine="local", options=self._options)
        return local.run(physical, source)[0]

    # --- what is missing ------------------------------------------------------------------------------------

    def _stands(self, code: int) -> list[Beginning]:
        """The beginnings that the partial match may be, with the fewest rows missing."""
        witness = self._witnesses[code]
        cuts = [cut for cut in self._cuts if cut.rank == witness.rank and cut.label == witness.labels[-1]]
        if len({(cut.missing, cut.needed) for cut in cuts}) > 1:
            # Cuts of one rank may need different numbers of rows: only those that match as far count.
            own = self._table.filter(pa.array(self._codes == code))
            cuts = [cut for cut in cuts if self._matches_as_far(cut, own, witness)]
        return [cut for cut in cuts if cut.missing == min(each.missing for each in cuts)]

    def _matches_as_far(self, cut: Beginning, own: pa.Table, witness: _Witness) -> bool:
        found = next(iter(self._first_matches(cut.pattern, own)), None)
        return found is not None and found[1:] == (witness.rows, witness.labels)

    def _needed(self, code: int) -> tuple[str, ...]:
        if not self._witnesses[code].rows:
            return first_labels(self._clause.pattern)[1]
        return tuple(dict.fromkeys(label for cut in self._stands(code) for label in cut.needed))

    def _missing(self, code: int) -> int:
        witness = self._witnesses[code]
        if witness.matched:
            return 0
        return self._stands(code)[0].missing if witness.rows else first_labels(self._clause.pattern)[0]

    # --- what failed ----------------------------------------------------------------------------------------

    def _failures(self, codes: Sequence[int], order: dict[int, list[int]]) -> dict[int, Failure]:
        found: dict[int, list[tuple[int, Failure]]] = {code: [] for code in codes}
        groups: dict[tuple[str, bool], list[int]] = {}
        for code in codes:
            needed, witness = self._needed(code), self._witnesses[code]
            if not needed:
                found[code].append((0, Failure("$", "end", None, "rows of the partition follow")))
            elif witness.rows and order[code][-1] == witness.rows[-1]:
                ends = Failure(needed[0], "no event", None, "the partition ends")
                if not self._is_last[code]:
                    ends = self._too_late(needed[0], code, order[code][-1] + 1) or ends
                found[code].append((0, ends))
                continue
            late = self._too_late(needed[0], code, order[code][_place(order[code], witness)]) if needed else None
            if late is not None:
                found[code].append((0, late))
            elif needed:
                for label in needed:
                    groups.setdefault((label, bool(witness.rows)), []).append(code)
        for (label, begun), mine in groups.items():
            for code, n_met, failure in self._tried(label, begun, mine, order):
                found[code].append((n_met, failure))
        return {code: max(tries, key=lambda each: each[0])[1] for code, tries in found.items() if tries}

    def _tried(
        self, label: str, begun: bool, codes: Sequence[int], order: dict[int, list[int]]
    ) -> Iterator[tuple[int, int, Failure]]:
        """Partition, number of conditions met, and what failed, where the next row is bound to the label."""
        conditions = self._conditions(label)
        measured = self._measure_conditions(label, begun, codes, order, conditions)
        for code in codes:
            rows = measured.get(code, [])
            n_met = 0
            for k, condition in enumerate(conditions):
                left = [row for row in rows if row[f"holds {k}"] is True]
                if not left and rows:
                    values = ", ".join(
                        f"{text} = {shown(rows[0][f'value {k} {j}'])}" for j, (text, _) in enumerate(condition.reads)
                    )
                    event, hint = self._times([rows[0]["at"]])[0], self._literal_hint(condition)
                    yield code, n_met, Failure(label, "condition", condition.text, values or None, event, hint)
                    break
                rows, n_met = left, n_met + 1
            else:
                # All that DEFINE says holds: an anchor is in the way.
                event = self._times([rows[0]["at"]])[0] if rows else None
                yield code, n_met, Failure(label, "end", None, "^ or $ does not hold here", event)

    def _literal_hint(self, condition: _Condition) -> str | None:
        if condition.text not in self._hints:
            self._hints[condition.text] = table_hint(condition.tree, self._table)
        return self._hints[condition.text]

    def _too_late(self, label: str, code: int, row: int) -> Failure | None:
        """Whether the next row lies outside the time of a match, whatever it is."""
        witness = self._witnesses[code]
        bounds: list[tuple[int, str]] = []
        if self._clause.within is not None:
            bounds.append((self._clause.within.amount, "WITHIN"))
        if self._options.state_ttl is not None:
            bounds.append((self._options.state_ttl, "state_ttl"))
        if not bounds or not witness.rows:
            return None
        length, name = min(bounds)
        times = self._times_of_all.take(pa.array([witness.rows[0], row]))
        first_us, last_us = microseconds(pa.chunked_array([times]), self._physical.intake).to_pylist()
        if last_us - first_us < length:
            return None
        apart = write_length(Length(last_us - first_us))
        (event,) = self._times([row])
        predicate = f"{name} {write_length(Length(length))}"
        values = f"{apart} after {witness.labels[0]} at {shown(self._times(witness.rows[:1])[0])}"
        return Failure(
            label, "window", predicate, values, event, f"{name} would have to be longer than {apart} for these events"
        )

    def _conditions(self, label: str) -> list[_Condition]:
        made = []
        for definition in self._clause.define:
            if definition.label.text != label:
                continue
            whole = definition.condition
            for tree in conjuncts(whole.tree):
                reads = {self._text(node, whole): node for node in read_parts(tree)}
                made.append(_Condition(self._text(tree, whole), tree, tuple(reads.items())))
        return made

    def _text(self, tree: exp.Expr, whole: Scalar) -> str:
        span = span_of(tree, whole.span)
        return " ".join(self._clause.text[span.start : span.end].split())

    def _measure_conditions(
        self,
        label: str,
        begun: bool,
        codes: Sequence[int],
        order: dict[int, list[int]],
        conditions: Sequence[_Condition],
    ) -> dict[int, list[dict[str, Any]]]:
        """Per partition the rows that might have the label, each with what the conditions and their parts are there."""
        wanted: list[str | None] = [None] * self._table.num_rows
        for code in codes:
            witness, rows = self._witnesses[code], order[code]
            if not begun:
                for row in rows:
                    wanted[row] = _NEXT
                continue
            for row, name in zip(witness.rows, witness.labels, strict=True):
                wanted[row] = name
            wanted[rows[_place(rows, witness)]] = _NEXT
        keep = pa.array(np.isin(self._codes, codes))
        table = self._table.append_column(_WANTED, pa.array(wanted, pa.string())).filter(keep)
        labels = dict.fromkeys(name for code in codes for name in self._witnesses[code].labels)
        known = [Label(cut.label) for cut in {cut.label: cut for cut in self._cuts}.values()]
        before = Quantified(Choice(tuple(Label(name) for name in labels)), 1, None) if begun else Concat(())
        measures = [_measure(exp.column(_ROW, quoted=True), "at")]
        for k, condition in enumerate(conditions):
            measures.append(_measure(condition.tree, f"holds {k}"))
            measures += [_measure(tree, f"value {k} {j}") for j, (_, tree) in enumerate(condition.reads)]
        clause = replace(
            self._clause,
            # Labels that this partition has not reached are known, too.
            pattern=Choice((Concat((before, Label(label))), Concat((Label(_NEVER), *known)))),
            define=tuple(_wants(name, label) for name in dict.fromkeys([*labels, label, _NEVER])),
            measures=tuple(measures),
            rows=Rows.ONE,
            skip=Skip(SkipTo.PAST_LAST_ROW),
            within=None,
        )
        found: dict[int, list[dict[str, Any]]] = {}
        for row in self._run(clause, table).to_pylist():
            found.setdefault(int(self._codes[row["at"]]), []).append(row)
        return found

    # --- the result -----------------------------------------------------------------------------------------

    def _times(self, rows: Sequence[int]) -> list[Any]:
        return list(self._times_of_all.take(pa.array(rows, pa.int64())).to_pylist())

    def _result(
        self, codes: list[int], first: dict[int, int], failures: dict[int, Failure], source: Source
    ) -> Diagnosis:
        witnesses = [self._witnesses[code] for code in codes]
        partitions: dict[str, pa.Array] = {}
        at = pa.array([first[code] for code in codes], pa.int64())
        for name in self._partition:
            values = self._table.column(name).take(at)
            given = source.given_type(name)
            partitions[name] = values if given is None else values.cast(given)
        kind = self._table.schema.field(self._order_column).type
        details = {
            "matched": pa.array([witness.matched for witness in witnesses], pa.bool_()),
            "length": pa.array([len(witness.rows) for witness in witnesses], pa.int64()),
            "missing": pa.array([self._missing(code) for code in codes], pa.int64()),
            "events": taken_lists([witness.rows for witness in witnesses], self._times_of_all),
            "symbols": pa.array([witness.labels for witness in witnesses], pa.list_(pa.string())),
        }
        details |= failure_columns([failures.get(code) for code in codes], kind)
        details["searched"] = pa.array([True] * len(codes), pa.bool_())
        n_detailed = sum(bool(failure.reason) for failure in failures.values())
        return Diagnosis(pa.table(partitions), pa.table(details), n_detailed)


def _place(rows: list[int], witness: _Witness) -> int:
    """Where in its partition the row behind a partial match stands."""
    return rows.index(witness.rows[-1]) + 1 if witness.rows else 0


def _call(name: str) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=[])


def _measure(tree: exp.Expr, name: str) -> Measure:
    assert isinstance(tree, exp.Expression)
    return Measure(Scalar(tree, name, span_of(tree, _NOWHERE)), Name(name))


def _wants(name: str, label: str) -> LabelDefinition:
    """A row has the label where the diagnosis says so."""
    texts = [name, _NEXT] if name == label else [name]
    column = exp.column(_WANTED, quoted=True)
    tree = exp.In(this=column, expressions=[exp.Literal.string(text) for text in texts])
    return LabelDefinition(Name(name), Scalar(tree, "", _NOWHERE))
