"""What MATCH_RECOGNIZE asks of a stream: what it cannot answer, and what it must keep for the next rows."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from eventide.errors import QueryError
from eventide.expressions.navigation.leaves import AggregateLeaf, LabelLeaf, Leaf, NumberLeaf, ValueLeaf
from eventide.families.rows.program import END, START
from eventide.families.rows.spec import RowsSpec
from eventide.lang.durations import write_length
from eventide.lang.rows.tree import RowQuery
from eventide.lang.tree import Length


def reach(leaves: Iterable[Leaf]) -> tuple[int, int]:
    """How many rows before and behind a match PREV and NEXT may look at."""
    shifts = [leaf.slot.shift for leaf in leaves if isinstance(leaf, ValueLeaf | LabelLeaf)]
    return max(0, -min(shifts, default=0)), max(0, max(shifts, default=0))


def reads_number(leaves: Iterable[Leaf]) -> bool:
    """Whether MATCH_NUMBER() is read."""
    return any(isinstance(leaf, NumberLeaf) or _counts_in(leaf) for leaf in leaves)


def _counts_in(leaf: Leaf) -> bool:
    """Whether an aggregate reads it: there it is the column "number"."""
    arguments = leaf.arguments if isinstance(leaf, AggregateLeaf) else ()
    return any(column.name == "number" for argument in arguments for column in argument.find_all(exp.Column))


def problems(spec: RowsSpec) -> list[tuple[str, str]]:
    """What no stream could answer, and what would make it possible."""
    found = []
    if not spec.is_timed and spec.program.is_endless:
        message = "without WITHIN a match may become longer for ever, so every row stays"
        hint = (
            "add WITHIN behind the pattern, such as WITHIN INTERVAL '1' HOUR, or bound what repeats, B{1,100}; "
            "or give state_ttl='1 day': then a gap that long ends a partition, and no match is longer"
        )
        found.append((message, hint))
    if spec.ttl_us is None and any(op == END for op, _, _ in spec.program.instructions):
        hint = "leave out $, or give state_ttl='1 day': then a gap that long ends a partition"
        found.append(("$ waits for the end of a partition, and a stream has none", hint))
    return found


def check_stream(query: RowQuery, spec: RowsSpec) -> None:
    """An error about the first of the problems."""
    place = query.pattern.span
    for message, hint in problems(spec):
        raise QueryError(f"a stream cannot run this: {message}", query.text, place.start, place.end, hint=hint)


def kept_lines(spec: RowsSpec) -> list[str]:
    """What a stream keeps, in words."""
    lines = []
    if spec.is_timed:
        lines.append(f"keeps rows of the last {write_length(Length(spec.span_us))} at which a match may have begun")
    else:
        lines.append("keeps rows at which a match may have begun: at most as many per partition as a match has rows")
    if spec.n_kept:
        rows = "the last row" if spec.n_kept == 1 else f"the last {spec.n_kept} rows"
        causes = {
            "PREV reads them": spec.back > 0,
            "MATCH_NUMBER() keeps counting": spec.shows_number,
            "^ must know whether the partition has begun": any(op == START for op, _, _ in spec.program.instructions),
        }
        cause = ", ".join(text for text, is_so in causes.items() if is_so)
        until = "for ever; state_ttl bounds it" if spec.ttl_us is None else "until state_ttl ends the partition"
        lines.append(f"keeps {rows} of every partition, {until}: {cause}")
    if spec.ahead:
        lines.append(f"a match waits for {spec.ahead} more rows of its partition, which NEXT reads")
    return lines
