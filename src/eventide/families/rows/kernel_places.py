"""What the numbers in the arrays of the row matcher mean, and which arrays belong together."""

from __future__ import annotations

from typing import Any, NamedTuple

from eventide.runtime.kernels.arrays import IndexArray, IntArray
from eventide.runtime.kernels.records import record

# Instructions; `a` and `b` are their operands.
LABEL = 0  # one row that satisfies label a; b: left out of ALL ROWS PER MATCH
SPLIT = 1  # go on at a; if that fails, at b
JUMP = 2  # go on at a
START = 3  # before the partition's first row
END = 4  # after its last row
MARK = 5  # remember the row in register a
CHECK = 6  # go on at b if no row was matched since MARK of register a
ACCEPT = 7

# How a call ends.
DONE, NO_SKIP_ROW, SKIP_TO_FIRST_ROW, OUTPUT_FULL, WORK_FULL, NO_STEPS_LEFT = 0, 1, 2, 3, 4, 5
# How an attempt ends, if it does not pause.
FAILED, MATCHED, UNDECIDED = 6, 7, 8
# Places in `span`, for conditions.
LOW, HIGH, FIRST_ROW, MATCH_NUMBER = 0, 1, 2, 3
SKIP_PAST_LAST, SKIP_NEXT, SKIP_TO = 0, 1, 2
# Places in a row of `progress`, one for each partition: where its search begins, and after a call where it stopped; the
# number of its next match; whether more rows will come; the row before which matches must begin.
NEXT_ROW, NEXT_NUMBER, IS_OPEN, STOP_ROW = 0, 1, 2, 3

# Where the search is: partition, row and number of the next attempt, the stamp of the memo, how far the output is
# filled, and the steps of this call. Of the last attempt, if it was paused: its instruction, row and depth, and how far
# stack and trail are filled.
STATE = record(
    "State",
    *("partition", "row", "number", "stamp", "n_out", "n_path", "steps_left"),
    *("is_paused", "pc", "at_row", "depth", "n_stack", "n_trail", "is_undecided"),
)


class Rows(NamedTuple):
    """The rows in order: partition p has those from offsets[p] to offsets[p + 1]."""

    offsets: IntArray
    ts_us: IntArray  # empty without a window
    masks: IntArray  # the bits of the rows, 64 to a row of the array
    progress: IntArray


class Program(NamedTuple):
    """The program, and what belongs to its points and labels."""

    code: IndexArray
    joins: IndexArray  # by point the first number of a join, -1 elsewhere
    bits: IndexArray  # by label a bit in the masks that a row must have, -1: none
    near_bits: IndexArray  # likewise, for conditions on a row and its neighbours
    tested: IndexArray  # by label whether the query's tests decide, too
    skip_members: IndexArray  # by label whether AFTER MATCH SKIP TO means it


class Limits(NamedTuple):
    """What holds for all attempts."""

    window_us: int
    skip: int
    skips_to_last: bool
    forgets: bool  # what failed in one attempt may succeed in the next
    ahead: int  # rows that conditions and measures look ahead, at most
    frontier_us: int  # the time from which on rows may still come
    first_bits: int  # of which the first row of a match has one in its first mask; 0: nothing is known of it


class Room(NamedTuple):
    """Room to work in. The caller makes all but the memo larger when there is not enough.

    Arrays that the kernel itself replaced would cost more in every step, for counting references, than the step.
    """

    tried: IndexArray  # the memo, for every join and row of the largest partition
    # For each row of the attempt: its label, the depth of the last row of that label before it, its instruction.
    labels: IndexArray
    before: IndexArray
    codes: IndexArray
    # For each choice that is left: its instruction, its row, and the length of the trail there.
    stack_pc: IndexArray
    stack_row: IndexArray
    stack_trail: IndexArray
    trail: IntArray
    # By label the depths of its first and last row, -1: none.
    first: IndexArray
    last: IndexArray
    registers: IntArray
    span: IntArray  # what conditions read of the partition and the match
    folds: Any  # running aggregates by depth: integers, doubles, counts


class Out(NamedTuple):
    """Matches (partition, first row, number, end in `path`), and their instructions."""

    matches: IntArray
    path: IndexArray
