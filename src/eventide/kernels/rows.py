"""Row pattern matching in sorted partitions: a program with a stack of choices, the preferred choice first.

Each attempt begins at one row; its first way through the program is the match. Program points that several ways
reach ("joins") remember the rows from which they failed, so that nested quantifiers stay polynomial on rows that do
not match. `state` holds where to go on, so a full output pauses the search and the next call resumes it.

A partition may be open: more rows will come. There an attempt that asked for a row that has not come is undecided,
whatever it found; the partition's search stops before it, and goes on when more is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from eventide.kernels.arrays import IndexArray, IntArray

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
PARTITION, ROW, NUMBER, ATTEMPT, PROBLEM = 0, 1, 2, 3, 4
# state[PROBLEM]: what ended a call before its work was done.
NO_PROBLEM, NO_SKIP_ROW, SKIP_TO_FIRST_ROW, OUTPUT_FULL, WORK_FULL = 0, 1, 2, 3, 4
# Places in `span`, for conditions.
LOW, HIGH, FIRST_ROW, MATCH_NUMBER = 0, 1, 2, 3
# Places in `limits`.
WINDOW_US, SKIP, LAST_OF_SKIP, MEMO, N_REGISTERS, AHEAD, FRONTIER_US = 0, 1, 2, 3, 4, 5, 6
SKIP_PAST_LAST, SKIP_NEXT, SKIP_TO = 0, 1, 2
# Places in a row of `progress`: where its search begins, and later where it stopped; the number of the next match;
# whether rows before the first were there and are gone; whether more rows will come.
NEXT_ROW, NEXT_NUMBER, IS_BEGUN, IS_OPEN = 0, 1, 2, 3
MEMO_PER_ATTEMPT, MEMO_PER_PARTITION = 0, 1


# <generated: holds>
@njit(cache=True, nogil=True)
def holds(
    label: int,
    row: int,
    span: IntArray,
    labels: IndexArray,
    first: IndexArray,
    last: IndexArray,
    before: IndexArray,
    folds: Any,
    cols: Any,
) -> bool:
    """Whether `row`, taken for `label`, satisfies what relates it to other rows; replaced per query."""
    return True


# </generated>


# <generated: near>
@njit(cache=True, nogil=True)
def near(which: int, row: int, span: IntArray, cols: Any) -> bool:
    """Whether a condition that looks at the row and its neighbours holds; replaced per query."""
    return True


# </generated>


# <generated: fold>
@njit(cache=True, nogil=True)
def fold(depth: int, row: int, label: int, span: IntArray, folds: Any, cols: Any) -> None:
    """Carry running aggregates from depth - 1 to depth, with `row` taken for `label`; replaced per query."""


# </generated>


@njit(cache=True, nogil=True)
def find_last(labels: IndexArray, depth: int, members: IndexArray, offset: int) -> int:
    """The depth of the last row up to `depth` whose label is a member, or of the one `offset` before it; -1: none."""
    for at in range(depth, -1, -1):
        if members[labels[at]]:
            if offset == 0:
                return at
            offset -= 1
    return -1


@njit(cache=True, nogil=True)
def find_first(labels: IndexArray, depth: int, members: IndexArray, offset: int) -> int:
    """As `find_last`, counted from the match's first row."""
    for at in range(depth + 1):
        if members[labels[at]]:
            if offset == 0:
                return at
            offset -= 1
    return -1


@njit(cache=True, nogil=True)
def mark_near(
    offsets: IntArray, start: int, stop: int, n_near: int, first_word: int, masks: IntArray, cols: Any
) -> None:
    """Set a bit for each row and condition that looks at no more than its neighbours: 64 conditions to a mask."""
    span = np.zeros(4, dtype=np.int64)
    for partition in range(start, stop):
        span[LOW], span[HIGH] = offsets[partition], offsets[partition + 1]
        for row in range(span[LOW], span[HIGH]):
            for word in range((n_near + 63) // 64):
                found = np.int64(0)
                for which in range(64 * word, min(n_near, 64 * word + 64)):
                    if near(which, row, span, cols):
                        found |= np.int64(1) << np.int64(which & 63)
                masks[first_word + word, row] = found


@njit(cache=True, nogil=True)
def match_rows(
    offsets: IntArray,
    stop_partition: int,
    ts_us: IntArray,
    masks: IntArray,
    program: IndexArray,
    joins: IndexArray,
    bits: IndexArray,
    near_bits: IndexArray,
    tested: IndexArray,
    skip_members: IndexArray,
    limits: IntArray,
    progress: IntArray,
    state: IntArray,
    tried: IndexArray,
    path: IndexArray,
    stack: IndexArray,
    trail: IntArray,
    folds: Any,
    cols: Any,
    out: IntArray,
    out_path: IndexArray,
) -> int:
    """Write matches to `out`: (partition, first row, number, end in `out_path`), and their instructions to `out_path`.

    Returns how many matches were written. Finished when state[PARTITION] reaches `stop_partition`. `joins[pc]` numbers
    the points that remember failures, -1 elsewhere; `bits[label]` and `near_bits[label]` are bits in `masks` that
    must be set, -1: none; `tested[label]` whether `holds` decides, too; `ts_us` is empty without a window; `tried` has
    room for every join and row of the largest partition. Rows to come have times from limits[FRONTIER_US] on;
    conditions and measures look at most limits[AHEAD] rows ahead.
    `path` (rows: label, last row of the label before, instruction), `stack` and `trail` are room to work in: the
    caller makes them larger when the state says so. Arrays that the kernel itself replaced would cost more in every
    step, for counting references, than the step.
    """
    n_labels = bits.size
    window_us, memo = limits[WINDOW_US], limits[MEMO]
    has_window = ts_us.size > 0
    span = np.zeros(4, dtype=np.int64)
    first = np.full(n_labels, -1, dtype=np.int32)
    last = np.full(n_labels, -1, dtype=np.int32)
    registers = np.zeros(limits[N_REGISTERS] + 1, dtype=np.int64)
    labels, before, codes = path[0], path[1], path[2]
    stack_pc, stack_row, stack_trail = stack[0], stack[1], stack[2]
    n_out = 0
    n_path = 0
    while state[PARTITION] < stop_partition:
        lo, hi = offsets[state[PARTITION]], offsets[state[PARTITION] + 1]
        if state[ROW] < lo:
            state[ROW] = progress[state[PARTITION], NEXT_ROW]
            state[NUMBER] = progress[state[PARTITION], NEXT_NUMBER]
            state[ATTEMPT] += 1
        is_begun, is_open = progress[state[PARTITION], IS_BEGUN] != 0, progress[state[PARTITION], IS_OPEN] != 0
        known = hi - limits[AHEAD] if is_open else hi
        undecided = False
        width = hi - lo + 1
        span[LOW], span[HIGH] = lo, hi
        while state[ROW] < hi and not undecided:
            if n_out == out.shape[0]:
                return n_out
            start = state[ROW]
            span[FIRST_ROW], span[MATCH_NUMBER] = start, state[NUMBER]
            if memo == MEMO_PER_ATTEMPT:
                state[ATTEMPT] += 1
            stamp = state[ATTEMPT]
            pc, row, depth, n_stack, n_trail = 0, start, 0, 0, 0
            matched = False
            while True:
                if n_trail == trail.size or depth == labels.size or n_stack == stack_pc.size:
                    for i in range(n_trail):
                        tried[trail[i]] = 0
                    state[PROBLEM] = WORK_FULL
                    return n_out
                failed = False
                join = joins[pc]
                if join >= 0:
                    place = join * width + row - lo
                    if tried[place] == stamp:
                        failed = True
                    else:
                        tried[place] = stamp
                        trail[n_trail] = place
                        n_trail += 1
                if not failed:
                    op = program[pc, 0]
                    if op == LABEL:
                        label = program[pc, 1]
                        bit = bits[label]
                        if row >= known:
                            failed = True
                            if is_open:
                                if not has_window:
                                    undecided = True
                                else:
                                    # A row that comes too late for the window would not matter.
                                    next_us = ts_us[row] if row < hi else limits[FRONTIER_US]
                                    undecided = undecided or next_us - ts_us[start] < window_us
                        else:
                            failed = bit >= 0 and not (masks[bit >> 6, row] >> (bit & 63)) & 1
                        if not failed and near_bits[label] >= 0:
                            bit = near_bits[label]
                            failed = not (masks[bit >> 6, row] >> (bit & 63)) & 1
                        if not failed and has_window:
                            failed = ts_us[row] - ts_us[start] >= window_us
                        if not failed:
                            codes[depth] = pc
                            labels[depth] = label
                            before[depth] = last[label]
                            if last[label] < 0:
                                first[label] = depth
                            last[label] = depth
                            depth += 1
                            if tested[label]:
                                fold(depth - 1, row, label, span, folds, cols)
                                failed = not holds(label, row, span, labels, first, last, before, folds, cols)
                            row += 1
                            pc += 1
                    elif op == SPLIT:
                        stack_pc[n_stack] = program[pc, 2]
                        stack_row[n_stack] = row
                        stack_trail[n_stack] = n_trail
                        n_stack += 1
                        pc = program[pc, 1]
                    elif op == JUMP:
                        pc = program[pc, 1]
                    elif op == START:
                        failed = row != lo or is_begun
                        pc += 1
                    elif op == END:
                        failed = row != hi
                        undecided = undecided or (is_open and row == hi)
                        pc += 1
                    elif op == MARK:
                        register = program[pc, 1]
                        # Popped on the way back: the register gets its old row again.
                        stack_pc[n_stack] = -1 - register
                        stack_row[n_stack] = registers[register]
                        n_stack += 1
                        registers[register] = row
                        pc += 1
                    elif op == CHECK:
                        pc = program[pc, 2] if row == registers[program[pc, 1]] else pc + 1
                    else:
                        matched = True
                        break
                if failed:
                    while n_stack > 0 and stack_pc[n_stack - 1] < 0:
                        n_stack -= 1
                        registers[-1 - stack_pc[n_stack]] = stack_row[n_stack]
                    if n_stack == 0:
                        break
                    n_stack -= 1
                    pc, row, n_trail = stack_pc[n_stack], stack_row[n_stack], stack_trail[n_stack]
                    while depth > row - start:
                        depth -= 1
                        label = labels[depth]
                        last[label] = before[depth]
                        if last[label] < 0:
                            first[label] = -1
            if undecided:
                pass
            elif matched:
                # What led to the match did not fail.
                for i in range(n_trail):
                    tried[trail[i]] = 0
                if n_path + depth > out_path.size:
                    if n_out == 0:
                        state[PROBLEM] = OUTPUT_FULL
                    return n_out
                for at in range(depth):
                    out_path[n_path + at] = codes[at]
                n_path += depth
                out[n_out, 0] = state[PARTITION]
                out[n_out, 1] = start
                out[n_out, 2] = state[NUMBER]
                out[n_out, 3] = n_path
                n_out += 1
                state[NUMBER] += 1
                if depth == 0 or limits[SKIP] == SKIP_NEXT:
                    state[ROW] = start + 1
                elif limits[SKIP] == SKIP_PAST_LAST:
                    state[ROW] = start + depth
                else:
                    if limits[LAST_OF_SKIP]:
                        at = find_last(labels, depth - 1, skip_members, 0)
                    else:
                        at = find_first(labels, depth - 1, skip_members, 0)
                    state[ROW] = start + at
                    if at <= 0:
                        state[PROBLEM] = NO_SKIP_ROW if at < 0 else SKIP_TO_FIRST_ROW
                        return n_out
            else:
                state[ROW] = start + 1
            for at in range(depth):
                first[labels[at]] = last[labels[at]] = -1
        progress[state[PARTITION], NEXT_ROW] = state[ROW]
        progress[state[PARTITION], NEXT_NUMBER] = state[NUMBER]
        state[PARTITION] += 1
        state[ROW] = -1
    return n_out
