"""The harness: interleaved rounds in child processes, memory of each, loud failure when variants disagree."""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
from pathlib import Path
from typing import Any

import fake_benchmarks
import pytest
from benchmarks.harness import BenchmarkError, measure
from benchmarks.memory import descendants
from benchmarks.registry import Context
from benchmarks.report import PAGE, save, show, summarise, write_page
from rich.console import Console


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], list[str]]:
    lines: list[str] = []
    context = Context(500, tmp_path_factory.mktemp("cache"))
    found = measure(fake_benchmarks.fake, rounds=2, context=context, log=lines.append)
    return summarise(fake_benchmarks.fake, 500, found), lines


def variant(result: dict[str, Any], name: str) -> dict[str, Any]:
    return next(found for found in result["variants"] if found["name"] == name)


def test_rounds_are_interleaved_and_the_warm_up_is_not_kept(
    measured: tuple[dict[str, Any], list[str]],
) -> None:
    result, lines = measured
    order = [line.split("  ")[2].split(":")[0] for line in lines]
    assert order == ["bare", "scan", "product", "hog"] * 3
    assert [line.split("  ")[1] for line in lines[::4]] == ["warm-up", "round 1", "round 2"]
    assert [len(v["seconds"]) for v in result["variants"]] == [2, 2, 2, 2, 0]


def test_every_variant_runs_in_a_process_of_its_own(measured: tuple[dict[str, Any], list[str]]) -> None:
    pids = {variant(measured[0], name)["details"]["calls"][0]["pid"] for name in ("bare", "product")}
    assert len(pids) == 2
    assert os.getpid() not in pids


def test_peak_memory_belongs_to_the_variant_that_used_it(measured: tuple[dict[str, Any], list[str]]) -> None:
    assert variant(measured[0], "hog")["peak_mib"] > 300
    assert 5 < variant(measured[0], "product")["peak_mib"] < 300


def test_ratios_are_taken_within_rounds(measured: tuple[dict[str, Any], list[str]]) -> None:
    result, _ = measured
    assert [(r["subject"], r["against"]) for r in result["ratios"]] == [
        ("product", "bare"),
        ("product", "scan"),
        ("product", "hog"),
    ]
    seconds = {name: variant(result, name)["seconds"] for name in ("bare", "product")}
    expected = [b / p for b, p in zip(seconds["bare"], seconds["product"], strict=True)]
    assert result["ratios"][0]["speed"] == pytest.approx(expected, rel=0.02)
    assert all(speed < 1 for speed in result["ratios"][0]["speed"])


def test_a_missing_peer_is_named_with_the_reason(measured: tuple[dict[str, Any], list[str]]) -> None:
    assert variant(measured[0], "absent")["missing"] == "needs a library nobody has"


def test_the_result_names_no_host_and_no_path(measured: tuple[dict[str, Any], list[str]], tmp_path: Path) -> None:
    save(measured[0], tmp_path / "fake.json")
    text = (tmp_path / "fake.json").read_text()
    assert socket.gethostname() not in json.dumps(json.loads(text)["machine"])
    assert "/" not in json.dumps(json.loads(text)["machine"])
    assert json.loads(text)["machine"]["cores"] >= 1


def test_tables_and_page_show_the_figures(measured: tuple[dict[str, Any], list[str]], tmp_path: Path) -> None:
    result, _ = measured
    console = Console(width=160, record=True, file=(tmp_path / "terminal").open("w"))
    show(result, console)
    save(result, tmp_path / "results" / "fake.json")
    page = write_page(tmp_path / "results", tmp_path / "page.md").read_text()
    for text in (console.export_text(), page):
        assert "not run: needs a library nobody has" in text
        assert "product: calls" in text
        assert f"{min(variant(result, 'hog')['seconds']):.3f}.." in text
    assert "## fake\n\nNothing, quickly.\n" in page
    assert "500 events, 2 rounds" in page


def _result(name: str, machine: str = "usual", **ratios: tuple[str, int | None, float]) -> dict[str, Any]:
    """A result of one product with 5 matches: by variant its role, its matches, and the product's speed beside it."""
    product = {"name": "product", "role": "subject", "seconds": [2.0], "count": 5}
    others = [{"name": n, "role": role, "seconds": [1.0], "count": count} for n, (role, count, _) in ratios.items()]
    return {
        "benchmark": name,
        "summary": "Nothing.",
        "events": 4_000_000,
        "rounds": 1,
        "machine": {"cores": 2, "processor": machine, "memory_gib": 8, "python": "3.11"},
        "variants": [{"peak_mib": 1, "details": {}, "missing": None, **each} for each in (*others, product)],
        "ratios": [
            {"subject": "product", "against": n, "role": role, "speed": [speed]}
            for n, (role, _, speed) in ratios.items()
        ],
    }


def test_the_page_opens_with_a_table_of_the_first_limit_and_of_the_fastest_peer_that_finds_the_same(
    tmp_path: Path,
) -> None:
    peers = {
        "slow": ("peer", 5, 4.0),
        "fast": ("peer", 5, 3.0),
        "wrong": ("peer", 6, 2.0),
        "other": ("peer", None, 1.0),
    }
    limits = {"kernel": ("limit", 5, 0.5), "scan": ("limit", None, 0.1)}
    save(_result("seq", **limits, **peers), tmp_path / "results" / "seq.json")
    save(_result("alone"), tmp_path / "results" / "alone.json")
    page = write_page(tmp_path / "results", tmp_path / "page.md").read_text()
    table = page[: page.index("## ")].split("\n\n")[2].splitlines()
    assert table[2:] == [
        "| [alone](#alone) | product | 2 |  |  |",
        "| [seq](#seq) | product | 2 | 0.5 (kernel) | 3 (fast) |",
    ]


def test_the_page_names_the_usual_machine_once_and_another_one_where_it_measured(tmp_path: Path) -> None:
    for name, machine in {"a": "rare", "b": "usual", "c": "usual"}.items():
        save(_result(name, machine), tmp_path / "results" / f"{name}.json")
    page = write_page(tmp_path / "results", tmp_path / "page.md").read_text()
    assert page.count("(usual)") == page.count("(rare)") == 1
    assert (
        page.index("(usual)") < page.index("| query |") < page.index("## a") < page.index("(rare)") < page.index("## b")
    )


def test_the_documentation_holds_the_page_that_the_stored_results_give(tmp_path: Path) -> None:
    made = write_page(page=tmp_path / "page.md").read_text()
    assert PAGE.read_text() == made, "run python -m benchmarks report"


def test_a_page_without_results_says_so(tmp_path: Path) -> None:
    assert "No results yet." in write_page(tmp_path / "none", tmp_path / "page.md").read_text()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("off by one", r"disagree on the count\n  right: 10\n  off by one: 11"),
        ("wrong sum", r"disagree on the checksum\n  right: 1\n  wrong sum: 2"),
        ("raises", r"variant 'raises' failed:(.|\n)*ZeroDivisionError: in the run"),
        ("fails in setup", r"variant 'fails in setup' failed:(.|\n)*AttributeError: no such product"),
        ("dies", r"variant 'dies' died \(exit code 3\)"),
    ],
)
def test_a_wrong_variant_fails_the_benchmark_and_leaves_no_process(bad: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=message):
        measure(fake_benchmarks.wrong, rounds=1, variants=["limit", bad], context=Context(10, tmp_path))
    assert multiprocessing.active_children() == []


def test_unknown_variants_and_rounds_are_refused(tmp_path: Path) -> None:
    context = Context(10, tmp_path)
    with pytest.raises(BenchmarkError, match="no variant nothing; it has: bare, scan"):
        measure(fake_benchmarks.fake, variants=["limit", "nothing"], context=context)
    with pytest.raises(BenchmarkError, match="rounds must be at least 1"):
        measure(fake_benchmarks.fake, rounds=0, context=context)


def test_prepared_data_is_made_once(tmp_path: Path) -> None:
    calls: list[Path] = []
    context = Context(1, tmp_path / "cache")
    for _ in range(2):
        context.cached("data", lambda path: (calls.append(path), path.write_text("x")))
    assert calls == [tmp_path / "cache" / "data"]


def test_a_second_variant_of_the_same_name_is_refused() -> None:
    with pytest.raises(ValueError, match="already has a variant 'bare'"):
        fake_benchmarks.fake.peer("bare")


def test_descendants_include_the_process_itself() -> None:
    assert descendants(os.getpid())[0] == os.getpid()
