"""Mutants of MATCH_RECOGNIZE: the matcher, its programs, measures, order."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

MATCHER = ("tests/rows/test_matcher.py",)
ROW_KERNEL = "kernels/rows.py"
ROW_MEASURES = "operators/rows/measures.py"
ROW_PROGRAM = "plan/rows/program.py"

ROWS = (
    Mutant(
        "rows: greedy and reluctant are swapped",
        ROW_PROGRAM,
        "return split, 1 if pattern.reluctant else 2",
        "self.code[split] = self.code[split][:1] + self.code[split][:0:-1]\n"
        "        return split, 2 if pattern.reluctant else 1",
        MATCHER,
    ),
    Mutant(
        "rows: the last alternative is preferred",
        ROW_PROGRAM,
        "self._choice(pattern.parts, pattern.span",
        "self._choice(pattern.parts[::-1], pattern.span",
        MATCHER,
    ),
    Mutant(
        "rows: permutations are preferred from the last on",
        ROW_PROGRAM,
        "for order in permutations(pattern.parts)]",
        "for order in permutations(pattern.parts[::-1])]",
        MATCHER,
    ),
    Mutant(
        "rows: an iteration that may be empty is the last",
        ROW_KERNEL,
        "if row == registers[program[pc, 1]] else",
        "if row >= registers[program[pc, 1]] else",
        MATCHER,
    ),
    Mutant(
        "rows: ^ holds where the attempt begins", ROW_KERNEL, "failed = row != lo", "failed = row != start", MATCHER
    ),
    Mutant("rows: $ holds before the last row", ROW_KERNEL, "failed = row != hi\n", "failed = row < hi - 1\n", MATCHER),
    Mutant(
        "rows: the window's end belongs to the window",
        ROW_KERNEL,
        "ts_us[row] - ts_us[start] >= window_us",
        "ts_us[row] - ts_us[start] > window_us",
        MATCHER,
    ),
    Mutant(
        "rows: PAST LAST ROW skips a row too many",
        ROW_KERNEL,
        "state[ROW] = start + depth\n",
        "state[ROW] = start + depth + 1\n",
        MATCHER,
    ),
    Mutant(
        "rows: TO NEXT ROW skips past the match",
        ROW_KERNEL,
        "if depth == 0 or limits[SKIP] == SKIP_NEXT:",
        "if depth == 0:",
        MATCHER,
    ),
    Mutant(
        "rows: TO FIRST and TO LAST are swapped",
        ROW_KERNEL,
        "if limits[LAST_OF_SKIP]:",
        "if not limits[LAST_OF_SKIP]:",
        MATCHER,
    ),
    Mutant(
        "rows: a match that begins at its skip label is no error",
        ROW_KERNEL,
        "                    if at <= 0:\n",
        "                    if at == 0:\n                        state[ROW] = start + 1\n"
        "                    elif at < 0:\n",
        MATCHER,
    ),
    Mutant(
        "rows: an empty match uses no number", ROW_KERNEL, "state[NUMBER] += 1", "state[NUMBER] += depth > 0", MATCHER
    ),
    Mutant(
        "rows: numbers go on in the next partition",
        ROW_KERNEL,
        "state[NUMBER] = progress[state[PARTITION], NEXT_NUMBER]",
        "state[NUMBER] = max(1, state[NUMBER])",
        MATCHER,
    ),
    Mutant(
        "rows: what led to a match is remembered as failed",
        ROW_KERNEL,
        "                for i in range(n_trail):\n                    tried[trail[i]] = 0\n                if n_path",
        "                if n_path",
        MATCHER,
    ),
    Mutant(
        "rows: failures of an earlier attempt count where they may not",
        "operators/rows/operator.py",
        "places.MEMO_PER_ATTEMPT if per_attempt else",
        "places.MEMO_PER_PARTITION if per_attempt else",
        MATCHER,
    ),
    Mutant(
        "rows: failures are remembered before conditions on other rows",
        "operators/rows/program.py",
        "entries[pc] > 1 and not depends[pc]",
        "entries[pc] > 1",
        MATCHER,
    ),
    Mutant(
        "rows: a label that is taken back forgets its earlier rows",
        ROW_KERNEL,
        "last[label] = before[depth]",
        "last[label] = -1",
        MATCHER,
    ),
    Mutant(
        "rows: labels of a failed attempt stay",
        ROW_KERNEL,
        "                first[labels[at]] = last[labels[at]] = -1",
        "                pass",
        MATCHER,
    ),
    Mutant(
        "rows: PREV goes back too far",
        "plan/rows/resolve.py",
        "self._offset(inner, default=1) * (-1",
        "self._offset(inner, default=2) * (-1",
        MATCHER,
    ),
    Mutant(
        "rows: PREV and NEXT are swapped",
        "plan/rows/resolve.py",
        '(-1 if _name(inner) == "PREV" else 1)',
        '(1 if _name(inner) == "PREV" else -1)',
        MATCHER,
    ),
    Mutant(
        "rows: a condition's PREV leaves the partition",
        "plan/rows/define.py",
        "if {at} < span[0] or {at} >= span[1]:",
        "if {at} < 0 or {at} >= span[1]:",
        MATCHER,
    ),
    Mutant(
        "rows: a condition's LAST with an offset is off by one",
        "plan/rows/define.py",
        "np.array([{members}], dtype=np.int32), {slot.offset})",
        "np.array([{members}], dtype=np.int32), {max(slot.offset - 1, 0)})",
        MATCHER,
    ),
    Mutant(
        "rows: a measure's LAST with an offset is off by one",
        "kernels/measures.py",
        "n_found - 1 - offset",
        "n_found - 1 - max(offset - 1, 0)",
        MATCHER,
    ),
    Mutant(
        "rows: a measure's PREV does not reach the first row",
        "kernels/measures.py",
        "low[m] <= row < high[m]",
        "low[m] < row < high[m]",
        MATCHER,
    ),
    Mutant(
        "rows: RUNNING navigation sees the whole match",
        "kernels/measures.py",
        "        stop = length[m] if final else point_depth[p] + 1\n        while seen < stop:\n            if members",
        "        stop = length[m]\n        while seen < stop:\n            if members",
        MATCHER,
    ),
    Mutant(
        "rows: FINAL aggregates stop at the row",
        "kernels/measures.py",
        "        stop = length[m] if final else point_depth[p] + 1\n        while seen < stop:\n            row",
        "        stop = point_depth[p] + 1\n        while seen < stop:\n            row",
        MATCHER,
    ),
    Mutant(
        "rows: aggregates count NULL",
        "kernels/measures.py",
        "if members[labels[begin[m] + seen]] and valid[row]:",
        "if members[labels[begin[m] + seen]]:",
        MATCHER,
    ),
    Mutant(
        "rows: aggregates of a label take all rows",
        "kernels/measures.py",
        "if members[labels[begin[m] + seen]] and valid[row]:",
        "if valid[row]:",
        MATCHER,
    ),
    Mutant(
        "rows: a condition's aggregate takes rows of other labels",
        "plan/rows/define.py",
        'f"    if ({wanted}) and cols[2][{index}, row]:"',
        'f"    if cols[2][{index}, row]:"',
        MATCHER,
    ),
    Mutant(
        "rows: a condition's aggregate begins with its second value",
        "plan/rows/define.py",
        "x{k} = y{k} if n{k} == 0 else ({combine})",
        "x{k} = ({combine})",
        MATCHER,
    ),
    Mutant(
        "rows: excluded rows are shown",
        ROW_MEASURES,
        "shown = ~found.excluded",
        "shown = np.ones_like(found.excluded)",
        MATCHER,
    ),
    Mutant(
        "rows: empty matches are shown although omitted",
        ROW_MEASURES,
        'if empty.size and self._spec.rows != "all omit empty":',
        "if empty.size:",
        MATCHER,
    ),
    Mutant(
        "rows: the row of an empty match is unmatched, too",
        ROW_MEASURES,
        "        matched[self.first] = True\n",
        "",
        MATCHER,
    ),
    Mutant(
        "rows: a constant measure of an unmatched row is not NULL",
        "plan/rows/lower.py",
        "duckdb = duckdb and f'CASE WHEN \"{NUMBER}\" IS NOT NULL THEN {duckdb} END'",
        "pass",
        MATCHER,
    ),
    Mutant(
        "rows: NULLs are ordered at the other end",
        "operators/rows/order.py",
        '"ascending" if key.nulls_first else "descending"',
        '"descending" if key.nulls_first else "ascending"',
        MATCHER,
    ),
    Mutant(
        "rows: descending order is ascending",
        "operators/rows/order.py",
        'direction = "descending" if key.descending else "ascending"',
        'direction = "ascending"',
        MATCHER,
    ),
)
