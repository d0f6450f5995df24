"""Measures two trees of Eventide beside each other: `python tools/beside.py OTHER_TREE rows sequence --rounds 5`.

Every variant of role `subject` that both trees have runs in a child process of each tree, on the same data.
Rounds are interleaved, and the order within a round alternates, so that a slow minute hits both trees alike.
The ratio of a round is the other tree's time by this tree's time: above 1, this tree is the faster one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent

SERVE = """
import json, sys, time, gc
from pathlib import Path
from benchmarks.registry import Context, UnavailableError, load
name, variant, cache, events = sys.argv[1:5]
answers = sys.stdout
sys.stdout = sys.stderr
def say(**what): print(json.dumps(what), file=answers, flush=True)
if __name__ == "__main__":
    benchmark = load()[name]
    if not variant:
        say(variants=[v.name for v in benchmark.variants if v.role == "subject"])
    else:
        context = Context(int(events) or benchmark.events, Path(cache))
        try:
            run = benchmark.variant(variant).setup(benchmark.prepare(context), context)
        except UnavailableError as missing:
            say(missing=str(missing))
            sys.exit()
        say(ready=True)
        for _ in sys.stdin:
            gc.collect()
            began, cpu = time.perf_counter(), time.process_time()
            outcome = run()
            seconds = time.perf_counter() - began
            cpu = time.process_time() - cpu
            say(seconds=seconds if outcome.seconds is None else outcome.seconds, cpu=cpu,
                found=[outcome.count, outcome.checksum])
"""


class Child:
    """A process of one tree that runs one variant on command."""

    def __init__(self, tree: Path, name: str, variant: str, cache: Path, events: int) -> None:
        environment = os.environ | {
            "PYTHONPATH": f"{tree}{os.pathsep}{tree / 'src'}",
            "EVENTIDE_CACHE_DIR": str(tree / "build" / "code"),
        }
        (tree / "build" / "code").mkdir(parents=True, exist_ok=True, mode=0o700)
        (tree / "build" / "serve.py").write_text(SERVE)
        self._process = subprocess.Popen(
            [sys.executable, str(tree / "build" / "serve.py"), name, variant, str(cache), str(events)],
            cwd=tree,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def answer(self) -> dict[str, Any]:
        """The next line that the child says."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"a child died: {self._process.args}")
        return dict(json.loads(line))

    def run(self) -> dict[str, Any]:
        """One run, measured."""
        assert self._process.stdin is not None
        print("run", file=self._process.stdin, flush=True)
        return self.answer()

    def stop(self) -> None:
        """End the child."""
        self._process.kill()
        self._process.wait()


def compare(other: Path, name: str, variant: str, rounds: int, events: int) -> str:
    """One line: the variant's times in both trees, and the ratios."""
    cache = HERE / "build" / "bench"
    trees = {"here": HERE, "other": other}
    children = {which: Child(tree, name, variant, cache, events) for which, tree in trees.items()}
    try:
        missing = [answer["missing"] for child in children.values() if "missing" in (answer := child.answer())]
        if missing:
            return f"{name:22} {variant:34} {missing[0]}"
        ran: dict[str, list[dict[str, Any]]] = {"here": [], "other": []}
        for idx in range(rounds + 1):
            for which in ("here", "other") if idx % 2 else ("other", "here"):
                ran[which].append(children[which].run())
        if ran["here"][-1]["found"] != ran["other"][-1]["found"]:
            return f"{name:22} {variant:34} RESULTS DIFFER: {ran['here'][-1]['found']} {ran['other'][-1]['found']}"
    finally:
        for child in children.values():
            child.stop()
    cells = [f"{name:22} {variant:34}"]
    for measure in ("seconds", "cpu"):
        here = [run[measure] for run in ran["here"][1:]]
        there = [run[measure] for run in ran["other"][1:]]
        ratios = sorted(b / a for a, b in zip(here, there, strict=True) if a > 0)
        if ratios:
            best = min(there) / min(here)
            cells.append(
                f"{measure} {statistics.median(here):7.3f} other {statistics.median(there):7.3f} "
                f"ratio {statistics.median(ratios):5.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}), of the best {best:.2f}"
            )
    return "  ".join(cells)


def variants_of(tree: Path, name: str) -> list[str]:
    """The names of a benchmark's subjects in a tree."""
    child = Child(tree, name, "", tree, 0)
    try:
        return list(child.answer()["variants"])
    finally:
        child.stop()


def main() -> None:
    """Compare every subject of the named benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("other", type=Path, help="the root of the tree to compare with")
    parser.add_argument("names", nargs="+", help="benchmarks")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=0, help="default: the benchmark's own number")
    parser.add_argument("--only", default="", help="variants whose name contains this")
    asked = parser.parse_args()
    other = asked.other.resolve()
    for name in asked.names:
        both = [variant for variant in variants_of(HERE, name) if variant in variants_of(other, name)]
        for variant in both:
            if asked.only in variant:
                print(compare(other, name, variant, asked.rounds, asked.events), flush=True)


if __name__ == "__main__":
    main()
