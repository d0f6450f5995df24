"""Delta and Iceberg tables in this process, read by their own libraries: delta-rs and PyIceberg."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from eventide.engines.table_folders import DELTA, ICEBERG, TableFolder, is_iceberg_metadata
from eventide.errors import InputError


class TableRows:
    """The rows of one version of a table; DuckDB asks for a new stream each time it reads."""

    def __init__(self, open_stream: Callable[[], Any]) -> None:
        self._open = open_stream

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._open().__arrow_c_stream__(requested_schema)


def open_table(table: TableFolder) -> TableRows:
    """The rows that count now; an error where nothing in this process reads the table."""
    readers = {DELTA: _delta, ICEBERG: _iceberg}
    kind = table.kind
    if kind not in readers:
        raise InputError(
            f"'{table.path}' is {kind.name}, and nothing in this process reads it",
            hint=f'read it with Spark: spark.read.format("{kind.spark_format}").load("{table.path}")',
        )
    try:
        rows = readers[kind](table.path)
        pa.RecordBatchReader.from_stream(rows).close()
    except ImportError as error:
        raise InputError(
            f"'{table.path}' is {kind.name}, and {kind.library} is not installed",
            hint=f"pip install {kind.library}, or read it with Spark: "
            f'spark.read.format("{kind.spark_format}").load("{table.path}")',
        ) from error
    except InputError:
        raise
    except Exception as error:  # the libraries raise errors of many classes, some of them from other languages
        said = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"{kind.library} cannot read '{table.path}', which is {kind.name}: {said[:300]}",
            hint=f'read it with Spark: spark.read.format("{kind.spark_format}").load("{table.path}")',
        ) from error
    return rows


def _delta(path: str) -> TableRows:
    from deltalake import DeltaTable

    # `scan` minds deletion vectors and renamed columns; what it does not know it refuses.
    return TableRows(DeltaTable(path).scan)


def _iceberg(path: str) -> TableRows:
    from pyiceberg.table import StaticTable

    scan = StaticTable.from_metadata(_newest_metadata(path)).scan()
    return TableRows(scan.to_arrow_batch_reader)


_VERSION = re.compile(r"v?(\d+)[.-].*")


def _newest_metadata(path: str) -> str:
    """The file that describes the table as it is now: the one with the highest number, when there is only one.

    `version-hint.text`, which some tables have, may be behind.
    """
    folder = os.path.join(path, "metadata")
    names = [name for name in os.listdir(folder) if is_iceberg_metadata(name)]
    numbers = {name: int(match[1]) if (match := _VERSION.fullmatch(name)) else -1 for name in names}
    newest = [name for name in sorted(names) if numbers[name] == max(numbers.values())]
    if len(newest) > 1:
        raise InputError(
            f"'{path}' is an Iceberg table, and only its catalog knows which version counts: {' or '.join(newest[:2])}",
            hint='load it from the catalog: q.run(catalog.load_table("orders").scan().to_arrow())',
        )
    return os.path.join(folder, newest[0])
