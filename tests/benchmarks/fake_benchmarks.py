"""Benchmarks that take no time, one of them wrong in several ways; child processes import this file."""

from __future__ import annotations

import os
import time
from pathlib import Path

from benchmarks.registry import Context, Outcome, Run, UnavailableError, benchmark


@benchmark("fake", events=1000, summary="Nothing, quickly.")
def fake(context: Context) -> Path:
    return context.cached(f"fake-{context.events}.txt", lambda path: path.write_text("x" * context.events))


def _counting(path: Path, seconds: float) -> Run:
    def run() -> Outcome:
        time.sleep(seconds)
        return Outcome(len(path.read_text()), 7, {"calls": [{"pid": os.getpid(), "share": 0.5}]})

    return run


@fake.limit("bare")
def _bare(path: Path, context: Context) -> Run:
    return _counting(path, 0.01)


@fake.limit("scan")
def _scan(path: Path, context: Context) -> Run:
    return lambda: Outcome()


@fake.subject("product")
def _product(path: Path, context: Context) -> Run:
    return _counting(path, 0.04)


@fake.peer("hog")
def _hog(path: Path, context: Context) -> Run:
    def run() -> Outcome:
        held = bytearray(os.urandom(1)) * (300 << 20)
        time.sleep(0.15)
        return Outcome(len(path.read_text()), 7 if held else 0)

    return run


@fake.peer("absent")
def _absent(path: Path, context: Context) -> Run:
    raise UnavailableError("needs a library nobody has")


@benchmark("wrong", events=10, summary="Variants that disagree, fail or die.")
def wrong(context: Context) -> int:
    return context.events


@wrong.limit("right")
def _right(events: int, context: Context) -> Run:
    return lambda: Outcome(events, 1)


@wrong.subject("off by one")
def _off_by_one(events: int, context: Context) -> Run:
    return lambda: Outcome(events + 1, 1)


@wrong.subject("wrong sum")
def _wrong_sum(events: int, context: Context) -> Run:
    return lambda: Outcome(events, 2)


@wrong.subject("raises")
def _raises(events: int, context: Context) -> Run:
    def run() -> Outcome:
        raise ZeroDivisionError("in the run")

    return run


@wrong.subject("fails in setup")
def _fails_in_setup(events: int, context: Context) -> Run:
    raise AttributeError("no such product")


@wrong.subject("dies")
def _dies(events: int, context: Context) -> Run:
    return lambda: os._exit(3)
