"""What `explain` says about aggregates over trends: template, granularity of each state and why, and the cost."""

from __future__ import annotations

from typing import Any

from eventide.families.trends.lower import split_adjacent
from eventide.families.trends.slices import slice_tables
from eventide.families.trends.spec import TrendSpec
from eventide.lang.durations import write_length
from eventide.lang.tree import Length
from eventide.plan.explain import STREAM, Explanation, Sections, per_event, written
from eventide.plan.logical import Match
from eventide.plan.physical import Physical, Planned

_WHY = {
    "any": "per type: every later event that fits extends it, so one record serves all partial trends that end here",
    "next": "single: its chains wait for the same next event, so they are one count",
    "contiguous": "single: the next event extends its chains or ends them, so they are one count",
}


class TrendsExplanation(Explanation):
    """Slices of time become matrices, where a pattern allows it."""

    def sections(self, planned: Planned, physical: Physical, learned: Any) -> Sections:
        plan, spec = planned.node, physical.spec
        assert isinstance(plan, Match)
        assert isinstance(spec, TrendSpec)
        tests = [written(plan, test.source.span) for test in split_adjacent(plan).tests]
        return {"Program": trend_lines(spec, tests), "Operator": trend_operator_lines(plan, spec, physical)}

    def shared_out(self, spec: TrendSpec, engine: str, keys: str) -> str | None:
        """By time where slices of it can be put together, by group elsewhere."""
        tables = slice_tables(spec)
        why_not = tables if isinstance(tables, str) else None
        if engine == "local":
            if spec.tests or spec.count_windows is not None or spec.ties_follow:
                return "windows of partitions are shared out over all cores"
            return "time is shared out over all cores, whatever the partitions"
        if engine == STREAM:
            return None if keys else "one bucket, because there is no group: GROUP BY a column to share out its groups"
        if not keys:
            if why_not is not None:
                return f"one task, because there is no group and no slices of time: {why_not}"
            return "slices of time in parallel tasks, then multiplied; few events: one task"
        by_key = f"hash of {keys} to buckets, blocks of events exchanged once, one operator per bucket"
        if why_not is not None:
            return f"{by_key}; no slices of time: {why_not}"
        return f"{by_key}; slices of time where a sample shows a hot key"

    def kept_on_stream(self, spec: TrendSpec) -> list[str]:
        """Events of open windows, or what stands for them."""
        if spec.slide is None:
            return ["keeps the events that a window may still need"]
        length = write_length(Length(spec.slide.length_us))
        lines = [f"keeps the relevant events of the windows that are open, {length} each"]
        if not isinstance(slice_tables(spec), str):
            lines.append("keeps a matrix for each group and pane in place of those that the watermark has passed")
        return lines


def trend_lines(spec: TrendSpec, tests: list[str]) -> list[str]:
    """The automata, then the granularity of the positions, then the tests."""
    lines = spec.program.dump()
    between = {(left, right): bits for left, right, bits in spec.tests}
    absences = {absence.negation: 1 << absence.test for absence in spec.absences}
    texts = [*tests, *(f"no match of not {negation} in between" for negation in absences)]
    for negation in absences:
        lines.append(f"not {negation}  found before the trends: at each event, how late a match that has ended began")
    for number in main_positions(spec):
        position = spec.program.positions[number]
        assert position.symbol is not None
        name = spec.program.symbols[position.symbol]
        bits = 0
        for edge in position.edges:
            bits |= between.get((position.symbol, spec.program.positions[edge.target].symbol or 0), 0)
            bits |= sum(absences.get(n, 0) for n in set(edge.negations))
        if bits:
            because = ", ".join(text for k, text in enumerate(texts) if bits >> k & 1)
            lines.append(f"state {number} {name}  per event: {because} reads the last event")
        else:
            lines.append(f"state {number} {name}  {_WHY[spec.strategy]}")
    return lines


def main_positions(spec: TrendSpec) -> list[int]:
    """The positions of the pattern itself, without those of its negations."""
    found: dict[int, None] = {}
    waiting = [edge.target for side in spec.sides for branch in side for edge in spec.program.branches[branch].starts]
    while waiting:
        number = waiting.pop(0)
        if number not in found:
            found[number] = None
            waiting += (edge.target for edge in spec.program.positions[number].edges)
    return sorted(found)


def trend_operator_lines(plan: Match, spec: TrendSpec, physical: Physical) -> list[str]:
    """What runs, what it keeps, and what it costs."""
    n_positions = len(main_positions(spec))
    lines = [
        f"trend aggregation, {n_positions} positions, {len(spec.measures)} aggregates; no trend is built",
        per_event(physical),
        f"numbers     {_NUMBERS[spec.counts]}",
        f"windows     {_windows(spec)}",
        f"time        {_time(spec)}",
        f"memory      on bounded input {_memory(spec)}",
    ]
    groups = plan.query.group_by or spec.user_groups
    if len(spec.layout.partition) > len(groups):
        lines.append("results     partitions of one group are added up")
    if not physical.intake.keep_all:
        lines.append("filter      events that no step wants are left out before anything else")
    return lines


_NUMBERS = {
    "exact": "exact up to 38 digits; past that an error, on a stream NULL",
    "double": "doubles, approximate; past their range an error, on a stream NULL",
    "log2": "logarithms of counts, never past their range",
}


def _windows(spec: TrendSpec) -> str:
    if spec.count_windows is not None:
        return f"of {spec.count_windows.length:,} events, each walked on its own"
    if spec.slide is None:
        return "none: one result a group" + ("" if spec.tests or spec.ties_follow else ", time slices in parallel")
    n = spec.slide.n_overlapping
    if n == 1:
        return "one after the other"
    if not spec.tests and not spec.absences and not spec.ties_follow:
        return f"{n} overlap; panes walked once and multiplied"
    return f"{n} overlap; " + ("walked at once, a lane each" if _is_indexed(spec) else "each walked on its own")


def _is_indexed(spec: TrendSpec) -> bool:
    """Whether one comparison decides every step with a test."""
    if spec.looks_to_edges or any(comparison is None for comparison in spec.comparisons):
        return False
    return all(bits.bit_count() == 1 for _, _, bits in spec.tests)


def _time(spec: TrendSpec) -> str:
    if not spec.tests:
        return "linear in the events"
    if spec.strategy == "contiguous":
        return "linear in the events: only the events of the time before are held"
    return "events of a window times the events held in it, n log n where one comparison decides"


def _memory(spec: TrendSpec) -> str:
    if spec.slide is None:
        return "all relevant events"
    return "the relevant events of the windows that a block touches"
