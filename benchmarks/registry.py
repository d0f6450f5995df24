"""What a benchmark is: data made once, and variants that all compute the same result from it.

A variant is a setup function `(data, context) -> run`; setup is not timed, `run() -> Outcome` is. Roles:
`limit` (what the machine allows), `subject` (Eventide), `peer` (what a user would otherwise write).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "bench"
ROLES = ("limit", "subject", "peer")
MODULES = (
    "benchmarks.sequence",
    "benchmarks.stream",
    "benchmarks.kafka",
    "benchmarks.stream_shapes",
    "benchmarks.rules",
    "benchmarks.extremes",
    "benchmarks.rows",
    "benchmarks.row_slices",
    "benchmarks.peers",
    "benchmarks.scale",
    "benchmarks.growth",
    "benchmarks.trends",
    "benchmarks.allen",
    "benchmarks.joins",
    "benchmarks.intervals",
    "benchmarks.situations",
    "benchmarks.windows",
    "benchmarks.windows_spark",
    "benchmarks.pruning",
)


class UnavailableError(Exception):
    """Raised by a variant's setup when what it needs is not installed; the variant is left out and named."""


@dataclass(frozen=True)
class Outcome:
    """What one run found. `count` and `checksum` must agree between variants; None is not compared.

    `details` are tables by title, each a list of rows; those of the last round are reported. `seconds`
    replaces the time of the whole run when only a part of it is the subject.
    """

    count: int | None = None
    checksum: int | None = None
    details: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    seconds: float | None = None


@dataclass(frozen=True)
class Context:
    """The number of events to measure with, and where prepared data is kept."""

    events: int
    cache: Path = CACHE

    def cached(self, name: str, make: Callable[[Path], object]) -> Path:
        """The path `name` in the cache; `make(path)` is called when it is not there yet."""
        path = self.cache / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            make(path)
        return path


Run = Callable[[], Outcome]
Setup = Callable[[Any, Context], Run]


@dataclass(frozen=True)
class Variant:
    """One way to compute the benchmark's result; `note` says what it computes where that is not the same."""

    name: str
    role: str
    setup: Setup
    note: str = ""


@dataclass
class Benchmark:
    """A registered benchmark; its decorators `limit`, `subject` and `peer` add variants in order."""

    name: str
    summary: str
    events: int
    module: str
    prepare: Callable[[Context], Any]
    variants: list[Variant] = field(default_factory=list)

    def limit(self, name: str, note: str = "") -> Callable[[Setup], Setup]:
        return self._add(name, "limit", note)

    def subject(self, name: str, note: str = "") -> Callable[[Setup], Setup]:
        return self._add(name, "subject", note)

    def peer(self, name: str, note: str = "") -> Callable[[Setup], Setup]:
        return self._add(name, "peer", note)

    def variant(self, name: str) -> Variant:
        return next(variant for variant in self.variants if variant.name == name)

    def _add(self, name: str, role: str, note: str) -> Callable[[Setup], Setup]:
        if any(variant.name == name for variant in self.variants):
            raise ValueError(f"benchmark '{self.name}' already has a variant '{name}'")

        def register(setup: Setup) -> Setup:
            self.variants.append(Variant(name, role, setup, note))
            return setup

        return register


_BENCHMARKS: dict[str, Benchmark] = {}


def benchmark(name: str, *, events: int, summary: str) -> Callable[[Callable[[Context], Any]], Benchmark]:
    """Register a benchmark; the decorated function prepares its data, which must be picklable."""

    def register(prepare: Callable[[Context], Any]) -> Benchmark:
        _BENCHMARKS[name] = Benchmark(name, summary, events, prepare.__module__, prepare)
        return _BENCHMARKS[name]

    return register


def load(modules: tuple[str, ...] = MODULES) -> dict[str, Benchmark]:
    """The benchmarks by name, after importing the modules that register them."""
    for module in modules:
        importlib.import_module(module)
    return _BENCHMARKS
