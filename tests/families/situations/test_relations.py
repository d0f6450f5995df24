"""Allen's relations as bits and names: one of thirteen for any two intervals, and its inverse the other way round."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eventide.lang.relations import RELATIONS, inverse, mask_of, names_of
from eventide.runtime.kernels import relations as kernel
from tests.budget import budgeted
from tests.oracle.situations import NAMES, holds


def intervals() -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(-3, 6), st.integers(1, 6)).map(lambda drawn: (drawn[0], sum(drawn)))


def test_names_and_bits_agree() -> None:
    assert len(RELATIONS) == 13 and set(RELATIONS) == set(NAMES)
    for bit, name in enumerate(RELATIONS):
        assert getattr(kernel, name.replace("-", "_").upper()) == 1 << bit == mask_of([name])
        assert names_of(1 << bit) == (name,)


@budgeted()
@given(st.sets(st.sampled_from(RELATIONS)))
def test_a_mask_holds_the_names_it_was_made_of(names: set[str]) -> None:
    assert set(names_of(mask_of(sorted(names)))) == names
    assert mask_of([*names, *names]) == mask_of(sorted(names))
    assert inverse(inverse(mask_of(sorted(names)))) == mask_of(sorted(names))


@budgeted()
@given(intervals(), intervals())
def test_the_relation_is_the_one_that_is_defined_and_its_inverse_holds_the_other_way(
    a: tuple[int, int], b: tuple[int, int]
) -> None:
    (name,) = [name for name in NAMES if holds(name, *a, *b)]
    found = kernel.relation(*a, *b)
    assert names_of(found) == (name,)
    assert kernel.relation(*b, *a) == inverse(found)


def test_all_thirteen_occur() -> None:
    places = [(start, end) for start in range(4) for end in range(start + 1, 5)]
    found = {kernel.relation(*a, *b) for a in places for b in places}
    assert found == {1 << bit for bit in range(13)}
