"""Places of fields in the arrays of the pattern matcher, its modes and results; docs/matchers.md defines the words."""

from __future__ import annotations

# What a call ends with: all done, `out` full, a stack full, a match found where one is enough, no steps left.
DONE, FULL, SPACE, FOUND, PAUSED = 0, 1, 2, 3, 4
# What a walk is for: to write matches, to write all ways of a side of AND, to tell whether a branch matches, or whether
# a negation does.
MATCHES, WAYS, EXISTS, GAP = 0, 1, 2, 3
ANY, NEXT, CONTIGUOUS = 0, 1, 2

# Places in `job`.
MODE, BRANCH, LO, HI, ENTRY, FRAME, PATH, OPEN, DEPTH = 0, 1, 2, 3, 4, 5, 6, 7, 8
SCOPE, BRANCH_IDX, SCOPE_LO, SCOPE_HI, OFFER_LO, OFFER_HI, WINDOW_END, REACH = 9, 10, 11, 12, 13, 14, 15, 16
NEWER_THAN, UP_TO, N_WINDOWS, MIN_LENGTH, LAST_START = 17, 18, 19, 20, 21
FAN_OUT, MAX_ENDS, MAX_ENTRIES, MAX_GAPS, NEGATION = 22, 23, 24, 25, 26
N_OUT, N_OUT_ENTRIES, N_OUT_GAPS, STOP, STEPS_LEFT = 27, 28, 29, 30, 31
# For negations: how many walks are around this one; whether the walk that the candidate has started is paused; how many
# of the candidate's walks have ended; a bit for each of these, set if it found a match.
LEVEL, IS_ASKING, N_ANSWERS, ANSWERS = 32, 33, 34, 35
# What is kept of the matches: all, or of each partition the first and what continues it. Gaps that are open at the end
# of a partial match say nothing about it. And how many entries the first one has, once it is found.
KEEP, FIRST_SIZE = 36, 37
ALL, FIRST, PARTIAL = 0, 1, 2
NO_SYMBOL = -1  # of an entry that only tells that the search of its partition was stopped
JOB_SIZE = 38
MAX_ANSWERS = 62  # how many are remembered for one candidate; walks beyond never pause

# Places in a frame.
ROW, BITS, END, LIMIT_ROW, OFFER, N, PATH_LO, PATH_HI, GAP_TOP, LAST, WANT, WANT_OFFER = range(12)
FRAME_SIZE = 12

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
