"""Row pattern matching in sorted partitions: a program with a stack of choices, the preferred choice first.

An *attempt* begins at one row; its first way through the program is the match. Program points that several ways reach,
the *joins*, remember the rows at which they were tried, so that nested quantifiers stay polynomial on rows that do not
match. The *trail* lists what the present way has put into that memo; a match takes it out again. `state` holds where to
go on: a full output, full room to work in or the last step that a call may take pauses the search, and the next call
resumes it. The tests of a query come as functions, so that the module is compiled once for all queries.

A partition may be open: more rows will come. There an attempt that asks for a row that has not come is undecided,
whatever else it found. The search stops before that attempt, and repeats it when more rows are known.
docs/matchers.md follows a program through its attempts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eventide.compilation.njit import njit
from eventide.families.rows.kernel_labels import find_first, find_last
from eventide.families.rows.kernel_places import (
    AHEAD,
    AT_DEPTH,
    AT_PC,
    AT_ROW,
    AT_STACK,
    AT_TRAIL,
    ATTEMPT,
    CHECK,
    END,
    FIRST_BITS,
    FIRST_ROW,
    FRONTIER_US,
    HIGH,
    IS_OPEN,
    IS_PAUSED,
    IS_UNDECIDED,
    JUMP,
    LABEL,
    LAST_OF_SKIP,
    LOW,
    MARK,
    MATCH_NUMBER,
    MEMO,
    MEMO_PER_ATTEMPT,
    NEXT_NUMBER,
    NEXT_ROW,
    NO_PROBLEM,
    NO_SKIP_ROW,
    NO_STEPS_LEFT,
    NUMBER,
    OUTPUT_FULL,
    PARTITION,
    PROBLEM,
    REGISTERS,
    ROW,
    SKIP,
    SKIP_NEXT,
    SKIP_PAST_LAST,
    SKIP_TO_FIRST_ROW,
    SPLIT,
    START,
    STEPS_LEFT,
    STOP_ROW,
    WINDOW_US,
    WORK_FULL,
)
from eventide.families.rows.kernel_types import FOLD, HOLDS, MATCH_ROWS
from eventide.runtime.kernels.arrays import IndexArray, IntArray


@njit(HOLDS, cache=True, nogil=True)
def no_test(
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
    """Whether `row`, taken for `label`, satisfies what relates it to other rows, in a query without such conditions."""
    return True


@njit(FOLD, cache=True, nogil=True)
def no_fold(depth: int, row: int, label: int, span: IntArray, folds: Any, cols: Any) -> int:
    """Carry running aggregates from depth - 1 to depth, with `row` taken for `label`, in a query without them."""
    return 0


NO_TESTS = (no_test, no_fold)


@njit(MATCH_ROWS, cache=True, nogil=True)
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
    tests: Any,
    cols: Any,
    out: IntArray,
    out_path: IndexArray,
) -> int:
    """Write matches to `out`: (partition, first row, number, end in `out_path`), and their instructions to `out_path`.

    Returns how many matches were written. Finished when state[PARTITION] reaches `stop_partition`.

    The rows: partition p has those from offsets[p] to offsets[p + 1]; `masks` are their bits, 64 to a row of the array;
    `ts_us` are their times, empty without a window.
    The program: `joins[pc]` is the first number of a join, -1 elsewhere. `bits[label]` and `near_bits[label]` are bits
    in `masks` that a row of the label must have, -1: none. `tested[label]` says whether `tests` (`holds` and `fold`)
    decide, too. `skip_members[label]` says whether AFTER MATCH SKIP TO means the label.
    `limits`: rows to come have times from limits[FRONTIER_US] on. Conditions and measures look at most limits[AHEAD]
    rows ahead. If limits[FIRST_BITS] is not 0, the first row of a match has one of these bits in its first mask.
    `progress` has by partition where the search begins, and then where it stopped.
    Room to work in: `tried` is the memo, for every join and row of the largest partition. `path` has for each row of a
    match its label, the depth of the last row of that label before it, and its instruction. `stack` has for each choice
    that is left its instruction, its row, and the length of the trail there. The caller makes `path`, `stack` and
    `trail` larger when state[PROBLEM] says so. Arrays that the kernel itself replaced would cost more in every step,
    for counting references, than the step.
    A call takes state[STEPS_LEFT] steps, each an attempt or a choice taken from the stack, then it pauses.
    """
    holds, fold = tests
    n_labels = bits.size
    window_us, memo = limits[WINDOW_US], limits[MEMO]
    has_window = ts_us.size > 0
    first_bits = limits[FIRST_BITS]
    span = np.zeros(4, dtype=np.int64)
    first = np.full(n_labels, -1, dtype=np.int32)
    last = np.full(n_labels, -1, dtype=np.int32)
    registers = state[REGISTERS:]
    left, is_paused = state[STEPS_LEFT], state[IS_PAUSED] != 0
    state[IS_PAUSED] = 0
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
        is_open = progress[state[PARTITION], IS_OPEN] != 0
        stop = progress[state[PARTITION], STOP_ROW]
        known = hi - limits[AHEAD] if is_open else hi
        undecided = False
        width = hi - lo + 1
        span[LOW], span[HIGH] = lo, hi
        while state[ROW] < stop and not undecided:
            if n_out == out.shape[0] or left <= 0:
                state[STEPS_LEFT], state[PROBLEM] = left, NO_STEPS_LEFT if left <= 0 else NO_PROBLEM
                return n_out
            start = state[ROW]
            if first_bits and not is_paused:
                while start < min(known, stop) and not masks[0, start] & first_bits:
                    start += 1
                state[ROW] = start
                if start >= stop:
                    break
            span[FIRST_ROW], span[MATCH_NUMBER] = start, state[NUMBER]
            if memo == MEMO_PER_ATTEMPT and not is_paused:
                state[ATTEMPT] += 1
            stamp = state[ATTEMPT]
            pc, row, depth, n_stack, n_trail = 0, start, 0, 0, 0
            if is_paused:
                is_paused = False
                pc, row, depth = state[AT_PC], state[AT_ROW], state[AT_DEPTH]
                n_stack, n_trail, undecided = state[AT_STACK], state[AT_TRAIL], state[IS_UNDECIDED] != 0
                for at in range(depth):
                    label = labels[at]
                    if first[label] < 0:
                        first[label] = at
                    last[label] = at
            matched = False
            while True:
                if n_trail == trail.size or depth == labels.size or n_stack == stack_pc.size or left <= 0:
                    state[PROBLEM] = NO_STEPS_LEFT if left <= 0 else WORK_FULL
                    state[STEPS_LEFT], state[IS_PAUSED], state[IS_UNDECIDED] = left, 1, undecided
                    state[AT_PC], state[AT_ROW], state[AT_DEPTH] = pc, row, depth
                    state[AT_STACK], state[AT_TRAIL] = n_stack, n_trail
                    return n_out
                failed = False
                join = joins[pc]
                if join >= 0:
                    n_begun = program[pc, 3]
                    while n_begun > 0 and registers[n_begun - 1] == row:
                        n_begun -= 1
                    place = (join + n_begun) * width + row - lo
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
                        target = program[pc, 1]
                        bit = bits[program[target, 1]] if program[target, 0] == LABEL else -1
                        if bit >= 0 and row < known and not (masks[bit >> 6, row] >> (bit & 63)) & 1:
                            # The row cannot have that label: the first choice would fail at once.
                            pc = program[pc, 2]
                        else:
                            stack_pc[n_stack] = program[pc, 2]
                            stack_row[n_stack] = row
                            stack_trail[n_stack] = n_trail
                            n_stack += 1
                            pc = target
                    elif op == JUMP:
                        pc = program[pc, 1]
                    elif op == START:
                        failed = row != lo
                        pc += 1
                    elif op == END:
                        failed = row != hi
                        undecided = undecided or (is_open and row == hi)
                        pc += 1
                    elif op == MARK:
                        register = program[pc, 1]
                        # An entry below 0 is no choice: going back over it gives the register its old row again.
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
                    left -= 1
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
                # The points on the way to a match did not fail: they leave the memo.
                for i in range(n_trail):
                    tried[trail[i]] = 0
                if n_path + depth > out_path.size:
                    if n_out == 0:
                        state[PROBLEM] = OUTPUT_FULL
                    state[STEPS_LEFT] = left
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
            left -= 1 + (depth >> 4)
            for at in range(depth):
                first[labels[at]] = last[labels[at]] = -1
        progress[state[PARTITION], NEXT_ROW] = state[ROW]
        progress[state[PARTITION], NEXT_NUMBER] = state[NUMBER]
        state[PARTITION] += 1
        state[ROW] = -1
    state[STEPS_LEFT] = left
    return n_out
