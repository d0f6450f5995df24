"""`diagnose` for patterns of the builder: the pattern is run with beginnings of its steps.

The longest beginning that a partition has a match of is found by bisection, for all partitions at once. Behind it the
next step is tried with more and more of what is asked of it: any later event, the conjuncts of its condition one by
one, the time, how it follows, what must not occur before it. The events that the last try took are those shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from eventide.engines.intake import microseconds
from eventide.engines.local import run as local
from eventide.engines.local.diagnosis.columns import failure_columns, table_hint, taken_lists
from eventide.engines.local.diagnosis.result import Diagnosis, Failure, shown
from eventide.engines.local.sources import Source, open_source
from eventide.expressions.relate import conjuncts
from eventide.expressions.write_sql import quote_duckdb
from eventide.families.builder.beginnings import Beginning, Needed, beginnings
from eventide.families.builder.conditions import Names
from eventide.families.builder.lower import DetectionOptions, bounded, prepare_detection
from eventide.families.builder.spec import TIMED_OUT
from eventide.families.builder.syntax import EventPattern, Link, Step, walk_steps
from eventide.lang.durations import write_length
from eventide.lang.positions import span_of
from eventide.lang.tree import Length, Scalar
from eventide.plan.checks import read_parts
from eventide.plan.ending import with_end
from eventide.plan.physical import Physical
from eventide.plan.references import is_orderable
from eventide.runtime.partitions import encode_partitions

_ROW, _US = "eventide_row", "eventide_us"


def diagnose_pattern(tree: EventPattern, options: DetectionOptions, source: Source, partitions: int) -> Diagnosis:
    """The diagnosis of a pattern; `partitions` without a match are looked at in detail."""
    physical = prepare_detection(tree, source.schema, options, engine="local")
    tree = bounded(tree, options)
    # As `ev.detect` orders them: by time, sequence, then by every column.
    plain = [field.name for field in source.schema if is_orderable(field.type)]
    by = dict.fromkeys(name for name in (physical.intake.ts_column, options.sequence, *plain) if name)
    order = ", ".join(f"{quote_duckdb(name)} ASC NULLS FIRST" for name in by)
    table = source.connection.sql(f"SELECT * FROM {source.sql} ORDER BY {order}").to_arrow_table()
    source.check_unchanged()
    table = pa.table(dict(zip(source.schema.names, table.columns, strict=True)))
    return _PatternDiagnosis(tree, options, physical, table).diagnosis(partitions)


@dataclass(slots=True)
class _Witness:
    """The events of a match or of the longest partial match, with their steps; `reached` numbers the beginning."""

    reached: int = 0
    rows: tuple[int, ...] = ()
    steps: tuple[str, ...] = ()
    matched: bool = False


@dataclass(frozen=True, slots=True)
class _Conjunct:
    text: str
    tree: exp.Expression
    reads: tuple[str, ...]


Found = dict[int, dict[str, Any]]  # partition -> its first match


class _PatternDiagnosis:
    def __init__(self, tree: EventPattern, options: DetectionOptions, physical: Physical, table: pa.Table) -> None:
        self._tree = tree
        ts = physical.intake.ts_column or None
        self._options = replace(options, ts=ts, sequence=_ROW, skip="only_first", skip_to=None, state_ttl=None)
        self._physical = physical
        self._table = table.append_column(_ROW, pa.array(np.arange(table.num_rows)))
        known = {name.lower(): name for name in table.column_names}
        self._partition = [known[name.lower()] for name in options.partition_by]
        self._hints: dict[str, str | None] = {}
        self._time = known[(physical.intake.ts_column or str(options.sequence)).lower()]
        self._times_of_all = _joined(table.column(self._time))
        if tree.is_bounded:
            times_us = microseconds(table.column(self._time), physical.intake)
            self._table = self._table.append_column(_US, times_us)
            self._times_us = times_us.to_numpy()
        self._codes, _ = encode_partitions(table, self._partition)
        codes, first = np.unique(self._codes, return_index=True)
        self._first = dict(zip(codes.tolist(), first.tolist(), strict=True))
        self._witnesses = {code: _Witness() for code in self._first}
        self._beginnings = beginnings(tree.steps)

    def diagnosis(self, partitions: int) -> Diagnosis:
        for code, match in self._run(self._tree, list(self._witnesses), to_end=True).items():
            self._witnesses[code] = _Witness(len(self._beginnings), *self._events(match, self._tree.steps), True)
        self._find_longest()
        codes = sorted(self._witnesses, key=lambda code: (self._witnesses[code].matched, self._first[code]))
        unmatched = [code for code in codes if not self._witnesses[code].matched]
        failures = {code: Failure(self._lacking(self._witnesses[code].reached), "") for code in unmatched}
        groups: dict[int, list[int]] = {}
        for code in unmatched[:partitions]:
            groups.setdefault(self._witnesses[code].reached, []).append(code)
        for reached, mine in groups.items():
            failures |= dict(self._tried(self._beginnings[reached], mine))
        return self._result(codes, failures, min(partitions, len(unmatched)))

    # --- how far it goes ------------------------------------------------------------------------------------

    def _find_longest(self) -> None:
        """Bisection: beginning `low` is reached, `high` is not; those that may be left out are tried one by one."""
        unmatched = [code for code, witness in self._witnesses.items() if not witness.matched]
        certain = [i for i, beginning in enumerate(self._beginnings) if beginning.certain]
        waiting = [(0, len(certain), unmatched)]
        while waiting:
            low, high, codes = waiting.pop()
            if high - low <= 1:
                end = certain[high] if high < len(certain) else len(self._beginnings)
                for number in reversed(range(certain[low] + 1, end)):
                    reached = self._reach(number, codes)
                    codes = [code for code in codes if code not in reached]
                continue
            middle = (low + high) // 2
            found = self._reach(certain[middle], codes)
            waiting.append((middle, high, [code for code in codes if code in found]))
            waiting.append((low, middle, [code for code in codes if code not in found]))

    def _reach(self, number: int, codes: Sequence[int]) -> Found:
        """The partitions that have a match of a beginning, which becomes their witness."""
        steps = self._beginnings[number].steps
        # That the whole pattern has no match is known.
        found = self._run(replace(self._tree, steps=steps), codes) if steps != self._tree.steps else {}
        for code, match in found.items():
            self._witnesses[code] = _Witness(number, *self._events(match, steps))
        return found

    def _run(
        self, tree: EventPattern, codes: Sequence[int], values: Sequence[str] = (), *, to_end: bool = False
    ) -> Found:
        """The first match of every partition that has one; `values` are measured, too."""
        if not codes:
            return {}
        names = _taking(tree.steps)
        select = [(f"rows {i}", f"array_agg({_quoted(name)}.{_ROW})") for i, name in enumerate(names)]
        select += [(f"value {k}", text) for k, text in enumerate(values)]
        # Events come faster than what is measured of them.
        options = replace(self._options, select=tuple(select) if values else (), shown=(_ROW,))
        source = open_source(self._table.filter(pa.array(np.isin(self._codes, codes))))
        physical = prepare_detection(tree, source.schema, options, engine="local", whole=to_end)
        if to_end and tree.is_bounded and self._table.num_rows:
            ends = microseconds(self._table.column(self._time), physical.intake)
            physical = with_end(physical, pc.max(ends).as_py())
        matches = local.run(physical, source)[0]
        matches = matches.filter(pc.invert(matches.column(TIMED_OUT)))
        if not values:
            rows = [_row_numbers(matches.column(name)) for name in names]
            matches = pa.table({f"rows {i}": each for i, each in enumerate(rows)})
        return self._first_of_each(matches, len(names))

    def _try(self, steps: tuple[Step, ...], codes: Sequence[int], values: Sequence[str] = ()) -> Found:
        """As `_run`, but where no match is in time, one whose last event comes too late."""
        found = self._run(replace(self._tree, steps=steps), codes, values)
        late = [code for code in codes if code not in found]
        if late and self._tree.is_bounded:
            untimed = self._run(EventPattern(steps), late, values)
            astray = [code for code, match in untimed.items() if not self._is_in_time(_rows(match)[:-1])]
            timed = (*self._timed(steps[:-1]), steps[-1])
            found |= untimed | self._run(EventPattern(timed), astray, values)
        return found

    def _is_in_time(self, rows: Sequence[int]) -> bool:
        times, window_us, gap_us = self._times_us[list(rows)], self._tree.window_us, self._tree.gap_us
        if window_us is not None and rows and times[-1] - times[0] >= window_us:
            return False
        return gap_us is None or not (np.diff(times) >= gap_us).any()

    def _timed(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """The steps with conditions that keep their events in time."""
        bounds = (("FIRST", self._tree.window_us), ("LAST", self._tree.gap_us))
        asked = [f"{_US} - coalesce({of}({_US}), {_US}) < {us}" for of, us in bounds if us is not None]
        made = []
        for step in steps:
            if step.group:
                step = replace(step, group=self._timed(step.group))
            elif not step.link.is_negative:
                own = [] if step.condition is None else [f"({step.condition})"]
                step = replace(step, condition=" AND ".join([*own, *asked]))
            made.append(step)
        return tuple(made)

    def _show(self, code: int, match: dict[str, Any], steps: tuple[Step, ...], n_failed: int = 1) -> None:
        """What a condition was tried with is what was found: a match without its last events, which failed."""
        rows, names = self._events(match, steps)
        witness = self._witnesses[code]
        witness.rows, witness.steps = rows[:-n_failed], names[:-n_failed]

    def _first_of_each(self, matches: pa.Table, n_steps: int) -> Found:
        """Of every partition the match that begins first."""
        first = np.full(matches.num_rows, self._table.num_rows, dtype=np.int64)
        for i in range(n_steps):
            lists = _joined(matches.column(f"rows {i}"))
            np.minimum.at(first, pc.list_parent_indices(lists).to_numpy(), pc.list_flatten(lists).to_numpy())
        by_start = np.argsort(first, kind="stable")
        codes, chosen = np.unique(self._codes[first[by_start]], return_index=True)
        taken = matches.take(pa.array(by_start[chosen])).to_pylist()
        return dict(zip(codes.tolist(), taken, strict=True))

    def _events(self, match: dict[str, Any], steps: tuple[Step, ...]) -> tuple[tuple[int, ...], tuple[str, ...]]:
        bound = sorted((row, name) for i, name in enumerate(_taking(steps)) for row in match[f"rows {i}"] or ())
        return tuple(row for row, _ in bound), tuple(name for _, name in bound)

    # --- what failed ----------------------------------------------------------------------------------------

    def _lacking(self, reached: int) -> str:
        """The step that a partial match lacks."""
        needed = self._beginnings[reached].needed
        return self._beginnings[reached].steps[-1].shown if needed is None else needed.step.name

    def _tried(self, reached: Beginning, codes: list[int]) -> Iterator[tuple[int, Failure]]:
        """Why each partition comes no further."""
        needed = reached.needed
        if needed is None:
            yield from ((code, Failure(reached.steps[-1].shown, "strategy")) for code in codes)
        elif needed.step.link.is_negative:
            yield from self._present(self._with_absent(needed.step, reached.steps), needed.step, codes)
        else:
            yield from self._narrowed(needed, self._with_absent(needed.step, reached.steps), codes)

    def _with_absent(self, step: Step, before: tuple[Step, ...]) -> tuple[Step, ...]:
        """The steps before, and first those that the condition names and the partial match has left out."""
        known = {*_taking(before), step.name}
        named = [name for name in _taking(self._tree.steps) if name not in known and name in (step.condition or "")]
        if not named:
            return before
        links = [Link.BEGIN, *[Link.FOLLOWED_BY_ANY] * (len(named) - 1)]
        absent = [Step(link, name, "false", optional=True) for link, name in zip(links, named, strict=True)]
        first = [replace(each, link=Link.FOLLOWED_BY_ANY) for each in before[:1]]
        return (*absent, *first, *before[1:])

    def _present(self, before: tuple[Step, ...], step: Step, codes: list[int]) -> Iterator[tuple[int, Failure]]:
        """What must not occur behind the last step, and does; or may still do when the events end."""
        asked = self._conjuncts(step, before)
        link = Link.NEXT if step.link is Link.NOT_NEXT else Link.FOLLOWED_BY_ANY
        steps = (*before, Step(link, step.name, step.condition))
        reads = tuple(dict.fromkeys(read for each in asked for read in each.reads))
        found = self._run(replace(self._tree, steps=steps), codes, reads)
        text = f"{step.link.value}({', '.join(repr(part) for part in (step.name, step.condition) if part)})"
        for code in codes:
            if code in found:
                values = _written(reads, found[code])
                self._show(code, found[code], steps)
                yield code, Failure(step.name, "absence", text, values, self._at(found[code]))
            elif step.link is Link.NOT_NEXT:
                yield code, Failure(step.name, "no event", None, "no event follows")
            else:
                hint = "ev.detect(..., close_at_end=True) counts all time as over"
                yield code, Failure(step.name, "window", self._within(), "the events end before that time", None, hint)

    def _narrowed(self, needed: Needed, before: tuple[Step, ...], codes: list[int]) -> Iterator[tuple[int, Failure]]:
        """Each partition with the first demand that no event meets."""
        step, name = needed.step, needed.step.name
        asked = self._conjuncts(step, before)
        link = Link.FOLLOWED_BY_ANY if before else Link.BEGIN
        steps = (*before, Step(link, name, step.condition))
        left = codes
        last: Found = {}
        for k in range(len(asked) + 1):
            condition = " AND ".join(f"({each.text})" for each in asked[:k]) or None
            tried = (*before, Step(link, name, condition))
            found = self._try(tried, left, asked[k].reads if k < len(asked) else ())
            for code in left:
                if code not in found:
                    yield code, self._unmet(name, asked[k - 1] if k else None, last.get(code))
                else:
                    self._show(code, found[code], steps)
            left, last = [code for code in left if code in found], found
        in_time = left
        if self._tree.is_bounded:
            in_time = [code for code in left if self._is_in_time(_rows(last[code]))]
        for code in left:
            if code not in in_time:
                yield code, self._too_late(name, last[code])
        direct = (*before, Step(step.link if before else Link.BEGIN, name, step.condition))
        found = self._run(replace(self._tree, steps=direct), in_time)
        for code in in_time:
            if code not in found:
                text = f"{step.link.value}('{name}')"
                yield code, Failure(name, "contiguity", text, None, self._at(last[code]))
        left = [code for code in in_time if code in found]
        for absent in needed.nots:
            between = (*before, Step(Link.FOLLOWED_BY_ANY, absent.name, absent.condition))
            excluded = (*between, Step(Link.FOLLOWED_BY_ANY, name, step.condition))
            seen = self._run(replace(self._tree, steps=excluded), left)
            for code in left:
                if code in seen:
                    time = self._times([_rows(seen[code])[-2]])[0]
                    values = f"{absent.name} at {shown(time)}"
                    self._show(code, seen[code], excluded, n_failed=2)
                    yield code, Failure(name, "absence", f"not {absent.name}", values, self._at(seen[code]))
            left = [code for code in left if code not in seen]
        yield from ((code, Failure(name, "strategy", event=self._at(last[code]))) for code in left)

    def _unmet(self, name: str, conjunct: _Conjunct | None, match: dict[str, Any] | None) -> Failure:
        if conjunct is None or match is None:
            return Failure(name, "no event", None, "no event follows")
        values = _written(conjunct.reads, match)
        return Failure(name, "condition", conjunct.text, values, self._at(match), self._hint(conjunct))

    def _hint(self, conjunct: _Conjunct) -> str | None:
        if conjunct.text not in self._hints:
            self._hints[conjunct.text] = table_hint(conjunct.tree, self._table)
        return self._hints[conjunct.text]

    def _too_late(self, name: str, match: dict[str, Any]) -> Failure:
        rows = _rows(match)
        times = self._times_of_all.take(pa.array([rows[0], rows[-2], rows[-1]]))
        first_us, before_us, last_us = microseconds(pa.chunked_array([times]), self._physical.intake).to_pylist()
        window = self._tree.window_us
        if window is not None and last_us - first_us >= window:
            apart, after = write_length(Length(last_us - first_us)), "the first event"
        else:
            window = None
            apart, after = write_length(Length(last_us - before_us)), "the event before"
        asked = self._within(of_match=window is not None)
        hint = f"within would have to be longer than {apart} for these events"
        return Failure(name, "window", asked, f"{apart} after {after}", self._at(match), hint)

    def _within(self, *, of_match: bool = True) -> str:
        """The bound on the time, as it is written."""
        if of_match and self._tree.window_us is not None:
            return f"within('{write_length(Length(self._tree.window_us))}')"
        assert self._tree.gap_us is not None
        return f"within('{write_length(Length(self._tree.gap_us))}', between='events')"

    def _conjuncts(self, step: Step, before: tuple[Step, ...]) -> list[_Conjunct]:
        if step.condition is None:
            return []
        names = Names(tuple(dict.fromkeys((*_taking(before), step.name))), own=step.name)
        scalar, _ = names.read(step.condition, self._table.schema, "the condition")
        return [self._conjunct(tree, step.condition, scalar) for tree in conjuncts(scalar.tree)]

    def _conjunct(self, tree: exp.Expression, text: str, whole: Scalar) -> _Conjunct:
        def written(node: exp.Expr) -> str:
            span = span_of(node, whole.span)
            return " ".join(text[span.start : span.end].split())

        return _Conjunct(written(tree), tree, tuple(dict.fromkeys(map(written, read_parts(tree)))))

    def _at(self, match: dict[str, Any]) -> Any:
        """The time of the last event."""
        return self._times([_rows(match)[-1]])[0]

    # --- the result -----------------------------------------------------------------------------------------

    def _times(self, rows: Sequence[int]) -> list[Any]:
        return list(self._times_of_all.take(pa.array(rows, pa.int64())).to_pylist())

    def _missing(self, code: int) -> int:
        witness = self._witnesses[code]
        return 0 if witness.matched else self._beginnings[witness.reached].missing

    def _result(self, codes: list[int], failures: dict[int, Failure], n_detailed: int) -> Diagnosis:
        witnesses = [self._witnesses[code] for code in codes]
        at = pa.array([self._first[code] for code in codes], pa.int64())
        partitions = {name: self._table.column(name).take(at) for name in self._partition}
        kind = self._table.schema.field(self._time).type
        details = {
            "matched": pa.array([witness.matched for witness in witnesses], pa.bool_()),
            "length": pa.array([len(witness.rows) for witness in witnesses], pa.int64()),
            "missing": pa.array([self._missing(code) for code in codes], pa.int64()),
            "events": taken_lists([witness.rows for witness in witnesses], self._times_of_all),
            "symbols": pa.array([witness.steps for witness in witnesses], pa.list_(pa.string())),
        }
        details |= failure_columns([failures.get(code) for code in codes], kind)
        details["searched"] = pa.array([True] * len(codes), pa.bool_())
        return Diagnosis(pa.table(partitions), pa.table(details), n_detailed)


def _taking(steps: tuple[Step, ...]) -> list[str]:
    """The names of the steps that take events."""
    return list(dict.fromkeys(step.name for step in walk_steps(steps) if not step.link.is_negative))


def _rows(match: dict[str, Any]) -> list[int]:
    """The rows of its events, ascending."""
    return sorted(row for key, value in match.items() if key.startswith("rows ") for row in value or ())


def _written(reads: Sequence[str], match: dict[str, Any]) -> str | None:
    return ", ".join(f"{text} = {shown(match[f'value {k}'])}" for k, text in enumerate(reads)) or None


def _row_numbers(events: pa.ChunkedArray) -> pa.ListArray:
    """Arrays of events as arrays of their rows."""
    lists = _joined(events)
    return pa.ListArray.from_arrays(lists.offsets, lists.values.field(_ROW), mask=lists.is_null())


def _joined(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
