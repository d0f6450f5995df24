"""CSV and JSON files that only Spark sees: Spark finds the types, and no line or number is altered in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark

TOO_LONG = (1 << 53) + 1
REFUSED = {
    "short.csv": ("ts,x\n1\n2,5\n", "MALFORMED"),
    "long.csv": ("ts,x\n1,5,7\n2,5\n", "MALFORMED"),
    "one.csv": (f"ts,x\n1,{TOO_LONG}\n2,0.5\n", f"column 'x' is double, and no double holds the number {TOO_LONG} in "),
    "bigint.csv": (f"ts,x\n1,{(1 << 63) - 1}\n2,0.5\n", "no double holds the number 9223372036854775807 in "),
    "infinite.csv": ("ts,x\n1,-1e400\n", "no double holds the number -1e400 in "),
    "inside.jsonl": (f'{{"x": {{"y": [0.5, {TOO_LONG}]}}}}\n', r"column 'x\.y\[\]' is double, .* .*inside\.jsonl"),
}


@pytest.fixture
def far(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Reads a path as one of which this machine knows nothing."""
    from eventide.engines.spark import run

    monkeypatch.setattr(run, "find", lambda path, *, local_master: None)
    return lambda path: run.read_frame(str(path), spark)


def test_a_line_that_does_not_fit_and_a_rounded_number_are_errors(far: Any, tmp_path: Path) -> None:
    for name, (text, message) in REFUSED.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(Exception, match=message):
            far(tmp_path / name).collect()


def test_numbers_that_a_double_holds_are_read(far: Any, tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text(f"n,x\n1,{1 << 53}\n2,0.1\n3,3.141592653589793238\n4,1e300\n5,Inf\n6,\n7,-0000000000000000000007\n")
    values = [2.0**53, 0.1, 3.141592653589793, 1e300, float("inf"), None, -7.0]
    assert [tuple(row) for row in far(path).collect()] == list(enumerate(values, 1))
    path = tmp_path / "inside.jsonl"
    path.write_text(f'{{"n": 1, "x": [{{"y": {1 << 53}, "z": "a"}}, null, {{"y": 0.5}}]}}\n{{"n": 2}}\n')
    expected = [{"y": 2.0**53, "z": "a"}, None, {"y": 0.5, "z": None}]
    assert far(path).toArrow().to_pylist() == [{"n": 1, "x": expected}, {"n": 2, "x": None}]
