"""What MATCH_RECOGNIZE asks of a stream: what it cannot answer, and what it must keep for the next rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Missing:
    """What a stream misses: for `explain`, as an error, and what would help."""

    shown: str
    message: str
    hint: str


_BOUND = Missing(
    "nothing bounds how long a match may be",
    "a stream cannot run this: without WITHIN a match may become longer for ever, so every row stays",
    "add WITHIN behind the pattern, such as WITHIN INTERVAL '1' HOUR, or bound what repeats, "
    "B{1,100}; or give state_ttl='1 day': then a gap that long ends a partition, and no match is longer",
)
_END_OF_PARTITION = Missing(
    "$ waits for the end of a partition; state_ttl would end it",
    "a stream cannot run this: $ waits for the end of a partition, and a stream has none",
    "leave out $, or give state_ttl='1 day': then a gap that long ends a partition",
)


def missing(spec: RowsSpec) -> list[Missing]:
    """All that keeps a stream from running it."""
    waits = spec.ttl_us is None and any(op == END for op, _, _ in spec.program.instructions)
    endless = not spec.is_timed and spec.program.is_endless
    return [what for what, is_so in ((_END_OF_PARTITION, waits), (_BOUND, endless)) if is_so]


def check_stream(query: RowQuery, spec: RowsSpec) -> None:
    """Refuse what no stream could answer, with what would make it possible."""
    for what in reversed(missing(spec)):
        place = query.pattern.span
        raise QueryError(what.message, query.text, place.start, place.end, hint=what.hint)


def memory_lines(spec: RowsSpec, refusal: str | None = None) -> list[str]:
    """What a stream keeps, in words, or all that keeps it from running; `refusal`: what it misses besides the spec."""
    problems = [*([refusal] if refusal else []), *(what.shown for what in missing(spec))]
    if problems:
        return [f"a stream cannot run it: {problem}" for problem in problems]
    lines = []
    if spec.is_timed:
        lines.append(f"rows of the last {write_length(Length(spec.span_us))} at which a match may have begun")
    else:
        lines.append("rows at which a match may have begun: at most as many per partition as a match has rows")
    if spec.n_kept:
        rows = "the last row" if spec.n_kept == 1 else f"the last {spec.n_kept} rows"
        causes = {
            "PREV reads them": spec.back > 0,
            "MATCH_NUMBER() keeps counting": spec.shows_number,
            "^ must know whether the partition has begun": any(op == START for op, _, _ in spec.program.instructions),
        }
        cause = ", ".join(text for text, is_so in causes.items() if is_so)
        until = "for ever; state_ttl bounds it" if spec.ttl_us is None else "until state_ttl ends the partition"
        lines.append(f"{rows} of every partition, {until}: {cause}")
    if spec.ahead:
        lines.append(f"a match waits for {spec.ahead} more rows of its partition, which NEXT reads")
    return lines
