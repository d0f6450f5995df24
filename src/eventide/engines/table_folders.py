"""Folders that are tables: which of their files count stands in a log, and the others hold rows of the past.

A table is recognised at its root. Whatever lies inside of one, and a folder that holds one among other files, is
refused: its rows can only be had from the table.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from eventide.errors import InputError


@dataclass(frozen=True, slots=True)
class TableKind:
    """A format of tables: the folder that tells it, and who reads it."""

    name: str
    marker: str
    spark_format: str | None = None  # of `spark.read.format`
    library: str | None = None  # that reads it in this process
    packages: str = ""  # for `spark.jars.packages`


DELTA = TableKind(
    "a Delta table", "_delta_log", "delta", "deltalake", "io.delta:delta-spark_2.13 of your Spark version"
)
ICEBERG = TableKind(
    "an Iceberg table",
    "metadata",
    "iceberg",
    "pyiceberg",
    "org.apache.iceberg:iceberg-spark-runtime of your Spark version",
)
HUDI = TableKind("a Hudi table", ".hoodie", "hudi", packages="org.apache.hudi:hudi-spark-bundle of your Spark version")
SINK = TableKind("the folder of a Spark stream", "_spark_metadata")
KINDS = (DELTA, ICEBERG, HUDI, SINK)


@dataclass(frozen=True, slots=True)
class TableFolder:
    """A table, and where its root is."""

    kind: TableKind
    path: str


@dataclass(frozen=True, slots=True)
class FileSystem:
    """What must be known of folders: whether one is there, and the names in it."""

    is_folder: Callable[[str], bool]
    names: Callable[[str], Sequence[str]]


LOCAL = FileSystem(os.path.isdir, os.listdir)


def table_at(path: str, files: FileSystem = LOCAL) -> TableFolder | None:
    """The table whose root a path is; None where it is no table, an error where it lies inside of one."""
    for kind in KINDS:
        if _is_root(path, kind, files):
            return TableFolder(kind, path)
    check_apart(path, files)
    return None


def check_apart(path: str, files: FileSystem = LOCAL) -> None:
    """Refuse a path inside of a table, also where a link leads there."""
    for above in _folders_above(path, files):
        for kind in KINDS:
            if _is_root(above, kind, files):
                raise InputError(
                    f"'{path}' is inside {kind.name}, '{above}', whose log says which rows count",
                    hint=f"name the table, '{above}', and put what you want of it into the query",
                )


def refuse_tables(folder: str, names: Sequence[str], root: str) -> None:
    """Refuse a folder on the way through a larger one, given the names in it, where it is a table."""
    for kind in KINDS:
        if kind.marker in names and _is_root(folder, kind, LOCAL):
            raise InputError(
                f"'{root}' holds {kind.name}, '{folder}', whose log says which rows count",
                hint=f"name '{folder}' by itself",
            )


def _is_root(folder: str, kind: TableKind, files: FileSystem) -> bool:
    marker = f"{folder.rstrip('/') or folder}/{kind.marker}"
    if not files.is_folder(marker):
        return False
    # 'metadata' is a name like any other.
    return kind is not ICEBERG or any(map(is_iceberg_metadata, files.names(marker)))


def is_iceberg_metadata(name: str) -> bool:
    """Whether a file of a folder `metadata` describes a version of an Iceberg table."""
    return name.endswith((".metadata.json", ".metadata.json.gz"))


def _folders_above(path: str, files: FileSystem) -> Iterator[str]:
    places = (path,) if files is not LOCAL else dict.fromkeys((os.path.abspath(path), os.path.realpath(path)))
    for place in places:
        scheme, below = _ADDRESS.fullmatch(place).groups()  # type: ignore[union-attr]
        while (above := os.path.dirname(below.rstrip("/"))) not in ("", below):
            yield scheme + above
            below = above


_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:(?://[^/]*)?|)(.*)", re.DOTALL)
