"""State that an earlier version wrote goes on: one file for each family and version of the format, never rewritten.

`python -m tests.streams.test_snapshots` writes those that are missing, of a new version or a new family. A family keeps
its query for good: another query is another family.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from eventide.errors import EventideError
from eventide.runtime.protocol import Snapshot
from eventide.runtime.sealed import SNAPSHOT_VERSION
from tests.engines.plans import SECOND_US, micros
from tests.families.allen import micro_batches as allen
from tests.micro_batches import Stream
from tests.streams.families import FAMILIES, FORMS, LATENESS_US, Family, all_events
from tests.streams.test_every_family import comparable, two_tables

FOLDER = Path(__file__).parents[1] / "fixtures" / "snapshots"
ALLEN = "related intervals"
SAVED = {family.name: family for family in [*FAMILIES, *FORMS]}
NAMES = [*SAVED, ALLEN]
VERSIONS = range(2, SNAPSHOT_VERSION + 1)  # version 1 had no digests
N_EVENTS, CUT = 90, 60

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Saved:
    """The state after the first events of a seed, and the rows that had been decided by then."""

    seed: int
    snapshot: Snapshot
    rows: list[Any]


class Played:
    """A family's events in two parts, with the watermark behind each."""

    def __init__(self, family: Family, seed: int) -> None:
        self.family = family
        self.events = all_events(N_EVENTS, seed)
        self.parts = self.events.slice(0, CUT), self.events.slice(CUT)

    def step(self, snapshot: Snapshot | None, part: int) -> tuple[Rows, Snapshot]:
        stream = Stream(self.family.plan(self.events.schema))
        stream.snapshot = snapshot
        table = self.parts[part]
        rows = [row for row in stream.step(table, max(micros(table)) - LATENESS_US) if self.family.keep(row)]
        return rows, stream.snapshot

    def batch(self) -> Rows:
        rows: Rows = self.family.run(self.events).to_pylist()
        return rows

    def shown(self, rows: Rows) -> list[Any]:
        return comparable(rows, self.family.columns)


class PlayedIntervals:
    """Two tables of intervals, by their ends."""

    def __init__(self, seed: int) -> None:
        self.case = two_tables(seed, N_EVENTS)
        self.plan = allen.plan_of(self.case)
        block = allen.block_of(self.case, self.plan).sort_by("ts")
        half = block.num_rows // 2
        self.parts = block.slice(0, half), block.slice(half)

    def step(self, snapshot: Snapshot | None, part: int) -> tuple[Rows, Snapshot]:
        stream = allen.Stream(self.plan)
        stream.snapshot = snapshot
        newest_us = max(self.parts[part].column("ts").to_pylist())
        rows = stream.step(self.parts[part], newest_us + (100 if part else -1) * SECOND_US)
        assert stream.snapshot is not None
        return rows, stream.snapshot

    def batch(self) -> Rows:
        rows: Rows = self.case.run(*self.case.tables(), ts_unit="s").to_pylist()
        return rows

    def shown(self, rows: Rows) -> list[Any]:
        return comparable(rows, ("key", "left_n", "right_word", "relation"))


def play(name: str, seed: int) -> Played | PlayedIntervals:
    return PlayedIntervals(seed) if name == ALLEN else Played(SAVED[name], seed)


def matters(played: Played | PlayedIntervals, snapshot: Snapshot) -> bool:
    """Whether rows begin before the cut and end behind it, so that without the state they would be missing."""
    with_state, without = (played.shown(played.step(state, 1)[0]) for state in (snapshot, None))
    return with_state != without


def path_of(name: str, version: int) -> Path:
    return FOLDER / f"v{version}" / f"{re.sub(r'[^a-z]+', '_', name.lower())}.json"


def read(name: str, version: int) -> Saved:
    saved = json.loads(path_of(name, version).read_text())
    segments = {int(number): base64.b64decode(data) for number, data in saved["segments"].items()}
    return Saved(saved["seed"], Snapshot(saved["head"].encode(), segments), saved["rows"])


def write(name: str) -> None:
    for seed in range(100):
        played = play(name, seed)
        rows, snapshot = played.step(None, 0)
        if rows and matters(played, snapshot):
            break
    segments = {number: base64.b64encode(data).decode() for number, data in snapshot.segments.items()}
    saved = {"seed": seed, "head": snapshot.head.decode(), "segments": segments, "rows": played.shown(rows)}
    path = path_of(name, SNAPSHOT_VERSION)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(saved, indent=1) + "\n")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", NAMES)
def test_state_of_every_version_and_family_goes_on(name: str, version: int) -> None:
    saved = read(name, version)
    played = play(name, saved.seed)
    assert saved.snapshot.head.startswith(b"eventide-state %d " % version)
    later, _ = played.step(saved.snapshot, 1)
    before = [tuple(tuple(value) for value in row) for row in saved.rows]
    assert sorted([*before, *played.shown(later)]) == sorted(played.shown(played.batch()))
    assert matters(played, saved.snapshot)


@pytest.mark.parametrize("name", NAMES)
def test_state_of_a_version_that_is_not_known_is_refused(name: str) -> None:
    saved = read(name, SNAPSHOT_VERSION)
    text = saved.snapshot.head.partition(b" ")[2].partition(b" ")[2]
    for unknown in (0, 1, SNAPSHOT_VERSION + 1):
        head = b"eventide-state %d " % unknown + text
        with pytest.raises(EventideError, match=rf"version {unknown}, this release reads version {SNAPSHOT_VERSION}"):
            play(name, saved.seed).step(Snapshot(head, saved.snapshot.segments), 1)


if __name__ == "__main__":
    for missing in NAMES:
        if not path_of(missing, SNAPSHOT_VERSION).exists():
            write(missing)
            print(path_of(missing, SNAPSHOT_VERSION).relative_to(FOLDER))
