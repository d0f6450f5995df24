"""Figures from measurements: a Rich table on the terminal, JSON files, and docs/benchmarks.md from them."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.harness import Measurement
from benchmarks.machine import facts
from benchmarks.registry import ROOT, Benchmark

RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"

_VARIANT_HEADER = ("variant", "role", "median s", "min..max s", "M events/s", "peak MiB", "matches")
_RATIO_HEADER = ("subject", "against", "role", "speed ratio", "min..max")
_NOTE_HEADER = ("variant", "what it computes")
_SUMMARY_HEADER = ("query", "engine", "M events/s", "ratio to the limit", "ratio to the best peer")
_INTRODUCTION = """# Benchmarks

"""
_METHOD = """Written by `python -m benchmarks report` from `benchmarks/results/`; `python -m benchmarks` measures again.

Every variant runs in a process of its own; a round runs all variants one after the other, and the first round
is thrown away. *Limits* are what the machine allows: a bare Numba kernel written for this one pattern, and a
PyArrow scan of the same columns that computes nothing. *Peers* are what a user would write without Eventide.
All variants that compute matches must find the same number with the same checksum, or there is no result.
*Speed ratio* is events per second of the subject divided by that of the other, within a round: 0.5 is half as
fast, 4 is four times as fast. Memory is the peak resident size of the process and its children, JVM included.
In the summary, the limit is the first one of the benchmark's section, and the best peer is the fastest one that
found the same number of matches. An empty cell means that the benchmark has none.
"""


def summarise(benchmark: Benchmark, events: int, measurements: list[Measurement]) -> dict[str, Any]:
    """The result as plain data, as it is written to JSON."""
    return {
        "benchmark": benchmark.name,
        "summary": benchmark.summary,
        "events": events,
        "rounds": max(len(m.seconds) for m in measurements),
        "machine": facts(),
        "variants": [
            {
                "name": m.name,
                "role": m.role,
                "note": benchmark.variant(m.name).note,
                "seconds": [round(s, 6) for s in m.seconds],
                "peak_mib": round(m.peak_bytes / 2**20),
                "count": m.outcome.count,
                "checksum": m.outcome.checksum,
                "details": m.outcome.details,
                "missing": m.missing,
            }
            for m in measurements
        ],
        "ratios": _ratios(measurements),
    }


def _ratios(measurements: list[Measurement]) -> list[dict[str, Any]]:
    measured = [m for m in measurements if m.seconds]
    return [
        {
            "subject": subject.name,
            "against": other.name,
            "role": other.role,
            "speed": [round(b / a, 4) for a, b in zip(subject.seconds, other.seconds, strict=True)],
        }
        for subject in measured
        if subject.role == "subject"
        for other in measured
        if other.role != "subject"
    ]


def show(result: dict[str, Any], console: Console) -> None:
    """Print the result as tables."""
    title = f"{result['benchmark']}: {result['events']:,} events, {result['rounds']} rounds"
    _print_table(console, title, _VARIANT_HEADER, _variant_rows(result))
    if _note_rows(result):
        _print_table(console, "what they compute", _NOTE_HEADER, _note_rows(result))
    if result["ratios"]:
        _print_table(console, "subject against the others", _RATIO_HEADER, _ratio_rows(result))
    for heading, header, rows in _detail_tables(result):
        _print_table(console, heading, header, rows)


def save(result: dict[str, Any], path: Path) -> None:
    """Write the result as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n")


def write_page(results: Path = RESULTS, page: Path = PAGE) -> Path:
    """Write the documentation page from the JSON files."""
    found = [json.loads(path.read_text()) for path in sorted(results.glob("*.json"))]
    page.parent.mkdir(parents=True, exist_ok=True)
    if not found:
        page.write_text(f"{_INTRODUCTION}No results yet.\n\n{_METHOD}")
        return page
    machines = [_machine(result) for result in found]
    usual = max(machines, key=machines.count)
    summary = _markdown(_SUMMARY_HEADER, [row for result in found for row in _summary_rows(result)])
    parts = [
        f"{_INTRODUCTION}Measured on {usual}. A section names its machine where it was another.\n",
        summary,
        _METHOD,
    ]
    parts += [_section(result, usual) for result in found]
    page.write_text("\n".join(parts))
    return page


def _machine(result: dict[str, Any]) -> str:
    machine = result["machine"]
    versions = ", ".join(f"{name} {machine[name]}" for name in machine if name not in _HARDWARE)
    return f"{machine['cores']} cores ({machine['processor']}), {machine['memory_gib']} GiB; {versions}"


def _summary_rows(result: dict[str, Any]) -> list[tuple[str, ...]]:
    """One row per engine: its speed, its ratio to the first limit, and to the fastest peer with the same matches."""
    link = f"[{result['benchmark']}](#{result['benchmark']})"
    counts = {variant["name"]: variant["count"] for variant in result["variants"]}
    rows = []
    for variant in result["variants"]:
        if variant["role"] != "subject" or variant["missing"]:
            continue
        speed = f"{result['events'] / statistics.median(variant['seconds']) / 1e6:.3g}"
        ratios = [ratio for ratio in result["ratios"] if ratio["subject"] == variant["name"]]
        limits = [ratio for ratio in ratios if ratio["role"] == "limit"]
        found = variant["count"]
        peers = [r for r in ratios if r["role"] == "peer" and found is not None and counts[r["against"]] == found]
        best = min(peers, key=lambda ratio: statistics.median(ratio["speed"]), default=None)
        rows.append((link, variant["name"], speed, _ratio_cell(limits[0] if limits else None), _ratio_cell(best)))
    return rows


def _ratio_cell(ratio: dict[str, Any] | None) -> str:
    return "" if ratio is None else f"{statistics.median(ratio['speed']):.3g} ({ratio['against']})"


def _section(result: dict[str, Any], usual: str) -> str:
    machine = _machine(result)
    rounds = f"{result['rounds']} round{'' if result['rounds'] == 1 else 's'}"
    where = "" if machine == usual else f", on {machine}"
    blocks = [
        f"## {result['benchmark']}\n\n{result['summary']}\n",
        f"{result['events']:,} events, {rounds}{where}.\n",
        _markdown(_VARIANT_HEADER, _variant_rows(result)),
    ]
    if _note_rows(result):
        blocks.append(_markdown(_NOTE_HEADER, _note_rows(result)))
    if result["ratios"]:
        blocks.append(_markdown(_RATIO_HEADER, _ratio_rows(result)))
    for heading, header, rows in _detail_tables(result):
        blocks.append(f"### {heading}\n\n{_markdown(header, rows)}")
    return "\n".join(blocks)


_HARDWARE = ("cores", "memory_gib", "processor", "system")


def _variant_rows(result: dict[str, Any]) -> list[tuple[str, ...]]:
    rows = []
    for variant in result["variants"]:
        if variant["missing"]:
            rows.append((variant["name"], variant["role"], f"not run: {variant['missing']}", "", "", "", ""))
            continue
        seconds = variant["seconds"]
        median = statistics.median(seconds)
        rows.append(
            (
                variant["name"],
                variant["role"],
                f"{median:.3f}",
                f"{min(seconds):.3f}..{max(seconds):.3f}",
                f"{result['events'] / median / 1e6:.3g}",
                f"{variant['peak_mib']:,}",
                "" if variant["count"] is None else f"{variant['count']:,}",
            )
        )
    return rows


def _note_rows(result: dict[str, Any]) -> list[tuple[str, ...]]:
    return [(variant["name"], variant["note"]) for variant in result["variants"] if variant.get("note")]


def _ratio_rows(result: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            ratio["subject"],
            ratio["against"],
            ratio["role"],
            f"{statistics.median(ratio['speed']):.3g}",
            f"{min(ratio['speed']):.3g}..{max(ratio['speed']):.3g}",
        )
        for ratio in result["ratios"]
    ]


def _detail_tables(result: dict[str, Any]) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    tables = []
    for variant in result["variants"]:
        for title, details in variant["details"].items():
            if details:
                rows = [tuple(_cell(value) for value in row.values()) for row in details]
                tables.append((f"{variant['name']}: {title}", tuple(details[0]), rows))
    return tables


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _print_table(console: Console, title: str, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    table = Table(title=title, title_justify="left")
    for idx, name in enumerate(header):
        table.add_column(name, justify="left" if idx < 2 else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _markdown(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
