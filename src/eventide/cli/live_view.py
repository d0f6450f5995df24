"""What a running stream shows: progress of micro-batches in, a panel for a terminal or a plain line out.

A progress is the dict that `StreamingQueryProgress.json` holds.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from eventide.engines.spark.counters import SOURCE
from eventide.engines.spark.tally import Tally
from eventide.show.report import count, show

ROWS_METRIC = "eventide_rows"  # what the command observes of the rows that it writes
_N_ROWS = 5
_N_STEPS = 80
_RATE_SECONDS = 30.0
_IDLE_SECONDS = 10.0
_BARS = "▁▂▃▄▅▆▇█"
_SEEN = 500
_PYTHON = "PythonMicroBatchStream"
# The parts of a micro-batch's time, by Spark's names; the rest is small.
_PARTS = (
    ("find", ("latestOffset", "getBatch")),
    ("plan", ("queryPlanning",)),
    ("run", ("addBatch",)),
    ("commit", ("walCommit", "commitOffsets")),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One micro-batch, as far as the counters of `Tally` do not tell."""

    number: int
    started: float  # seconds after the epoch
    seconds: float
    events: int
    rows: int
    kernel_us: int
    parts_ms: tuple[tuple[str, int], ...]

    @property
    def ended(self) -> float:
        return self.started + self.seconds


@dataclass(slots=True)
class View:
    """Everything since the start of the command; `add` takes progress, `panel` and `line` show it."""

    title: str
    source: str
    sink: str
    started: float
    status: str = "starting"
    problem: str = ""
    activity: str = ""  # what Spark says it is doing
    shows_rows: bool = True
    events: int = 0
    rows: int = 0
    newest: datetime | None = None
    memory_bytes: int = 0
    tally: Tally = field(default_factory=lambda: Tally("stream"))
    last_rows: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=_N_ROWS))
    steps: deque[Step] = field(default_factory=lambda: deque(maxlen=_N_STEPS))
    _seen: deque[tuple[Any, ...]] = field(default_factory=lambda: deque(maxlen=_SEEN))

    @property
    def n_batches(self) -> int:
        return self.tally.n_batches

    def add(self, progress: Mapping[str, Any]) -> bool:
        """Take in a progress; False for one that is known already."""
        key = tuple(progress[name] for name in ("runId", "batchId", "timestamp"))
        if key in self._seen:
            return False
        self._seen.append(key)
        n_before = self.tally.n_batches
        self.tally.add(progress)
        if self.tally.n_batches > n_before:
            self._add_step(progress, self.tally.batches[-1])
        return True

    def _add_step(self, progress: Mapping[str, Any], batch: Mapping[str, Any]) -> None:
        durations = progress["durationMs"]
        written = (progress["observedMetrics"] or {}).get(ROWS_METRIC) or {}
        events, rows = _n_events(progress), int(written.get("rows") or 0)
        self.events += events
        self.rows += rows
        self.last_rows.extendleft(reversed([json.loads(text) for text in written.get("last") or ()]))
        newest = (progress["eventTime"] or {}).get("max")
        if newest is not None:
            time = datetime.fromisoformat(newest)
            self.newest = time if self.newest is None else max(self.newest, time)
        operators = progress["stateOperators"] or ()
        self.memory_bytes = sum(int(operator.get("memoryUsedBytes") or 0) for operator in operators)
        self.steps.append(
            Step(
                number=batch["batch_id"],
                started=batch["started_at"].timestamp(),
                seconds=batch["batch_us"] / 1_000_000,
                events=events,
                rows=rows,
                kernel_us=batch["kernel_us"],
                parts_ms=tuple((name, sum(durations.get(key, 0) for key in keys)) for name, keys in _PARTS),
            )
        )

    @property
    def open_runs(self) -> int:
        """Partial matches in the state."""
        return self.tally.held()[0]

    @property
    def state_bytes(self) -> int:
        """What the operators keep; where they do not count it, what Spark's state store uses."""
        return self.tally.held()[1] or self.memory_bytes

    def rates(self, now: float) -> tuple[float, float]:
        """Events and rows a second over the last half minute of work; 0 when nothing has come for a while."""
        recent = [step for step in self.steps if step.ended > now - _RATE_SECONDS] or list(self.steps)[-1:]
        if not recent or now - recent[-1].ended > max(_IDLE_SECONDS, 3 * recent[-1].seconds):
            return 0.0, 0.0
        seconds = max(recent[-1].ended - recent[0].started, 0.001)
        return sum(step.events for step in recent) / seconds, sum(step.rows for step in recent) / seconds

    def lag_seconds(self) -> float | None:
        """How far the watermark is behind the newest event."""
        if self.tally.watermark is None or self.newest is None:
            return None
        return max((self.newest - self.tally.watermark).total_seconds(), 0.0)

    def line(self, now: float) -> str:
        """One line for a log."""
        status = f"{self.status}: {self.problem}" if self.problem else self.status
        if not self.n_batches:
            return f"{clock(now - self.started)}  {status}"
        events, rows = self.rates(now)
        parts = [
            f"{clock(now - self.started)}  batch {self.steps[-1].number}",
            *([status] if status != "running" else []),
            f"events {self.events:,} ({rate(events)})",
            f"rows {self.rows:,} ({rate(rows)})",
            f"watermark {self._watermark()}",
            f"state {self._state()}",
            *(f"{name} {number:,}" for name, number in self._left_out() if number),
        ]
        return "  ".join(parts)

    def panel(self, now: float, width: int = 80) -> RenderableType:
        """The view of a terminal so many characters wide."""
        inside = width - 4
        half = max((inside - 3) // 2, 10)
        ends = Text.assemble(shorten(self.source, half), (" → ", "dim"), shorten(self.sink, half))
        parts: list[RenderableType] = [ends, Text(), self._numbers(now, inside)]
        if self.problem:
            parts += [Text(), Text(self.problem, style="yellow")]
        if self.shows_rows and self.last_rows:
            parts += [Text(), row_table(list(self.last_rows), inside)]
        state = Text.assemble((self.status, _STYLES.get(self.status, "yellow")), f" {clock(now - self.started)}")
        title = Text.assemble(("eventide stream", "bold"), f"  {shorten(self.title, width - 40)}")
        return Panel(
            Group(*parts), title=title, title_align="left", subtitle=state, subtitle_align="right", width=width
        )

    def summary(self, now: float) -> str:
        """What the whole run did, for the end of it."""
        lost = ", ".join(f"{number:,} {name}" for name, number in self._left_out() if number)
        ends = f"{count(self.events, 'event')}, {count(self.rows, 'row')} to {self.sink}"
        lines = [f"{ends} in {span(now - self.started)}, {count(self.n_batches, 'batch')}"]
        if self.tally.watermark is not None:
            lines.append(f"decided up to the watermark, {self._watermark()}")
        return "\n".join([*lines, f"left out: {lost}"] if lost else lines)

    @property
    def n_bad(self) -> int:
        """Records that are not events."""
        return self.tally.bad_records

    def _left_out(self) -> tuple[tuple[str, int], ...]:
        tally = self.tally
        lost = ("late", tally.counted.late_events), ("dropped", tally.dropped_events), ("bad", tally.bad_records)
        problems = tally.counted.problems
        return (*lost, (f"rule{'s' if problems > 1 else ''} with a problem", problems)) if problems else lost

    def _watermark(self) -> str:
        time, lag = self.tally.watermark, self.lag_seconds()
        text = "none yet" if time is None else time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
        return text if lag is None else f"{text}, {span(lag)} behind the newest event"

    def _state(self) -> str:
        return f"{size(self.state_bytes)}, {self.open_runs:,} open runs"

    def _numbers(self, now: float, width: int) -> Table:
        events, rows = self.rates(now)
        grid = Table.grid(padding=(0, 2))
        number = self.steps[-1].number if self.steps else 0
        grid.add_column(style="dim", no_wrap=True, min_width=max(len("watermark"), len(f"batch {number}")))
        grid.add_column(no_wrap=True, overflow="ellipsis")
        shown = list(self.steps)[-max(width - 43, 1) :]
        for name, total, per_second, counts in (
            ("events", self.events, events, [step.events for step in shown]),
            ("rows", self.rows, rows, [step.rows for step in shown]),
        ):
            speeds = [count / max(step.seconds, 0.001) for count, step in zip(counts, shown, strict=True)]
            numbers = Text.assemble((f"{total:>14,}", "bold"), f"  {rate(per_second):>12}  ")
            grid.add_row(name, numbers.append(sparkline(speeds), "cyan"))
        grid.add_row("watermark", Text(self._watermark()))
        grid.add_row("state", Text(self._state()))
        left_out = [Text(f"{name} {number:,}", "yellow" if number else "") for name, number in self._left_out()]
        grid.add_row("left out", Text("   ").join(left_out))
        if self.steps:
            grid.add_row(f"batch {number}", Text(_split(self.steps[-1])))
        if self.activity and self.status == "running":
            grid.add_row("now", Text(self.activity))
        return grid


def _n_events(progress: Mapping[str, Any]) -> int:
    """How many events came; a source that tells them from bad records and blank lines says it better than Spark."""
    observed = (progress["observedMetrics"] or {}).items()
    counts = [metric["events"] for name, metric in observed if name.startswith(SOURCE)]
    if not counts:
        # A set of rules has a second source, written in Python: the rules themselves.
        sources = [source for source in progress.get("sources") or () if _PYTHON not in source["description"]]
        counts = [source["numInputRows"] for source in sources] or [progress["numInputRows"] or 0]
    return int(sum(counts))


def _split(step: Step) -> str:
    """A micro-batch's time and its parts; the time of matching is a part of running, added up over the cores."""
    parts = ", ".join(f"{name} {_seconds(ms / 1000)}" for name, ms in step.parts_ms)
    return f"{_seconds(step.seconds)} s: {parts}; matching {_seconds(step.kernel_us / 1_000_000)}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f}" if seconds < 100 else f"{seconds:.0f}"


_STYLES = {"running": "green", "done": "green", "stopped": "dim", "failed": "red"}


def row_table(rows: Sequence[Mapping[str, Any]], width: int) -> Table:
    """The rows, a column each where there is room for it, else a line each."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim", width=width)
    if len(names) * 10 > width:
        table.add_column(Text("last rows"), no_wrap=True, overflow="ellipsis")
        for row in rows:
            table.add_row(Text(row_line(row)))
        return table
    for name in names:
        table.add_column(Text(name), no_wrap=True, overflow="ellipsis")
    for row in rows:
        table.add_row(*(Text(show(row.get(name))) for name in names))
    return table


def row_line(row: Mapping[str, Any]) -> str:
    """A row on one line, for people.

    >>> row_line({"user": "ann", "amount": None})
    'user=ann  amount=NULL'
    """
    return "  ".join(f"{name}={show(value)}" for name, value in row.items())


def sparkline(values: Sequence[float]) -> str:
    """Bars that compare the values.

    >>> sparkline([0, 1, 4, 8])
    '▁▁▄█'
    """
    top = max(values, default=0.0)
    if top <= 0:
        return _BARS[0] * len(values)
    return "".join(_BARS[max(round(value / top * len(_BARS)) - 1, 0)] for value in values)


def rate(per_second: float) -> str:
    """
    >>> rate(52310.4), rate(3.25), rate(0)
    ('52,310/s', '3.2/s', '0/s')
    """
    return f"{per_second:,.0f}/s" if per_second >= 10 or per_second == 0 else f"{per_second:.1f}/s"


def size(n_bytes: int) -> str:
    """
    >>> size(900), size(12_300_000)
    ('900 B', '12.3 MB')
    """
    amount = float(n_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def span(seconds: float) -> str:
    """
    >>> span(0.25), span(75), span(7380), span(200_000)
    ('0.2 s', '1 min 15 s', '2 h 3 min', '2 d 7 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    whole = int(seconds)
    for unit, amount, below, below_amount in (("min", 60, "s", 1), ("h", 3600, "min", 60)):
        if whole < amount * (60 if unit == "min" else 24):
            return f"{whole // amount} {unit} {whole % amount // below_amount} {below}"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def clock(seconds: float) -> str:
    """
    >>> clock(3723)
    '1:02:03'
    """
    whole = int(max(seconds, 0))
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def shorten(text: str, width: int) -> str:
    """The end of a text says more than its middle.

    >>> shorten("folder/of/many/names", 12)
    'fol…ny/names'
    """
    width = max(width, 8)
    if len(text) <= width:
        return text
    head = (width - 1) // 3
    return text[:head] + "…" + text[len(text) - (width - 1 - head) :]
