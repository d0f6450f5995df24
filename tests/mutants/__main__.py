"""Tries mutants: `python -m tests.mutants [--passed] [--note] [--every N] [WORDS]`.

Every trial is a fork of one process (see trials.py). A mutant that survives, or whose place is no longer there, fails
the run. A test that fails anyway kills every mutant, so all tests run once on the package as it is; `--passed` says
that they just did. `--every 4` tries a quarter.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.mutants.allen import ALLEN
from tests.mutants.builder import BUILDER
from tests.mutants.compilation import COMPILATION
from tests.mutants.diagnosis import DIAGNOSIS
from tests.mutants.events import EVENTS
from tests.mutants.events_patterns import EVENTS_PATTERNS
from tests.mutants.generators import GENERATORS
from tests.mutants.intervals import INTERVALS
from tests.mutants.joins import JOINS
from tests.mutants.kafka import KAFKA
from tests.mutants.limits import LIMITS
from tests.mutants.live_view import LIVE_VIEW
from tests.mutants.meaning import MEANING
from tests.mutants.metrics import METRICS
from tests.mutants.mutant import Mutant
from tests.mutants.overlaps import OVERLAPS
from tests.mutants.pruning import PRUNING
from tests.mutants.reading import READING
from tests.mutants.relational import RELATIONAL
from tests.mutants.rows import ROWS
from tests.mutants.rules import RULES
from tests.mutants.situations import SITUATIONS
from tests.mutants.statement import STATEMENT
from tests.mutants.statement_windows import STATEMENT_WINDOWS
from tests.mutants.streams import STREAMS
from tests.mutants.timeline import TIMELINE
from tests.mutants.trends import TRENDS
from tests.mutants.trends_absences import TRENDS_ABSENCES
from tests.mutants.trends_numbers import TRENDS_NUMBERS
from tests.mutants.trends_slices import TRENDS_SLICES
from tests.mutants.trials import KILLERS, run_all
from tests.mutants.types import TYPES
from tests.mutants.windows import WINDOWS
from tests.mutants.windows_aggregates import WINDOWS_AGGREGATES
from tests.mutants.windows_early import WINDOWS_EARLY

MUTANTS = (
    *EVENTS,
    *OVERLAPS,
    *PRUNING,
    *EVENTS_PATTERNS,
    *MEANING,
    *ROWS,
    *BUILDER,
    *DIAGNOSIS,
    *STREAMS,
    *RULES,
    *GENERATORS,
    *READING,
    *TRENDS,
    *TYPES,
    *WINDOWS_EARLY,
    *TRENDS_NUMBERS,
    *TRENDS_ABSENCES,
    *INTERVALS,
    *ALLEN,
    *JOINS,
    *TRENDS_SLICES,
    *TIMELINE,
    *SITUATIONS,
    *WINDOWS,
    *WINDOWS_AGGREGATES,
    *COMPILATION,
    *KAFKA,
    *LIMITS,
    *LIVE_VIEW,
    *RELATIONAL,
    *METRICS,
    *STATEMENT,
    *STATEMENT_WINDOWS,
)


def main() -> int:
    """Apply the chosen mutants; the number of survivors is the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("words", nargs="*", help="only mutants with one of these in their description")
    parser.add_argument("--passed", action="store_true", help="the tests just passed without any mutant")
    parser.add_argument("--note", action="store_true", help="write down what killed each: it runs first next time")
    parser.add_argument("--every", type=int, default=1, help="only every n-th mutant")
    given = parser.parse_args()
    chosen = [m for m in MUTANTS if not given.words or any(word in m.what for word in given.words)][:: given.every]
    tests = tuple(dict.fromkeys(test for m in chosen for test in m.tests))
    unchanged = Mutant("nothing", "", "", "", tests)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        codes, killers = run_all(chosen if given.passed else [unchanged, *chosen], Path(folder))
    if given.note:
        noted = {mutant.what: killers[mutant.what] for mutant in MUTANTS if mutant.what in killers}
        KILLERS.write_text(json.dumps(noted, indent=0, ensure_ascii=False) + "\n")
    if codes.pop(unchanged, 0) != 0:
        print("the tests fail without any mutant: nothing is shown")
        return 1
    # 1 is a failed test; anything else means that the tests did not run.
    survivors = [mutant for mutant, code in codes.items() if code != 1]
    for mutant in survivors:
        print(f"SURVIVED: {mutant.what} ({mutant.where})")
    print(f"mutants: {len(chosen) - len(survivors)} killed, {len(survivors)} survived")
    return min(len(survivors), 100)


if __name__ == "__main__":
    sys.exit(main())
