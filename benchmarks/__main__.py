"""`python -m benchmarks [NAME...] [--events N] [--rounds R] [--variants V,...] [--json FILE]`, `report`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from benchmarks.harness import BenchmarkError, measure
from benchmarks.registry import load
from benchmarks.report import RESULTS, save, show, summarise, write_page


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument(
        "names", nargs="*", help="benchmarks to run, or the first word of several (default: all); or 'report'"
    )
    parser.add_argument("--events", type=int, help="number of events (default: the benchmark's own)")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds after the warm-up")
    parser.add_argument("--variants", default="", help="only these roles or variants, comma-separated")
    parser.add_argument("--json", type=Path, help="write the result here (one benchmark only)")
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 120)
    if options.names == ["report"]:
        write_page()
        return 0
    known = load()
    names = [name for given in options.names for name in named(given, list(known))] or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    if options.json and len(names) > 1:
        parser.error("--json takes one benchmark")
    variants = [name for name in options.variants.split(",") if name]
    for name in names:
        events = options.events or known[name].events
        try:
            measured = measure(known[name], events=events, rounds=options.rounds, variants=variants, log=console.print)
        except BenchmarkError as error:
            print(f"benchmark '{name}' failed: {error}", file=sys.stderr)
            return 1
        result = summarise(known[name], events, measured)
        show(result, console)
        whole = not variants and events == known[name].events
        if options.json or whole:
            save(result, options.json or RESULTS / f"{name}.json")
        else:
            console.print("A part of the benchmark or another size: not written to benchmarks/results.")
    return 0


def named(given: str, known: list[str]) -> list[str]:
    """The benchmark of a name, or all whose names begin with it and a dash.

    >>> named("scale", ["rows", "scale-long", "scale-many"]), named("row", ["rows"])
    (['scale-long', 'scale-many'], ['row'])
    """
    group = [name for name in known if name.startswith(f"{given}-")]
    return [given] if given in known or not group else group


if __name__ == "__main__":
    sys.exit(main())
