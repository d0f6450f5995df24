"""The beginnings of a builder pattern: the pattern itself, with the steps of a cut.

Behind a partial match the next step is tried with more and more of what is asked of it: any later event, the conjuncts
of its condition one by one, the time, how it follows, what must not occur before it. The events that the last try took
are those shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.families.builder.conditions import Names
from eventide.families.builder.cuts import Cut, Needed, cuts_of
from eventide.families.builder.lower import bounded, prepare_detection
from eventide.families.builder.spec import TIMED_OUT
from eventide.families.builder.syntax import EventPattern, Link, Step, walk_steps
from eventide.lang.durations import write_length
from eventide.lang.tree import Length
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
    by_time,
    conditions_of,
    shown,
    too_late,
)
from eventide.plan.ending import with_end
from eventide.plan.options import Options
from eventide.plan.scope import is_orderable

_US = "eventide_us"

Found = dict[int, dict[str, Any]]  # partition -> its first match


class StepBeginnings(Beginnings):
    """Those of a pattern over events of a schema; ranks number the cuts."""

    def __init__(self, tree: EventPattern, options: Options, schema: pa.Schema) -> None:
        self.physical = prepare_detection(tree, schema, options, engine="local")
        self._tree = bounded(tree, options)
        known = {name.lower(): name for name in schema.names}
        self.partition = [known[name.lower()] for name in options.partition_by]
        ts = self.physical.intake.ts_column or None
        self.time = known[(ts or str(options.sequence)).lower()]
        # As `ev.detect` orders them: by time, sequence, then by every column.
        plain = [field.name for field in schema if is_orderable(field.type)]
        sequence = [] if options.sequence is None else [known[options.sequence.lower()]]
        self._ties = list(dict.fromkeys([*sequence, *plain]))
        self._options = replace(options, ts=ts, sequence=ROW, skip="only_first", skip_to=None, state_ttl=None)
        self._cuts = cuts_of(self._tree.steps)
        self.n_ranks = len(self._cuts)
        self.certain = [i for i, cut in enumerate(self._cuts) if cut.certain]

    def arrange(self, table: pa.Table, in_us: InMicroseconds) -> Arranged:
        arranged = by_time(table, self.partition, self.time, self._ties)
        if self._tree.is_bounded:
            self._times_us = in_us(table.column(self.time))[arranged.order]
        return arranged

    # --- how far it goes

    def find(self, rank: int | None, codes: Sequence[int], seen: Evidence) -> dict[int, Witness]:
        steps = self._tree.steps if rank is None else self._cuts[rank].steps
        if rank is not None and steps == self._tree.steps:
            return {}  # that the whole pattern has no match is known
        found = self._run(replace(self._tree, steps=steps), codes, seen, to_end=rank is None)
        return {code: Witness(rank or 0, *_events(match, steps), rank is None) for code, match in found.items()}

    def _run(
        self,
        tree: EventPattern,
        codes: Sequence[int],
        seen: Evidence,
        values: Sequence[str] = (),
        *,
        to_end: bool = False,
    ) -> Found:
        """The first match of every partition that has one; `values` are measured, too."""
        if not codes:
            return {}
        names = _taking(tree.steps)
        select = [(f"rows {i}", f"array_agg({_quoted(name)}.{ROW})") for i, name in enumerate(names)]
        select += [(f"value {k}", text) for k, text in enumerate(values)]
        # Events come faster than what is measured of them.
        options = replace(self._options, select=tuple(select) if values else (), shown=(ROW,))
        table = seen.of(codes)
        if self._tree.is_bounded:
            table = table.append_column(_US, pa.array(self._times_us[table.column(ROW).to_numpy()]))
        physical = prepare_detection(tree, table.schema, options, engine="local", whole=to_end)
        if to_end and tree.is_bounded:
            physical = with_end(physical, int(self._times_us.max()))
        matches = seen.run(physical, table)
        matches = matches.filter(pc.invert(matches.column(TIMED_OUT)))
        if not values:
            rows = [_row_numbers(matches.column(name)) for name in names]
            matches = pa.table({f"rows {i}": each for i, each in enumerate(rows)})
        return _first_of_each(matches, len(names), seen)

    def _try(self, steps: tuple[Step, ...], codes: Sequence[int], seen: Evidence, values: Sequence[str] = ()) -> Found:
        """As `_run`, but where no match is in time, one whose last event comes too late."""
        found = self._run(replace(self._tree, steps=steps), codes, seen, values)
        late = [code for code in codes if code not in found]
        if late and self._tree.is_bounded:
            untimed = self._run(EventPattern(steps), late, seen, values)
            astray = [code for code, match in untimed.items() if not self._is_in_time(_rows(match)[:-1])]
            timed = (*self._timed(steps[:-1]), steps[-1])
            found |= untimed | self._run(EventPattern(timed), astray, seen, values)
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

    # --- what failed

    def needed(self, witness: Witness, seen: Evidence) -> tuple[str, int]:
        cut = self._cuts[witness.rank]
        return cut.steps[-1].shown if cut.needed is None else cut.needed.step.name, cut.missing

    def failures(self, codes: Sequence[int], seen: Evidence) -> Iterator[tuple[int, Failure]]:
        groups: dict[int, list[int]] = {}
        for code in codes:
            groups.setdefault(seen.witnesses[code].rank, []).append(code)
        for rank, mine in groups.items():
            yield from self._tried(self._cuts[rank], mine, seen)

    def _tried(self, reached: Cut, codes: list[int], seen: Evidence) -> Iterator[tuple[int, Failure]]:
        """Why each partition comes no further."""
        needed = reached.needed
        if needed is None:
            yield from ((code, Failure(reached.steps[-1].shown, "strategy")) for code in codes)
        elif needed.step.link.is_negative:
            yield from self._present(self._with_absent(needed.step, reached.steps), needed.step, codes, seen)
        else:
            yield from self._narrowed(needed, self._with_absent(needed.step, reached.steps), codes, seen)

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

    def _present(
        self, before: tuple[Step, ...], step: Step, codes: list[int], seen: Evidence
    ) -> Iterator[tuple[int, Failure]]:
        """What must not occur behind the last step, and does; or may still do when the events end."""
        asked = self._conditions(step, before, seen)
        link = Link.NEXT if step.link is Link.NOT_NEXT else Link.FOLLOWED_BY_ANY
        steps = (*before, Step(link, step.name, step.condition))
        reads = tuple(dict.fromkeys(read for each in asked for read, _ in each.reads))
        found = self._run(replace(self._tree, steps=steps), codes, seen, reads)
        text = f"{step.link.value}({', '.join(repr(part) for part in (step.name, step.condition) if part)})"
        for code in codes:
            if code in found:
                values = _written(reads, found[code])
                _show(seen.witnesses[code], found[code], steps)
                yield code, Failure(step.name, "absence", text, values, _at(found[code], seen))
            elif step.link is Link.NOT_NEXT:
                yield code, Failure(step.name, "no event", None, "no event follows")
            else:
                hint = "ev.detect(..., close_at_end=True) counts all time as over"
                yield code, Failure(step.name, "window", self._within(), "the events end before that time", None, hint)

    def _narrowed(
        self, needed: Needed, before: tuple[Step, ...], codes: list[int], seen: Evidence
    ) -> Iterator[tuple[int, Failure]]:
        """Each partition with the first demand that no event meets."""
        step, name = needed.step, needed.step.name
        asked = self._conditions(step, before, seen)
        link = Link.FOLLOWED_BY_ANY if before else Link.BEGIN
        steps = (*before, Step(link, name, step.condition))
        left = codes
        last: Found = {}
        for k in range(len(asked) + 1):
            condition = " AND ".join(f"({each.text})" for each in asked[:k]) or None
            tried = (*before, Step(link, name, condition))
            found = self._try(tried, left, seen, [read for read, _ in asked[k].reads] if k < len(asked) else ())
            for code in left:
                if code not in found:
                    yield code, _unmet(name, asked[k - 1] if k else None, last.get(code), seen)
                else:
                    _show(seen.witnesses[code], found[code], steps)
            left, last = [code for code in left if code in found], found
        in_time = left
        if self._tree.is_bounded:
            in_time = [code for code in left if self._is_in_time(_rows(last[code]))]
        for code in left:
            if code not in in_time:
                yield code, self._too_late(name, last[code], seen)
        direct = (*before, Step(step.link if before else Link.BEGIN, name, step.condition))
        found = self._run(replace(self._tree, steps=direct), in_time, seen)
        for code in in_time:
            if code not in found:
                text = f"{step.link.value}('{name}')"
                yield code, Failure(name, "contiguity", text, None, _at(last[code], seen))
        left = [code for code in in_time if code in found]
        for absent in needed.nots:
            between = (*before, Step(Link.FOLLOWED_BY_ANY, absent.name, absent.condition))
            excluded = (*between, Step(Link.FOLLOWED_BY_ANY, name, step.condition))
            present = self._run(replace(self._tree, steps=excluded), left, seen)
            for code, match in present.items():
                (time,) = seen.times([_rows(match)[-2]])
                _show(seen.witnesses[code], match, excluded, n_failed=2)
                values = f"{absent.name} at {shown(time)}"
                yield code, Failure(name, "absence", f"not {absent.name}", values, _at(match, seen))
            left = [code for code in left if code not in present]
        yield from ((code, Failure(name, "strategy", event=_at(last[code], seen))) for code in left)

    def _too_late(self, name: str, match: dict[str, Any], seen: Evidence) -> Failure:
        rows = _rows(match)
        first_us, before_us, last_us = self._times_us[[rows[0], rows[-2], rows[-1]]].tolist()
        window = self._tree.window_us
        of_match = window is not None and last_us - first_us >= window
        since_us, after = (first_us, "the first event") if of_match else (before_us, "the event before")
        return too_late(name, self._within(of_match=of_match), last_us - since_us, after, _at(match, seen))

    def _within(self, *, of_match: bool = True) -> str:
        """The bound on the time, as it is written."""
        if of_match and self._tree.window_us is not None:
            return f"within('{write_length(Length(self._tree.window_us))}')"
        assert self._tree.gap_us is not None
        return f"within('{write_length(Length(self._tree.gap_us))}', between='events')"

    def _conditions(self, step: Step, before: tuple[Step, ...], seen: Evidence) -> list[Condition]:
        if step.condition is None:
            return []
        names = Names(tuple(dict.fromkeys((*_taking(before), step.name))), own=step.name)
        scalar, _ = names.read(step.condition, seen.table.schema, "the condition")
        return conditions_of(scalar, step.condition)


def _show(witness: Witness, match: dict[str, Any], steps: tuple[Step, ...], n_failed: int = 1) -> None:
    """What a condition was tried with is what was found: a match without its last events, which failed."""
    rows, names = _events(match, steps)
    witness.rows, witness.symbols = rows[:-n_failed], names[:-n_failed]


def _first_of_each(matches: pa.Table, n_steps: int, seen: Evidence) -> Found:
    """Of every partition the match that begins first."""
    first = np.full(matches.num_rows, seen.codes.size, dtype=np.int64)
    for i in range(n_steps):
        lists = _joined(matches.column(f"rows {i}"))
        np.minimum.at(first, pc.list_parent_indices(lists).to_numpy(), pc.list_flatten(lists).to_numpy())
    by_start = np.argsort(first, kind="stable")
    codes, chosen = np.unique(seen.codes[first[by_start]], return_index=True)
    taken = matches.take(pa.array(by_start[chosen])).to_pylist()
    return dict(zip(codes.tolist(), taken, strict=True))


def _unmet(name: str, condition: Condition | None, match: dict[str, Any] | None, seen: Evidence) -> Failure:
    if condition is None or match is None:
        return Failure(name, "no event", None, "no event follows")
    values = _written([read for read, _ in condition.reads], match)
    hint = seen.hint(compared_text(condition.tree))
    return Failure(name, "condition", condition.text, values, _at(match, seen), hint)


def _at(match: dict[str, Any], seen: Evidence) -> Any:
    """The time of the last event."""
    return seen.times([_rows(match)[-1]])[0]


def _events(match: dict[str, Any], steps: tuple[Step, ...]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    bound = sorted((row, name) for i, name in enumerate(_taking(steps)) for row in match[f"rows {i}"] or ())
    return tuple(row for row, _ in bound), tuple(name for _, name in bound)


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
    return pa.ListArray.from_arrays(lists.offsets, lists.values.field(ROW), mask=lists.is_null())


def _joined(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
