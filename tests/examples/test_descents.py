"""The three ways to ask for descents return the rows of the definition, on made reports and on recorded ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.docs.script import load_script

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "examples" / "descents.py"


descents = load_script(SCRIPT)
WAYS = list(descents.WAYS.values())


def naive(reports: pa.Table, feet: float = 3000) -> list[tuple[Any, ...]]:
    """By definition: cut each aircraft's reports wherever one is not lower than the one before."""
    by_aircraft: dict[str, list[tuple[Any, float | None]]] = {}
    columns = (reports.column(name).to_pylist() for name in ("icao24", "timestamp", "altitude"))
    for icao24, ts, altitude in zip(*columns, strict=True):
        by_aircraft.setdefault(icao24, []).append((ts, altitude))
    found = []
    for icao24, states in by_aircraft.items():
        runs: list[list[tuple[Any, float]]] = []
        before: float | None = None
        # Reports of one time come in the order of their altitudes, those without one first.
        for ts, altitude in sorted(states, key=lambda s: (s[0], s[1] is not None, s[1] or 0)):
            if altitude is not None:
                if before is None or not altitude < before:
                    runs.append([])
                runs[-1].append((ts, altitude))
            before = altitude
        for run in runs:
            (began, top), (ended, bottom) = run[0], run[-1]
            if top - bottom >= feet:
                found.append((icao24, began, ended, top, bottom, top - bottom))
    return sorted(found)


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    assert tuple(table.column_names) == descents.COLUMNS
    return sorted(tuple(row.values()) for row in table.to_pylist())


def random_reports(seed: int, n: int, *, ties: bool) -> pa.Table:
    """Altitudes that mostly fall, with levels, climbs, gaps in time and reports without an altitude."""
    random = np.random.default_rng(seed)
    steps = random.choice([-2000, -1000, -500, 0, 3000], n, p=[0.3, 0.3, 0.2, 0.1, 0.1])
    altitudes = [None if random.random() < 0.08 else float(20_000 + a) for a in np.cumsum(steps)]
    gaps = random.choice([0, 1, 7], n, p=[0.2, 0.7, 0.1]) if ties else random.choice([1, 7], n)
    order = random.permutation(n)
    table = pa.table(
        {
            "icao24": [f"{i}" for i in random.integers(0, 3, n)],
            "timestamp": pa.array(np.cumsum(gaps) * 1_000_000, pa.timestamp("us")),
            "altitude": pa.array(altitudes, pa.float64()),
        }
    )
    return table.take(order)


def test_the_made_reports_have_descents_at_their_beginning_at_a_level_off_and_at_their_end() -> None:
    expected = [("high", 9000, 5500), ("high", 5500, 1000), ("low", 6000, 2900)]
    assert [(icao24, top, bottom) for icao24, _, _, top, bottom, _ in naive(descents.made())] == expected


@pytest.mark.parametrize("way", WAYS)
def test_each_way_finds_the_descents_of_the_made_reports(way: Any) -> None:
    assert rows(way(descents.made())) == naive(descents.made())


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_each_way_finds_the_descents_of_random_reports(seed: int, ties: bool) -> None:
    reports = random_reports(seed, 60, ties=ties)
    expected = naive(reports)
    assert len(expected) > 2
    for way in WAYS:
        assert rows(way(reports)) == expected, way.__name__


def test_the_script_says_that_the_three_agree(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pq.write_table(descents.made(), tmp_path / "reports.parquet")
    descents.main([str(tmp_path / "reports.parquet")])
    printed = capsys.readouterr().out
    assert printed.count("3 descents of 2 aircraft") == 3
    assert "The three agree." in printed


def recorded_reports() -> pa.Table:
    """All recorded reports; of twelve aircraft only where nothing is compiled, which would take minutes."""
    reports = pq.read_table(descents.RECORDED, columns=["icao24", "timestamp", "altitude"])
    if not numba.config.DISABLE_JIT:
        return reports
    counts = reports.group_by("icao24").aggregate([("timestamp", "count")]).sort_by("timestamp_count")
    descending = {icao24 for icao24, *_ in naive(reports)}
    chosen = [icao24 for icao24 in counts.column("icao24").to_pylist() if icao24 in descending][:12]
    return reports.filter(pc.is_in(reports.column("icao24"), pa.array(chosen)))


@pytest.mark.slow
@pytest.mark.skipif(not descents.RECORDED.exists(), reason="the recorded aircraft states are not here")
def test_each_way_finds_the_descents_of_recorded_reports() -> None:
    reports = recorded_reports()
    expected = naive(reports)
    assert len(expected) >= 12
    for way in WAYS:
        assert rows(way(reports)) == expected, way.__name__
