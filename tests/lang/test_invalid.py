"""Texts that are no query, and the whole message each gets."""

from __future__ import annotations

from eventide.lang import parse
from tests.lang.corpus import INVALID, check_message, each_message


@each_message(INVALID)
def test_the_whole_message(text: str, message: str) -> None:
    check_message(lambda: parse(text), message)
