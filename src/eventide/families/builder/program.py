"""A pattern of the builder as a flat program, which `kernel.advance_matches` runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eventide.families.builder.kernel_places import ACCEPTED, EDGE, IGNORE, STOPPED, TAKE
from eventide.runtime.effort import MANY
from eventide.runtime.kernels.arrays import IndexArray

__all__ = ["ACCEPTED", "IGNORE", "STOPPED", "TAKE", "Edge", "Program"]

Terms = tuple[tuple[int, ...], ...]  # one of them must hold; literal 2 * c: condition c holds, 2 * c + 1: it does not


@dataclass(frozen=True, slots=True)
class Edge:
    """What a partial match may do with an event: take it for a step or ignore it, and go to a state.

    `accepts`: when the match is complete with the event taken, although it may go on.
    """

    action: int
    target: int
    step: int
    terms: Terms
    accepts: Terms = ()


@dataclass(frozen=True, slots=True)
class Program:
    """States with their edges; state 0 begins a match. `pending` states wait for nothing but the end of the time."""

    steps: tuple[str, ...]
    conditions: tuple[str, ...]
    states: tuple[tuple[Edge, ...], ...]
    pending: frozenset[int] = frozenset()

    @property
    def may_double(self) -> bool:
        """Whether the partial matches may double with every event: something repeats, or there are many steps."""
        for number, state in enumerate(self.states):
            if any(edge.action == TAKE and 0 <= edge.target <= number for edge in state):
                return True
        return len(self.states) > MANY

    @property
    def labels(self) -> tuple[str, ...]:
        """The steps, as measures call them."""
        return self.steps

    def arrays(self) -> tuple[IndexArray, Any, IndexArray, IndexArray, IndexArray]:
        """(first edge by state), (edges), (first literal by term), (literals), (whether pending by state)."""
        starts, edges, terms, literals = [0], [], [0], list[int]()

        def add(some: Terms) -> tuple[int, int]:
            first = len(terms) - 1
            for term in some:
                literals.extend(term)
                terms.append(len(literals))
            return first, len(terms) - 1

        for state in self.states:
            for edge in state:
                edges.append((edge.action, edge.target, edge.step, *add(edge.terms), *add(edge.accepts)))
            starts.append(len(edges))
        pending = [int(i in self.pending) for i in range(len(self.states))]
        return (
            np.array(starts, dtype=np.int32),
            np.array(edges, dtype=EDGE),
            np.array(terms, dtype=np.int32),
            np.array(literals, dtype=np.int32),
            np.array(pending, dtype=np.int32),
        )

    def dump(self) -> str:
        """The program as text, an edge a line.

        >>> print(Program(("a",), ("a",), ((Edge(TAKE, ACCEPTED, 0, ((0,),)),),)).dump())
        0  take a if a: accept
        """
        width = len(str(len(self.states) - 1))
        lines = []
        for i, state in enumerate(self.states):
            shown = [self._describe(edge) for edge in state]
            if i in self.pending:
                shown.append("accept when the time is over")
            lines += [f"{i if k == 0 else '':>{width}}  {text}" for k, text in enumerate(shown or ["nothing"])]
        return "\n".join(lines)

    def _describe(self, edge: Edge) -> str:
        what = f"take {self.steps[edge.step]}" if edge.action == TAKE else "ignore"
        where = {ACCEPTED: "accept", STOPPED: "stop"}.get(edge.target, f"go to {edge.target}")
        if edge.target == STOPPED:
            what = "an event"
        condition = self._terms(edge.terms)
        accepts = ""
        if edge.accepts:
            when = self._terms(edge.accepts)
            accepts = f", accept{' if ' + when if when else ''}"
        return f"{what}{' if ' + condition if condition else ''}: {where}{accepts}"

    def _terms(self, terms: Terms) -> str:
        if () in terms:
            return ""
        written = [" and ".join(("not " if i & 1 else "") + self.conditions[i >> 1] for i in term) for term in terms]
        return " or ".join(written)
