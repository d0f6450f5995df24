"""Skip-till-next: partial matches that grow by the earliest event that fits, all words of a pattern at once.

Words with the same beginning share it. Where a partial match may go on in several ways, the earliest event of all of
them counts, so the ways are put together, with NULL for the events that a way does not bind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from eventide.lang.tree import Pattern, Span
from eventide.plan.relational.absences import absent, linked_symbols, negated_words, running
from eventide.plan.relational.algebra import Earliest, Extend, Filter, Project, Range, Relation, Union
from eventide.plan.relational.matches import Gap, Matched, Matches, Var, Vars, names_in
from eventide.plan.relational.words import Element, NotMappedError, Take, Word


@dataclass(frozen=True)
class _Way:
    """A partial match with one more element: before the earliest ones are chosen."""

    element: Element
    matched: Matched
    texts: tuple[str, ...]  # what was tested


def chains(matches: Matches, words: Sequence[Word]) -> list[tuple[Word, Matched]]:
    """Each word with its matches."""
    found: list[tuple[Word, Matched]] = []
    for element, those in _by_element(words, 0).items():
        gaps = _gaps(those, 0)
        start = _element(matches, element)
        leading = tuple(Gap(pattern, None, start.firsts) for pattern in gaps)
        _grow(matches, replace(start, gaps=(*start.gaps, *leading)), those, 1, found)
    return found


def _by_element(words: Sequence[Word], depth: int) -> dict[Element, list[Word]]:
    groups: dict[Element, list[Word]] = {}
    for word in words:
        if len(word.elements) > depth:
            groups.setdefault(word.elements[depth], []).append(word)
    return groups


def _gaps(words: list[Word], depth: int) -> tuple[Pattern, ...]:
    gaps = {word.gaps[depth] for word in words}
    if len(gaps) > 1:
        raise NotMappedError("a pattern that has several ways to one match", _span(words[0], depth))
    return gaps.pop()


def _span(word: Word, depth: int) -> Span:
    return word.elements[min(depth, len(word.elements) - 1)].span


def _grow(matches: Matches, matched: Matched, words: list[Word], depth: int, found: list[tuple[Word, Matched]]) -> None:
    for word in words:
        if len(word.elements) == depth:
            trailing = tuple(Gap(pattern, matched.lasts, None) for pattern in word.gaps[-1])
            found.append((word, replace(matched, gaps=(*matched.gaps, *trailing))))
    groups = _by_element(words, depth)
    ways = [_extended(matches, matched, element, _gaps(those, depth)) for element, those in groups.items()]
    for way, those in zip(_earliest(matches, matched, ways), groups.values(), strict=True):
        _grow(matches, way, those, depth + 1, found)


def _extended(matches: Matches, matched: Matched, element: Element, gaps: Sequence[Pattern]) -> _Way:
    """Everything that can extend a partial match by an element."""
    new = _element(matches, element)
    rank, place, width = matches.steps.rank, matches.steps.place, matches.window.width
    whole = Matched(new.relation, (*matched.vars, *new.vars), matched.firsts, new.lasts)
    between = [Gap(pattern, matched.lasts, new.firsts) for pattern in gaps]
    texts = [f"{matches.last(matched.lasts, rank)} < {matches.first(new.firsts, rank)}"]
    if width is not None:
        texts.append(f"{matches.last(new.lasts, place)} - {matches.first(matched.firsts, place)} < {width}")
    texts += [condition.text for condition in matches.adjacent(matched.lasts, new.firsts)]
    mine = set(new.vars)
    texts += [test.text for test in matches.tests(whole.vars) if test.vars & mine and test.vars - mine]
    right, waiting = new.relation, []
    for gap in (*matched.gaps, *between):
        words = negated_words(matches, gap.pattern)
        linked = {symbol for word in words for symbol in linked_symbols(matches, word, _every(matches))}
        if gap in between and not linked and len(new.firsts) == 1:
            for word in words:
                made = running(matches, right, gap, word, whole)
                assert made is not None
                right, condition = made
                texts.append(condition.text)
        else:
            waiting.append((gap, linked))
    range_ = _range(matches, matched, new)
    relation = matches.join(matched.relation, right, texts, range_)
    bound = {var.symbol for var in whole.vars}
    left = [*new.gaps]
    for gap, linked in waiting:
        if gap.after is None or gap.before is None or not linked <= bound:
            left.append(gap)
            continue
        for word in negated_words(matches, gap.pattern):
            without = absent(matches, relation, gap, word, whole)
            texts += without.conditions
            relation = without
    return _Way(element, replace(whole, relation=relation, gaps=tuple(left)), tuple(texts))


def _every(matches: Matches) -> list[Var]:
    """All symbols that a match may bind, as events."""
    return [Var(0, name) for name, symbol in matches.plan.symbols.items() if not symbol.negated]


def _range(matches: Matches, matched: Matched, new: Matched) -> Range | None:
    width = matches.window.width
    if width is None or len(matched.lasts) > 1 or len(new.firsts) > 1:
        return None
    return Range(matches.place(matched.lasts[0]), matches.place(new.firsts[0]), width, 1)


def _element(matches: Matches, element: Element) -> Matched:
    """The events of one step, or the pairs of an AND, whose sides follow the strategy by themselves."""
    if isinstance(element, Take):
        var, relation = matches.events(element.symbol)
        return Matched(relation, (var,), (var,), (var,))
    sides = [dict(chains(matches, words))[word] for word, words in zip(element.sides, element.choices, strict=True)]
    made = sides[0]
    for side in sides[1:]:
        made = _paired(matches, made, side)
    return made


def _paired(matches: Matches, left: Matched, right: Matched) -> Matched:
    firsts, lasts = (*left.firsts, *right.firsts), (*left.lasts, *right.lasts)
    place, width = matches.steps.place, matches.window.width
    texts = []
    if width is not None:
        texts.append(f"{matches.last(right.lasts, place)} - {matches.first(left.firsts, place)} < {width}")
        texts.append(f"{matches.last(left.lasts, place)} - {matches.first(right.firsts, place)} < {width}")
    mine = set(right.vars)
    tests = matches.tests((*left.vars, *right.vars))
    texts += [test.text for test in tests if test.vars & mine and test.vars - mine]
    range_ = None
    if width is not None:
        range_ = Range(matches.place(left.firsts[0]), matches.place(right.firsts[0]), width, 0)
    relation = matches.join(left.relation, right.relation, texts, range_)
    return Matched(relation, (*left.vars, *right.vars), firsts, lasts, (*left.gaps, *right.gaps))


def _earliest(matches: Matches, before: Matched, ways: list[_Way]) -> list[Matched]:
    """Of each partial match the earliest events of all its ways."""
    if not ways:
        return []
    rank, mine = matches.steps.rank, set(before.relation.columns)
    read = names_in(text for way in ways for text in way.texts)
    by = (*matches.steps.keys, *sorted(name for name in read & mine if name not in matches.steps.keys))
    name = f"n{matches.number()}"
    relations = [Extend(way.matched.relation, ((f"{name}_n", matches.first(_new(before, way), rank)),)) for way in ways]
    if len(ways) == 1:
        return [replace(ways[0].matched, relation=Earliest(relations[0], by, f"{name}_n"))]
    columns = tuple(dict.fromkeys(column for relation in relations for column in relation.columns))
    padded: list[Relation] = []
    for i, relation in enumerate(relations):
        has = set(relation.columns)
        named = tuple((column, column if column in has else "NULL") for column in columns)
        padded.append(Project(relation, (*named, (f"{name}_w", str(i)))))
    together = Earliest(Union(tuple(padded)), by, f"{name}_n")
    return [replace(way.matched, relation=Filter(together, (f"{name}_w = {i}",))) for i, way in enumerate(ways)]


def _new(before: Matched, way: _Way) -> Vars:
    """The first events of the element that was added."""
    # Every event of an AND may be its first one: the least time of all of them is that of the first.
    known = set(before.vars)
    return tuple(var for var in way.matched.vars if var not in known)
