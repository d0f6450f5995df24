"""The situations of examples/aircraft.py are those of plain loops over the reports, and its page shows one arrival."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numba
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.docs.script import load_script
from tests.show.charts import Drawn

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "examples" / "aircraft.py"
HOUR = timedelta(hours=1)


aircraft = load_script(SCRIPT)

Leg = tuple[str, int]
Reports = list[dict[str, Any]]
Run = tuple[datetime, datetime, datetime]  # start, end, the instant at which it has lasted long enough


def _flying(names: str, test: Callable[..., bool]) -> Callable[[dict[str, Any]], bool]:
    """A condition on some columns in the air; one that is missing does not satisfy it."""

    def holds(report: dict[str, Any]) -> bool:
        values = [report[name] for name in names.split()]
        return not report["onground"] and None not in values and test(*values)

    return holds


CONDITIONS: dict[str, tuple[Callable[[dict[str, Any]], bool], int]] = {
    "Cruise": (_flying("altitude rate", lambda altitude, rate: 9000 <= altitude <= 45000 and abs(rate) <= 300), 120),
    "Descent": (_flying("rate", lambda rate: rate < -300), 60),
    "Slowing": (_flying("change", lambda change: change <= -15), 20),
    "Approach": (
        _flying("altitude speed rate", lambda altitude, speed, rate: altitude <= 4000 and speed <= 180 and rate < -300),
        30,
    ),
    "Ground": (lambda report: bool(report["onground"]), 10),
}


def legs(events: pa.Table) -> dict[Leg, Reports]:
    made: dict[Leg, Reports] = defaultdict(list)
    for row in events.sort_by("timestamp").to_pylist():
        made[row["icao24"], row["leg"]].append(row)
    return made


def runs(reports: Reports, symbol: str) -> Iterator[Run]:
    """By definition: from the first report that satisfies to the first that does not, the last report ending all."""
    holds, seconds = CONDITIONS[symbol]
    begin: int | None = None
    for i, report in enumerate(reports):
        if begin is not None and (not holds(report) or i == len(reports) - 1):
            start, end = reports[begin]["timestamp"], report["timestamp"]
            if end - start >= timedelta(seconds=seconds):
                times = (r["timestamp"] for r in reports[begin : i + 1])
                yield start, end, next(ts for ts in times if ts - start >= timedelta(seconds=seconds))
        if not holds(report):
            begin = None
        elif begin is None:
            begin = i


Derived = dict[Leg, dict[str, list[Run]]]


def derived(flights: dict[Leg, Reports]) -> Derived:
    return {leg: {symbol: list(runs(mine, symbol)) for symbol in CONDITIONS} for leg, mine in flights.items()}


def early(situations: Derived, symbols: str, fits: Callable[..., bool]) -> list[tuple[Any, ...]]:
    """Leg, starts and detection of the combinations that fit, once all of them have lasted long enough."""
    found: list[tuple[Any, ...]] = []
    for leg, mine in situations.items():
        for chosen in product(*(mine[symbol] for symbol in symbols.split())):
            detected = max(run[2] for run in chosen)
            if fits(*chosen) and detected - min(run[0] for run in chosen) <= HOUR:
                found.append((*leg, *(run[0] for run in chosen), detected))
    return sorted(found)


def meets(a: Run, b: Run) -> bool:
    return a[1] == b[0]


def goes_on_into(a: Run, b: Run) -> bool:
    """Overlaps, finished-by or contains: b begins while a goes on."""
    return a[0] < b[0] < a[1]


def slowing_descents(situations: Derived) -> list[tuple[Any, ...]]:
    return early(situations, "Cruise Descent Slowing", lambda c, d, s: meets(c, d) and goes_on_into(d, s))


def approaches(situations: Derived) -> list[tuple[Any, ...]]:
    return early(situations, "Descent Approach", lambda d, a: d[0] == a[0] or goes_on_into(d, a))


def arrivals(situations: Derived) -> list[tuple[Any, ...]]:
    def fits(c: Run, d: Run, s: Run, a: Run) -> bool:
        return meets(c, d) and goes_on_into(d, s) and c[1] < a[0]

    return early(situations, "Cruise Descent Slowing Approach", fits)


def of_query(text: str, events: pa.Table) -> list[tuple[Any, ...]]:
    rows = aircraft.ask(text.partition("RETURN")[0], close_at_end=True).run(events)
    return sorted(tuple(value for name, value in row.items() if not name.endswith("_end")) for row in rows.to_pylist())


def relation(a: tuple[datetime, datetime], b: tuple[datetime, datetime]) -> str:
    """Of two intervals that have time in common."""
    starts = (a[0] > b[0]) - (a[0] < b[0])
    ends = (a[1] > b[1]) - (a[1] < b[1])
    names = {
        (-1, -1): "overlaps",
        (-1, 0): "finished-by",
        (-1, 1): "contains",
        (0, -1): "starts",
        (0, 0): "equals",
        (0, 1): "started-by",
        (1, -1): "during",
        (1, 0): "finishes",
        (1, 1): "overlapped-by",
    }
    return names[starts, ends]


def falls(reports: Reports) -> list[tuple[datetime, datetime]]:
    """Longest runs of reports in the air with no speed above the one before, which lose 30 knots."""
    found: list[Reports] = []
    before: float | None = None
    for report in (r for r in reports if not r["onground"]):
        speed = report["speed"]
        if before is None or speed is None or speed > before:
            found.append([])
        found[-1].append(report)
        before = speed
    chosen = [run for run in found if len(run) > 1 and run[0]["speed"] - run[-1]["speed"] >= 30]
    return [(run[0]["timestamp"], run[-1]["timestamp"]) for run in chosen]


def related(flights: dict[Leg, Reports], situations: Derived) -> Counter[str]:
    found: Counter[str] = Counter()
    for leg, reports in flights.items():
        for fall, descent in product(falls(reports), situations[leg]["Descent"]):
            if fall[0] < descent[1] and descent[0] < fall[1]:
                found[relation(fall, descent[:2])] += 1
    return found


def check(events: pa.Table) -> None:
    flights = legs(events)
    known = derived(flights)
    expected = [(*leg, name, *run[:2]) for leg, mine in known.items() for name, found in mine.items() for run in found]
    assert sorted(tuple(row.values()) for row in aircraft.situations(events).to_pylist()) == sorted(expected)
    assert of_query(aircraft.SLOWING_DESCENTS, events) == slowing_descents(known) != []
    assert of_query(aircraft.APPROACHES, events) == approaches(known) != []
    assert of_query(aircraft.ARRIVALS, events) == arrivals(known) != []
    pairs = aircraft.falls_and_descents(events)
    assert Counter(pairs.column("relation").to_pylist()) == related(flights, known) != Counter()


@pytest.fixture(scope="module")
def made() -> pa.Table:
    return aircraft.reports(Path("nowhere"))


def test_the_situations_of_made_reports_are_those_of_plain_loops(made: pa.Table) -> None:
    check(made)


def test_a_wrong_altitude_and_a_missing_one_change_no_situation(made: pa.Table) -> None:
    assert pc.max(made.column("altitude")).as_py() == 35_000
    found = aircraft.situations(made).filter(pc.field("icao24") == "made01")
    assert found.column("symbol").to_pylist() == ["Descent", "Cruise", "Descent", "Slowing", "Approach", "Ground"]


@pytest.mark.slow
@pytest.mark.skipif(not aircraft.RECORDED.exists(), reason="the recorded aircraft states are not here")
def test_the_situations_of_recorded_reports_are_those_of_plain_loops() -> None:
    events = aircraft.reports()
    if numba.config.DISABLE_JIT:
        chosen = pa.array(["345359", "3964f9", "398564", "400804"])
        events = events.filter(pc.is_in(events.column("icao24"), chosen))
    check(events)


def test_matches_are_known_before_all_is_over(made: pa.Table) -> None:
    (lead,) = aircraft.leads(aircraft.ARRIVALS, made)
    known = derived(legs(made))
    ((*_, detected),) = arrivals(known)
    (descent,) = (run for run in known["made01", 0]["Descent"] if run[1] > detected)
    assert lead == (descent[1] - detected).total_seconds() > 60
    (notice,) = aircraft.notices(made)
    assert notice > 60


def test_the_page_of_an_arrival_has_a_lane_for_each_situation_and_its_match(made: pa.Table, tmp_path: Path) -> None:
    page = aircraft.page(made, aircraft.SHOWN, tmp_path / "arrival.html")
    assert "VLG8030: from the cruise to the approach" in (tmp_path / "arrival.html").read_text()
    drawn = Drawn.of(page.svg)
    lanes = [word.split(":")[0] for word in drawn.words() if word.split(":")[0] in CONDITIONS]
    assert lanes == ["Cruise", "Descent", "Slowing", "Approach"]
    situations = derived(legs(made))["made01", 0]
    assert len(drawn.all("rect", "bar")) == sum(len(situations[name]) for name in lanes) == 5
    assert len(drawn.all("g", "hit")) == 1


def test_the_script_prints_what_it_finds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    aircraft.main(["nowhere", str(tmp_path / "arrival.html")])
    printed = capsys.readouterr().out
    assert "1,999 reports; situations of 2 legs:" in printed
    assert "1 arrivals of 1 flights; known" in printed
    assert (tmp_path / "arrival.html").stat().st_size > 1_000


def test_an_unknown_flight_is_told(made: pa.Table, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no report has the callsign NONE"):
        aircraft.page(made, "NONE", tmp_path / "page.html")
