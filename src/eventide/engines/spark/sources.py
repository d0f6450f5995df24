"""Which paths the tasks may read themselves: plain Parquet files on a file system that all of them see."""

from __future__ import annotations

import os
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq

from eventide.engines.file_types import check_digits, plain_types

_LEGACY_KEYS = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


def parquet_files(path: str) -> list[str]:
    """The Parquet files at a local path, in order of their names; hidden ones are left out, as Spark does.

    >>> parquet_files("/no/such/folder")
    []
    """
    local = local_path(path)
    if local is None:
        return []
    if os.path.isfile(local):
        return [local]
    found: list[str] = []
    for folder, folders, names in os.walk(local):
        folders[:] = sorted(name for name in folders if not _hidden(name))
        found.extend(os.path.join(folder, name) for name in sorted(names) if not _hidden(name))
    return found


def can_read_directly(path: str, *, local_master: bool = True) -> str | None:
    """The reason why tasks cannot read this path with PyArrow; None when they can.

    Without a scheme, a path on a cluster means Spark's default file system, so only `file:` is taken there.

    >>> can_read_directly("s3://bucket/events")
    "'s3' is not a local file system"
    """
    local = local_path(path)
    if local is None:
        return f"'{urlparse(path).scheme}' is not a local file system"
    if not local_master and not path.startswith("file:"):
        return "the executors may not see the driver's files"
    if not os.path.exists(local):
        return "there is no such file or folder"
    return _folder_reason(local) or _files_reason(parquet_files(path))


def local_path(path: str) -> str | None:
    """The path on the local file system; None when it has another scheme.

    >>> local_path("file:///data/events")
    '/data/events'
    """
    parsed = urlparse(path)
    if parsed.scheme in ("", "file"):
        return unquote(parsed.path) if parsed.scheme else path
    return None


def _hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _folder_reason(local: str) -> str | None:
    if any(character in local for character in "*?["):
        return "the path is a pattern"
    if os.path.isfile(local):
        return None
    for folder, folders, names in os.walk(local):
        reason = _table_reason(folders, names)
        if reason is not None:
            return reason
        if any("=" in name for name in folders):
            return f"{os.path.relpath(folder, local)} has partition folders"
        folders[:] = [name for name in folders if not _hidden(name) or name == "metadata"]
    return None


def is_table(local: str) -> bool:
    """Whether a log in a folder says which of its files count."""
    return any(_table_reason(folders, names) for _, folders, names in os.walk(local))


def _table_reason(folders: list[str], names: list[str]) -> str | None:
    if "_spark_metadata" in folders:
        return "a streaming query wrote it, and its log says which files count"
    if "_delta_log" in folders:
        return "it is a Delta table"
    if ".hoodie" in folders:
        return "it is a Hudi table"
    return "it is an Iceberg table" if any(name.endswith(".metadata.json") for name in names) else None


def _files_reason(files: list[str]) -> str | None:
    if not files:
        return "the folder has no files"
    schema: pa.Schema | None = None
    for file in files:
        try:
            footer = pq.read_metadata(file)
        except (pa.ArrowInvalid, OSError) as error:
            return f"{file} is not readable as Parquet: {error}"
        found = footer.schema.to_arrow_schema().remove_metadata()
        check_digits(f" of '{file}'", found)
        if schema is not None and not found.equals(schema):
            return f"the schema of {file} differs from that of {files[0]}"
        schema = found
        reason = _types_reason(footer)
        if reason is not None:
            return reason
    return None


def _types_reason(footer: pq.FileMetaData) -> str | None:
    """Types that Spark and PyArrow read differently."""
    if any(key in (footer.metadata or {}) for key in _LEGACY_KEYS):
        return "it was written with the calendar of old Spark versions"
    for i in range(footer.num_columns):
        if footer.schema.column(i).physical_type == "INT96":
            return f"column {footer.schema.column(i).name} is an INT96 timestamp"
    for field in footer.schema.to_arrow_schema():
        for kind in plain_types(field.type):
            if pa.types.is_timestamp(kind) and kind.unit == "ns":
                return f"column {field.name} has nanoseconds"
            if pa.types.is_unsigned_integer(kind):
                return f"column {field.name} is unsigned"
            if pa.types.is_duration(kind):
                return f"column {field.name} is a duration, which Spark reads as a whole number"
    return None
