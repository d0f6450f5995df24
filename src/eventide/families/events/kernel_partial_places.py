"""Where things stand in the arrays of the search for the longest partial match."""

from __future__ import annotations

# Places in `state`: the best partial match so far, and what the search has cost.
RANK, SIZE, FIRST_SIZE, SINCE, BEST_SCOPE, STEPS, MAX_STEPS, RESULT = range(8)
STATE_SIZE = 8

# Places in a row of `found`'s head.
HEAD_ENTRIES, HEAD_POSITIONS, HEAD_PARTITION, HEAD_SCOPE, HEAD_FIRST_SIZE, HEAD_RESULT = range(6)
FOUND_SIZE = 6
