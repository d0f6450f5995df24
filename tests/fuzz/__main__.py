"""Long fuzzing: `python -m tests.fuzz [--cases N] [--kind KIND] [--minutes N] [--engine NAME] [--seed N]`.

First damage: saved state, query texts and cached code, `--cases` of them in all. Then for `--minutes` random queries
against the oracle. Ends with 1 when a damaged case went wrong; each is printed with what runs it again.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from tests.fuzz.damage import SHARES, run_all


def main() -> int:
    parser = argparse.ArgumentParser(description="Damage, and random queries against the oracle on every engine.")
    parser.add_argument("--cases", type=int, default=100_000, help="damaged cases; 0: none")
    parser.add_argument("--kind", choices=[*SHARES, "all"], default="all")
    parser.add_argument("--minutes", type=float, default=60, help="of random queries; 0: none")
    parser.add_argument("--engine", choices=["local", "spark", "all"], default="all")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    arguments = parser.parse_args()
    seed = arguments.seed
    print(f"seed {seed}; JIT {'off' if os.environ.get('NUMBA_DISABLE_JIT') == '1' else 'on'}", flush=True)
    shares = SHARES if arguments.kind == "all" else {arguments.kind: 1.0}
    n_bad = run_all(seed, {kind: round(arguments.cases * share) for kind, share in shares.items()})
    if arguments.minutes:
        from tests.fuzz.queries import run_rounds

        run_rounds(seed, arguments.minutes, arguments.engine)
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
