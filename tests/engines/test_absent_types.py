"""An event type that no event has: a warning with the type that was probably meant, and no false alarm."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev

EVENTS = [
    {"ts": 1, "activity": "A_SUBMITTED", "client": 1},
    {"ts": 2, "activity": "O_ACCEPTED", "client": 1},
    {"ts": 3, "activity": "O_CANCELLED", "client": 2},
]
TYPO = "PATTERN SEQ(A_SUBMITTED a, NOT O_ACCPTED) RETURN a.ts"
SAID = "no event has activity = 'O_ACCPTED', so NOT O_ACCPTED holds everywhere; did you mean 'O_ACCEPTED'?"


def said(text: str, events: Any = None, **more: Any) -> list[str]:
    """What is warned of in a run."""
    options = {"ts_unit": "s", "type": "activity"} if "inputs" not in more else {"ts_unit": "s"}
    inputs = more.pop("inputs", {})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ev.query(text, **options, **more).run(events, **inputs)
    ours = [warning for warning in caught if issubclass(warning.category, ev.EventideWarning)]
    assert all(warning.filename == __file__ for warning in ours)
    return [str(warning.message) for warning in ours]


def test_a_type_under_not_that_no_event_has_is_told_with_the_one_that_is_meant() -> None:
    assert said(TYPO, EVENTS) == [SAID]


@pytest.mark.parametrize(
    ("pattern", "absent"),
    [
        ("SEQ(A_SUBMITTED a, O_ACCEPT b)", ["O_ACCEPT"]),
        ("A_SUBMITED+", ["A_SUBMITED"]),
        ("OR(A_SUBMITTED, O_RETURNED)", ["O_RETURNED"]),
        ("AND(X, Y)", ["X", "Y"]),
        ("SEQ(A_SUBMITTED a, O_ACCEPTED b) SEMANTICS contiguous", []),
        ("SEQ(A_SUBMITTED, Big b) DEFINE Big AS client > 100", []),
        ("SEQ(A_SUBMITTED a, O_ACCEPTED b) WHERE b.client > 100", []),
        ("SEQ(A_SUBMITTED a, o_accepted b)", ["o_accepted"]),
        ("A_SUBMITED a RETURN COUNT(*)", ["A_SUBMITED"]),
    ],
)
def test_every_type_of_the_pattern_is_looked_for_and_conditions_are_no_types(pattern: str, absent: list[str]) -> None:
    found = said(f"PATTERN {pattern}", EVENTS)
    assert [text.split("'")[1] for text in found] == absent


@pytest.mark.parametrize("strategy", ["any", "contiguous"])
def test_files_and_frames_are_looked_at_like_tables(tmp_path: Path, strategy: str) -> None:
    table = pa.Table.from_pylist(EVENTS)
    pq.write_table(table, tmp_path / "events.parquet")
    text = TYPO.replace("RETURN", f"SEMANTICS {strategy} RETURN")
    for events in (table, table.to_pandas(), str(tmp_path / "events.parquet")):
        assert said(text, events) == [SAID]


def test_where_nothing_can_be_said_nothing_is() -> None:
    empty = pa.Table.from_pylist(EVENTS).slice(0, 0)
    assert said(TYPO, empty) == []
    assert said(TYPO, pa.Table.from_pylist(EVENTS).to_reader()) == []
    inputs = {"A": pd.DataFrame({"ts": [1]}), "B": pd.DataFrame({"ts": pd.Series([], dtype="int64")})}
    assert said("PATTERN SEQ(A, B)", inputs=inputs) == []


def test_all_types_that_are_there_are_named_where_none_is_similar() -> None:
    assert said("PATTERN Z", EVENTS) == ["no event has activity = 'Z'; known: A_SUBMITTED, O_ACCEPTED, O_CANCELLED"]


def test_the_diagnosis_says_it_too() -> None:
    query = ev.query("PATTERN SEQ(A_SUBMITTED a, O_ACCPTED b)", ts_unit="s", type="activity")
    lines = str(query.diagnose(EVENTS)).splitlines()
    assert "  note: no event has activity = 'O_ACCPTED'; did you mean 'O_ACCEPTED'?" in lines
    known = ev.query("PATTERN SEQ(A_SUBMITTED a, O_CANCELLED b)", ts_unit="s", type="activity", partition_by="client")
    assert "note" not in str(known.diagnose(EVENTS))


def test_the_command_line_prints_a_line(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(EVENTS), tmp_path / "events.parquet")
    (tmp_path / "q.evq").write_text(TYPO)
    command = [sys.executable, "-m", "eventide", "run", "q.evq", "--input", "events.parquet", "--json"]
    done = subprocess.run(
        [*command, "--ts-unit", "s", "--type", "activity"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0
    assert f"Warning: {SAID}" in done.stderr.splitlines()
    assert "errors.py" not in done.stderr
