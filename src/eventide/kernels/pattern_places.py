"""Where things stand in the arrays of the pattern matcher, and the words for its modes and results."""

from __future__ import annotations

# What a call ends with.
DONE, FULL, SPACE, FOUND, LIMIT = 0, 1, 2, 3, 4
# What a walk is for: matches, all ways to match, whether there is one, whether a negation is violated.
MATCHES, WAYS, EXISTS, GAP = 0, 1, 2, 3
ANY, NEXT, CONTIGUOUS = 0, 1, 2

# Places in `job`.
MODE, BRANCH, LO, HI, ENTRY, FRAME, PATH, OPEN, DEPTH = 0, 1, 2, 3, 4, 5, 6, 7, 8
SCOPE, BRANCH_IDX, SCOPE_LO, SCOPE_HI, OFFER_LO, OFFER_HI, WINDOW_END, REACH = 9, 10, 11, 12, 13, 14, 15, 16
NEWER_THAN, UP_TO, N_WINDOWS, MIN_LENGTH, MAX_MATCHES, N_MATCHES = 17, 18, 19, 20, 21, 22
FAN_OUT, MAX_ENDS, MAX_ENTRIES, MAX_GAPS, NEGATION = 23, 24, 25, 26, 27
N_OUT, N_OUT_ENTRIES, N_OUT_GAPS, STOP = 28, 29, 30, 31
JOB_SIZE = 32

# Places in a frame.
ROW, BITS, END, LIMIT_ROW, OFFER, N, PATH_LO, PATH_HI, GAP_TOP, LAST, WANT, WANT_OFFER = range(12)
FRAME_SIZE = 12

# Places in a row of `out`'s head, and in a scope.
OUT_ENTRIES, OUT_SCOPE, OUT_DECIDED, OUT_WAITED, OUT_GAPS = 0, 1, 2, 3, 4
HEAD_SIZE = 5
SCOPE_SIZE = 6  # first row, end, first offer, end, end of the window or NEVER, partition

NEVER = 1 << 62
