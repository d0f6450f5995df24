"""Fixture files: pairs of a query and what it gives, such as the whole message of an error."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eventide.errors import QueryError

_FOLDER = Path(__file__).parent.parent / "fixtures" / "lang"


def read_pairs(name: str) -> list[tuple[str, str]]:
    """Query and expectation of each block; the first line of the file is a comment."""
    text = (_FOLDER / name).read_text(encoding="utf-8").split("\n", 1)[1]
    blocks = text.removesuffix("\n===\n").split("\n===\n")
    pairs = [tuple(block.split("\n---\n")) for block in blocks]
    assert all(len(pair) == 2 for pair in pairs), "a block lacks its --- line"
    return [(query, expected) for query, expected in pairs]


def check_round_trip(tree: Any, write: Callable[[Any], str], parse: Callable[[str], Any]) -> None:
    """What is written is parsed to the same tree, and written the same again."""
    text = write(tree)
    assert parse(text) == tree
    assert write(parse(text)) == text


def each_message(pairs: list[tuple[str, str]]) -> pytest.MarkDecorator:
    """A test for every pair of `text` and `message`."""
    return pytest.mark.parametrize(("text", "message"), pairs, ids=[text[:120] for text, _ in pairs])


def check_message(run: Callable[[], Any], message: str) -> None:
    """The whole message, also of an error that comes from another process."""
    with pytest.raises(QueryError) as caught:
        run()
    assert str(caught.value) == message
    assert str(pickle.loads(pickle.dumps(caught.value))) == message


VALID = read_pairs("valid.txt")
INVALID = read_pairs("invalid.txt")
