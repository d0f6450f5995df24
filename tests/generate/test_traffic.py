"""Traffic and air quality: every segment and sensor reports as often as it should, and values are uniform."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from eventide.generate import sample

MINUTE_US = 60_000_000


def test_every_segment_reports_cars_and_speed_every_minute() -> None:
    table = sample("traffic", 6_000, segments=5, sensors=0)
    minutes = (table["ts"].cast(pa.int64()).to_numpy() - table["ts"].cast(pa.int64())[0].as_py()) // MINUTE_US
    assert minutes.tolist() == np.repeat(np.arange(600), 10).tolist()
    assert table["kind"].to_pylist()[:4] == ["Q", "V", "Q", "V"]
    assert set(Counter(zip(table["id"].to_pylist(), table["kind"].to_pylist(), strict=True)).values()) == {600}


def test_a_sensor_reports_four_values_every_three_to_five_minutes() -> None:
    table = sample("traffic", 40_000, segments=1, sensors=30)
    air = table.filter(pc.greater_equal(table["id"], 1))
    found = set()
    for sensor in range(1, 31):
        own = air.filter(pc.equal(air["id"], sensor))
        times = np.unique(own["ts"].cast(pa.int64()).to_numpy()) // MINUTE_US
        found |= set(np.diff(times).tolist())
        assert len(set(np.diff(times).tolist())) == 1
        assert Counter(own["kind"].to_pylist()).keys() == {"PM10", "PM2.5", "Temp", "Hum"}
    assert found == {3, 4, 5}


def test_values_are_uniform_and_places_stay() -> None:
    table = sample("traffic", 50_000)
    values = table["value"].to_numpy()
    assert values.min() >= 0 and values.max() < 100
    assert (values < 1).mean() == pytest.approx(0.01, abs=0.003)
    assert len(set(zip(table["id"].to_pylist(), table["lat"].to_pylist(), strict=True))) == len(
        set(table["id"].to_pylist())
    )
