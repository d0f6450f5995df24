"""What the numbers in the arrays of the builder's kernel mean, and which arrays belong together."""

from __future__ import annotations

from typing import Any, NamedTuple

from eventide.runtime.kernels.arrays import IndexArray, IntArray
from eventide.runtime.kernels.records import record

# One of an edge's terms must hold; if one of its accepting terms holds, too, the match is complete, although it may go
# on. The terms from `first` up to `end`, the accepting ones from `first_accept` up to `end_accept`.
EDGE = record("Edge", "action", "target", "step", "first", "end", "first_accept", "end_accept")
TAKE, IGNORE = 0, 1  # actions
ACCEPTED, STOPPED = -1, -2  # targets instead of a state: the match is complete, or the run ends whatever else it may do
NEVER = 2**62

# What ended a call before its work was done.
NO_PROBLEM, OUT_FULL, RUNS_FULL, BINDINGS_FULL, COMPLETE_FULL, KEPT_FULL, NO_STEPS_LEFT = 0, 1, 2, 3, 4, 5, 6
# Places in a row of `progress`, one for each partition: the first event that was not looked at; the number of its saved
# partial matches (-1: none); whether more events will come; the event before which matches must begin.
NEXT_ROW, SAVED, IS_OPEN, STOP_ROW = 0, 1, 2, 3
# ONLY_FIRST: of each partition the match that begins first; of several the one that is complete first.
NO_SKIP, SKIP_NEXT, SKIP_PAST_LAST, SKIP_TO_FIRST, SKIP_TO_LAST, ONLY_FIRST = 0, 1, 2, 3, 4, 5
# Rows of `out`: partition, what it is, last binding.
MATCH, TIMEOUT = 0, 1

# Where the search is; `has_moved`: time has come to the event that is next. Then how far the arrays are filled, and
# those of `kept`. `new_...` are the same of the event at hand, which is left undone where there is no room.
# The bindings of the present partition begin at `base`.
STATE = record(
    "State",
    *("partition", "row", "has_moved", "side", "steps_left", "base"),
    *("n_runs", "n_bindings", "n_complete", "n_out", "n_kept_runs", "n_kept_complete", "n_kept_bindings"),
    *("new_runs", "new_bindings", "new_complete", "new_out"),
)


class Events(NamedTuple):
    """The events in order: partition p has those from offsets[p] to offsets[p + 1]."""

    offsets: IntArray
    ts_us: IntArray  # empty without a limit of time
    masks: IntArray  # the bits of the events, 64 to a row of the array
    progress: IntArray
    cols: Any  # what conditions on earlier events read


class Program(NamedTuple):
    """The automaton: the edges of state s are those from first_edge[s] to first_edge[s + 1], and so on."""

    first_edge: IndexArray
    edges: Any
    terms: IndexArray  # by term its first literal
    literals: IndexArray  # a condition, times two, plus one where the condition must not hold
    pending: IndexArray  # by state whether only the end of the time is missing
    alike: IndexArray  # by state whether only the event at hand decides what its runs do
    tests: IndexArray  # by condition its bit in the masks, -1: none, and whether `holds` must be asked, too


class Limits(NamedTuple):
    """What holds for all partial matches."""

    window_us: int
    gap_us: int
    end_us: int  # how far time has come at the end of each partition
    skip: int
    skip_step: int
    has_timeouts: bool


class Room(NamedTuple):
    """Room to work in. The bindings that `out` names stay until the caller compacts them."""

    runs: IndexArray  # two sides; state, last binding, first row
    complete: IndexArray  # two sides; last binding, first row
    bindings: IndexArray  # row, step, binding before
    carried: Any  # by binding what conditions read of the events up to it: last rows, integers, doubles, counts
    seen: IntArray  # by state the row at which a run was in it last, plus one
