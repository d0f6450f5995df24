"""Random builder patterns over random events: the product finds what the oracle finds."""

from __future__ import annotations

from hypothesis import given, settings

import eventide as ev
from tests.detection.cases import Case, cases, found


def check(case: Case) -> None:
    result = ev.detect(case.table(), case.built, sequence="seq", ts="ts", ts_unit="s", skip=case.skip)
    matches, timeouts = case.expected()
    assert found(result.matches.to_pylist()) == matches
    assert found(result.timeouts.to_pylist()) == timeouts


@settings(deadline=None)
@given(case=cases())
def test_the_embedded_engine_finds_the_oracles_matches(case: Case) -> None:
    check(case)
