"""Peers in environments of their own, and the data of the benchmarks 'peers' and 'scale'."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from benchmarks.__main__ import named
from benchmarks.conversation import converse
from benchmarks.environments import Environment, install, installed, reason
from benchmarks.harness import Measurement
from benchmarks.peers import peers
from benchmarks.registry import Context, Outcome, UnavailableError
from benchmarks.report import save, summarise, write_page
from benchmarks.scale import alternation, many_partitions


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("benchmarks.environments.FOLDER", tmp_path)
    monkeypatch.setattr("benchmarks.conversation.FOLDER", tmp_path)
    return tmp_path


@pytest.fixture
def own(folder: Path) -> Environment:
    """An environment with the Python of the tests."""
    made = Environment("own", ("nothing",), ("3.11",), "json")
    made.python.parent.mkdir(parents=True)
    made.python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    made.python.chmod(0o755)
    made.ready.write_text("")
    return made


def test_a_peer_that_was_never_installed_says_how_to_install_it(folder: Path) -> None:
    with pytest.raises(UnavailableError, match="nothing is not installed; `make bench-peers` installs it"):
        installed(Environment("none", ("nothing",), ("3.11",), "nothing"))


def test_a_peer_that_cannot_be_installed_keeps_the_reason(folder: Path) -> None:
    peer = Environment("old", ("fossil==1",), ("2.5",), "fossil")
    assert not install(peer)
    with pytest.raises(UnavailableError, match=r"fossil==1 needs Python 2.5; ours is 3.\d+, and no other is here"):
        installed(peer)


def test_a_reason_names_no_address_and_no_path() -> None:
    address, path = "https:" + "//somewhere.example/a", "/".join(["", "home", "someone", "log"])
    output = f"[INFO] x\n[ERROR] Could not transfer a:b:1 from central ({address}): see {path}\n"
    assert reason(output) == "Could not transfer a:b:1 from central ... see ..."
    assert reason("all is\nlost\n") == "lost"


def test_an_environment_is_made_once_and_again_when_its_packages_change(folder: Path) -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    made = Environment("plain", (), (version,), "json")
    made.ready.parent.mkdir()
    made.ready.write_text(repr(made))
    kept = made.folder / "kept"
    kept.touch()
    assert install(made)
    assert kept.exists()
    assert not install(Environment("plain", ("fossil==1",), ("2.5",), "fossil"))
    assert not kept.exists()


def test_a_peer_answers_each_run_whatever_libraries_print(own: Environment) -> None:
    run = converse(own, "tests.benchmarks.fake_peer", "counts", Path("events"))
    assert [run(), run()] == [Outcome(1, len("events")), Outcome(2, len("events"))]


def test_a_peer_that_dies_is_told_with_its_last_words(own: Environment) -> None:
    run = converse(own, "tests.benchmarks.fake_peer", "dies", Path("events"))
    with pytest.raises(RuntimeError, match=r"fake_peer ended with exit code 1:\n(.|\n)*this peer gives up"):
        run()


def test_the_result_says_what_every_peer_computes_also_a_missing_one(tmp_path: Path) -> None:
    variants = [Measurement(v.name, v.role, seconds=[1.0]) for v in peers.variants[:-1]]
    variants.append(Measurement(peers.variants[-1].name, "peer", missing="nobody has it"))
    result = json.loads(json.dumps(summarise(peers, 10, variants)))
    save(result, tmp_path / "results" / "peers.json")
    page = write_page(tmp_path / "results", tmp_path / "page.md").read_text()
    for variant in peers.variants:
        assert variant.role != "peer" or f"| {variant.name} | {variant.note} |" in page
    assert "not run: nobody has it" in page


def test_the_file_for_all_peers_has_no_encoding_that_flink_cannot_read(tmp_path: Path) -> None:
    file = pq.ParquetFile(peers.prepare(Context(1000, tmp_path)))
    group = file.metadata.row_group(0)
    found = {encoding for i in range(group.num_columns) for encoding in group.column(i).encodings}
    assert found <= {"PLAIN", "RLE", "PLAIN_DICTIONARY", "RLE_DICTIONARY"}
    assert file.metadata.num_rows == 1000


def test_every_partition_of_the_many_has_ten_rows(tmp_path: Path) -> None:
    keys = pq.read_table(many_partitions.prepare(Context(500, tmp_path))).column("key").to_pylist()
    assert Counter(Counter(keys).values()) == {10: 50}


def test_a_fifth_of_the_rows_takes_none_of_the_thousand_symbols(tmp_path: Path) -> None:
    kinds = pq.read_table(alternation.prepare(Context(20_000, tmp_path))).column("kind").to_pylist()
    assert kinds.count("other") == pytest.approx(4000, rel=0.1)
    assert len(set(kinds)) == 1001


def test_a_first_word_names_all_benchmarks_that_begin_with_it() -> None:
    known = ["rows", "scale-long", "scale-many"]
    assert named("scale", known) == ["scale-long", "scale-many"]
    assert named("rows", known) == ["rows"]
    assert named("row", known) == ["row"]
