"""Benchmark 'rules': a rule set on the stream of 'stream', with 1, 10 and 100 rules that each look for something rare.

The rows of the first rule, which all sets have, must be those of the embedded engine.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from benchmarks.registry import Context, Run, benchmark
from benchmarks.sequence import QUERY, outcome_of_table, query
from benchmarks.stream import stream_files, streaming

FIRST = "rule000"


@benchmark(
    "rules",
    events=2_000_000,
    summary="A rule set over the stream of `stream`, 500,000 events per micro-batch and 1,000 keys. Each rule is the "
    "pattern of `sequence` with other limits, so that it takes a twentieth of the events and finds little.",
)
def rules(context: Context) -> Path:
    return stream_files(context)


def text_of(number: int) -> str:
    """A rule with limits of its own."""
    limits = {"a.value < 60": 5 + number % 10 / 10, "b.value > 30": 95 - number // 10 / 10, "c.value < 70": 5}
    text = QUERY
    for limit, value in limits.items():
        text = text.replace(limit, f"{limit.rpartition(' ')[0]} {value}")
    return text.replace("WITHIN 15 seconds", "WITHIN 60 seconds")


def _rule_set(folder: Path, n_rules: int) -> Any:
    import eventide as ev

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number in range(n_rules):
        (folder / f"rule{number:03}.query").write_text(text_of(number))
    return ev.RuleSet(folder, ts="ts", type="kind", partition_by=["key"], allowed_lateness="0 seconds")


def _add_variant(n_rules: int) -> None:
    name = f"{n_rules} rule{'s' if n_rules > 1 else ''}"

    @rules.subject(name)
    def _stream(folder: Path, context: Context) -> Run:
        made = _rule_set(context.cache / f"rules-{n_rules}", n_rules)
        return streaming(folder, context, lambda events: made.rows(made.run(events), FIRST))


@rules.limit("Eventide local", note="the first rule as a query, embedded")
def _local(folder: Path, context: Context) -> Run:
    pattern = query(text_of(0))
    return lambda: outcome_of_table(pattern.run(str(folder)))


for _n in (1, 10, 100):
    _add_variant(_n)
