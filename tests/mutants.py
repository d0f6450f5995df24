"""Small faults put into the product one by one; the tests must notice each. Run as `python -m tests.mutants`.

Each mutant is applied to a copy of the package, and the tests named for it run against the copy, without JIT so
that no kernel is compiled. A mutant that survives, or whose text is no longer there, fails the run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OPERATOR = ("tests/operators/test_sequence.py",)
SAME_ROWS = ("tests/engines/test_same_rows.py::test_the_embedded_engine_returns_the_oracles_rows",)
SPILL = ("tests/engines/test_same_rows.py::test_files_cut_by_partition_return_the_same_rows",)
STREAM = ("tests/engines/test_processor.py",)
RESIDUE = ("tests/plan/expressions/test_residue.py::test_generated_tests_equal_duckdb",)
MATCHER = ("tests/rows/test_matcher.py",)


@dataclass(frozen=True)
class Mutant:
    """One fault: in `file`, `old` (which stands there once) becomes `new`; `tests` must fail."""

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


KERNEL = "kernels/sequence.py"
ORDER = "kernels/order.py"
PROCESSOR = "engines/spark/processor.py"
ROW_KERNEL = "kernels/rows.py"
ROW_MEASURES = "operators/rows/measures.py"
ROW_PROGRAM = "plan/rows/program.py"

MUTANTS = (
    Mutant(
        "a test that is NULL holds",
        "plan/expressions/write_code.py",
        'self.line(f"return {value} and not {null}")',
        'self.line(f"return {value} or {null}")',
        RESIDUE,
    ),
    Mutant(
        "any: an event at the window's end is out of reach",
        ORDER,
        "ts_us[row] - first_us >= window_us",
        "ts_us[row] - first_us + 1 >= window_us",
        OPERATOR,
    ),
    Mutant(
        "any: what an earlier chain reached is forgotten",
        ORDER,
        "if fresh[k] > latest[k]:",
        "if True:",
        OPERATOR,
    ),
    Mutant(
        "any: the window's end belongs to the window",
        KERNEL,
        "ts_us[rows[last]] - ts_us[row] >= window_us",
        "ts_us[rows[last]] - ts_us[row] > window_us",
        OPERATOR,
    ),
    Mutant(
        "next: the window's end belongs to the window",
        KERNEL,
        "ts_us[row] - ts_us[rows[0]] >= window_us",
        "ts_us[row] - ts_us[rows[0]] > window_us",
        OPERATOR,
    ),
    Mutant(
        "any: a match that ends at the old watermark is returned again",
        KERNEL,
        "if row < lo or ts_us[row] <= newer_than_us:",
        "if row < lo or ts_us[row] < newer_than_us:",
        OPERATOR,
    ),
    Mutant(
        "next: a match that ends at the old watermark is returned again",
        KERNEL,
        "            if ts_us[row] > newer_than_us:\n                for k",
        "            if ts_us[row] >= newer_than_us:\n                for k",
        OPERATOR,
    ),
    Mutant(
        "contiguous skips an event after the first step",
        KERNEL,
        "end[1] = follows[follows[row]] if contiguous and follows[row] < hi else hi",
        "end[1] = hi",
        OPERATOR,
    ),
    Mutant(
        "contiguous skips an event after a later step",
        KERNEL,
        "end[level + 1] = follows[follows[row]] if contiguous and follows[row] < hi else hi",
        "end[level + 1] = hi",
        OPERATOR,
    ),
    Mutant(
        "next goes on after the earliest event",
        KERNEL,
        "if follows[row] < end[level]:",
        "if follows[row] < 0:",
        OPERATOR,
    ),
    Mutant(
        "next takes one of several tied earliest events",
        KERNEL,
        "            end[level] = follows[row]",
        "            end[level] = row + 1",
        OPERATOR,
    ),
    Mutant(
        "any: tied events follow one another at the end",
        KERNEL,
        "cursor[last - 1] = precedes[row] - 1",
        "cursor[last - 1] = row - 1",
        OPERATOR,
    ),
    Mutant(
        "any: tied events follow one another in the middle",
        KERNEL,
        "cursor[level - 1] = precedes[row] - 1",
        "cursor[level - 1] = row - 1",
        OPERATOR,
    ),
    Mutant(
        "a full result array loses a match",
        KERNEL,
        "        if level == last and n_out == out.shape[0]:\n            return n_out\n",
        "        if level == last and n_out == out.shape[0]:\n"
        "            cursor[level] = row + 1\n            return n_out\n",
        ("tests/operators/test_sequence.py::test_a_small_result_array_pauses_and_resumes",),
    ),
    Mutant("ties are ordered where they should not be", ORDER, "if strict:", "if not strict:", SAME_ROWS),
    Mutant(
        "the last event of a partition fits every step",
        ORDER,
        "nearest = offsets[p + 1]\n",
        "nearest = offsets[p + 1] - 1\n",
        OPERATOR,
    ),
    Mutant(
        "the NULL partition joins another",
        "operators/partitions.py",
        "pc.fill_null(indices, n_values)",
        "pc.fill_null(indices, 0)",
        OPERATOR,
    ),
    Mutant(
        "the second partition column is ignored",
        "operators/partitions.py",
        "codes * n_more + more",
        "codes * n_more",
        ("tests/operators/test_partitions.py",),
    ),
    Mutant(
        "the buffer forgets too early",
        "operators/sequence.py",
        "older_than_us=self._watermark_us - self.spec.window_us + 1",
        "older_than_us=self._watermark_us - self.spec.window_us + 3",
        OPERATOR,
    ),
    Mutant(
        "an event at the watermark is not decided",
        "operators/buffer.py",
        "pc.less_equal(block.column(TS), up_to_us)",
        "pc.less(block.column(TS), up_to_us)",
        OPERATOR,
    ),
    Mutant(
        "an event at the watermark is not late",
        "operators/sequence.py",
        "pc.greater(block.column(TS), self._watermark_us)",
        "pc.greater_equal(block.column(TS), self._watermark_us)",
        OPERATOR,
    ),
    Mutant(
        "a restart forgets the watermark",
        "operators/sequence.py",
        'self._watermark_us = head["watermark_us"]',
        "self._watermark_us = MIN_US",
        OPERATOR,
    ),
    Mutant(
        "a restart reuses segment numbers",
        "operators/buffer.py",
        "        self._next_number = next_number\n",
        "        self._next_number = 0\n",
        OPERATOR,
    ),
    Mutant(
        "a sliding window holds its end",
        "operators/windows.py",
        "(slide.length_us - 1 - (last_us - slide.origin_us))",
        "(slide.length_us - (last_us - slide.origin_us))",
        SAME_ROWS,
    ),
    Mutant(
        "a match lies in windows that begin after its first event",
        "operators/windows.py",
        "newest = (first_us - slide.origin_us)",
        "newest = (last_us - slide.origin_us)",
        SAME_ROWS,
    ),
    Mutant(
        "a bucket decides a millisecond too early",
        PROCESSOR,
        "(newest_us // 1000 - self._delay_ms) * 1000",
        "(newest_us // 1000 + 1 - self._delay_ms) * 1000",
        STREAM,
    ),
    Mutant(
        "a bucket forgets the allowed lateness",
        PROCESSOR,
        "(newest_us // 1000 - self._delay_ms) * 1000",
        "(newest_us // 1000) * 1000",
        STREAM,
    ),
    Mutant(
        "a bucket takes events before it advances to the watermark",
        PROCESSOR,
        "yield from self._frames(operator.process(None, watermark_us))",
        "pass",
        STREAM,
    ),
    Mutant(
        "a quiet bucket's timer comes too late",
        PROCESSOR,
        "-(-pending_us // 1000)",
        "pending_us // 1000 + 3",
        STREAM,
    ),
    Mutant(
        "a restart forgets the segments",
        PROCESSOR,
        'for number in engine["segments"]}',
        'for number in engine["segments"][1:]}',
        STREAM,
    ),
    Mutant(
        "the buffer trims events that still matter",
        "operators/buffer.py",
        "pc.greater_equal(segment.block.column(TS), older_than_us)",
        "pc.greater_equal(segment.block.column(TS), older_than_us + 2)",
        STREAM,
    ),
    Mutant(
        "a bucket loses its last event",
        "operators/block.py",
        "yield bucket, rearranged.slice(int(offsets[bucket]), size)",
        "yield bucket, rearranged.slice(int(offsets[bucket]), size - 1)",
        SPILL,
    ),
    Mutant(
        "a bucket begins one event late",
        "operators/block.py",
        "yield bucket, rearranged.slice(int(offsets[bucket]), size)",
        "yield bucket, rearranged.slice(int(offsets[bucket]) + 1, size)",
        SPILL,
    ),
    Mutant(
        "NEXT looks at the event before",
        "plan/sequence.py",
        "i + 1 if slot.is_next else i",
        "i if slot.is_next else i + 1",
        SAME_ROWS,
    ),
    Mutant(
        "walking backward, tests are made too early",
        "plan/sequence.py",
        "backward=plan.strategy is Strategy.ANY",
        "backward=False",
        SAME_ROWS,
    ),
    Mutant(
        "contiguous does not see events that no step wants",
        "plan/sequence.py",
        "keep_all=plan.strategy is Strategy.CONTIGUOUS",
        "keep_all=False",
        ("tests/engines/test_same_rows.py::test_every_event_of_the_partition_counts_for_contiguity",),
    ),
    Mutant(
        "a predicate on one symbol is tested on all",
        "plan/columns.py",
        "for local in parts.locals if local.symbol == step.symbol",
        "for local in parts.locals",
        SAME_ROWS,
    ),
    Mutant(
        "seconds are taken for milliseconds",
        "operators/times.py",
        '{"s": 1_000_000,',
        '{"s": 1_000,',
        SAME_ROWS,
    ),
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
        "state[NUMBER] = 1",
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
        "plain_kernel.MEMO_PER_ATTEMPT if per_attempt else",
        "plain_kernel.MEMO_PER_PARTITION if per_attempt else",
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
        'directions.append("descending" if key.descending else "ascending")',
        'directions.append("ascending")',
        MATCHER,
    ),
)


def main() -> int:
    """Apply every mutant; the number of survivors is the exit code."""
    if len(sys.argv) > 1:
        chosen = [m for m in MUTANTS if any(word in m.what for word in sys.argv[1:])]
    else:
        chosen = list(MUTANTS)
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        baseline = pool.submit(_passes_unchanged)
        outcomes = list(pool.map(_try, chosen))
    if not baseline.result():
        print("the tests fail without any mutant: nothing is shown")
        return 1
    survivors = [mutant for mutant, killed in zip(chosen, outcomes, strict=True) if not killed]
    for mutant in survivors:
        print(f"SURVIVED: {mutant.what} ({mutant.file})")
    print(f"mutants: {len(chosen) - len(survivors)} killed, {len(survivors)} survived")
    return min(len(survivors), 100)


def _passes_unchanged() -> bool:
    """A test that fails anyway kills every mutant: all of them must pass on the package as it is."""
    tests = tuple(dict.fromkeys(test for mutant in MUTANTS for test in mutant.tests))
    unchanged = Mutant("nothing", "", "", "", tests)
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        shutil.copytree(ROOT / "src" / "eventide", Path(folder) / "src" / "eventide")
        return _run(unchanged, Path(folder)) == 0


def _try(mutant: Mutant) -> bool:
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = Path(folder) / "src" / "eventide"
        shutil.copytree(ROOT / "src" / "eventide", copy, ignore=shutil.ignore_patterns("__pycache__"))
        path = copy / mutant.file
        text = path.read_text()
        if text.count(mutant.old) != 1:
            print(f"the text of this mutant stands {text.count(mutant.old)} times in {mutant.file}: {mutant.what}")
            return False
        path.write_text(text.replace(mutant.old, mutant.new))
        code = _run(mutant, Path(folder))
    # 1 is a failed test; anything else means that the tests did not run.
    if code in (0, 1):
        print(f"{'killed' if code else 'SURVIVED'}: {mutant.what}", flush=True)
    return code == 1


def _run(mutant: Mutant, folder: Path) -> int:
    environment = {
        **os.environ,
        "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{ROOT}",
        "NUMBA_DISABLE_JIT": "1",
        "EVENTIDE_CACHE_DIR": str(folder / "cache"),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    command += ["--hypothesis-profile=mutants", *mutant.tests]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or (done.returncode and mutant.what == "nothing"):
        print(f"the tests did not run for: {mutant.what}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
