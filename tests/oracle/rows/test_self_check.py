"""The oracle against a structurally different reading of preferment.

All parses of a pattern over a span of rows, each with the list of decisions it makes: which branch, which order of
PERMUTE, one more iteration or not. No condition is looked at before the parse is whole. The preferred match is the
one whose list of decisions is least, a preferred decision being the smaller number.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.budget import budgeted
from tests.oracle.rows.matches import Query, matches
from tests.oracle.rows.pattern import (
    Anchor,
    Choice,
    Concat,
    Excluded,
    Label,
    Pattern,
    Permute,
    Quantified,
    labels,
)

BOUNDS = st.sampled_from([(0, 1), (0, None), (1, None), (2, None), (2, 2), (1, 2), (0, 2)])
PATTERNS = st.recursive(
    st.sampled_from([*(Label(name) for name in "ABAABBABCC"), Concat(()), Anchor(False), Anchor(True)]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Concat(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Choice(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Permute(tuple(parts))),
        inner.map(Excluded),
        inner.map(lambda part: Choice((Concat(()), part))),
        st.builds(lambda part, bounds, reluctant: Quantified(part, *bounds, reluctant), inner, BOUNDS, st.booleans()),
    ),
    max_leaves=5,
)

# The condition of a label in SQL, and its meaning: x of all rows, the current row, the labels up to it.
CONDITIONS = {
    "x > 0": lambda x, i, word: x[i] > 0,
    "PREV(x) IS NULL OR x >= PREV(x)": lambda x, i, word: i == 0 or x[i] >= x[i - 1],
    "x < NEXT(x) OR NEXT(x) IS NULL": lambda x, i, word: i + 1 == len(x) or x[i] < x[i + 1],
    "x = FIRST(x)": lambda x, i, word: x[i] == x[i - len(word) + 1],
    "sum(x) <= 3": lambda x, i, word: sum(x[i - len(word) + 1 : i + 1]) <= 3,
    "count({0}.*) % 2 = 1": lambda x, i, word: word.count(word[-1]) % 2 == 1,
    "count({0}.*) = 1 OR LAST({0}.x, 1) <> x": lambda x, i, word: differs_from_previous(x, i, word),
    "count(*) = 1 OR LAST(CLASSIFIER(), 1) <> CLASSIFIER()": lambda x, i, word: word[-2:-1] != word[-1:],
    "max(CLASSIFIER()) = CLASSIFIER()": lambda x, i, word: max(word) == word[-1],
}


def differs_from_previous(x: list[int], i: int, word: tuple[str, ...]) -> bool:
    """Whether the row before with the same label, if any, has another x."""
    before = [x[i - back] for back in range(1, len(word)) if word[-1 - back] == word[-1]]
    return not before or before[0] != x[i]


@lru_cache(maxsize=20_000)
def parses(pattern: Pattern, first: int, end: int, n_rows: int, excluded: bool = False) -> tuple:
    """Every way to match exactly the rows from `first` to before `end`: labels and decisions."""

    def inner(part: Pattern, i: int, j: int) -> tuple:
        return parses(part, i, j, n_rows, excluded)

    match pattern:
        case Label(name):
            return ((((name, excluded),), ()),) if end == first + 1 else ()
        case Anchor(at_end):
            return (((), ()),) if first == end == (n_rows if at_end else 0) else ()
        case Excluded(part):
            return parses(part, first, end, n_rows, True)
        case Concat(()):
            return (((), ()),) if first == end else ()
        case Concat((head, *rest)):
            return tuple(
                (left + right, decided + later)
                for middle in range(first, end + 1)
                for left, decided in inner(head, first, middle)
                for right, later in inner(Concat(tuple(rest)), middle, end)
            )
        case Choice(parts):
            return numbered([inner(part, first, end) for part in parts])
        case Permute(parts):
            return numbered([inner(Concat(order), first, end) for order in permutations(parts)])
        case Quantified():
            return iterations(pattern, 0, first, end, n_rows, excluded)


def numbered(alternatives: list[tuple]) -> tuple:
    return tuple((word, (i, *decided)) for i, found in enumerate(alternatives) for word, decided in found)


@lru_cache(maxsize=20_000)
def iterations(loop: Quantified, n_done: int, first: int, end: int, n_rows: int, excluded: bool) -> tuple:
    """What a loop may still match after `n_done` iterations."""
    is_free = n_done >= loop.minimum
    is_full = n_done == loop.maximum
    go, leave = (1, 0) if loop.reluctant else (0, 1)
    found = [((), () if is_full else (leave,))] if is_free and first == end else []
    for middle in range(first, end + 1):
        for word, decided in () if is_full else parses(loop.part, first, middle, n_rows, excluded):
            went = (go, *decided) if is_free else decided
            if is_free and middle == first:
                found += [(word, went)] if first == end else []
            else:
                later = iterations(loop, n_done + 1, middle, end, n_rows, excluded)
                found += [(word + more, went + decisions) for more, decisions in later]
    return tuple(found)


def preferred(pattern: Pattern, conditions: dict[str, str], x: list[int], start: int) -> tuple | None:
    """Of all parses from a row on that satisfy every condition, the labels of the one with the least decisions."""
    satisfied = []
    for end in range(start, len(x) + 1):
        for word, decided in parses(pattern, start, end, len(x)):
            names = tuple(name for name, _ in word)
            if all(
                CONDITIONS[conditions[name]](x, start + i, names[: i + 1])
                for i, name in enumerate(names)
                if name in conditions
            ):
                satisfied.append((decided, word))
    return min(satisfied)[1] if satisfied else None


def n_parses(pattern: Pattern, n_rows: int) -> int:
    return sum(len(parses(pattern, 0, end, n_rows)) for end in range(n_rows + 1))


@budgeted()
@given(
    PATTERNS.filter(labels),
    st.dictionaries(st.sampled_from("ABC"), st.sampled_from(sorted(CONDITIONS)), min_size=1, max_size=2),
    st.lists(st.integers(0, 2), min_size=3, max_size=4),
    st.sampled_from(["past last row", "to next row"]),
)
def test_every_match_is_the_one_with_the_least_decisions(pattern, conditions, x, skip):
    assume(n_parses(pattern, len(x)) < 20_000)
    conditions = {label: text for label, text in conditions.items() if label in labels(pattern)}
    expected, start = [], 0
    while start < len(x):
        word = preferred(pattern, conditions, x, start)
        if word is not None:
            expected.append((start, word))
        start += len(word) if word and skip == "past last row" else 1
    query = Query(pattern, {label: text.format(label) for label, text in conditions.items()}, skip=skip)
    found = matches(query, [{"x": value} for value in x])
    assert [(match.start, match.steps) for match in found] == expected
    assert [match.number for match in found] == list(range(1, len(found) + 1))
