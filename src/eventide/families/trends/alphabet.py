"""Which combinations of a pattern's symbols one event can take, from the conditions alone.

They are known before the first event, so that tasks and micro-batches that see different events number the states of
the automaton alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, product

from sqlglot import exp

from eventide.expressions.split import Split
from eventide.expressions.write_sql import write_spark
from eventide.lang.tree import Step
from eventide.plan.columns import conditions_of
from eventide.plan.logical import Match

MOST_CASES = 1 << 12
MOST_TESTS = 1 << 20  # of atoms, in all cases together

Atom = tuple[str, str | None]  # a column and a literal that it is equal to; any other condition: its text, None


def alphabet_of(plan: Match, steps: Sequence[Step], parts: Split) -> tuple[int, ...] | None:
    """The masks that events can have for the steps of a plan, see `find_alphabet`."""
    return find_alphabet([[value.expression for value in each] for each in conditions_of(plan, steps, parts)])


def find_alphabet(conditions: Sequence[Sequence[exp.Expr]]) -> tuple[int, ...] | None:
    """The masks that can occur, 0 left out, bit k where all conditions of symbol k hold; None: too many to look at.

    A column has one value at a time. Other conditions that are written differently may hold in any combination.

    >>> import sqlglot
    >>> find_alphabet([[sqlglot.parse_one(text)] for text in ("kind = 'A'", "kind = 'B'", "kind = 'A' AND x > 1")])
    (1, 2, 5)
    """
    atoms: dict[Atom, str] = {}
    tests = [[_test(condition, atoms) for condition in each] for each in conditions]
    choices = [*_values(atoms), *([(), (atom,)] for atom in atoms if atom[1] is None)]
    n_cases = 1
    for each in choices:
        n_cases *= len(each)
    if n_cases > MOST_CASES or n_cases * len(atoms) > MOST_TESTS:
        return None
    masks = set()
    for chosen in product(*choices):
        case = {atom for each in chosen for atom in each}
        masks.add(sum(1 << k for k, each in enumerate(tests) if all(test(case) for test in each)))
    return tuple(sorted(masks - {0}))


def _values(atoms: dict[Atom, str]) -> list[list[tuple[Atom, ...]]]:
    """By column which of its atoms hold together: none, or some of those whose literals may be taken for equal."""
    alike: dict[str, dict[str, list[Atom]]] = {}
    for atom, value in atoms.items():
        if atom[1] is not None:
            alike.setdefault(atom[0], {}).setdefault(value, []).append(atom)
    found: list[list[tuple[Atom, ...]]] = []
    for by_value in alike.values():
        found.append([()])
        for each in by_value.values():
            found[-1] += (some for n in range(1, len(each) + 1) for some in combinations(each, n))
    return found


def _test(tree: exp.Expr, atoms: dict[Atom, str]) -> Callable[[set[Atom]], bool]:
    """Whether a condition holds in a case. What AND and OR join holds as soon as its parts do: NULL plays no part."""
    match tree:
        case exp.Paren():
            return _test(tree.this, atoms)
        case exp.And() | exp.Or():
            left, right = _test(tree.left, atoms), _test(tree.right, atoms)
            if isinstance(tree, exp.And):
                return lambda case: left(case) and right(case)
            return lambda case: left(case) or right(case)
        case exp.In() if tree.expressions and not tree.args.get("query"):
            each = [_test(exp.EQ(this=tree.this, expression=one), atoms) for one in tree.expressions]
            return lambda case: any(test(case) for test in each)
        case exp.Boolean():
            return lambda case: bool(tree.this)
    atom, value = _equality(tree) or ((write_spark(tree), None), "")
    atoms[atom] = value
    return lambda case: atom in case


def _equality(tree: exp.Expr) -> tuple[Atom, str] | None:
    """A column that is equal to a string or number, and what collations and roundings leave of the literal."""
    if not isinstance(tree, exp.EQ):
        return None
    for column, literal in ((tree.left, tree.right), (tree.right, tree.left)):
        if isinstance(column, exp.Column) and isinstance(literal, exp.Literal):
            try:
                value = repr(float(literal.this))
            except ValueError:
                value = literal.this.strip().casefold()
            return (column.name, literal.sql()), value
    return None
