"""The short form of `make fuzz`: a few hundred damaged cases, the same ones each time."""

from __future__ import annotations

import sys

import pytest

from tests.fuzz import damage
from tests.fuzz.worker import REFUSED, run_case

SEED = 7


@pytest.mark.parametrize("kind", ["snapshots", "buckets", "texts"])
def test_damage_is_refused_or_changes_nothing(kind: str) -> None:
    outcomes = [run_case(kind, SEED, number) for number in range(200)]
    assert 100 < outcomes.count(REFUSED) < 200


class Broken:
    """A worker in whose place a script tells of cases."""

    def __init__(self, script: str) -> None:
        self.script = script

    def command(self, result: damage.Result, first: int, stop: int) -> list[str]:
        return [sys.executable, "-c", self.script.replace("FIRST", str(first)).replace("STOP", str(stop))]


DIES = """
import json, os, signal
for n in range(FIRST, STOP):
    print(json.dumps([n]), flush=True)
    if n == 2:
        os.kill(os.getpid(), signal.SIGSEGV)
    print(json.dumps([n, "failed: Traceback" if n == 4 else "refused"]), flush=True)
"""
HANGS = "import time; print('[0]', flush=True); time.sleep(600)"


@pytest.mark.parametrize(("script", "bad"), [(DIES, [2, 4]), (HANGS, [0])], ids=["dies", "hangs"])
def test_a_case_that_ends_its_process_is_told_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, script: str, bad: list[int]
) -> None:
    monkeypatch.setattr(damage, "HANGS_SECONDS", 0.5)
    monkeypatch.setattr(damage, "worker_command", Broken(script).command)
    result = damage.fuzz("texts", 1, 6 if script == DIES else 1)
    told = [int(failure.split("\n")[0].split()[-2]) for failure in result.failures]
    assert told == bad
    assert result.outcomes["refused"] == (4 if script == DIES else 0)
