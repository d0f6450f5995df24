"""Conditions on adjacent events, as source text of the function that the trend kernels take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eventide.expressions.residue import HEADER, write_tests
from eventide.expressions.split import EventValue, Test
from eventide.families.trends.absences import Absence
from eventide.families.trends.spec import Comparison
from eventide.runtime.encode import Encoding

_TYPES = "from eventide.families.trends.kernel_types import RELATE\n\n\n"


def write_relations(
    tests: Sequence[Test], values: Sequence[EventValue], columns: Sequence[str], absences: Sequence[Absence] = ()
) -> tuple[str | None, tuple[Encoding, ...]]:
    """The source of `relate(tests, left, right, cols)`, None without tests, and the encodings of `cols`.

    Behind the encodings, `cols` has the ranks of the events and, by absence, how late a match of it began that ended
    before the event: none lies between two events unless it began after the first.
    """
    if not tests:
        return None, ()
    residue = write_tests(tests, values, columns)
    lines = ["@njit(RELATE, cache=True, nogil=True)\ndef relate(tests, left, right, cols):", "    passed = 0"]
    for k, test in enumerate(tests):
        rows = ", ".join("right" if slot.is_next else "left" for slot in test.slots)
        lines.append(f"    if tests & {1 << k} and {residue.names[k]}({rows}, cols):")
        lines.append(f"        passed |= {1 << k}")
    ranks = first_absence(residue.encodings)
    for i, absence in enumerate(absences):
        later = f"cols[0][{ranks}, left] >= cols[0][{ranks + 1 + i}, right]"
        lines += [f"    if tests & {1 << absence.test} and {later}:", f"        passed |= {1 << absence.test}"]
    source = HEADER + _TYPES + residue.source + "\n\n" + "\n".join([*lines, "    return passed"]) + "\n"
    return source, residue.encodings


def first_absence(encodings: Sequence[Encoding]) -> int:
    """The row of the ranks among the integers of `cols`."""
    return sum(encoding.kind != "double" for encoding in encodings)


_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}


def comparisons_of(
    tests: Sequence[Test], columns: Sequence[str], encodings: Sequence[Encoding], absences: Sequence[Absence] = ()
) -> tuple[Comparison | None, ...]:
    """Each test that is one comparison of a value of either event; None for any other. Those of absences follow."""
    n = len(encodings)
    found = [_comparison(test, columns, encodings) for test in tests]
    return (*found, *(Comparison("ge", n, n + 1 + i) for i in range(len(absences))))


def _comparison(test: Test, columns: Sequence[str], encodings: Sequence[Encoding]) -> Comparison | None:
    tree = test.tree
    if tree.op not in _TURNED or any(arg.op != "value" for arg in tree.args):
        return None
    slots = [arg.value[0] for arg in tree.args]
    numbers = [[e.column for e in encodings].index(columns[arg.value[1]]) for arg in tree.args]
    kinds = {(encodings[number].kind, encodings[number].scale) for number in numbers}
    if len(kinds) != 1 or slots[0] == slots[1] or kinds == {("boolean", 0)}:
        return None
    if test.slots[slots[0]].is_next:
        return Comparison(_TURNED[tree.op], numbers[1], numbers[0])
    return Comparison(tree.op, *numbers)


def tests_between(tests: Sequence[Test], numbers: Mapping[str, int]) -> tuple[tuple[int, int, int], ...]:
    """The bits of the tests that relate an event of one symbol to a next one of another."""
    bits: dict[tuple[int, int], int] = {}
    for k, test in enumerate(tests):
        (left,) = (numbers[slot.symbol] for slot in test.slots if not slot.is_next)
        (right,) = (numbers[slot.symbol] for slot in test.slots if slot.is_next)
        bits[(left, right)] = bits.get((left, right), 0) | 1 << k
    return tuple((left, right, each) for (left, right), each in bits.items())
