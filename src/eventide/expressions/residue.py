"""Tests between events as compiled code: encodings of the values, and the source of the functions.

Goes in: the tests of a `Split` and the columns of their values. Comes out: a `Residue`; its source, which needs the
names `np` and `njit`, defines `test_0`, `test_1`, ...: `test_k(row_0, row_1, ..., cols)` takes the row of each slot in
order and `cols` as `encode_columns` makes it, and returns whether the test holds; NULL does not.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from eventide.expressions import residue_functions
from eventide.expressions.code_spaces import CodeSpaces
from eventide.expressions.split import EventValue, Test
from eventide.expressions.typed import Typed
from eventide.expressions.types import kind, type_name
from eventide.expressions.write_code import DECORATOR, ONE_EVENT_HINT, Encoded, TestWriter
from eventide.runtime.encode import Encoding, place

HEADER = "import numpy as np\nfrom eventide.compilation.njit import njit\n\n\n"


@dataclass(frozen=True, slots=True)
class Residue:
    """Everything the matcher needs: `source` defines `names[k]` for test k over `encodings`."""

    encodings: tuple[Encoding, ...]
    names: tuple[str, ...]
    source: str


def write_tests(tests: Sequence[Test], values: Sequence[EventValue], columns: Sequence[str]) -> Residue:
    """The code of all tests; value i is read from the table's column `columns[i]`.

    >>> from eventide.lang.scalars import parse_scalar
    >>> from eventide.expressions.split import split
    >>> import pyarrow as pa
    >>> text = "A.price < B.price"
    >>> done = split([parse_scalar(text)], ["A", "B"], pa.schema([("price", pa.float64())]), text)
    >>> residue = write_tests(done.tests, done.values, ["v0"])
    >>> residue.encodings
    (Encoding(column='v0', kind='double', space=-1, ordered=False, scale=0, literals=()),)
    >>> residue.names
    ('test_0',)
    """
    trees = [test.tree for test in tests]
    encoded = encode_values(trees, values, columns, values_read(trees))
    texts = [write_test(k, test, encoded) for k, test in enumerate(tests)]
    names = tuple(f"test_{k}" for k in range(len(tests)))
    return Residue(encoded.encodings, names, "\n\n".join([*library(encoded.called), *texts]))


def write_test(k: int, test: Test, encoded: Encoded) -> str:
    """The function of test k, whose arguments are the rows of its slots."""
    rows = "".join(f"row_{i}, " for i in range(len(test.slots)))
    return TestWriter(encoded, test.source).function(f"test_{k}", test.tree, f"{rows}cols")


def values_read(trees: Iterable[Typed]) -> set[int]:
    """The numbers of the values that some trees read."""
    return {leaf.value[1] for tree in trees for leaf in tree.walk() if leaf.op == "value"}


def encode_values(
    trees: Sequence[Typed],
    values: Sequence[EventValue],
    columns: Sequence[str],
    used: Iterable[int],
    ranked: Collection[int] = (),
) -> Encoded:
    """Where each value that is used stands in the arrays; those that are ranked have codes with their order."""
    spaces, numbers = CodeSpaces(trees), sorted(used)
    encodings = tuple(
        Encoding(columns[i], "string", space=-2 - i, ordered=True)
        if i in ranked
        else encoding_of(columns[i], values[i], spaces, i)
        for i in numbers
    )
    places = {value: (*place(encodings, i), i) for i, value in enumerate(numbers)}
    return Encoded(spaces, encodings, places, set())


def choose(name: str, which: str, arguments: str, calls: Mapping[int, Sequence[str]], decorator: str) -> str:
    """A function that makes the calls of one number; True where there are none.

    >>> print(choose("holds", "step", "rows, cols", {1: ["test_0(rows[0], rows[1], cols)"]}, ""))
    def holds(step, rows, cols):
        if step == 1:
            return test_0(rows[0], rows[1], cols)
        return True
    <BLANKLINE>
    """
    lines = [f"    if {which} == {i}:\n        return {' and '.join(texts)}" for i, texts in calls.items()]
    return f"{decorator}def {name}({which}, {arguments}):\n" + "\n".join([*lines, "    return True"]) + "\n"


def compile_tests(
    placed: Sequence[tuple[Test, tuple[int, ...]]],
    values: Sequence[EventValue],
    columns: Sequence[str],
    n_steps: int,
    *,
    backward: bool,
) -> tuple[str | None, tuple[Encoding, ...]]:
    """The source of `holds(step, rows, cols)` for a kernel, None without tests, and the encodings of `cols`.

    Each test comes with the step of each of its slots. Steps are bound one after the other, from the last when
    `backward`; a test is made at the step that binds the last of its slots.
    """
    if not placed:
        return None, ()
    tests = list({id(test): test for test, _ in placed}.values())
    residue = write_tests(tests, values, columns)
    name_of = {id(test): name for test, name in zip(tests, residue.names, strict=True)}
    at_step: dict[int, list[str]] = {}
    for test, steps in placed:
        rows = "".join(f"rows[{step}], " for step in steps)
        at_step.setdefault((min if backward else max)(steps), []).append(f"{name_of[id(test)]}({rows}cols)")
    if any(not 0 <= step < n_steps for step in at_step):
        raise ValueError(f"a test stands outside the {n_steps} steps")
    holds = choose("holds", "step", "rows, cols", dict(sorted(at_step.items())), DECORATOR)
    return f"{residue.source}\n\n{holds}", residue.encodings


def encoding_of(column: str, value: EventValue, spaces: CodeSpaces, i: int) -> Encoding:
    """How value i, read from a block column, becomes an array."""
    dtype, source, span = value.dtype, value.source, value.typed.span
    name = "other" if dtype is None else kind(dtype)
    if dtype is None or name in ("other", "months"):
        raise source.error(f"events cannot be related by a value of type {dtype}", span, ONE_EVENT_HINT)
    if name == "string":
        space = spaces.of_value(i)
        return Encoding(column, "string", space.number, space.ordered, 0, space.literals)
    if name == "decimal" and dtype.precision > 18:
        hint = "cast it to a decimal of at most 18 digits, or to DOUBLE"
        raise source.error(f"{type_name(dtype)} is too wide to relate events by", span, hint)
    kinds = {"float": "double", "null": "integer"}
    return Encoding(column, kinds.get(name, name), scale=dtype.scale if name == "decimal" else 0)


def library(called: set[str]) -> list[str]:
    """What generated code calls: functions by their names, and the lines that define constants.

    >>> print(*library({"in_0 = np.unique(np.array([1, 2]))"}))
    in_0 = np.unique(np.array([1, 2]))
    <BLANKLINE>
    """
    functions = [text for name, text in library_functions().items() if name in called]
    return [*functions, *(f"{line}\n" for line in sorted(called) if " = " in line)]


@cache
def library_functions() -> dict[str, str]:
    """The source of each function that generated code may call, by name."""
    found = {}
    for node in ast.parse(inspect.getsource(residue_functions)).body:
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for arg in node.args.args:
                arg.annotation = None
            found[node.name] = DECORATOR + ast.unparse(node) + "\n"
    return found
