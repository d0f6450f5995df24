"""A whole checkpoint that an earlier version wrote, on another machine, goes on.

`python -m tests.streams.test_checkpoint` writes that of the present version of the format; those of earlier ones stay.
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from eventide.runtime.sealed import SNAPSHOT_VERSION
from tests.engines.streams import SCHEMA, write_files
from tests.streams.families import FAMILIES, all_events

FOLDER = Path(__file__).parents[1] / "fixtures" / "checkpoints"
FAMILY = next(family for family in FAMILIES if family.name == "Kleene and NOT next")
EVENTS = all_events(120, seed=11)
CUT = 70
# Where the checkpoint stood when it was written; Spark's source log names the files that it has read.
BASE = b"@BASE@"
MOVED = (".zip", ".changelog", ".parquet")  # binary, and without paths


def run(spark: Any, base: Path, part: pa.Table, first: int) -> list[str]:
    """The ids of the matches that the stream returns for some more events, one file after those before."""
    write_files(base / "in", part, 1, first=first)
    seen: list[str] = []

    def take(rows: Any, number: int) -> None:
        seen.extend(ids(rows.toArrow()))

    source = spark.readStream.schema(SCHEMA).parquet(str(base / "in"))
    writer = FAMILY.run(source).writeStream.foreachBatch(take).option("checkpointLocation", str(base / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    return sorted(seen)


def ids(table: pa.Table) -> list[str]:
    return sorted(table.column("match_id").to_pylist())


def pack(base: Path, target: Path) -> None:
    """The checkpoint as one file. Checksums of Hadoop's go, for the paths in text files change."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted((base / "checkpoint").rglob("*")):
            if path.is_file() and path.suffix != ".crc":
                data = path.read_bytes()
                data = data if path.suffix in MOVED else data.replace(str(base).encode(), BASE)
                packed.writestr(zipfile.ZipInfo(str(path.relative_to(base))), data, zipfile.ZIP_DEFLATED)


def unpack(source: Path, base: Path) -> None:
    with zipfile.ZipFile(source) as packed:
        for name in packed.namelist():
            data = packed.read(name)
            path = base / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data if path.suffix in MOVED else data.replace(BASE, str(base).encode()))


@pytest.mark.spark
@pytest.mark.parametrize("version", range(2, SNAPSHOT_VERSION + 1))  # version 1 had no digests
def test_a_checkpoint_of_every_version_goes_on_in_another_place(spark: Any, tmp_path: Path, version: int) -> None:
    unpack(FOLDER / f"v{version}.zip", tmp_path)
    later = run(spark, tmp_path, EVENTS.slice(CUT), first=1)
    before = (FOLDER / f"v{version}.txt").read_text().splitlines()
    assert sorted([*before, *later]) == ids(FAMILY.run(EVENTS))
    # Some begin before the cut and end behind it: without the state they would be missing.
    assert set(later) - set(ids(FAMILY.run(EVENTS.slice(CUT))))


def write(spark: Any) -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        found = run(spark, base, EVENTS.slice(0, CUT), first=0)
        pack(base, FOLDER / f"v{SNAPSHOT_VERSION}.zip")
    (FOLDER / f"v{SNAPSHOT_VERSION}.txt").write_text("".join(f"{one}\n" for one in found))


if __name__ == "__main__":
    from eventide.engines.spark.session import session

    write(session("eventide checkpoint", {"spark.sql.shuffle.partitions": "2"}))
    sys.exit(0)
