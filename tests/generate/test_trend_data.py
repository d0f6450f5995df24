"""Data for trends: checks, cluster, transport and activity have the distributions and the chains they document."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from eventide.generate import GENERATORS, sample
from eventide.generate.activity import ACTIVITIES, ACTIVITY_S, PASSIVE, SESSION_S, SURGE_S
from eventide.generate.checks import Parameters as CheckParameters

PAGE = Path(__file__).resolve().parents[2] / "docs" / "command-line.md"


def seconds(table: pa.Table) -> np.ndarray:
    """Whole seconds since the first event; the remainder must be none."""
    ts_us: np.ndarray = table["ts"].cast(pa.int64()).to_numpy()
    assert (ts_us % 1_000_000 == 0).all()
    since: np.ndarray = (ts_us - ts_us[0]) // 1_000_000
    return since


def rows_by(table: pa.Table, *names: str) -> dict[Any, list[dict[str, Any]]]:
    """The rows in their order, by the values of some columns."""
    groups = defaultdict(list)
    for row in table.to_pylist():
        groups[tuple(row[name] for name in names)].append(row)
    return groups


def trends(checks: list[tuple[int, int, int]]) -> tuple[int, int]:
    """How many chains of checks there are, and how many are complete: their first and last check have no neighbour."""
    ending: Counter[int] = Counter()
    ending_from_start: Counter[int] = Counter()
    n_trends = n_complete = 0
    last_second = checks[-1][0]
    for second in range(last_second + 1):
        now = [(source, destination) for s, source, destination in checks if s == second]
        new: Counter[int] = Counter()
        new_from_start: Counter[int] = Counter()
        for source, destination in now:
            new[destination] += 1 + ending[source]
            new_from_start[destination] += ending_from_start[source] or int(second == 0)
        n_trends += new.total()
        if second == last_second:
            n_complete = new_from_start.total()
        ending.update(new)
        ending_from_start.update(new_from_start)
    return n_trends, n_complete


# --- checks ------------------------------------------------------------------------------------------------


def test_checks_come_at_the_seeds_rate_and_a_share_of_them_is_uncovered() -> None:
    table = sample("checks", 35_000)
    assert (np.bincount(seconds(table)) == 3500).all()
    uncovered = table["status"].to_numpy(zero_copy_only=False) == "uncovered"
    assert set(table["status"].to_pylist()) == {"covered", "uncovered"}
    assert (uncovered.reshape(10, 3500).sum(axis=1) == 1050).all()
    # They are spread over the second, not bunched.
    assert (uncovered.reshape(-1, 10).sum(axis=1) == 3).all()


@pytest.mark.parametrize("compatibility", [1, 3, 7])
def test_an_uncovered_check_continues_as_many_earlier_ones_as_asked(compatibility: int) -> None:
    table = sample("checks", 20 * 300, rate=300, compatibility=compatibility, selectivity=0.4, circle=50)
    checks = [r for r in table.to_pylist() if r["status"] == "uncovered"]
    first = checks[0]["ts"]
    destinations: Counter[int] = Counter()
    for group in rows_by(pa.Table.from_pylist(checks), "ts").values():
        n_earlier = {destinations[row["source"]] for row in group}
        assert n_earlier == {0 if group[0]["ts"] == first else compatibility}
        destinations.update(row["destination"] for row in group)


def test_the_numbers_of_trends_are_those_of_the_formulas() -> None:
    parameters = CheckParameters(rate=20, compatibility=3, selectivity=0.3, circle=12)
    table = sample("checks", 20 * 10, rate=20, compatibility=3, selectivity=0.3, circle=12)
    checks = [
        (int(second), row["source"], row["destination"])
        for second, row in zip(seconds(table), table.to_pylist(), strict=True)
        if row["status"] == "uncovered"
    ]
    assert parameters.rings == 2
    assert trends(checks) == (2 * sum((10 - i) * 3 ** (i + 1) for i in range(10)), 2 * 3**10)


def test_rings_are_circles_with_banks_of_their_own() -> None:
    table = sample("checks", 12 * 100, rate=100, compatibility=1, selectivity=0.29, circle=4)
    edges = Counter((r["source"], r["destination"]) for r in table.to_pylist() if r["status"] == "uncovered")
    # As a double, 0.29 * 100 is a little less than 29.
    assert edges == {(4 * ring + i, 4 * ring + (i + 1) % 4): 3 for ring in range(29) for i in range(4)}


def test_a_check_goes_to_another_bank_and_covered_ones_reach_all_banks() -> None:
    table = sample("checks", 50_000, rate=100, circle=7)
    source, destination, amount = (table[name].to_numpy() for name in ("source", "destination", "amount"))
    assert (source != destination).all()
    covered = table["status"].to_numpy(zero_copy_only=False) == "covered"
    # 100 * 0.3 // 3 rings of 7 banks
    assert set(source[covered]) == set(destination[covered]) == set(range(70))
    assert 100 <= amount.min() < 105 and 9_995 < amount.max() <= 10_000
    assert np.array_equal(amount, np.round(amount, 2))


@pytest.mark.parametrize("selectivity", [0, 1])
def test_checks_may_be_all_covered_or_all_uncovered(selectivity: float) -> None:
    table = sample("checks", 300, rate=30, selectivity=selectivity)
    assert set(table["status"].to_pylist()) == {"uncovered" if selectivity else "covered"}


# --- cluster -----------------------------------------------------------------------------------------------


def test_cluster_events_have_the_seeds_rate_and_distributions() -> None:
    table = sample("cluster", 300_000)
    assert (np.bincount(seconds(table)) == 3000).all()
    for name, top in (("mapper", 10), ("job", 10), ("cpu", 1000), ("memory", 1000)):
        counts = np.bincount(table[name].to_numpy())
        assert len(counts) == top + 1
        expected = len(table) / (top + 1)
        assert np.abs(counts - expected).max() < 6 * expected**0.5
    load = table["load"].to_numpy()
    assert load.mean() == pytest.approx(100, abs=0.1)
    assert load.var() == pytest.approx(100, abs=1.5)
    assert sample("cluster", 1000, mean_load=10_000)["load"].to_numpy().max() == 10_000


def test_cluster_attributes_are_independent() -> None:
    table = sample("cluster", 100_000)
    columns = np.array([table[name].to_numpy() for name in ("mapper", "job", "cpu", "memory", "load")])
    off_diagonal = np.corrcoef(columns) - np.eye(5)
    assert np.abs(off_diagonal).max() < 0.02


def test_a_mappers_events_for_a_job_are_runs_from_start_to_end() -> None:
    table = sample("cluster", 5000, mappers=3, jobs=2, run_events=7)
    groups = rows_by(table, "mapper", "job")
    assert len(groups) == 6
    for rows in groups.values():
        run = ["Start", *["Measurement"] * 5, "End"]
        assert [row["type"] for row in rows] == (run * len(rows))[: len(rows)]


# --- transport ---------------------------------------------------------------------------------------------


def test_transport_has_the_seeds_passengers_and_stations_and_uniform_waiting() -> None:
    table = sample("transport", 90_000)
    seconds(table)
    assert (np.bincount(table["passenger"].to_numpy()) == 3000).all() and len(set(table["passenger"].to_pylist())) == 30
    for name, n_values in (("station", 100), ("waiting", 61)):
        counts = np.bincount(table[name].to_numpy())
        expected = len(table) / n_values
        assert len(counts) == n_values
        assert np.abs(counts - expected).max() < 6 * expected**0.5


def test_a_trip_enters_changes_and_exits_at_another_station_each_time() -> None:
    table = sample("transport", 20_000, passengers=5, stations=4)
    lengths: list[int] = []
    for passenger in range(5):
        rows = [row for row in table.to_pylist() if row["passenger"] == passenger]
        assert [row["trip"] for row in rows] == (np.cumsum([row["type"] == "Enter" for row in rows]) - 1).tolist()
        assert rows[0]["type"] == "Enter"
        for before, row in pairwise(rows):
            assert (row["type"] == "Enter") == (before["type"] == "Exit")
            assert (row["station"] == before["station"]) == (row["type"] == "Enter")
            assert (row["ts"] - before["ts"]).total_seconds() > before["waiting"]
        lengths += Counter(row["trip"] for row in rows).values()
    assert np.mean(lengths) == pytest.approx(5, rel=0.05)


def test_passengers_arrive_at_any_second_of_half_a_leg() -> None:
    table = sample("transport", 30 * 500, max_waiting=9)
    second = seconds(table)
    counts = np.bincount(second % 20, minlength=20)
    assert (counts[10:] == 0).all()
    assert np.abs(counts[:10] - 1500).max() < 6 * 1500**0.5


@pytest.mark.parametrize(("exits", "types"), [(0, {"Enter", "Change"}), (1, {"Enter", "Exit"})])
def test_trips_may_never_end_or_end_at_once(exits: float, types: set[str]) -> None:
    assert set(sample("transport", 300, exits=exits)["type"].to_pylist()) == types


# --- activity ----------------------------------------------------------------------------------------------


def activity_columns(n_seconds: int, **parameters: Any) -> dict[str, np.ndarray]:
    n_persons = parameters.get("persons", 14)
    table = sample("activity", n_seconds * n_persons, **parameters)
    assert np.array_equal(seconds(table), np.repeat(np.arange(n_seconds), n_persons))
    return {
        name: table[name].to_numpy(zero_copy_only=False).reshape(n_seconds, n_persons)
        for name in table.column_names
        if name != "ts"
    }


def passive_rises(columns: dict[str, np.ndarray]) -> list[tuple[int, float]]:
    """Length and height of the longest stretches of rising rates in passive reports, person by person."""
    rises = []
    for person in range(columns["rate"].shape[1]):
        rate, passive = columns["rate"][:, person], columns["effort"][:, person] == "passive"
        going_up = (np.diff(rate) > 0) & passive[1:] & passive[:-1]
        edges = np.diff(np.concatenate(([False], going_up, [False])).astype(int))
        begins, ends = np.nonzero(edges == 1)[0], np.nonzero(edges == -1)[0]
        rises += [(int(end - begin), float(rate[end] - rate[begin])) for begin, end in zip(begins, ends, strict=True)]
    return rises


def test_fourteen_people_go_through_all_eighteen_activities_in_75_minutes() -> None:
    columns = activity_columns(2 * SESSION_S)
    assert SESSION_S == 75 * 60 and len(ACTIVITIES) == 18
    assert (columns["person"] == np.arange(14)).all()
    for session in (slice(0, SESSION_S), slice(SESSION_S, None)):
        for person in range(14):
            names, counts = np.unique(columns["activity"][session, person], return_counts=True)
            assert set(names) == set(ACTIVITIES) and set(counts) == {ACTIVITY_S}
    orders = {tuple(columns["activity"][:SESSION_S:ACTIVITY_S, person]) for person in range(14)}
    assert len(orders) == 14
    assert ((columns["effort"] == "passive") == np.isin(columns["activity"], list(PASSIVE))).all()


@pytest.mark.parametrize("block_events", [100, 2 * ACTIVITY_S, 2 * SESSION_S, 20_001])
def test_sessions_go_on_over_any_block_of_reports(block_events: int) -> None:
    generator = GENERATORS["activity"]
    blocks = list(generator.blocks(generator.parameters(persons=2), 30_000, 3, block_events))  # type: ignore[call-arg]
    assert pa.Table.from_batches(blocks).equals(sample("activity", 30_000, 3, persons=2))


def test_a_big_rise_in_a_passive_activity_is_a_surge_and_they_have_the_documented_share() -> None:
    columns = activity_columns(SESSION_S, persons=100)
    big = [(length, height) for length, height in passive_rises(columns) if height >= 40]
    n_passive = 100 * len(PASSIVE)
    assert len(big) == pytest.approx(0.2 * n_passive, rel=0.25)
    assert all(SURGE_S <= length <= SURGE_S + 12 and 55 < height < 65 for length, height in big)


def test_without_surges_no_passive_activity_has_a_big_rise() -> None:
    rises = passive_rises(activity_columns(SESSION_S, persons=100, surges=0))
    assert max(height for _, height in rises) < 40
    # The breath alone makes rises that are worth a trend.
    assert sum(length >= 4 for length, _ in rises) > 100 * len(PASSIVE)


def test_every_passive_activity_may_surge() -> None:
    rises = passive_rises(activity_columns(SESSION_S, persons=20, surges=1))
    assert sum(height >= 40 for _, height in rises) == 20 * len(PASSIVE)


def test_the_heart_rate_settles_at_that_of_the_activity_and_never_jumps() -> None:
    columns = activity_columns(2 * SESSION_S, persons=50)
    settled = columns["rate"][ACTIVITY_S - 10 :: ACTIVITY_S]
    activity = columns["activity"][ACTIVITY_S - 10 :: ACTIVITY_S]
    means = {name: settled[activity == name].mean() for name in ("lying", "running")}
    assert means == {"lying": pytest.approx(60, abs=3), "running": pytest.approx(155, abs=3)}
    assert np.abs(np.diff(columns["rate"], axis=0)).max() < 9
    assert columns["rate"].min() > 50 and columns["rate"].max() < 175
    assert np.array_equal(columns["rate"], np.round(columns["rate"], 1))
    assert columns["temperature"].min() > 36 and columns["temperature"].max() < 38


# --- the page ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_the_page_lists_every_generator_with_columns_and_defaults(name: str) -> None:
    (line,) = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{name}` |")]
    generator = GENERATORS[name]
    _, _, _, columns, parameters, _ = line.split("|")
    for column in generator.schema.names:
        assert column == "ts" or f"`{column}`" in columns
    for field in dataclasses.fields(generator.parameters):  # type: ignore[arg-type]
        if isinstance(field.default, int | float):
            assert f"`{field.name}={field.default:g}`" in parameters
