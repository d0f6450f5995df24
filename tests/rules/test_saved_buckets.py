"""The state of a bucket of rules that an earlier version wrote goes on; it is never rewritten.

`python -m tests.rules.test_saved_buckets` writes that of a new version of the format.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from eventide.runtime.sealed import SNAPSHOT_VERSION
from tests.rules.bucket import Stream, pairs, table

FOLDER = Path(__file__).parents[1] / "fixtures" / "snapshots"
RULES = {
    "pattern": "PATTERN SEQ(A a, NOT X, B b+, C c) SEMANTICS next WITHIN 20 seconds "
    "RETURN user, a.amount AS a, c.amount AS c",
    "trend": "PATTERN SEQ(A a+, C c) WITHIN 20 seconds SLIDE 10 seconds "
    "RETURN user, COUNT(*) AS n, SUM(a.amount) AS sum",
    "situation": "DEFINE P AS kind IN ('A', 'B'), Q AS kind = 'C' PATTERN P meets|before Q WITHIN 20 seconds "
    "RETURN user, start(P) AS p, start(Q) AS q",
}
EVENTS = table([(1000 * i, kind) for i, kind in enumerate("ABACBXABCAABBCACBAXABCC")])
CUT = 12


def plain(value: Any) -> Any:
    """Bytes and tuples as JSON has them."""
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    return {"tuple": [plain(one) for one in value]} if isinstance(value, tuple) else value


def revived(value: Any) -> Any:
    if isinstance(value, dict):
        return base64.b64decode(value["bytes"]) if "bytes" in value else tuple(map(revived, value["tuple"]))
    return value


def begun() -> Stream:
    stream = Stream(delay_ms=2000)
    stream.step(EVENTS.slice(0, CUT), **RULES)
    return stream


def write(path: Path) -> None:
    stream = begun()
    saved = {
        "head": plain(stream.head.held),
        "rules": [[plain(key), plain(value)] for key, value in stream.rules.items()],
        "segments": [[plain(key), plain(value)] for key, value in stream.segments.items()],
        "timers": sorted(stream.timers),
        "newest_ms": stream.newest_ms,
        "later": pairs(stream.step(EVENTS.slice(CUT))),
    }
    path.write_text(json.dumps(saved, indent=1) + "\n")


def read(path: Path) -> tuple[Stream, list[Any]]:
    """The stream as it stood, and the rows that came after it."""
    saved = json.loads(path.read_text())
    stream = Stream(delay_ms=2000)
    stream.head.held = revived(saved["head"])
    for name in ("rules", "segments"):
        getattr(stream, name).update({revived(key): revived(value) for key, value in saved[name]})
    stream.timers.update(saved["timers"])
    stream.newest_ms = saved["newest_ms"]
    return stream, [(rule, row) for rule, row in saved["later"]]


@pytest.mark.parametrize("version", range(2, SNAPSHOT_VERSION + 1))
def test_a_bucket_of_every_version_goes_on_with_each_of_its_rules(version: int) -> None:
    stream, later = read(FOLDER / f"v{version}" / "bucket_of_rules.json")
    assert pairs(stream.step(EVENTS.slice(CUT))) == later
    assert later == pairs(begun().step(EVENTS.slice(CUT)))
    # Each rule has rows that begin before the cut: a bucket that starts there does not find them.
    fresh = pairs(Stream(delay_ms=2000).step(EVENTS.slice(CUT), **RULES))
    assert {rule for rule, row in later if (rule, row) not in fresh} == RULES.keys()


if __name__ == "__main__":
    target = FOLDER / f"v{SNAPSHOT_VERSION}" / "bucket_of_rules.json"
    if not target.exists():
        write(target)
