"""Mutants of how events are read: strings by code, files with and without DuckDB, rows into order."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, tests_of

CODED, FOLDERS, NAMES, SINK, TABLES = tests_of(
    "inputs",
    "coded_strings",
    "folder_columns",
    "names",
    "sink_log",
    "tables",
)
MATCHER = ("tests/families/rows/test_matcher.py",)
PARTITIONS = ("tests/runtime/test_partitions.py",)
TIES = ("tests/families/rows/test_ties.py",)

READING = (
    Mutant(
        "reading: a NULL has the value of the last string",
        "_recoded",
        "chunk.indices.fill_null(len(values) - 1)",
        "chunk.indices.fill_null(len(values) - 2)",
        CODED,
    ),
    Mutant(
        "reading: a NULL of several addends has the value of the last string",
        "_sum",
        "values[addend].size - 1",
        "values[addend].size - 2",
        CODED,
    ),
    Mutant(
        "reading: strings that no event has must cast",
        "_by_code",
        "present = np.unique(np.concatenate([np.empty(0, np.int32), *codes]))",
        "present = np.arange(len(strings) - 1)",
        CODED,
    ),
    Mutant(
        "reading: a condition on two columns is evaluated by one of them",
        "_addends",
        "read.pop() if len(read) == 1 else None",
        "read.pop() if read else None",
        CODED,
    ),
    Mutant(
        "reading: columns from the names of folders are not seen",
        "_read_path",
        "named.columns is not None",
        "False",
        FOLDERS,
    ),
    Mutant(
        "reading: folders above the path are columns",
        "reading",
        'return f"hive_partitioning = false{named}"',
        'return f"hive_partitioning = true{named}"',
        FOLDERS,
    ),
    Mutant(
        "reading: files beside folders with columns are left out",
        "_check_layout",
        "if plain is not None:",
        "if False:",
        FOLDERS,
    ),
    Mutant(
        "reading: doubles hold large whole numbers of folders",
        "_wider",
        "kinds == {pa.int32(), pa.float64()}",
        "pa.float64() in kinds and left != pa.string() and right != pa.string()",
        FOLDERS,
    ),
    Mutant(
        "reading: DuckDB expands the names of files again",
        "_literal",
        "return glob.escape(file)",
        "return file",
        NAMES,
    ),
    Mutant(
        "reading: a pattern finds a folder and its files",
        "_roots",
        "any(above in folders for above in _parents(os.path.normpath(root)))",
        "False",
        NAMES,
    ),
    Mutant(
        "reading: links lead into tables",
        "_folders_above",
        "dict.fromkeys((os.path.abspath(path), os.path.realpath(path)))",
        "(os.path.abspath(path),)",
        TABLES,
    ),
    Mutant(
        "reading: a table among other files is read as files",
        "_walk",
        "refuse_tables(folder, [entry.name for entry in entries], root)",
        "",
        TABLES,
    ),
    Mutant(
        "reading: versions of Iceberg are texts",
        "_newest_metadata",
        "numbers = {name: int(match[1]) if (match := _VERSION.fullmatch(name)) else -1 for name in names}",
        "numbers = {name: name for name in names}",
        TABLES,
    ),
    Mutant(
        "reading: files that a stream's log deletes count",
        "logged_files",
        "(_place(folder, path) for path in files if path not in deleted)",
        "(_place(folder, path) for path in files)",
        SINK,
    ),
    Mutant(
        "reading: batches before a compact one count again",
        "_batches",
        "int(match[1]) > compact",
        "True",
        SINK,
    ),
    Mutant(
        "reading: a file of the same size is the same",
        "_version",
        "return found.st_size, found.st_mtime_ns, found.st_ino",
        "return found.st_size, 0, 0",
        ("tests/inputs/test_changed_files.py",),
    ),
    Mutant(
        "reading: the columns of the first file are those of all",
        "_parquet",
        "if len(groups) > 1:",
        "if False:",
        ("tests/inputs/test_file_types.py",),
    ),
    Mutant(
        "reading: strings of any type are read as codes",
        "Source.files_for",
        "return self.files if is_clear and all(alike) else ()",
        "return self.files",
        CODED,
    ),
    Mutant(
        "reading: columns that are mostly strings count as codes",
        "_is_coded",
        "_CODE_BYTES * chunk.num_values + _SMALL_BYTES",
        "1 << 40",
        CODED,
    ),
    Mutant("reading: equal neighbours count as rising", "is_rising", "values[i] <= values[i - 1]", "False", TIES),
    Mutant(
        "reading: ties are only looked for where nothing rises",
        "_are_apart",
        "return not meets_equal(codes, values, np.full(n_codes, np.iinfo(np.int64).min))",
        "return True",
        TIES,
    ),
    Mutant(
        "reading: two codes of one value are two partitions",
        "_encode_coded",
        "return codes[indices.to_numpy()], n_codes",
        "return indices.to_numpy().astype(np.int64), n_codes + 9",
        PARTITIONS,
    ),
    Mutant(
        "reading: a match begins with a condition",
        "_first_bits",
        "all(0 <= bit < 64 for bit in bits)",
        "True",
        MATCHER,
    ),
    Mutant(
        "reading: an alternative without a condition is passed over",
        "_attempt",
        "bit = bits[code[target, 1]] if code[target, 0] == LABEL else -1",
        "bit = max(bits[code[target, 1]], 0) if code[target, 0] == LABEL else -1",
        MATCHER,
    ),
    Mutant(
        "reading: an empty match begins with a row",
        "Program.first_labels",
        "if op == ACCEPT:\n    return None",
        "if op == ACCEPT:\n    continue",
        MATCHER,
    ),
)
