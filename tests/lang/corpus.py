"""The fixture files of the language tests: pairs of a query and what it gives."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent.parent / "fixtures" / "lang"


def read_pairs(name: str) -> list[tuple[str, str]]:
    """Query and expectation of each block; the first line of the file is a comment."""
    text = (_FOLDER / name).read_text(encoding="utf-8").split("\n", 1)[1]
    blocks = text.removesuffix("\n===\n").split("\n===\n")
    pairs = [tuple(block.split("\n---\n")) for block in blocks]
    assert all(len(pair) == 2 for pair in pairs), "a block lacks its --- line"
    return [(query, expected) for query, expected in pairs]


VALID = read_pairs("valid.txt")
INVALID = read_pairs("invalid.txt")
