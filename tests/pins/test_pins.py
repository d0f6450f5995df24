"""What users see stays as it was when the tree is rebuilt; `kept.py` says how a change on purpose is written down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.pins import explained, kept
from tests.pins.public import public_names


def test_public_names_and_their_parameters_are_those_that_were_pinned() -> None:
    assert public_names() == kept.read("public_names")


def test_explain_says_of_every_family_what_was_pinned(tmp_path: Path) -> None:
    assert explained.in_this_process(tmp_path) == kept.read("explain")


@pytest.mark.spark
def test_explain_says_of_dataframes_and_streams_what_was_pinned(spark: Any, tmp_path: Path) -> None:
    assert explained.on_spark(spark, tmp_path) == kept.read("explain_on_spark")
