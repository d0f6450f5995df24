"""Boolean situation streams: lengths, gaps and rates as asked, columns and keys apart, phases that change the rates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eventide.generate import GENERATORS, generate, sample


def runs(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """First second and length of every run of true that has ended and did not begin with the stream."""
    values = np.asarray(column.to_pylist(), dtype=np.int8)
    starts, ends = np.nonzero(np.diff(values) == 1)[0] + 1, np.nonzero(np.diff(values) == -1)[0] + 1
    ends = ends[ends > starts[0]] if len(starts) else ends[:0]
    return starts[: len(ends)], ends - starts[: len(ends)]


def gaps(column: Any) -> np.ndarray:
    starts, lengths = runs(column)
    return starts[1:] - (starts + lengths)[:-1]


def test_situations_and_gaps_are_uniform_between_the_seeds_bounds() -> None:
    table = sample("situations", 400_000)
    assert table.column_names == ["ts", "a", "b", "c", "d"]
    assert (np.diff(table["ts"].cast(pa.int64()).to_numpy()) == 1_000_000).all()
    for name in "abcd":
        _, lengths = runs(table[name])
        assert (lengths.min(), lengths.max()) == (10, 100)
        assert lengths.mean() == pytest.approx(55, abs=2)
        assert lengths.std() == pytest.approx(91 / 12**0.5, abs=1.5)
        between = gaps(table[name])
        assert (between.min(), between.max()) == (10, 50)
        assert between.mean() == pytest.approx(30, abs=1)
        assert len(lengths) == pytest.approx(400_000 / 85, rel=0.03)


def test_columns_are_apart_from_each_other() -> None:
    table = sample("situations", 200_000, columns=2)
    both = np.mean([a and b for a, b in zip(table["a"].to_pylist(), table["b"].to_pylist(), strict=True)])
    assert both == pytest.approx((55 / 85) ** 2, abs=0.02)


def test_each_column_may_have_its_own_durations_and_gaps() -> None:
    """The latency experiment: the average duration of A stays, that of B is twice, or half of it."""
    for durations, mean in (((20, 200), 110), ((5, 50), 27.5)):
        table = sample("situations", 300_000, columns=2, durations=[(10, 100), durations], gaps=[(3, 3), (10, 50)])
        assert runs(table["a"])[1].mean() == pytest.approx(55, abs=2)
        lengths = runs(table["b"])[1]
        assert lengths.mean() == pytest.approx(mean, rel=0.04)
        assert (lengths.min(), lengths.max()) == durations
        assert set(gaps(table["a"])) == {3} and set(gaps(table["b"])) == set(range(10, 51))


def test_rates_are_how_often_situations_occur() -> None:
    table = sample("situations", 500_000, columns=3, rates=(1, 10, 5))
    a, b, c = (len(runs(table[name])[0]) for name in "abc")
    assert b == pytest.approx(500_000 / 85, rel=0.03)
    assert b / a == pytest.approx(10, rel=0.1) and b / c == pytest.approx(2, rel=0.06)
    for name in "abc":
        assert runs(table[name])[1].mean() == pytest.approx(55, rel=0.06)


def test_rates_change_with_the_phases_and_the_last_one_goes_on() -> None:
    phases = [[1, 1, 1], [1, 20, 20], [20, 1, 20]]
    table = sample("situations", 800_000, columns=3, rates=phases, phase_s=200_000)
    for i, rates in enumerate([*phases, phases[-1]]):
        for name, rate in zip("abc", rates, strict=True):
            starts, _ = runs(table[name].slice(i * 200_000, 200_000))
            assert len(starts) == pytest.approx(200_000 / 85 * rate / max(rates), rel=0.15)


def test_keys_are_streams_of_their_own_reported_in_turn() -> None:
    table = sample("situations", 3 * 100_000, columns=2, keys=3)
    assert table.column_names == ["ts", "key", "a", "b"]
    assert table["key"].to_pylist()[:7] == [0, 1, 2, 0, 1, 2, 0]
    seconds = table["ts"].cast(pa.int64()).to_numpy().reshape(-1, 3)
    assert (seconds == seconds[:, :1]).all() and (np.diff(seconds[:, 0]) == 1_000_000).all()
    columns = [table["a"].to_pylist()[key::3] for key in range(3)]
    assert columns[0] != columns[1] and columns[1] != columns[2]
    for values in columns:
        _, lengths = runs(pa.array(values))
        assert (lengths.min(), lengths.max()) == (10, 100)
        assert lengths.mean() == pytest.approx(55, abs=3)


@pytest.mark.parametrize("block_events", [1, 7, 100, 1 << 17])
def test_blocks_that_cut_a_second_change_no_row(block_events: int) -> None:
    generator = GENERATORS["situations"]
    given = {"columns": 2, "keys": 5, "durations": (1, 4), "gaps": (1, 3), "rates": [[1, 3], [3, 1]], "phase_s": 40}
    parameters = generator.parameters(**given)
    blocks = list(generator.blocks(parameters, 503, 5, block_events))  # type: ignore[call-arg]
    assert pa.Table.from_batches(blocks).equals(sample("situations", 503, 5, **given))


def test_a_file_has_the_columns_that_the_parameters_ask_for(tmp_path: Path) -> None:
    path = generate("situations", events=10, output=tmp_path / "s.parquet", columns=6, keys=2)
    assert pq.read_schema(path).names == ["ts", "key", *"abcdef"]
    empty = generate("situations", events=0, output=tmp_path / "none.parquet", columns=1)
    assert pq.read_schema(empty).names == ["ts", "a"]
