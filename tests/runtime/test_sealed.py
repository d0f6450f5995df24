"""Saved state that was altered, lost or exchanged is refused before anything reads it, and named."""

from __future__ import annotations

import json

import pytest

from eventide.errors import EventideError, StateError
from eventide.families.events.sequence import SequenceOperator
from eventide.runtime.protocol import Snapshot
from eventide.runtime.sealed import SNAPSHOT_VERSION, make_snapshot, open_sealed, open_snapshot, seal
from tests.families.events.test_sequence import block, spec

SPEC = spec(3, "any", 10)
CONTENT = {"late": 3, "word": "ä"}
SEGMENTS = {-1: b"one", 4: b"two", 5: b"six"}


def made() -> Snapshot:
    return make_snapshot(CONTENT, SEGMENTS, {})[0]


def test_what_was_written_is_read() -> None:
    content, digests = open_snapshot(made())
    assert content == CONTENT
    assert digests.keys() == SEGMENTS.keys()


@pytest.mark.parametrize("bit", range(8))
def test_every_flipped_bit_of_a_head_is_noticed(bit: int) -> None:
    head = seal(CONTENT)
    for place in range(len(head)):
        changed = bytearray(head)
        changed[place] ^= 1 << bit
        with pytest.raises(EventideError, match=r"is damaged|has version"):
            open_sealed(bytes(changed))


def test_a_head_of_another_length_is_noticed() -> None:
    head = seal(CONTENT)
    for changed in (*(head[:size] for size in range(len(head))), head + b" ", head + head):
        with pytest.raises(StateError, match="is damaged"):
            open_sealed(changed)


@pytest.mark.parametrize(
    ("segments", "said"),
    [
        ({-1: b"one", 4: b"two", 5: b"siX"}, "its segments are not those"),
        ({-1: b"one", 4: b"six", 5: b"two"}, "its segments are not those"),
        ({-2: b"one", 4: b"two", 5: b"six"}, "its segments are not those"),
        ({-1: b"on", 4: b"etwo", 5: b"six"}, "its segments are not those"),
        ({-1: b"one", 4: b"two", 5: b"si"}, "it has 8 bytes in its segments, and 9 were written"),
        ({-1: b"one", 4: b"two"}, "it has 2 segments, and 3 were written"),
        ({-1: b"one", 4: b"two", 5: b"six", 6: b""}, "it has 4 segments, and 3 were written"),
    ],
    ids=["altered", "swapped", "renumbered", "shifted", "cut", "missing", "too many"],
)
def test_segments_belong_to_their_head(segments: dict[int, bytes], said: str) -> None:
    with pytest.raises(StateError, match=f"the saved state of bucket 3 is damaged: {said}") as caught:
        open_snapshot(Snapshot(made().head, segments, "bucket 3"))
    assert "copy of the checkpoint" in str(caught.value.hint)


def test_a_segment_is_hashed_once_while_it_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    operator, hashed = SequenceOperator(SPEC), []
    monkeypatch.setattr("eventide.runtime.sealed.digest", lambda data: hashed.append(data) or "0" * 32)
    for i, ts in enumerate((1, 2)):
        list(operator.process(block([(ts, 1, "A")], 3, [i]), ts))
        hashed.clear()
        segments = operator.snapshot().segments
    assert len(segments) == 2
    assert [data in hashed for data in segments.values()] == [False, True]


def test_state_that_fits_its_digests_and_not_the_query_is_an_error_of_ours() -> None:
    operator = SequenceOperator(SPEC)
    content = {"query": SPEC.query, "facts": dict(SPEC.facts), "watermark_us": 1, "late": 0, "next_segment": 1}
    for head, segments in (({**content, "late": "x"}, {0: b"no table"}), ({"query": SPEC.query, "facts": {}}, {})):
        with pytest.raises(StateError, match="the saved state of bucket 3 is damaged: it cannot be read"):
            operator.restore(Snapshot(make_snapshot(head, segments, {})[0].head, segments, "bucket 3"))


def test_plain_json_is_state_of_the_first_version() -> None:
    for head in ({"version": 1, "query": "PATTERN A"}, {"n_buckets": 4}):
        with pytest.raises(EventideError, match=f"has version 1, this release reads version {SNAPSHOT_VERSION}"):
            open_sealed(json.dumps(head).encode())
    with pytest.raises(StateError, match="does not begin as heads do"):
        open_sealed(b'{"version": ')
