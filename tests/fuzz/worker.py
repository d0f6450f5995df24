"""Cases of one kind, in a process of their own: `python -m tests.fuzz.worker KIND SEED FIRST STOP`.

A line says which case begins, the next one how it ended; so whoever reads them knows which case ended the process.
A case is made from kind, seed and number alone, and can be run again: `python -m tests.fuzz.worker KIND SEED 17 18`.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import resource
import sys
import traceback
import warnings

from eventide.errors import EventideError

KINDS = ("snapshots", "buckets", "texts", "caches")
REFUSED = "refused"
FAILED = "failed"
_MEMORY_BYTES = 6 << 30


def run_case(kind: str, seed: int, number: int) -> str:
    """What became of a case; anything but an error of ours, or a result that the case has checked, is raised."""
    module = importlib.import_module(f"tests.fuzz.{kind}")
    try:
        outcome: str = module.check(random.Random(f"{kind} {seed} {number}"))
    except EventideError as error:
        assert error.message and "Traceback" not in str(error)
        return REFUSED
    return outcome


def main() -> None:
    kind, seed, first, stop = sys.argv[1], *map(int, sys.argv[2:5])
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    # What libraries print goes to the standard error; the lines about cases go where the standard output was.
    told = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for number in range(first, stop):
        print(json.dumps([number]), file=told)
        try:
            outcome = run_case(kind, seed, number)
        except Exception:
            outcome = f"{FAILED}: {traceback.format_exc()}"
        print(json.dumps([number, outcome]), file=told)


if __name__ == "__main__":
    main()
