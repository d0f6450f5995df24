"""What the numbers in the arrays of the row matcher mean."""

from __future__ import annotations

# Instructions; `a` and `b` are their operands.
LABEL = 0  # one row that satisfies label a; b: left out of ALL ROWS PER MATCH
SPLIT = 1  # go on at a; if that fails, at b
JUMP = 2  # go on at a
START = 3  # before the partition's first row
END = 4  # after its last row
MARK = 5  # remember the row in register a
CHECK = 6  # go on at b if no row was matched since MARK of register a
ACCEPT = 7

# Places in `state`.
PARTITION, ROW, NUMBER, ATTEMPT, PROBLEM, STEPS_LEFT = 0, 1, 2, 3, 4, 5
# Of an attempt that was paused: its instruction, row, depth, the filled parts of stack and trail; then its registers.
IS_PAUSED, AT_PC, AT_ROW, AT_DEPTH, AT_STACK, AT_TRAIL, IS_UNDECIDED, REGISTERS = 6, 7, 8, 9, 10, 11, 12, 13
# state[PROBLEM]: what ended a call before its work was done.
NO_PROBLEM, NO_SKIP_ROW, SKIP_TO_FIRST_ROW, OUTPUT_FULL, WORK_FULL, NO_STEPS_LEFT = 0, 1, 2, 3, 4, 5
# Places in `span`, for conditions.
LOW, HIGH, FIRST_ROW, MATCH_NUMBER = 0, 1, 2, 3
# Places in `limits`.
WINDOW_US, SKIP, LAST_OF_SKIP, MEMO, AHEAD, FRONTIER_US, FIRST_BITS = 0, 1, 2, 3, 4, 5, 6
SKIP_PAST_LAST, SKIP_NEXT, SKIP_TO = 0, 1, 2
# Places in a row of `progress`, one for each partition: where its search begins, and after a call where it stopped; the
# number of its next match; whether more rows will come; the row before which matches must begin.
NEXT_ROW, NEXT_NUMBER, IS_OPEN, STOP_ROW = 0, 1, 2, 3
MEMO_PER_ATTEMPT, MEMO_PER_PARTITION = 0, 1
