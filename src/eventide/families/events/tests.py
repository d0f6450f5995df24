"""What relates the events of a match, as source text of the functions that the kernel takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eventide.expressions.residue import HEADER, choose, encode_values, library, values_read, write_test
from eventide.expressions.split import EventValue, Test
from eventide.families.events.closing import ClosingTest, ClosingWriter
from eventide.runtime.encode import Encoding

_TYPES = "from eventide.runtime.kernels.pattern_types import ADJACENT_HOLDS, BOUND_HOLDS, CLOSES\n\n\n"


def write_pattern_tests(
    tests: Sequence[Test],
    closing: Sequence[ClosingTest],
    values: Sequence[EventValue],
    columns: Sequence[str],
    numbers: Mapping[str, int],
) -> tuple[str | None, tuple[Encoding, ...]]:
    """The source of `bound_holds`, `adjacent_holds` and `closes`, None without tests, and the encodings of `cols`.

    `columns[i]` is the block column of value i, `numbers` the number of each symbol.
    """
    if not tests and not closing:
        return None, ()
    read = values_read([*(test.tree for test in tests), *(test.tree for test in closing)])
    read |= {a.value for test in closing for a in test.aggregates if a.value is not None}
    trees = [*(test.tree for test in tests), *(test.compared for test in closing)]
    encoded = encode_values(trees, values, columns, read)
    texts = [write_test(k, test, encoded) for k, test in enumerate(tests)]
    texts += [ClosingWriter(encoded, test, numbers).closing(f"closing_{k}") for k, test in enumerate(closing)]
    parts = library(encoded.called)
    texts += [_bound(tests, numbers), _adjacent(tests, numbers), _closes(len(closing))]
    return HEADER + _TYPES + "\n\n".join([*parts, *texts]), encoded.encodings


def _bound(tests: Sequence[Test], numbers: Mapping[str, int]) -> str:
    """A new entry against all combinations of the entries of a test's other symbols."""
    lines = [f"{_decorator('BOUND_HOLDS')}def bound_holds(symbol, row, symbols, rows, n, cols):"]
    for k, test in enumerate(tests):
        if any(slot.is_next for slot in test.slots):
            continue
        for new, slot in enumerate(test.slots):
            lines.append(f"    if symbol == {numbers[slot.symbol]}:")
            depth = 2
            for other, others in enumerate(test.slots):
                if other != new:
                    indent = "    " * depth
                    lines.append(f"{indent}for i{other} in range(n):")
                    lines.append(f"{indent}    if symbols[i{other}] == {numbers[others.symbol]}:")
                    depth += 2
            arguments = ", ".join("row" if i == new else f"rows[i{i}]" for i in range(len(test.slots)))
            indent = "    " * depth
            lines += [f"{indent}if not test_{k}({arguments}, cols):", f"{indent}    return False"]
    return "\n".join([*lines, "    return True"]) + "\n"


def _adjacent(tests: Sequence[Test], numbers: Mapping[str, int]) -> str:
    lines = [f"{_decorator('ADJACENT_HOLDS')}def adjacent_holds(left, left_row, right, right_row, cols):"]
    for k, test in enumerate(tests):
        if not any(slot.is_next for slot in test.slots):
            continue
        (left,) = (numbers[slot.symbol] for slot in test.slots if not slot.is_next)
        (right,) = (numbers[slot.symbol] for slot in test.slots if slot.is_next)
        arguments = ", ".join("right_row" if slot.is_next else "left_row" for slot in test.slots)
        lines.append(f"    if left == {left} and right == {right} and not test_{k}({arguments}, cols):")
        lines.append("        return False")
    return "\n".join([*lines, "    return True"]) + "\n"


def _closes(n_tests: int) -> str:
    arguments = "symbols, rows, base, n, cols"
    calls = {k: [f"closing_{k}({arguments})"] for k in range(n_tests)}
    return choose("closes", "test", arguments, calls, _decorator("CLOSES"))


def _decorator(signature: str) -> str:
    return f"@njit({signature}, cache=True, nogil=True)\n"
