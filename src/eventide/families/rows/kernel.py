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

from eventide.compilation.njit import njit
from eventide.families.rows.kernel_labels import find_first, find_last
from eventide.families.rows.kernel_places import (
    CHECK,
    DONE,
    END,
    FAILED,
    FIRST_ROW,
    HIGH,
    IS_OPEN,
    JUMP,
    LABEL,
    LOW,
    MARK,
    MATCH_NUMBER,
    MATCHED,
    NEXT_NUMBER,
    NEXT_ROW,
    NO_SKIP_ROW,
    NO_STEPS_LEFT,
    OUTPUT_FULL,
    SKIP_NEXT,
    SKIP_PAST_LAST,
    SKIP_TO_FIRST_ROW,
    SPLIT,
    START,
    STOP_ROW,
    UNDECIDED,
    WORK_FULL,
    Limits,
    Out,
    Program,
    Room,
    Rows,
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


@njit(cache=True, nogil=True, forceinline=True, borrows=True)
def _has_bit(masks: IntArray, bit: int, row: int) -> bool:
    """Whether a row has a bit in its masks; every row has bit -1."""
    return bit < 0 or (masks[bit >> 6, row] >> (bit & 63)) & 1 != 0


@njit(cache=True, nogil=True, forceinline=True, borrows=True)
def _is_new(pc: int, row: int, n_trail: int, span: IntArray, program: Program, stamp: int, room: Room) -> bool:
    """Whether the join at `pc` was not tried at the row; from now on it was, and the trail tells."""
    n_begun = program.code[pc, 3]
    while n_begun > 0 and room.registers[n_begun - 1] == row:
        n_begun -= 1
    place = (program.joins[pc] + n_begun) * (span[HIGH] - span[LOW] + 1) + row - span[LOW]
    if room.tried[place] == stamp:
        return False
    room.tried[place] = stamp
    room.trail[n_trail] = place
    return True


@njit(cache=True, nogil=True, forceinline=True, borrows=True)
def _take_row(
    label: int, row: int, depth: int, span: IntArray, room: Room, tests: Any, cols: Any, tested: bool
) -> bool:
    """Put a row that has the label onto the path; whether the tests of the query hold."""
    room.labels[depth] = label
    room.before[depth] = room.last[label]
    if room.last[label] < 0:
        room.first[label] = depth
    room.last[label] = depth
    if not tested:
        return True
    holds, fold = tests
    fold(depth, row, label, span, room.folds, cols)
    return holds(label, row, span, room.labels, room.first, room.last, room.before, room.folds, cols)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, forceinline=True, borrows=True)
def _take_back(depth: int, to: int, room: Room) -> int:
    """Leave `to` rows on the path."""
    while depth > to:
        depth -= 1
        label = room.labels[depth]
        room.last[label] = room.before[depth]
        if room.last[label] < 0:
            room.first[label] = -1
    return depth


@njit(cache=True, nogil=True, forceinline=True, borrows=True)
def _attempt(
    known: int,
    is_open: bool,
    span: IntArray,
    rows: Rows,
    program: Program,
    limits: Limits,
    state: Any,
    room: Room,
    tests: Any,
    cols: Any,
) -> int:
    """Follow ways from row span[FIRST_ROW] on; how the attempt ended, or why it pauses.

    Rows before `known` are known. The first state.depth rows of the path are then those that the attempt has labelled.
    """
    code, bits, masks, ts_us = program.code, program.bits, rows.masks, rows.ts_us
    labels, stack_pc, stack_row = room.labels, room.stack_pc, room.stack_row
    start, lo, hi = span[FIRST_ROW], span[LOW], span[HIGH]
    has_window, window_us, stamp, left = ts_us.size > 0, limits.window_us, state.stamp, state.steps_left
    pc, row, depth, n_stack, n_trail, undecided = 0, start, 0, 0, 0, False
    if state.is_paused:
        state.is_paused = 0
        pc, row, depth = state.pc, state.at_row, state.depth
        n_stack, n_trail, undecided = state.n_stack, state.n_trail, state.is_undecided != 0
    ended = FAILED
    while True:
        if n_trail == room.trail.size or depth == labels.size or n_stack == stack_pc.size or left <= 0:
            ended = NO_STEPS_LEFT if left <= 0 else WORK_FULL
            state.is_paused, state.pc, state.at_row = 1, pc, row
            state.n_stack, state.is_undecided = n_stack, undecided
            break
        failed = False
        if program.joins[pc] >= 0:
            failed = not _is_new(pc, row, n_trail, span, program, stamp, room)
            n_trail += not failed
        op = code[pc, 0]
        if failed:
            pass
        elif op == LABEL:
            label = code[pc, 1]
            if row >= known:
                failed = True
                if is_open and has_window:
                    # A row that comes too late for the window would not matter.
                    next_us = ts_us[row] if row < hi else limits.frontier_us
                    undecided = undecided or next_us - ts_us[start] < window_us
                else:
                    undecided = undecided or is_open
            else:
                failed = not _has_bit(masks, bits[label], row) or not _has_bit(masks, program.near_bits[label], row)
            if not failed and has_window:
                failed = ts_us[row] - ts_us[start] >= window_us
            if not failed:
                room.codes[depth] = pc
                failed = not _take_row(label, row, depth, span, room, tests, cols, program.tested[label] != 0)
                depth += 1
                row += 1
                pc += 1
        elif op == SPLIT:
            target = code[pc, 1]
            bit = bits[code[target, 1]] if code[target, 0] == LABEL else -1
            if row < known and not _has_bit(masks, bit, row):
                # The row cannot have that label: the first choice would fail at once.
                pc = code[pc, 2]
            else:
                stack_pc[n_stack] = code[pc, 2]
                stack_row[n_stack] = row
                room.stack_trail[n_stack] = n_trail
                n_stack += 1
                pc = target
        elif op == JUMP:
            pc = code[pc, 1]
        elif op == START:
            failed = row != lo
            pc += 1
        elif op == END:
            failed = row != hi
            undecided = undecided or (is_open and row == hi)
            pc += 1
        elif op == MARK:
            register = code[pc, 1]
            # An entry below 0 is no choice: going back over it gives the register its old row again.
            stack_pc[n_stack] = -1 - register
            stack_row[n_stack] = room.registers[register]
            n_stack += 1
            room.registers[register] = row
            pc += 1
        elif op == CHECK:
            pc = code[pc, 2] if row == room.registers[code[pc, 1]] else pc + 1
        else:
            ended = MATCHED
            break
        if failed:
            while n_stack > 0 and stack_pc[n_stack - 1] < 0:
                n_stack -= 1
                room.registers[-1 - stack_pc[n_stack]] = stack_row[n_stack]
            if n_stack == 0:
                break
            n_stack -= 1
            left -= 1
            pc, row, n_trail = stack_pc[n_stack], stack_row[n_stack], room.stack_trail[n_stack]
            depth = _take_back(depth, row - start, room)
    state.depth, state.n_trail = depth, n_trail
    if ended in (FAILED, MATCHED):
        left -= 1 + (depth >> 4)
        if undecided:
            ended = UNDECIDED
    state.steps_left = left
    return ended


@njit(cache=True, nogil=True, forceinline=True, borrows=True)
def _write_match(start: int, state: Any, room: Room, out: Out) -> bool:
    """Write the match of an attempt to `out`; False where there is no room for it."""
    # The points on the way to a match did not fail: they leave the memo.
    for i in range(state.n_trail):
        room.tried[room.trail[i]] = 0
    n_path, n_out = state.n_path, state.n_out
    if n_path + state.depth > out.path.size:
        return False
    for at in range(state.depth):
        out.path[n_path + at] = room.codes[at]
    n_path += state.depth
    out.matches[n_out, 0] = state.partition
    out.matches[n_out, 1] = start
    out.matches[n_out, 2] = state.number
    out.matches[n_out, 3] = n_path
    state.n_out, state.n_path = n_out + 1, n_path
    state.number += 1
    return True


@njit(cache=True, nogil=True, forceinline=True, borrows=True)
def _skipped(depth: int, labels: IndexArray, skip_members: IndexArray, limits: Limits) -> int:
    """How many rows behind its first one the search goes on after a match; below 1: there is no such row."""
    if depth == 0 or limits.skip == SKIP_NEXT:
        return 1
    if limits.skip == SKIP_PAST_LAST:
        return depth
    if limits.skips_to_last:
        return find_last(labels, depth - 1, skip_members, 0)  # type: ignore[no-any-return]
    return find_first(labels, depth - 1, skip_members, 0)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, borrows=True)
def _match_partition(
    span: IntArray,
    rows: Rows,
    program: Program,
    limits: Limits,
    state: Any,
    room: Room,
    tests: Any,
    cols: Any,
    out: Out,
) -> int:
    """Attempts from state.row on, until one is undecided or the partition is done; DONE, or why the search pauses."""
    is_open = rows.progress[state.partition, IS_OPEN] != 0
    stop = rows.progress[state.partition, STOP_ROW]
    known = span[HIGH] - limits.ahead if is_open else span[HIGH]
    start, ended = state.row, DONE
    while start < stop:
        if state.n_out == out.matches.shape[0] or state.steps_left <= 0:
            ended = NO_STEPS_LEFT if state.steps_left <= 0 else OUTPUT_FULL
            break
        if not state.is_paused:
            if limits.first_bits:
                while start < min(known, stop) and not rows.masks[0, start] & limits.first_bits:
                    start += 1
                if start >= stop:
                    break
            state.stamp += limits.forgets
        span[FIRST_ROW], span[MATCH_NUMBER] = start, state.number
        ended = _attempt(known, is_open, span, rows, program, limits, state, room, tests, cols)
        if ended in (WORK_FULL, NO_STEPS_LEFT):
            break
        depth = state.depth
        for at in range(depth):
            room.first[room.labels[at]] = room.last[room.labels[at]] = -1
        if ended == UNDECIDED:
            ended = DONE
            break
        skipped = 1
        if ended == MATCHED:
            if not _write_match(start, state, room, out):
                ended = OUTPUT_FULL
                break
            skipped = _skipped(depth, room.labels, program.skip_members, limits)
            if skipped <= 0:
                ended = NO_SKIP_ROW if skipped < 0 else SKIP_TO_FIRST_ROW
                break
        start, ended = start + skipped, DONE
    state.row = start
    return ended


@njit(MATCH_ROWS, cache=True, nogil=True, borrows=True)
def match_rows(
    rows: Rows,
    stop_partition: int,
    program: Program,
    limits: Limits,
    state: Any,
    room: Room,
    tests: Any,
    cols: Any,
    out: Out,
) -> int:
    """Write matches to `out` from state.n_out on; DONE when `stop_partition` is reached, or why the search pauses.

    `tests` are `holds` and `fold`, which read `cols`. The rows of `rows.progress` say where the search of a partition
    begins, and then where it stopped. A call takes state.steps_left steps, each an attempt or a choice taken from the
    stack, then it pauses.
    """
    span = room.span
    while state.partition < stop_partition:
        span[LOW], span[HIGH] = rows.offsets[state.partition], rows.offsets[state.partition + 1]
        progress = rows.progress[state.partition]
        if state.row < span[LOW]:
            state.row, state.number = progress[NEXT_ROW], progress[NEXT_NUMBER]
            state.stamp += 1
        ended: int = _match_partition(span, rows, program, limits, state, room, tests, cols, out)
        if ended != DONE:
            return ended
        progress[NEXT_ROW], progress[NEXT_NUMBER] = state.row, state.number
        state.partition += 1
        state.row = -1
    return DONE
