"""The beginnings of a clause of MATCH_RECOGNIZE: the clause itself, with cuts of its pattern.

Behind a partial match the next row is bound to the label that failed whatever its DEFINE says, and the conditions are
measured there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from eventide.errors import QueryError
from eventide.families.registry import family_named
from eventide.families.rows.cuts import Cut, cuts_of, first_labels, skips_ranks, without_exclusions
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
from eventide.plan.checks import compared_text
from eventide.plan.diagnosis import (
    ROW,
    Arranged,
    Beginnings,
    Condition,
    Evidence,
    Failure,
    InMicroseconds,
    Witness,
    conditions_of,
    shown,
    too_late,
)
from eventide.plan.options import Options
from eventide.runtime.row_order import order_rows

_NOWHERE = Span(0, 0)
_WANTED = "eventide_label"
_NUMBER = "eventide_match"
_NEXT = " next "  # no label: labels have no spaces around them unless quoted so
_NEVER = "EVENTIDE NEVER"
MAX_PERMUTED = 6  # 720 orders

_Tried = tuple[int, Failure]  # how many conditions were met, and which was not


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


class RowBeginnings(Beginnings):
    """Those of a clause over rows of a schema; with state_ttl each session is looked at by itself."""

    by_arrival = True

    def __init__(self, clause: RowQuery, options: Options, schema: pa.Schema) -> None:
        _check_permuted(clause)
        # A diagnosis needs no measures; what is wrong with those that are there is said.
        asked = clause if clause.measures else replace(clause, rows=Rows.ALL)
        self.physical = family_named("rows").prepare(asked, options, schema)
        known = {name.lower(): name for name in schema.names}
        self.partition = [known[name.text.lower()] for name in clause.partition_by]
        self.time = known[clause.order_by[0].column.text.lower()] if clause.order_by else ROW
        self._options = replace(options, match_id=False)
        # In the order of the run, also where keys are equal and a diagnosis reads more columns.
        last = (SortItem(Name(ROW)),) if clause.order_by else ()
        self._clause = replace(clause, pattern=without_exclusions(clause.pattern), order_by=(*clause.order_by, *last))
        self._cuts = cuts_of(clause.pattern)
        self._lack: dict[tuple[int, ...], tuple[tuple[str, ...], int]] = {}  # by the rows of a partial match
        self.n_ranks = max((cut.rank for cut in self._cuts), default=0) + 1
        self.certain = range(1) if skips_ranks(self._clause.pattern) else range(self.n_ranks)

    def arrange(self, table: pa.Table, in_us: InMicroseconds) -> Arranged:
        spec, names = self.physical.spec, dict(self.physical.intake.names)
        assert isinstance(spec, RowsSpec)
        keys = [replace(key, column=names[key.column]) for key in spec.order]
        ordered = order_rows(table, self.partition, keys, [names[column] for column in spec.tie_columns])
        self._partitions, ttl = np.arange(ordered.offsets.size - 1), self._options.state_ttl
        if ttl is not None and self.time != ROW and not table.column(self.time).null_count:
            times_us = in_us(table.column(self.time).take(pa.array(ordered.order)))
            ordered, is_last = split_sessions(ordered, times_us, ttl)
            self._partitions = np.cumsum(is_last) - is_last
        sizes = np.diff(ordered.offsets)
        return Arranged(ordered.order, np.repeat(np.arange(sizes.size), sizes), self._partitions)

    # --- how far it goes

    def find(self, rank: int | None, codes: Sequence[int], seen: Evidence) -> dict[int, Witness]:
        cuts = [cut.pattern for cut in self._cuts if cut.rank == rank]
        pattern = self._clause.pattern if rank is None else cuts[0] if len(cuts) == 1 else Choice(tuple(cuts))
        found = self._first_matches(pattern, seen.of(codes), seen)
        return {code: Witness(rank or 0, rows, labels, rank is None) for code, rows, labels in found}

    def _first_matches(
        self, pattern: RowPattern, table: pa.Table, seen: Evidence
    ) -> Iterator[tuple[int, tuple[int, ...], tuple[str, ...]]]:
        """The first match of every session that has one: its code, its rows and their labels."""
        # The whole pattern stays, where it can never match, so that every label is known.
        asked = Choice((pattern, Concat((Label(_NEVER), self._clause.pattern))))
        never = LabelDefinition(Name(_NEVER), Scalar(exp.false(), "FALSE", self._clause.span))
        clause = replace(
            self._clause,
            pattern=asked,
            define=(*self._clause.define, never),
            measures=(_measure(_call("MATCH_NUMBER"), _NUMBER), _measure(_call("CLASSIFIER"), _WANTED)),
            rows=Rows.ALL,
            skip=Skip(SkipTo.PAST_LAST_ROW),
        )
        rows = self._run(clause, table, seen)
        rows = rows.filter(pc.equal(rows.column(_NUMBER), 1))
        at, labels = rows.column(ROW).to_numpy(), rows.column(_WANTED).to_pylist()
        codes = seen.codes[at]
        borders = np.flatnonzero(np.diff(codes, prepend=-1)).tolist()
        for start, stop in pairwise([*borders, codes.size]):
            bound = [i for i in range(start, stop) if labels[i] is not None]
            yield int(codes[start]), tuple(int(at[i]) for i in bound), tuple(labels[i] for i in bound)

    def _run(self, clause: RowQuery, table: pa.Table, seen: Evidence) -> pa.Table:
        return seen.run(family_named("rows").prepare(clause, self._options, table.schema), table)

    # --- what is missing

    def needed(self, witness: Witness, seen: Evidence) -> tuple[str, int]:
        labels, missing = self._lacking(witness, seen)
        return " or ".join(labels), missing

    def _lacking(self, witness: Witness, seen: Evidence) -> tuple[tuple[str, ...], int]:
        """The labels of which a partial match needs one, and the fewest rows that it needs."""
        if witness.rows not in self._lack:
            self._lack[witness.rows] = self._find_lacking(witness, seen)
        return self._lack[witness.rows]

    def _find_lacking(self, witness: Witness, seen: Evidence) -> tuple[tuple[str, ...], int]:
        if not witness.rows:
            least, labels = first_labels(self._clause.pattern)
            return labels, least
        cuts = [cut for cut in self._cuts if cut.rank == witness.rank and cut.label == witness.symbols[-1]]
        if len({(cut.missing, cut.needed) for cut in cuts}) > 1:
            # Cuts of one rank may need different numbers of rows: only those that match as far count.
            own = seen.of([int(seen.codes[witness.rows[0]])])
            cuts = [cut for cut in cuts if self._matches_as_far(cut, own, witness, seen)]
        least = min(cut.missing for cut in cuts)
        return tuple(dict.fromkeys(label for cut in cuts if cut.missing == least for label in cut.needed)), least

    def _matches_as_far(self, cut: Cut, own: pa.Table, witness: Witness, seen: Evidence) -> bool:
        found = next(iter(self._first_matches(cut.pattern, own, seen)), None)
        return found is not None and found[1:] == (witness.rows, witness.symbols)

    # --- what failed

    def failures(self, codes: Sequence[int], seen: Evidence) -> Iterator[tuple[int, Failure]]:
        groups: dict[tuple[str, bool], list[int]] = {}
        tried: dict[int, list[_Tried]] = {}
        for code in codes:
            witness = seen.witnesses[code]
            needed, _ = self._lacking(witness, seen)
            failure = self._ended(code, needed, witness, seen)
            if failure is not None:
                yield code, failure
                continue
            for label in needed:
                groups.setdefault((label, bool(witness.rows)), []).append(code)
        for (label, begun), mine in groups.items():
            for code, n_met, failure in self._tried(label, begun, mine, seen):
                tried.setdefault(code, []).append((n_met, failure))
        for code, each in tried.items():
            yield code, max(each, key=lambda one: one[0])[1]

    def _ended(self, code: int, needed: tuple[str, ...], witness: Witness, seen: Evidence) -> Failure | None:
        """What no row can change: the partition or the time is over, or nothing may follow."""
        if not needed:
            return Failure("$", "end", None, "rows of the partition follow")
        if not witness.rows:
            return None
        row = witness.rows[-1] + 1
        ends = Failure(needed[0], "no event", None, "the partition ends")
        behind = int(seen.codes[row]) if row < seen.codes.size else None
        if behind is None or self._partitions[behind] != self._partitions[code]:
            return ends
        return self._too_late(needed[0], witness, row, seen) or (None if behind == code else ends)

    def _too_late(self, label: str, witness: Witness, row: int, seen: Evidence) -> Failure | None:
        """Whether the next row lies outside the time of a match, whatever it is."""
        within, ttl = self._clause.within, self._options.state_ttl
        bounds = [(within.amount, "WITHIN")] if within is not None else []
        bounds += [(ttl, "state_ttl")] if ttl is not None else []
        if not bounds:
            return None
        length, name = min(bounds)
        first_us, last_us = seen.times_us([witness.rows[0], row])
        if last_us - first_us < length:
            return None
        first, event = seen.times([witness.rows[0], row])
        asked, after = f"{name} {write_length(Length(length))}", f"{witness.symbols[0]} at {shown(first)}"
        return too_late(label, asked, last_us - first_us, after, event)

    def _tried(
        self, label: str, begun: bool, codes: Sequence[int], seen: Evidence
    ) -> Iterator[tuple[int, int, Failure]]:
        """Session, number of conditions met, and what failed, where the next row is bound to the label."""
        wholes = [each.condition for each in self._clause.define if each.label.text == label]
        conditions = [each for whole in wholes for each in conditions_of(whole, self._clause.text)]
        measured = self._measure_conditions(label, begun, codes, conditions, seen)
        for code in codes:
            rows = measured.get(code, [])
            n_met = 0
            for k, condition in enumerate(conditions):
                left = [row for row in rows if row[f"holds {k}"] is True]
                if not left and rows:
                    values = ", ".join(
                        f"{text} = {shown(rows[0][f'value {k} {j}'])}" for j, (text, _) in enumerate(condition.reads)
                    )
                    event, hint = seen.times([rows[0]["at"]])[0], seen.hint(compared_text(condition.tree))
                    yield code, n_met, Failure(label, "condition", condition.text, values or None, event, hint)
                    break
                rows, n_met = left, n_met + 1
            else:
                # All that DEFINE says holds: an anchor is in the way.
                event = seen.times([rows[0]["at"]])[0] if rows else None
                yield code, n_met, Failure(label, "end", None, "^ or $ does not hold here", event)

    def _measure_conditions(
        self, label: str, begun: bool, codes: Sequence[int], conditions: Sequence[Condition], seen: Evidence
    ) -> dict[int, list[dict[str, Any]]]:
        """Per session the rows that might have the label, each with what the conditions and their parts are there."""
        wanted: list[str | None] = [None if begun else _NEXT] * seen.table.num_rows
        for witness in (seen.witnesses[code] for code in codes if begun):
            for row, name in zip(witness.rows, witness.symbols, strict=True):
                wanted[row] = name
            wanted[witness.rows[-1] + 1] = _NEXT
        own = seen.of(codes)
        table = own.append_column(_WANTED, pa.array(wanted, pa.string()).take(own.column(ROW)))
        labels = dict.fromkeys(name for code in codes for name in seen.witnesses[code].symbols)
        known = [Label(cut.label) for cut in {cut.label: cut for cut in self._cuts}.values()]
        before = Quantified(Choice(tuple(Label(name) for name in labels)), 1, None) if begun else Concat(())
        measures = [_measure(exp.column(ROW, quoted=True), "at")]
        for k, condition in enumerate(conditions):
            measures.append(_measure(condition.tree, f"holds {k}"))
            measures += [_measure(tree, f"value {k} {j}") for j, (_, tree) in enumerate(condition.reads)]
        clause = replace(
            self._clause,
            # Labels that this session has not reached are known, too.
            pattern=Choice((Concat((before, Label(label))), Concat((Label(_NEVER), *known)))),
            define=tuple(_wants(name, label) for name in dict.fromkeys([*labels, label, _NEVER])),
            measures=tuple(measures),
            rows=Rows.ONE,
            skip=Skip(SkipTo.PAST_LAST_ROW),
            within=None,
        )
        found: dict[int, list[dict[str, Any]]] = {}
        for row in self._run(clause, table, seen).to_pylist():
            found.setdefault(int(seen.codes[row["at"]]), []).append(row)
        return found


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
