"""All tests, in three parts at once: those that wait for Spark, those that compile, those that compute.

The output of each part is printed whole when it ends. Exit code 0 when all passed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

PYTEST = [sys.executable, "-m", "pytest", "--durations=12"]
# For a few minutes a JVM is better off without its second compiler, without threads for its garbage, and without a look
# into the code of Spark's classes, which is what it is in every run.
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS",
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
)
# These patterns have code of their own, which takes seconds to compile: they run as plain Python.
OWN_CODE = [
    "tests/families/rows",
    "tests/families/statement",
    "tests/families/builder",
    "tests/families/intervals",
    "tests/families/test_one_query.py",
    "tests/families/test_toy.py",
    "tests/engines/diagnosis",
    "tests/pins",
    "tests/metrics/test_open_runs.py",
    "tests/rules",
    "tests/fuzz",
    "tests/streams",
    "tests/examples/test_aircraft.py",
    "tests/examples/test_descents.py",
    "tests/examples/test_rules.py",
    "src/eventide/api/pattern.py",
    "src/eventide/api/detect.py",
    "src/eventide/api/intervals.py",
    "src/eventide/api/match_recognize.py",
    "src/eventide/api/sql.py",
    "docs/match-recognize.md",
    "docs/matchers.md",
    "docs/builder.md",
    "docs/descents.md",
    "docs/diagnose.md",
    "docs/intervals.md",
    "docs/which-language.md",
    "docs/query.md",
    "docs/explain.md",
]
# These run compiled on few random queries, and as plain Python on many.
RANDOM = [
    "tests/families/events/test_same_rows.py",
    "tests/families/events/test_pattern_rows.py",
    "tests/engines/test_beginnings.py",
    "tests/engines/test_overlaps.py",
    "tests/families/trends",
    "tests/families/situations",
    "tests/families/allen",
    "tests/families/joins",
    "tests/families/windows",
    "tests/plan/relational",
    "tests/engines/test_near.py",
]
# These start a Spark of their own.
OWN_SPARK = [
    "tests/engines/test_local_cluster.py",
    "tests/engines/test_spark_connect.py",
    "tests/kafka/test_end_to_end.py",
]
PLAIN = ["env", "NUMBA_DISABLE_JIT=1", *PYTEST, *OWN_CODE]
COMPILED = [*PYTEST, *(f"--ignore={path}" for path in OWN_CODE)]
PARTS = {
    "tests on Spark": [
        [*COMPILED, "-m", "spark", "tests", *(f"--ignore={path}" for path in OWN_SPARK)],
        [*PLAIN, "-m", "spark"],
    ],
    "tests of compiled code, and on other kinds of Spark": [
        [*COMPILED, "-m", "not spark"],
        [*PYTEST, *OWN_SPARK],
    ],
    "tests of the same code as plain Python, and the mutants": [
        [*PLAIN, *RANDOM, "-m", "not spark"],
        [sys.executable, "-m", "tests.mutants", "--passed"],
    ],
}


def run(commands: list[list[str]]) -> tuple[int, str]:
    """The commands one after the other; the first code that is not 0, and all output."""
    code, output = 0, ""
    for command in commands:
        started = time.monotonic()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        code, output = code or done.returncode, output + done.stdout
        output += f"-- {' '.join(command[1:])}: {time.monotonic() - started:.0f} s\n"
    return code, output


def main() -> int:
    started = time.monotonic()
    failed = 0
    with ThreadPoolExecutor() as pool:
        parts = {pool.submit(run, commands): name for name, commands in PARTS.items()}
        for part in as_completed(parts):
            code, output = part.result()
            failed |= code
            print(f"== {parts[part]}: {'failed' if code else 'passed'} ({time.monotonic() - started:.0f} s)")
            print(output, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
