"""Code spaces: which strings of a query's tests are compared with one another, and so must share their codes.

Goes in: the trees of all tests. Comes out: for every string value and string literal its space: a number, whether the
order of codes must be that of the strings, and the literals it holds.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from eventide.expressions.typed import Typed

_ORDERING = ("lt", "le", "gt", "ge", "least", "greatest")


@dataclass(frozen=True, slots=True)
class CodeSpace:
    """One set of strings with common codes; literals ascend by bytes."""

    number: int
    ordered: bool
    literals: tuple[str, ...]


class CodeSpaces:
    """The spaces of all tests.

    >>> a, b = (Typed("value", (), pa.string(), (slot, slot)) for slot in (0, 1))
    >>> spaces = CodeSpaces([Typed("lt", (a, b), pa.bool_())])
    >>> spaces.of_value(0) == spaces.of_value(1), spaces.of_value(0).ordered
    (True, True)
    """

    def __init__(self, trees: Sequence[Typed]) -> None:
        self._parents: dict[Hashable, Hashable] = {}
        ordered: list[Hashable] = []
        literals: dict[Hashable, str] = {}
        for typed in (part for tree in trees for part in tree.walk()):
            if typed.op == "literal" and typed.dtype == pa.string() and typed.value is not None:
                literals[_key(typed)] = typed.value
            met = [_key(leaf) for arg in _operands(typed) for leaf in _leaves(arg)]
            for leaf in met:
                self._join(met[0], leaf)
            if met and typed.op in _ORDERING:
                ordered.append(met[0])
        roots = list(dict.fromkeys(self._root(leaf) for leaf in list(self._parents)))
        sorting = {self._root(leaf) for leaf in ordered}
        held: dict[Hashable, set[str]] = {root: set() for root in roots}
        for leaf, text in literals.items():
            held.setdefault(self._root(leaf), set()).add(text)
        self._spaces = {
            root: CodeSpace(number, root in sorting, tuple(sorted(texts, key=str.encode)))
            for number, (root, texts) in enumerate(held.items())
        }
        self._n_spaces = len(self._spaces)

    def of_value(self, index: int) -> CodeSpace:
        """The space of a value; one of its own when it is compared with nothing."""
        root = self._root(("value", index))
        return self._spaces.get(root, CodeSpace(self._n_spaces + index, False, ()))

    def of_literal(self, typed: Typed) -> CodeSpace:
        """The space of a literal that stands in one of the tests."""
        return self._spaces[self._root(_key(typed))]

    def _root(self, leaf: Hashable) -> Hashable:
        while self._parents.get(leaf, leaf) != leaf:
            leaf = self._parents[leaf]
        return leaf

    def _join(self, one: Hashable, two: Hashable) -> None:
        first, second = self._root(one), self._root(two)
        self._parents.setdefault(first, first)
        self._parents[second] = first


def _key(leaf: Typed) -> Hashable:
    # Two literals with one text may belong to two spaces, so a literal is known by its place.
    return ("value", leaf.value[1]) if leaf.op == "value" else ("literal", id(leaf))


def _operands(typed: Typed) -> tuple[Typed, ...]:
    """The operands whose strings meet in this operator."""
    if typed.op == "case":
        return _results(typed)
    return typed.args if len(typed.args) > 1 and typed.op not in ("and", "or", "call", "concat", "like") else ()


def _results(case: Typed) -> tuple[Typed, ...]:
    return (*case.args[1:-1:2], case.args[-1])


def _leaves(typed: Typed) -> Iterator[Typed]:
    """The string leaves whose value an expression may take."""
    if typed.dtype != pa.string():
        return
    if typed.op in ("value", "literal"):
        if typed.value is not None:
            yield typed
        return
    for arg in _results(typed) if typed.op == "case" else typed.args:
        yield from _leaves(arg)
