"""NOT: a running extreme over what is negated, in place of a join; where it is compared with other events, NOT EXISTS.

Per event the greatest beginning of a match of N that has ended before it says whether N is between it and an earlier
event, whichever that is. Rows of one time are on neither side, so the frame of the window function ends at 1 PRECEDING.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from eventide.lang.tree import Pattern
from eventide.plan.references import references
from eventide.plan.relational.algebra import Absent, Extend, Relation, Running
from eventide.plan.relational.matches import Condition, Gap, Matched, Matches, Var
from eventide.plan.relational.steps import has_next
from eventide.plan.relational.words import NotMappedError, Word, words_of


def linked_symbols(matches: Matches, word: Word, outside: Iterable[Var]) -> set[str]:
    """The symbols outside a negated word that some conjunct compares with symbols inside it."""
    inside, known = set(word.symbols), {var.symbol for var in outside}
    found: set[str] = set()
    for conjunct in matches.related:
        symbols = {str(reference.symbol) for reference in references(conjunct.tree)}
        if symbols & inside:
            found |= (symbols - inside) & known
    return found


def negated_words(matches: Matches, pattern: Pattern) -> tuple[Word, ...]:
    fixed = {str(r.symbol) for c in matches.related if has_next(c) for r in references(c.tree)}
    return words_of(pattern, negated=True, fixed=frozenset(fixed))


def _negated(matches: Matches, word: Word) -> tuple[Matched, str]:
    """The matches of a negated word, always skip-till-any, with the name of their columns."""
    found = matches.match_any(matches.skipping_till_any(), word)
    if found.gaps:
        pattern = found.gaps[0].pattern
        raise NotMappedError("a NOT at the edge of something that is negated itself", pattern.span)
    name, rank, place = f"n{matches.number()}", matches.steps.rank, matches.steps.place
    ends = (
        (f"{name}_f", matches.first(found.firsts, rank)),
        (f"{name}_l", matches.last(found.lasts, rank)),
        (f"{name}_ft", matches.first(found.firsts, place)),
        (f"{name}_lt", matches.last(found.lasts, place)),
    )
    return replace(found, relation=Extend(found.relation, ends)), name


def running(
    matches: Matches, relation: Relation, gap: Gap, word: Word, of: Matched
) -> tuple[Relation, Condition] | None:
    """The relation with an extreme over what is negated, and the condition that this says it is absent.

    `relation` has the events at one end of the gap, and `of` says what a match is. None where that is not enough.
    """
    rank, name = matches.steps.rank, f"n{matches.number()}"
    if gap.before is not None and len(gap.before) == 1 and gap.before[0].column(rank) in relation.columns:
        negated, made = _negated(matches, word)
        value = f"{made}_f" if gap.after is not None else f"{made}_ft"
        at, order, before = f"{made}_l", gap.before[0].column(rank), True
    elif gap.after is not None and len(gap.after) == 1 and gap.after[0].column(rank) in relation.columns:
        negated, made = _negated(matches, word)
        value = f"{made}_l" if gap.before is not None else f"{made}_lt"
        at, order, before = f"{made}_f", gap.after[0].column(rank), False
    else:
        return None
    other, keys = matches.beside(negated.relation)
    bound = _edge(matches, gap, of, name, before)
    text = f"{name} IS NULL" if bound is None else f"({name} IS NULL OR {bound})"
    ends = (gap.before if before else gap.after) or ()
    read = {var for var in of.vars if re.search(rf"\be{var.number}_", text)}
    matches.reasons.append(
        f"NOT {' '.join(word.symbols)}: a running {'maximum before' if before else 'minimum behind'} in place of a join"
    )
    return Running(relation, other, order, at, value, name, keys, before), Condition(frozenset((*read, *ends)), text)


def _edge(matches: Matches, gap: Gap, of: Matched, name: str, before: bool) -> str | None:
    """What says that the nearest match of something negated is outside a gap; None where there must be none."""
    rank, place, width = matches.steps.rank, matches.steps.place, matches.window.width
    if before:
        if gap.after is not None:
            return f"{name} <= {matches.last(gap.after, rank)}"
        if width is None:
            return None
        if matches.window.is_sliding:
            return f"{name} < window_start_us"
        return f"{name} <= {matches.last(of.lasts, place)} - {width}"
    if gap.before is not None:
        return f"{name} >= {matches.first(gap.before, rank)}"
    if width is None:
        return None
    if matches.window.is_sliding:
        return f"{name} >= window_end_us"
    return f"{name} >= {matches.first(of.firsts, place)} + {width}"


def absent(matches: Matches, relation: Relation, gap: Gap, word: Word, of: Matched) -> Absent:
    """The rows for which no match of something negated is in the gap, by asking for one."""
    negated, name = _negated(matches, word)
    other, keys = matches.beside(negated.relation)
    rank, place, width = matches.steps.rank, matches.steps.place, matches.window.width
    conditions = []
    if gap.after is not None:
        conditions.append(f"{name}_f > {matches.last(gap.after, rank)}")
    elif width is not None:
        edge = "window_start_us <= " if matches.window.is_sliding else f"{matches.last(of.lasts, place)} - {width} < "
        conditions.append(f"{edge}{name}_ft")
    if gap.before is not None:
        conditions.append(f"{name}_l < {matches.first(gap.before, rank)}")
    elif width is not None:
        edge = "window_end_us" if matches.window.is_sliding else f"{matches.first(of.firsts, place)} + {width}"
        conditions.append(f"{name}_lt < {edge}")
    mine = set(negated.vars)
    for test in matches.tests((*of.vars, *negated.vars)):
        if test.vars & mine and test.vars - mine:
            conditions.append(test.text)
    matches.reasons.append(f"NOT {' '.join(word.symbols)}: NOT EXISTS, since it is compared with other events")
    return Absent(relation, other, keys, tuple(dict.fromkeys(conditions)))
