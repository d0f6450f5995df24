"""Damaged files of the code cache: whatever lies there, a query returns its rows.

A case copies a cache that works, damages one file in it, and runs in a process of its own, forked from one that has
imported everything and compiled nothing.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import numpy as np

from eventide.runtime.generated import load_specialized
from eventide.runtime.kernels import hashing
from tests.fuzz.mutations import damage

QUERY = "PATTERN SEQ(A a, B b) WHERE b.x > a.x WITHIN 5 seconds RETURN a.x AS a, b.x AS b"
EVENTS = [{"ts": 0, "kind": "A", "x": 1}, {"ts": 1, "kind": "B", "x": 0}, {"ts": 2, "kind": "B", "x": 3}]
QUERIES = 0.05  # the share of cases with a whole query, which takes seconds where it must be compiled anew


def check(random: Random) -> str:
    """One damaged cache."""
    run = _run_query if random.random() < QUERIES else _run_module
    folder = Path(tempfile.mkdtemp(prefix="fuzz-cache-"))
    try:
        shutil.copytree(_cache_of(run), folder, dirs_exist_ok=True, copy_function=shutil.copy2)
        kind = _damage_one(folder, random)
        assert _in_a_process(run, folder), f"{run.__name__} failed after {kind}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return kind


def _damage_one(folder: Path, random: Random) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = random.choice(files)
    kind = random.choice(["damage", "damage", "damage", "damage", "empty", "remove", "exchange", "folder"])
    stamp = path.stat().st_mtime_ns
    if kind == "damage":
        path.write_bytes(damage(path.read_bytes(), random))
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "remove":
        path.unlink()
    elif kind == "exchange":
        path.write_bytes(random.choice(files).read_bytes())
    else:
        path.unlink()
        path.mkdir()
    if path.is_file() and random.random() < 0.7:
        # Damage on a disk leaves the times as they are.
        os.utime(path, ns=(stamp, stamp))
    return f"{kind} of {path.suffix or 'a file'}"


def _run_query() -> bool:
    import eventide as ev

    found = ev.query(QUERY, ts_unit="s", type="kind").run(EVENTS)
    return bool(found.select(["a", "b"]).to_pylist() == [{"a": 1, "b": 3}])


def _run_module() -> bool:
    """A small kernel, loaded as the code of a query is."""
    module = load_specialized(hashing, {})
    buckets = np.empty(3, np.int64)
    module.assign_buckets(np.array([3, 4, 9], np.uint64) << np.uint64(11), 4, buckets)
    return buckets.tolist() == [3, 0, 1]


@cache
def _cache_of(run: Callable[[], bool]) -> Path:
    """A cache that has what `run` needs."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-cache-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    assert _in_a_process(run, folder)
    return folder


def _in_a_process(run: Callable[[], bool], folder: Path) -> bool:
    import eventide.api.events  # noqa: F401  once, before the fork

    child = os.fork()
    if child == 0:
        os.environ["EVENTIDE_CACHE_DIR"] = str(folder)
        is_right = False
        try:
            is_right = run()
        finally:
            os._exit(0 if is_right else 1)
    return os.waitpid(child, 0)[1] == 0
