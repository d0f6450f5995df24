"""Row patterns with their matchers compiled; `make test` runs tests/families/rows as plain Python."""

from __future__ import annotations

from hypothesis import given

from tests.budget import QUICK, budgeted
from tests.families.rows.cases import Case, cases
from tests.families.rows.test_same_rows import check, embedded


@budgeted(**QUICK)
@given(cases())
def test_the_compiled_matcher_returns_the_oracles_rows(case: Case) -> None:
    check(case, embedded)
