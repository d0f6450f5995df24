"""Mutants of how events are read: strings by code, files with and without DuckDB, rows into order."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

CODED = ("tests/inputs/test_coded_strings.py",)
MATCHER = ("tests/rows/test_matcher.py",)
PARTITIONS = ("tests/operators/test_partitions.py",)
RAW = "engines/raw_columns.py"
SOURCES = "engines/local/sources.py"
TIES = ("tests/rows/test_ties.py",)

READING = (
    Mutant(
        "reading: a NULL has the value of the last string",
        RAW,
        "chunk.indices.fill_null(len(values) - 1)",
        "chunk.indices.fill_null(len(values) - 2)",
        CODED,
    ),
    Mutant(
        "reading: a NULL of several addends has the value of the last string",
        RAW,
        "values[addend].size - 1",
        "values[addend].size - 2",
        CODED,
    ),
    Mutant(
        "reading: strings that no event has must cast",
        RAW,
        "present = np.unique(np.concatenate([np.empty(0, np.int32), *codes]))",
        "present = np.arange(len(strings) - 1)",
        CODED,
    ),
    Mutant(
        "reading: a condition on two columns is evaluated by one of them",
        "plan/columns.py",
        "read.pop() if len(read) == 1 else None",
        "read.pop() if read else None",
        CODED,
    ),
    Mutant(
        "reading: columns from the names of folders are not seen",
        SOURCES,
        'not any("=" in file for file in files)',
        "True",
        CODED,
    ),
    Mutant(
        "reading: strings of any type are read as codes",
        SOURCES,
        "return self.files if is_clear and all(alike) else ()",
        "return self.files",
        CODED,
    ),
    Mutant(
        "reading: columns that are mostly strings count as codes",
        "engines/parquet.py",
        "_CODE_BYTES * chunk.num_values + _SMALL_BYTES",
        "1 << 40",
        CODED,
    ),
    Mutant(
        "reading: equal neighbours count as rising", "kernels/order.py", "values[i] <= values[i - 1]", "False", TIES
    ),
    Mutant(
        "reading: ties are only looked for where nothing rises",
        "operators/rows/order.py",
        "return not meets_equal(codes, values, np.full(n_codes, np.iinfo(np.int64).min))",
        "return True",
        TIES,
    ),
    Mutant(
        "reading: two codes of one value are two partitions",
        "operators/partitions.py",
        "return codes[indices.to_numpy()], n_codes",
        "return indices.to_numpy().astype(np.int64), n_codes + 9",
        PARTITIONS,
    ),
    Mutant(
        "reading: a match begins with a condition",
        "operators/rows/walk.py",
        "if all(0 <= bit < 64 for bit in bits) else 0",
        "if True else 0",
        MATCHER,
    ),
    Mutant(
        "reading: an alternative without a condition is passed over",
        "kernels/rows.py",
        "bit = bits[program[target, 1]] if program[target, 0] == LABEL else -1",
        "bit = max(bits[program[target, 1]], 0) if program[target, 0] == LABEL else -1",
        MATCHER,
    ),
    Mutant(
        "reading: an empty match begins with a row",
        "operators/rows/program.py",
        "            if op == ACCEPT:\n                return None\n",
        "            if op == ACCEPT:\n                continue\n",
        MATCHER,
    ),
)
