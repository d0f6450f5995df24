"""Runs a benchmark: every variant in a child process of its own, results compared.

Rounds are interleaved (limit, subject, peer, limit, ...), so that a slow minute of the machine hits all
alike; the first round only warms up. Ratios are taken within a round.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.memory import PeakMemory
from benchmarks.registry import Benchmark, Context, Outcome, UnavailableError, Variant, load


class BenchmarkError(Exception):
    """A variant failed, or variants disagree: there are no figures."""


@dataclass
class Measurement:
    """One variant's figures, one entry of `seconds` per measured round; `missing` says why there are none."""

    name: str
    role: str
    seconds: list[float] = field(default_factory=list)
    peak_bytes: int = 0
    outcome: Outcome = field(default_factory=Outcome)
    missing: str | None = None


def measure(
    benchmark: Benchmark,
    *,
    events: int | None = None,
    rounds: int = 5,
    variants: Sequence[str] = (),
    context: Context | None = None,
    log: Callable[[str], None] = lambda line: None,
) -> list[Measurement]:
    """Run the benchmark and return a measurement per variant; `variants` keeps roles or names."""
    if rounds < 1:
        raise BenchmarkError(f"rounds must be at least 1, found {rounds}")
    chosen = [v for v in benchmark.variants if not variants or v.name in variants or v.role in variants]
    unknown = [v for v in variants if not any(v in (c.name, c.role) for c in chosen)]
    if unknown or not chosen:
        known = ", ".join(variant.name for variant in benchmark.variants)
        raise BenchmarkError(f"'{benchmark.name}' has no variant {', '.join(unknown)}; it has: {known}")
    context = context or Context(events or benchmark.events)
    data = benchmark.prepare(context)
    workers: list[_Worker] = []
    try:
        for variant in chosen:
            workers.append(_Worker(benchmark, variant, data, context))
        for worker in workers:
            worker.wait_until_ready()
        running = [worker for worker in workers if worker.measurement.missing is None]
        for round_idx in range(rounds + 1):
            for worker in running:
                seconds = worker.run(keep=round_idx > 0)
                label = f"round {round_idx}" if round_idx else "warm-up"
                log(f"{benchmark.name}  {label}  {worker.measurement.name}: {seconds:.3f} s")
            _compare(benchmark, [worker.measurement for worker in running])
        return [worker.measurement for worker in workers]
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """A child process that sets one variant up and runs it on command."""

    def __init__(self, benchmark: Benchmark, variant: Variant, data: Any, context: Context) -> None:
        self.measurement = Measurement(variant.name, variant.role)
        spawn = multiprocessing.get_context("spawn")
        self._connection, theirs = spawn.Pipe()
        self._process = spawn.Process(
            target=_serve,
            args=(theirs, benchmark.module, benchmark.name, variant.name, data, context),
            daemon=True,
        )
        self._process.start()
        theirs.close()

    def wait_until_ready(self) -> None:
        kind, value = self._receive()
        if kind == "missing":
            self.measurement.missing = value

    def run(self, *, keep: bool) -> float:
        assert self._process.pid is not None
        with PeakMemory(self._process.pid) as memory:
            self._connection.send("run")
            _, (seconds, outcome) = self._receive()
        self.measurement.outcome = outcome
        if keep:
            self.measurement.seconds.append(seconds)
            self.measurement.peak_bytes = max(self.measurement.peak_bytes, memory.peak_bytes)
        return float(seconds)

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.send("stop")
        self._process.join(timeout=20)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _receive(self) -> tuple[str, Any]:
        try:
            kind, value = self._connection.recv()
        except EOFError:
            self._process.join(timeout=5)
            code = self._process.exitcode
            raise BenchmarkError(f"variant '{self.measurement.name}' died (exit code {code})") from None
        if kind == "error":
            raise BenchmarkError(f"variant '{self.measurement.name}' failed:\n{value}")
        return kind, value


def _serve(connection: Connection, module: str, benchmark: str, variant: str, data: Any, context: Context) -> None:
    try:
        run = load((module,))[benchmark].variant(variant).setup(data, context)
    except UnavailableError as missing:
        connection.send(("missing", str(missing)))
        return
    except BaseException:
        connection.send(("error", traceback.format_exc()))
        return
    connection.send(("ready", None))
    while connection.recv() == "run":
        gc.collect()
        try:
            begin = time.perf_counter()
            outcome = run()
            seconds = time.perf_counter() - begin
        except BaseException:
            connection.send(("error", traceback.format_exc()))
            return
        connection.send(("ran", (seconds if outcome.seconds is None else outcome.seconds, outcome)))


def _compare(benchmark: Benchmark, measurements: list[Measurement]) -> None:
    for what in ("count", "checksum"):
        found = {m.name: getattr(m.outcome, what) for m in measurements}
        found = {name: value for name, value in found.items() if value is not None}
        if len(set(found.values())) > 1:
            lines = "\n".join(f"  {name}: {value}" for name, value in found.items())
            raise BenchmarkError(f"'{benchmark.name}': the variants disagree on the {what}\n{lines}")
