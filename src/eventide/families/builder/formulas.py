"""Propositions over conditions, in disjunctive form: a formula is a set of terms, a term a set of literals.

A literal is `2 * condition` for a condition that must hold, and one more for a condition that must not.
"""

from __future__ import annotations

from functools import reduce
from typing import TypeAlias

Term: TypeAlias = frozenset[int]
Formula: TypeAlias = frozenset[Term]

TRUE: Formula = frozenset({frozenset()})
FALSE: Formula = frozenset()


def condition(number: int) -> Formula:
    """The formula that holds where a condition does."""
    return frozenset({frozenset({2 * number})})


def both(one: Formula, two: Formula) -> Formula:
    """The conjunction.

    >>> both(condition(0), negation(condition(0))) == FALSE
    True
    """
    joined = (a | b for a in one for b in two)
    return _without_implied(frozenset(term for term in joined if not any(literal ^ 1 in term for literal in term)))


def negation(formula: Formula) -> Formula:
    """What holds where the formula does not.

    >>> negation(TRUE) == FALSE, negation(FALSE) == TRUE
    (True, True)
    """
    sides = [frozenset(frozenset({literal ^ 1}) for literal in term) for term in formula]
    return reduce(both, sides, TRUE)


def _without_implied(formula: Formula) -> Formula:
    """Without the terms that another one, with fewer literals, makes superfluous."""
    return frozenset(term for term in formula if not any(other < term for other in formula))
