"""Generators: same rows for the same seed however they are cut, in time order, at the documented rates."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from eventide.errors import InputError
from eventide.generate import GENERATORS, Generator, generate, sample
from eventide.generate import registry as registry_module

SMALL: dict[str, dict[str, Any]] = {
    # One person, so that 1003 events are four activities.
    "activity": {"persons": 1},
    "cars": {"cars": 7},
    "checks": {"rate": 11, "selectivity": 0.6, "circle": 4},
    "cluster": {"rate": 9, "mappers": 2, "jobs": 2, "run_events": 5},
    # Situations as short as a second, so that edges fall on the borders of blocks.
    "situations": {"durations": (1, 5), "gaps": (1, 4), "rates": ((1, 2, 3, 1), (4, 1, 1, 2)), "phase_s": 300},
    "stocks": {"symbols": 5},
    "traffic": {"segments": 3, "sensors": 4},
    "transport": {"passengers": 4, "stations": 3, "exits": 0.5},
    "typed": {"keys": 3, "ties": 0.3},
}
NAMES = sorted(GENERATORS)


def longest_runs(mask: np.ndarray) -> np.ndarray:
    """Lengths of the maximal runs of True down each column."""
    padded = np.zeros((mask.shape[0] + 2, mask.shape[1]), dtype=np.int8)
    padded[1:-1] = mask
    edges = np.diff(padded.T, axis=1)
    return np.nonzero(edges == -1)[1] - np.nonzero(edges == 1)[1]


def test_every_generator_is_covered_by_these_tests() -> None:
    assert set(SMALL) == set(GENERATORS)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("block_events", [1, 13, 100, 5000])
def test_block_size_changes_no_row(name: str, block_events: int) -> None:
    generator = GENERATORS[name]
    parameters = generator.parameters(**SMALL[name])
    blocks = list(generator.blocks(parameters, 1003, 5, block_events))  # type: ignore[call-arg]
    assert pa.Table.from_batches(blocks, generator.schema).equals(sample(name, 1003, 5, **SMALL[name]))


@pytest.mark.parametrize("name", NAMES)
def test_row_group_size_changes_no_row(name: str, tmp_path: Path) -> None:
    for row_group_events in (1, 64, 1000):
        path = generate(
            name, events=501, output=tmp_path / "e.parquet", row_group_events=row_group_events, **SMALL[name]
        )
        metadata = pq.read_metadata(path)
        assert metadata.num_row_groups == -(-501 // row_group_events)
        assert pq.read_table(path).equals(sample(name, 501, **SMALL[name]))


@pytest.mark.parametrize("name", NAMES)
def test_file_bytes_are_the_same_for_the_same_arguments(name: str, tmp_path: Path) -> None:
    paths = [generate(name, events=2000, output=tmp_path / f"{i}.parquet", seed=3) for i in range(2)]
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_fewer_events_are_a_prefix_and_another_seed_gives_other_events(name: str) -> None:
    long = sample(name, 1000, 1, **SMALL[name])
    assert sample(name, 333, 1, **SMALL[name]).equals(long.slice(0, 333))
    assert not sample(name, 1000, 2, **SMALL[name]).equals(long)


@pytest.mark.parametrize("name", NAMES)
def test_rows_have_the_declared_schema_are_in_time_order_and_start_at_start(name: str) -> None:
    start = datetime(2020, 2, 29, 12, 0, 0, 5)
    table = sample(name, 3000, start=start, **SMALL[name])
    assert table.schema.equals(GENERATORS[name].schema)
    assert table.schema.field("ts").type == pa.timestamp("us")
    assert all(column.null_count == 0 for column in table.columns)
    ts = table["ts"].cast(pa.int64()).to_numpy()
    assert (np.diff(ts) >= 0).all()
    assert table["ts"][0].as_py() == start


@pytest.mark.parametrize("name", NAMES)
def test_no_events_is_an_empty_file_with_the_schema(name: str, tmp_path: Path) -> None:
    table = pq.read_table(generate(name, events=0, output=tmp_path / "none.parquet"))
    assert table.num_rows == 0
    assert table.schema.equals(GENERATORS[name].schema)


def test_million_cars_reports_have_situations_at_the_documented_rates() -> None:
    n_cars, n_seconds = 300, 3600
    table = sample("cars", n_cars * n_seconds, cars=n_cars)
    accel, speed = (table[name].to_numpy().reshape(n_seconds, n_cars) for name in ("accel", "speed"))
    per_hour = {
        "sprints": (longest_runs(accel > 8) >= 5).sum() / n_cars,
        "fast": np.isin(longest_runs(speed > 70), np.arange(4, 31)).sum() / n_cars,
        "braking": (longest_runs(accel < -9) >= 3).sum() / n_cars,
        "stops": (longest_runs(speed < 1) >= 5).sum() / n_cars,
    }
    expected = {"sprints": 1.2, "fast": 9, "braking": 3.0, "stops": 1.8}
    assert {k: pytest.approx(v, rel=0.2) for k, v in expected.items()} == per_hour
    assert 0.03 < ((speed > 1) & (speed < 26)).mean() < 0.15


def test_a_sprint_accelerates_into_the_fast_stretch_and_ends_in_a_hard_brake() -> None:
    n_cars, n_seconds = 200, 3600
    table = sample("cars", n_cars * n_seconds, cars=n_cars)
    accel, speed = (table[name].to_numpy().reshape(n_seconds, n_cars).T for name in ("accel", "speed"))
    n_sequences = 0
    for car in range(n_cars):
        ends = np.nonzero((accel[car, :-1] > 8) & (accel[car, 1:] <= 8))[0] + 1
        for end in ends[ends < n_seconds - 40]:
            still_fast = int(np.argmax(speed[car, end:] <= 70))
            n_sequences += 4 <= still_fast <= 30 and accel[car, end + still_fast] < -9
    assert n_sequences > 0.8 * 1.2 * n_cars


def test_a_car_report_is_consistent_with_the_one_before() -> None:
    n_cars, n_seconds = 50, 400
    table = sample("cars", n_cars * n_seconds, cars=n_cars, expressways=2)
    columns = {
        name: table[name].cast(pa.float64()).to_numpy().reshape(n_seconds, n_cars)
        for name in table.column_names
        if name != "ts"
    }
    assert np.allclose(columns["accel"][1:], np.diff(columns["speed"], axis=0))
    assert (columns["accel"][0] == 0).all()
    feet = np.where(columns["direction"] == 0, 1, -1) * columns["speed"] * 5280 / 3600
    moved = np.diff(columns["position"], axis=0)
    assert np.allclose((moved - feet[1:] + 264_000) % 528_000, 264_000, atol=0.2)
    assert (columns["segment"] == np.minimum(columns["position"] // 5280, 99)).mean() > 0.999
    assert (columns["expressway"] == columns["expressway"][0]).all()
    assert set(np.unique(columns["lane"])) == {1, 2, 3}
    assert columns["speed"].min() >= 0 and columns["speed"].max() < 85


def test_stock_prices_walk_in_small_steps_and_a_symbol_keeps_its_sector() -> None:
    table = sample("stocks", 50_000, symbols=20)
    assert min(table["volume"].to_pylist()) >= 1
    assert (
        table.group_by("symbol").aggregate([("sector", "count_distinct")])["sector_count_distinct"].to_pylist()
        == [1] * 20
    )
    for symbol in ("S0000", "S0019"):
        price = table.filter(pc.equal(table["symbol"], symbol))["price"].to_numpy()
        steps = np.diff(np.log(price))
        assert len(np.unique(price)) > 20
        assert np.abs(steps).max() < 0.006
        assert 0.0003 < steps.std() < 0.001


def test_typed_events_follow_probabilities_mean_gap_and_ties() -> None:
    table = sample("typed", 100_000, kinds=("x", "y", "z"), probabilities=(0.7, 0.3, 0.0), mean_gap_us=500, ties=0.25)
    counts = dict(zip(*np.unique(table["kind"].to_numpy(zero_copy_only=False), return_counts=True), strict=True))
    assert set(counts) == {"x", "y"}
    assert counts["x"] == pytest.approx(70_000, rel=0.02)
    gap_us = np.diff(table["ts"].cast(pa.int64()).to_numpy())
    assert (gap_us == 0).mean() == pytest.approx(0.25, rel=0.05)
    assert gap_us[gap_us > 0].mean() == pytest.approx(500, rel=0.03)
    assert set(table["key"].to_pylist()) == set(range(1000))
    value = table["value"].to_numpy()
    assert 0 <= value.min() < 1 and 99 < value.max() < 100


def test_typed_events_have_no_ties_unless_asked() -> None:
    ts = sample("typed", 50_000, mean_gap_us=1)["ts"].cast(pa.int64()).to_numpy()
    assert np.diff(ts).min() >= 1


def test_failure_in_the_middle_leaves_no_file_and_keeps_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = GENERATORS["typed"]

    def failing(parameters: Any, events: int, seed: int) -> Iterator[pa.RecordBatch]:
        yield next(whole.blocks(parameters, 10, seed))
        raise RuntimeError("disk on fire")

    monkeypatch.setitem(registry_module.GENERATORS, "typed", Generator(whole.schema, whole.parameters, failing))
    old = tmp_path / "old.parquet"
    old.write_text("old")
    for output in (tmp_path / "new.parquet", old):
        with pytest.raises(RuntimeError, match="disk on fire"):
            generate("typed", events=100, output=output, row_group_events=5)
    assert [path.name for path in tmp_path.iterdir()] == ["old.parquet"]
    assert old.read_text() == "old"


def test_a_finished_file_replaces_the_old_one_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    path.write_text("old")
    assert generate("typed", events=10, output=str(path)) == path
    assert list(tmp_path.iterdir()) == [path]
    assert pq.read_metadata(path).num_rows == 10


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("car", {"events": 1}, "did you mean 'cars'"),
        ("cars", {"events": -1}, "'events' must be a whole number of at least 0"),
        ("cars", {"events": 1.5}, "'events' must be a whole number"),
        ("cars", {"events": True}, "'events' must be a whole number"),
        ("cars", {"events": 1, "seed": -2}, "'seed' must be"),
        ("cars", {"events": 1, "cras": 3}, "did you mean 'cars'"),
        ("cars", {"events": 1, "cars": 0}, "'cars' must be a whole number of at least 1"),
        ("cars", {"events": 1, "expressways": 10_001}, "'expressways' must be at most 10000"),
        ("cars", {"events": 1, "start": datetime(2020, 1, 1, tzinfo=UTC)}, "without a time zone"),
        ("cars", {"events": 1, "start": "yesterday"}, "without a time zone"),
        ("stocks", {"events": 1, "symbols": "many"}, "'symbols' must be"),
        ("activity", {"events": 1, "persons": 0}, "'persons' must be a whole number of at least 1"),
        ("activity", {"events": 1, "surges": 1.5}, "'surges' must be a number from 0 to 1"),
        ("activity", {"events": 1, "start": 0}, "without a time zone"),
        ("checks", {"events": 1, "rate": 0}, "'rate' must be a whole number of at least 1"),
        ("checks", {"events": 1, "compatibility": 0}, "'compatibility' must be a whole number of at least 1"),
        ("checks", {"events": 1, "selectivity": -0.1}, "'selectivity' must be a number from 0 to 1"),
        ("checks", {"events": 1, "circle": 1}, "'circle' must be a whole number of at least 2"),
        ("checks", {"events": 1, "circle": 10_000_000}, "350 rings of 10000000 banks are more than 2"),
        ("checks", {"events": 1, "start": 0}, "without a time zone"),
        ("cluster", {"events": 1, "rate": 0}, "'rate' must be a whole number of at least 1"),
        ("cluster", {"events": 1, "mappers": 0}, "'mappers' must be a whole number of at least 1"),
        ("cluster", {"events": 1, "jobs": 0}, "'jobs' must be a whole number of at least 1"),
        ("cluster", {"events": 1, "mean_load": 10_001}, "'mean_load' must be at most 10000"),
        ("cluster", {"events": 1, "run_events": 1}, "'run_events' must be a whole number of at least 2"),
        ("cluster", {"events": 1, "start": 0}, "without a time zone"),
        ("situations", {"events": 1, "columns": 27}, "'columns' must be at most 26"),
        ("situations", {"events": 1, "keys": -1}, "'keys' must be a whole number of at least 0"),
        ("situations", {"events": 1, "durations": (0, 5)}, "'durations' must be a whole number of at least 1"),
        ("situations", {"events": 1, "durations": (6, 5)}, "'durations' must be from the smaller to the larger"),
        ("situations", {"events": 1, "durations": 5}, "'durations' must be two numbers, or two for each column"),
        ("situations", {"events": 1, "gaps": ((1, 2), (1, 2))}, "'gaps' has 2 pairs for 4 columns"),
        ("situations", {"events": 1, "gaps": (1, 2, 3)}, "'gaps' must be two numbers"),
        ("situations", {"events": 1, "rates": (1, 2)}, "'rates' has 2 numbers for 4 columns"),
        ("situations", {"events": 1, "rates": (1, 2, 3, 0)}, "'rates' must be numbers from 0.000001"),
        ("situations", {"events": 1, "rates": "often"}, "'rates' must be a list of numbers"),
        ("situations", {"events": 1, "phase_s": 0}, "'phase_s' must be a whole number of at least 1"),
        ("situations", {"events": 1, "start": 0}, "without a time zone"),
        ("transport", {"events": 1, "passengers": 0}, "'passengers' must be a whole number of at least 1"),
        ("transport", {"events": 1, "stations": 1}, "'stations' must be a whole number of at least 2"),
        ("transport", {"events": 1, "max_waiting": -1}, "'max_waiting' must be a whole number of at least 0"),
        ("transport", {"events": 1, "exits": 2}, "'exits' must be a number from 0 to 1"),
        ("transport", {"events": 1, "start": 0}, "without a time zone"),
        ("typed", {"events": 1, "kinds": ()}, "'kinds' must be"),
        ("typed", {"events": 1, "kinds": "AB"}, "'kinds' must be"),
        ("typed", {"events": 1, "kinds": ("A", "A")}, "'kinds' must be"),
        ("typed", {"events": 1, "probabilities": (1.0,)}, "1 numbers for 4 kinds"),
        ("typed", {"events": 1, "kinds": ("A", "B"), "probabilities": (0.5, 0.6)}, "add up to 1"),
        ("typed", {"events": 1, "kinds": ("A", "B"), "probabilities": (1.5, -0.5)}, "from 0 to 1"),
        ("typed", {"events": 1, "ties": 2}, "'ties' must be a number from 0 to 1"),
        ("typed", {"events": 1, "row_group_events": 0}, "'row_group_events' must be"),
    ],
)
def test_bad_arguments_are_input_errors_and_write_nothing(
    name: str, arguments: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        generate(name, output=tmp_path / "events.parquet", **arguments)
    assert list(tmp_path.iterdir()) == []


def test_bad_outputs_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        generate("typed", events=1, output=tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        generate("typed", events=1, output=tmp_path / "missing" / "events.parquet")


def test_parameters_are_frozen() -> None:
    for generator in GENERATORS.values():
        parameters = generator.parameters()
        with pytest.raises(dataclasses.FrozenInstanceError):
            parameters.start = None
