"""State of earlier versions restores, or is refused by its number: one folder per version of the snapshot format.

A new version adds a folder: `python -m tests.runtime.test_snapshots` writes that of the present one. They are never
rewritten.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from eventide.errors import EventideError, InputError
from eventide.families.events.sequence import SequenceOperator
from eventide.runtime.protocol import Snapshot
from eventide.runtime.sealed import SNAPSHOT_VERSION, open_sealed, seal
from tests.families.events.test_sequence import block, rows, spec

FOLDER = Path(__file__).parents[1] / "fixtures" / "snapshots"
SPEC = spec(3, "any", 10)
READ = range(2, SNAPSHOT_VERSION + 1)  # version 1 had no digests


def present() -> Snapshot:
    operator = SequenceOperator(SPEC)
    list(operator.process(block([(1, 1, "A"), (2, None, "A"), (9, 1, "C")], 3, [0, 1, 2]), 5))
    list(operator.process(block([(6, 1, "B"), (7, None, "B"), (4, 1, "B")], 3, [3, 4, 5]), 7))
    return operator.snapshot()


def read(folder: Path) -> Snapshot:
    segments = {int(path.stem): path.read_bytes() for path in folder.glob("*.segment")}
    return Snapshot((folder / "head").read_bytes(), segments)


def write(folder: Path, snapshot: Snapshot) -> None:
    folder.mkdir(parents=True)
    (folder / "head").write_bytes(snapshot.head)
    for number, data in snapshot.segments.items():
        (folder / f"{number}.segment").write_bytes(data)


def test_there_is_a_snapshot_of_every_version() -> None:
    names = sorted(path.name for path in FOLDER.glob("sequence_v*"))
    assert names == [f"sequence_v{version}" for version in range(1, SNAPSHOT_VERSION + 1)]


@pytest.mark.parametrize("version", READ)
def test_state_of_every_version_continues(version: int) -> None:
    operator = SequenceOperator(SPEC)
    operator.restore(read(FOLDER / f"sequence_v{version}"))
    assert operator.late_events() == 1
    found = rows(operator.process(block([(8, None, "C")], 3, [6]), 9), 3)
    assert found == {(0, 3, 2): 1, (1, 4, 6): 1}


def test_state_without_digests_is_refused_by_its_version() -> None:
    with pytest.raises(EventideError, match=f"has version 1, this release reads version {SNAPSHOT_VERSION}"):
        SequenceOperator(SPEC).restore(read(FOLDER / "sequence_v1"))


def test_state_of_a_later_version_is_refused() -> None:
    snapshot, later = present(), SNAPSHOT_VERSION + 1
    head = snapshot.head.replace(b"eventide-state %d" % SNAPSHOT_VERSION, b"eventide-state %d" % later)
    with pytest.raises(EventideError, match=f"version {later}"):
        SequenceOperator(SPEC).restore(Snapshot(head, snapshot.segments))


def test_state_of_another_query_is_refused() -> None:
    snapshot = present()
    head = open_sealed(snapshot.head) | {"query": "PATTERN A"}
    with pytest.raises(InputError, match="another query"):
        SequenceOperator(SPEC).restore(Snapshot(seal(head), snapshot.segments))


if __name__ == "__main__":
    write(FOLDER / f"sequence_v{SNAPSHOT_VERSION}", present())
