"""Faults in what Kafka's functions refuse, in reading JSON records, and in what workers keep."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ARGUMENTS = ("tests/kafka/test_arguments.py",)
JSON, RECORDS = "engines/json_records.py", ("tests/kafka/test_json_records.py",)
WORKERS, SETTLED = "engines/spark/workers.py", ("tests/engines/test_workers.py",)

KAFKA = (
    Mutant(
        "kafka: an address without a port passes",
        "check_servers",
        "found is None or not 0 < int(found[1]) < 65536",
        "found is not None and not 0 < int(found[1]) < 65536",
        ARGUMENTS,
    ),
    Mutant(
        "kafka: a port past the last passes",
        "check_servers",
        "not 0 < int(found[1]) < 65536",
        "not 0 < int(found[1])",
        ARGUMENTS,
    ),
    Mutant(
        "kafka: an argument is overridden by an option in other letters",
        "_options",
        "if name.lower() in arguments:",
        "if name in arguments:",
        ARGUMENTS,
    ),
    Mutant(
        "kafka: data loss may be ignored",
        "read",
        'name.lower() == "failondataloss" and value.lower() != "true"',
        'name == "failOnDataLoss" and value.lower() != "true"',
        ARGUMENTS,
    ),
    Mutant(
        "kafka: a topic's name of 250 letters passes",
        "_topics",
        "0 < len(name) < 250",
        "0 < len(name) < 251",
        ARGUMENTS,
    ),
    Mutant(
        "kafka: True is a number of events",
        "count_of",
        "type(given) is not int or given < 1",
        "not isinstance(given, int) or given < 1",
        ARGUMENTS,
    ),
    Mutant(
        "kafka: the parts of a password are shown",
        "without_secrets",
        "len(part) >= _N_PART",
        "False",
        ARGUMENTS,
    ),
    Mutant(
        "kafka: rows go to several topics",
        "write",
        "if len(topics) != 1:",
        "if len(topics) < 1:",
        ARGUMENTS,
    ),
    Mutant(
        "json records: a record of two lines is a line",
        "_stands_as_a_line",
        'for word in (b"\\n", b"NaN", b"Inf"):',
        'for word in (b"NaN", b"Inf"):',
        RECORDS,
    ),
    Mutant(
        "json records: NaN is read",
        "_stands_as_a_line",
        'for word in (b"\\n", b"NaN", b"Inf"):',
        'for word in (b"\\n", b"Inf"):',
        RECORDS,
    ),
    Mutant(
        "json records: -0 is read",
        "_is_same_in_both",
        "((numbers == 0) & np.signbit(numbers))",
        "False",
        RECORDS,
    ),
    Mutant(
        "json records: a number too large is read",
        "_is_same_in_both",
        "np.isinf(numbers) | ((numbers == 0) & np.signbit(numbers))",
        "(numbers == 0) & np.signbit(numbers)",
        RECORDS,
    ),
    Mutant(
        "json records: a record with two objects is two",
        "_read_lines",
        "return table if table.num_rows == len(values) else None",
        "return table",
        RECORDS,
    ),
    Mutant(
        "json records: text that is not UTF-8 is read",
        "_read_lines",
        "lines.cast(pa.string())",
        "pass",
        RECORDS,
    ),
    Mutant(
        "json records: the second half is that of the first",
        "_read_pieces",
        "_read_pieces(values[half:], start + half, schema)",
        "_read_pieces(values[half:], start, schema)",
        RECORDS,
    ),
    Mutant(
        "json records: values without braces hide a deep one",
        "_stands_as_a_line",
        "_DEEP + np.count_nonzero(stands) - 1",
        "_DEEP + len(values) - 1",
        RECORDS,
    ),
    Mutant(
        "json records: a long number is read",
        "_stands_as_a_line",
        "stands &= ~_numpy(pc.match_substring_regex(values, _NUMBER))",
        "pass",
        RECORDS,
    ),
    Mutant(
        "json records: a long name is read",
        "_stands_as_a_line",
        "stands &= lengths < _TOO_LONG",
        "pass",
        RECORDS,
    ),
    Mutant(
        "brokers: a name that is no host ends the search",
        "check_brokers",
        "except (OSError, UnicodeError):",
        "except OSError:",
        ("tests/engines/test_brokers.py",),
    ),
    Mutant(
        "workers: what is loaded stays with the collector",
        "settle",
        "gc.freeze()",
        "pass",
        SETTLED,
    ),
    Mutant(
        "workers: a process of the user's is settled",
        "settle",
        "TaskContext.get() is not None and len(sys.modules) != _settled_modules",
        "len(sys.modules) != _settled_modules",
        SETTLED,
    ),
)
