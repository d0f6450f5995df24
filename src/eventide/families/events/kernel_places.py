"""Places of fields in the arrays of the pattern matcher, its modes and results; docs/matchers.md defines the words."""

from __future__ import annotations

from typing import Any, NamedTuple

from eventide.runtime.kernels.arrays import IndexArray, IntArray
from eventide.runtime.kernels.records import record

# What a call ends with: all done, `out` full, a stack full, a match found where one is enough, no steps left.
DONE, FULL, SPACE, FOUND, PAUSED = 0, 1, 2, 3, 4
# What a walk is for: to write matches, to write all ways of a side of AND, to tell whether a branch matches, or whether
# a negation does.
MATCHES, WAYS, EXISTS, GAP = 0, 1, 2, 3
ANY, NEXT, CONTIGUOUS = 0, 1, 2

JOB = record(
    "Job",
    # The walk: what it is for, its branch, its rows, where its part of each stack begins, and how deep it is.
    *("mode", "branch", "lo", "hi", "entry", "frame", "path", "open", "depth"),
    *("scope", "branch_idx", "scope_lo", "scope_hi", "offer_lo", "offer_hi", "window_end", "reach"),
    *("newer_than", "up_to", "n_windows", "min_length", "last_start"),
    *("fan_out", "max_ends", "max_entries", "max_gaps", "negation"),
    *("n_out", "n_out_entries", "n_out_gaps", "stop", "steps_left"),
    # For negations: how many walks are around this one; whether the walk that the candidate has started is paused; how
    # many of the candidate's walks have ended; a bit for each of these, set if it found a match.
    *("level", "is_asking", "n_answers", "answers"),
    # What is kept of the matches, and how many entries the first one has, once it is found.
    *("keep", "first_size"),
    # The candidate that is looked at: whether it was before a pause; its row and the symbols left there, or its offer;
    # its first and last row, where its entries end, the row at which the window ends.
    *("is_again", "row", "bits", "symbol", "offer", "is_offer", "first_row", "last_row", "n_entries", "limit"),
    # What it has made: where its paths and gaps end, how many negations were asked about, whether an edge leads to it,
    # and the edges that no later candidate can take.
    *("top", "gap_top", "asked", "is_adjacent", "closed"),
)
# What is kept: all matches, or of each partition the first and what continues it. Gaps that are open at the end of a
# partial match say nothing about it.
ALL, FIRST, PARTIAL = 0, 1, 2
NO_SYMBOL = -1  # of an entry that only tells that the search of its partition was stopped
MAX_ANSWERS = 62  # how many are remembered for one candidate; walks beyond never pause

# One partial match: its next candidate (`row` and `bits`, `offer`), where its candidates end, the row at which its
# window ends, the number of its entries, its paths, where its gaps end, its last row, what its paths can take next, and
# a bit for each of their edges that can be taken no more.
FRAME = record(
    "Frame",
    *("row", "bits", "end", "limit_row", "offer", "n", "path_lo", "path_hi", "gap_top", "last", "want", "want_offer"),
    "closed",
)
MAX_CLOSED = 62  # edges of a frame of which it is known whether they are closed


class Program(NamedTuple):
    """The automaton as `PatternProgram.tables` lists it; things of position p are those from lo[p] to lo[p + 1].

    Behind the positions come the branches: their edges are the starts.
    """

    item: IntArray  # by position its symbol, or -1 - the number of its AND
    edge_lo: IntArray
    edge_to: IntArray
    edge_neg_lo: IntArray
    edge_close_lo: IntArray
    end_lo: IntArray
    end_neg_lo: IntArray
    end_close_lo: IntArray
    negations: IntArray
    closings: IntArray
    want: IntArray  # the bits that its edges can take
    want_offer: IntArray  # whether its edges can take an offer
    neg_lo: IntArray
    neg_branch: IntArray  # by negation its branches
    link_lo: IntArray
    link: IntArray  # by negation the symbols that its conditions mention
    neg_bits: IntArray  # by negation the bits of what its one event may be, else 0
    strategies: IntArray  # by branch


class Events(NamedTuple):
    """The rows, in order of partition and time."""

    ts_us: IntArray
    mask: IntArray
    follows: IndexArray
    precedes: IndexArray
    completion: IndexArray  # by position and row, the row at which a match may end, -1: nowhere; empty: not known
    ahead: IndexArray  # by symbol and group of rows, the next row with its bit


class Offers(NamedTuple):
    """Pairs of ways, taken like events; offer i has the entries from entry_lo[i] to entry_lo[i + 1], and so on."""

    first: IntArray
    last: IntArray
    entry_lo: IntArray
    symbol: IntArray
    row: IntArray
    member_lo: IntArray
    member_of: IntArray
    member_gap_lo: IntArray
    gap_negation: IntArray
    gap_lo: IntArray
    gap_hi: IntArray


class Stacks(NamedTuple):
    """The stacks of all walks: frames, entries (symbol, row), paths (position, gaps), gaps, jobs of negations."""

    frames: Any
    entries: IntArray
    paths: IntArray
    gaps: IntArray
    jobs: Any


# Places in a row of `out`'s head.
OUT_ENTRIES, OUT_SCOPE, OUT_DECIDED, OUT_WAITED, OUT_GAPS = 0, 1, 2, 3, 4
HEAD_SIZE = 5

# A scope: first row, end, first offer, end, end of the window or NEVER, partition, first row of a match, its end.
SCOPE_SIZE = 8
PARTITION, START_LO, START_HI = 5, 6, 7

# Places in the state of a join of sides, behind which stand four numbers for each side.
PAIR_SCOPE, PAIR_LEVEL, PAIR_LEADER, PAIR_LIMIT, PAIR_REACH, PAIR_SIDES = range(6)
N_PAIRS, N_PAIR_ENTRIES, N_PAIR_GAPS, PAIR_STEPS_LEFT, PAIR_STATE = 6, 7, 8, 9, 10
NOT_BEGUN = -2

NEVER = 1 << 62
