"""Tries every mutant: `python -m tests.mutants [WORDS]`.

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
from pathlib import Path

from tests.mutants.events import EVENTS
from tests.mutants.mutant import Mutant
from tests.mutants.rows import ROWS

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = (*EVENTS, *ROWS)


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
