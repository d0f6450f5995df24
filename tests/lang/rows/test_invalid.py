"""Texts that are no MATCH_RECOGNIZE clause or statement, and the whole message each gets."""

from __future__ import annotations

from tests.lang.corpus import check_message, each_message
from tests.lang.rows.corpus import INVALID, read


@each_message(INVALID)
def test_the_whole_message(text: str, message: str) -> None:
    check_message(lambda: read(text), message)
