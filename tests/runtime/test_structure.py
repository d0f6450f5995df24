"""Saved state whose digests are right and whose parts do not fit together is refused before a kernel reads it."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from eventide.errors import StateError
from eventide.runtime.marked import read_array, write_array
from eventide.runtime.protocol import Snapshot
from eventide.runtime.sealed import make_snapshot, open_snapshot
from tests.streams.test_snapshots import play, read


def longer(text: str) -> str:
    return base64.b64encode(zlib.compress(zlib.decompress(base64.b64decode(text)) + bytes(8), 1)).decode()


def longer_marks(head: dict[str, Any]) -> None:
    head["marks"] = {number: longer(text) for number, text in head["marks"].items()}


def marks_of_no_segment(head: dict[str, Any]) -> None:
    head["marks"] = {**head["marks"], "999": write_array(np.zeros(3, np.uint8))}


def longer_partial_matches(head: dict[str, Any]) -> None:
    ends = read_array(head["partial"]["ends"], np.int64)
    ends[-1] += 1
    head["partial"]["ends"] = write_array(ends)


def no_watermark(head: dict[str, Any]) -> None:
    del head["watermark_us"]


@pytest.mark.parametrize(
    ("family", "change"),
    [
        ("MATCH_RECOGNIZE, one row", longer_marks),
        ("builder matches", longer_marks),
        ("builder matches", marks_of_no_segment),
        ("builder matches", longer_partial_matches),
        ("pattern any", no_watermark),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(family: str, change: Callable[[dict[str, Any]], None]) -> None:
    saved = read(family, 2)
    head, _ = open_snapshot(saved.snapshot)
    change(head)
    forged = make_snapshot(head, saved.snapshot.segments, {})[0]
    with pytest.raises(StateError, match="the saved state is damaged: it cannot be read"):
        play(family, saved.seed).step(Snapshot(forged.head, forged.segments), 1)


def test_an_open_interval_has_all_its_events() -> None:
    saved = read("intervals of runs", 2)
    head, _ = open_snapshot(saved.snapshot)
    (number, *_) = head["opened_in"]
    other = read("pattern any", 2).snapshot.segments
    segments = {**saved.snapshot.segments, int(number): next(iter(other.values()))}
    forged = make_snapshot(head, segments, {})[0]
    with pytest.raises(StateError, match="the saved state is damaged: it cannot be read"):
        play("intervals of runs", saved.seed).step(forged, 1)
