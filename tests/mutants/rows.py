"""Mutants of MATCH_RECOGNIZE: the matcher, its programs, measures, order."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

MATCHER = ("tests/rows/test_matcher.py",)
TIES, IDS, DIAGNOSIS = "tests/rows/test_ties.py", "tests/rows/test_match_ids.py", "tests/rows/test_diagnosis.py"

ROWS = (
    Mutant(
        "rows: greedy and reluctant are swapped",
        "_Writer._split",
        "return split, 1 if pattern.reluctant else 2",
        "self.code[split] = self.code[split][:1] + self.code[split][:0:-1]\n"
        "return split, 2 if pattern.reluctant else 1",
        MATCHER,
    ),
    Mutant(
        "rows: the last alternative is preferred",
        "_Writer.write",
        "self._choice(pattern, excluded, depth)",
        "self._choice(Choice(pattern.parts[::-1], pattern.span), excluded, depth)",
        MATCHER,
    ),
    Mutant(
        "rows: permutations are preferred from the last on",
        "_Writer._permute",
        "range(n_parts)",
        "reversed(range(n_parts))",
        MATCHER,
    ),
    Mutant(
        "rows: an iteration that may be empty is the last",
        "match_rows",
        "row == registers[program[pc, 1]]",
        "row >= registers[program[pc, 1]]",
        MATCHER,
    ),
    Mutant(
        "rows: a failure counts for empty iterations and others alike",
        "match_rows",
        "while n_begun > 0 and registers[n_begun - 1] == row:",
        "while False:",
        MATCHER,
    ),
    Mutant(
        "rows: a loop that must be taken once may be left at once",
        "_Writer._loop",
        "pattern.minimum == 0",
        "pattern.minimum <= 1",
        MATCHER,
    ),
    Mutant(
        "rows: ties stay as they came",
        "rows.lower:_Lowering.physical",
        "ties = self._tie_columns()",
        "ties = ()",
        (TIES,),
    ),
    Mutant(
        "rows: columns without an order tell no ties apart",
        "order_rows",
        "for names in (ordered, others):",
        "for names in (ordered,):",
        (TIES,),
    ),
    Mutant(
        "rows: all empty matches have one id",
        "Measures._ids",
        "rows[ends[is_empty] - 1] = found.first[is_empty]",
        "rows[ends[is_empty] - 1] = 0",
        (IDS,),
    ),
    Mutant(
        "rows: an id does not tell labels apart",
        "Measures._ids",
        "rows[bound], labels[bound] = found.spread()[0], found.labels",
        "rows[bound] = found.spread()[0]",
        (IDS,),
    ),
    Mutant(
        "rows: the request for ids changes the order of ties",
        "_Lowering.physical",
        "dict.fromkeys([*ties, *hashed[len(self.partition) :]])",
        "dict.fromkeys([*hashed[len(self.partition) :], *ties])",
        (IDS,),
    ),
    Mutant(
        "rows: points are cut by their number only",
        "Measures._cut",
        "size += found.length[match] if listed.final else depth + 1",
        "size += 0",
        ("tests/rows/test_memory.py",),
    ),
    Mutant(
        "rows: large unsigned integers are folded as signed ones",
        "Measures._foldable",
        "if pa.types.is_integer(column.type) and not pa.types.is_uint64(column.type):",
        "if pa.types.is_integer(column.type):",
        ("tests/rows/test_types.py",),
    ),
    Mutant(
        "rows: rows without a time are never dropped",
        "_Lowering.physical",
        'drop = bool(ts[0]) and self.options.on_bad_event == "drop"',
        "drop = False",
        ("tests/rows/test_bad_rows.py",),
    ),
    Mutant(
        "rows: a diagnosis joins sessions",
        "_RowDiagnosis._split",
        "if ttl is None or self._times_of_all.null_count:",
        "if True:",
        (DIAGNOSIS,),
    ),
    Mutant(
        "rows: a diagnosis takes the last session",
        "_RowDiagnosis._furthest",
        "(best < 0 or self._rank(code) > self._rank(best))",
        "True",
        (DIAGNOSIS,),
    ),
    Mutant(
        "rows: ^ holds where the attempt begins", "match_rows", "failed = row != lo", "failed = row != start", MATCHER
    ),
    Mutant("rows: $ holds before the last row", "match_rows", "failed = row != hi", "failed = row < hi - 1", MATCHER),
    Mutant(
        "rows: the window's end belongs to the window",
        "match_rows",
        "ts_us[row] - ts_us[start] >= window_us",
        "ts_us[row] - ts_us[start] > window_us",
        MATCHER,
    ),
    Mutant(
        "rows: PAST LAST ROW skips a row too many",
        "match_rows",
        "state[ROW] = start + depth",
        "state[ROW] = start + depth + 1",
        MATCHER,
    ),
    Mutant(
        "rows: TO NEXT ROW skips past the match",
        "match_rows",
        "if depth == 0 or limits[SKIP] == SKIP_NEXT:",
        "if depth == 0:",
        MATCHER,
    ),
    Mutant(
        "rows: TO FIRST and TO LAST are swapped",
        "match_rows",
        "if limits[LAST_OF_SKIP]:",
        "if not limits[LAST_OF_SKIP]:",
        MATCHER,
    ),
    Mutant(
        "rows: a match that begins at its skip label is no error",
        "match_rows",
        "if at <= 0:\n    state[PROBLEM] = NO_SKIP_ROW if at < 0 else SKIP_TO_FIRST_ROW\n    return n_out",
        "if at == 0:\n"
        "    state[ROW] = start + 1\n"
        "elif at < 0:\n"
        "    state[PROBLEM] = NO_SKIP_ROW if at < 0 else SKIP_TO_FIRST_ROW\n"
        "    return n_out",
        MATCHER,
    ),
    Mutant(
        "rows: an empty match uses no number", "match_rows", "state[NUMBER] += 1", "state[NUMBER] += depth > 0", MATCHER
    ),
    Mutant(
        "rows: numbers go on in the next partition",
        "match_rows",
        "state[NUMBER] = progress[state[PARTITION], NEXT_NUMBER]",
        "state[NUMBER] = max(1, state[NUMBER])",
        MATCHER,
    ),
    Mutant(
        "rows: what led to a match is remembered as failed",
        "match_rows",
        "for i in range(n_trail):\n"
        "    tried[trail[i]] = 0\n"
        "if n_path + depth > out_path.size:\n"
        "    if n_out == 0:\n"
        "        state[PROBLEM] = OUTPUT_FULL\n"
        "    state[STEPS_LEFT] = left\n"
        "    return n_out",
        "if n_path + depth > out_path.size:\n"
        "    if n_out == 0:\n"
        "        state[PROBLEM] = OUTPUT_FULL\n"
        "    state[STEPS_LEFT] = left\n"
        "    return n_out",
        MATCHER,
    ),
    Mutant(
        "rows: failures of an earlier attempt count where they may not",
        "Search.of",
        "places.MEMO_PER_ATTEMPT if per_attempt else places.MEMO_PER_PARTITION",
        "places.MEMO_PER_PARTITION if per_attempt else places.MEMO_PER_PARTITION",
        MATCHER,
    ),
    Mutant(
        "rows: failures are remembered before conditions on other rows",
        "Program.joins",
        "entries[pc] > 1 and not depends[pc]",
        "entries[pc] > 1",
        MATCHER,
    ),
    Mutant(
        "rows: a label that is taken back forgets its earlier rows",
        "match_rows",
        "last[label] = before[depth]",
        "last[label] = -1",
        MATCHER,
    ),
    Mutant(
        "rows: labels of a failed attempt stay",
        "match_rows",
        "first[labels[at]] = last[labels[at]] = -1",
        "pass",
        MATCHER,
    ),
    Mutant(
        "rows: PREV goes back too far",
        "_Resolver._navigation",
        "self._offset(inner, default=1)",
        "self._offset(inner, default=2)",
        MATCHER,
    ),
    Mutant(
        "rows: PREV and NEXT are swapped",
        "_Resolver._navigation",
        '(-1 if _name(inner) == "PREV" else 1)',
        '(1 if _name(inner) == "PREV" else -1)',
        MATCHER,
    ),
    Mutant(
        "rows: a condition's PREV leaves the partition",
        "_RowWriter._find",
        'f"    if {at} < span[0] or {at} >= span[1]:"',
        'f"    if {at} < 0 or {at} >= span[1]:"',
        MATCHER,
    ),
    Mutant(
        "rows: a condition's LAST with an offset is off by one",
        "_RowWriter._find",
        'f"{at} = {find}(labels, row - span[2], np.array([{members}], dtype=np.int32), {slot.offset})"',
        'f"{at} = {find}(labels, row - span[2], np.array([{members}], dtype=np.int32), {max(slot.offset - 1, 0)})"',
        MATCHER,
    ),
    Mutant(
        "rows: a measure's LAST with an offset is off by one",
        "pick_rows",
        "n_found - 1 - offset",
        "n_found - 1 - max(offset - 1, 0)",
        MATCHER,
    ),
    Mutant(
        "rows: a measure's PREV does not reach the first row",
        "pick_rows",
        "low[m] <= row < high[m]",
        "low[m] < row < high[m]",
        MATCHER,
    ),
    Mutant(
        "rows: RUNNING navigation sees the whole match",
        "pick_rows",
        "length[m] if final else point_depth[p] + 1",
        "length[m]",
        MATCHER,
    ),
    Mutant(
        "rows: FINAL aggregates stop at the row",
        "fold_rows",
        "length[m] if final else point_depth[p] + 1",
        "point_depth[p] + 1",
        MATCHER,
    ),
    Mutant(
        "rows: aggregates count NULL",
        "fold_rows",
        "if members[labels[begin[m] + seen]] and valid[row]:",
        "if members[labels[begin[m] + seen]]:",
        MATCHER,
    ),
    Mutant(
        "rows: aggregates of a label take all rows",
        "fold_rows",
        "if members[labels[begin[m] + seen]] and valid[row]:",
        "if valid[row]:",
        MATCHER,
    ),
    Mutant(
        "rows: a condition's aggregate takes rows of other labels",
        "Store.fold_lines",
        'f"if {wanted}:"',
        '"if True:"',
        MATCHER,
    ),
    Mutant(
        "rows: a condition's aggregate begins with its second value",
        "taken",
        'f"if {n} == 0 or {better}:"',
        'f"if {better}:"',
        MATCHER,
    ),
    Mutant(
        "rows: excluded rows are shown",
        "Measures.rows",
        "shown = ~found.excluded",
        "shown = np.ones_like(found.excluded)",
        MATCHER,
    ),
    Mutant(
        "rows: empty matches are shown although omitted",
        "Measures.rows",
        'if empty.size and self._spec.rows != "all omit empty":',
        "if empty.size:",
        MATCHER,
    ),
    Mutant(
        "rows: the row of an empty match is unmatched, too",
        "Found.mark",
        "matched[self.first] = True",
        "",
        MATCHER,
    ),
    Mutant(
        "rows: a constant measure of an unmatched row is not NULL",
        "_Lowering._item",
        "duckdb = made.duckdb and f'CASE WHEN \"{NUMBER}\" IS NOT NULL THEN {made.duckdb} END'",
        "duckdb = made.duckdb",
        MATCHER,
    ),
    Mutant(
        "rows: NULLs are ordered at the other end",
        "_sorted",
        '"ascending" if key.nulls_first else "descending"',
        '"descending" if key.nulls_first else "ascending"',
        MATCHER,
    ),
    Mutant(
        "rows: descending order is ascending",
        "_sorted",
        'direction = "descending" if key.descending else "ascending"',
        'direction = "ascending"',
        MATCHER,
    ),
)
