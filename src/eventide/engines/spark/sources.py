"""Which paths the tasks may read themselves: plain Parquet files on a file system that all of them see."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from eventide.engines.file_types import check_digits, plain_types
from eventide.engines.names import Named, look_up
from eventide.engines.parquet import is_nanoseconds

_LEGACY_KEYS = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


def find(path: str, *, local_master: bool = True) -> Named | None:
    """What a path names; None where only Spark sees it.

    Without a scheme, a path on a cluster means Spark's default file system, so only `file:` is looked up there.
    """
    local = local_path(path)
    if local is None or not (local_master or (path.startswith("file:") and os.path.exists(local))):
        return None
    return look_up(local)


def can_read_directly(named: Named | None) -> str | None:
    """The reason why tasks cannot read these files with PyArrow; None when they can.

    >>> can_read_directly(None)
    'the executors may not see the files of this machine, nor PyArrow those of another file system'
    """
    if named is None:
        return "the executors may not see the files of this machine, nor PyArrow those of another file system"
    if named.table is not None and not named.files:
        return f"it is {named.table.kind.name}"
    if named.columns is not None:
        return "the names of its folders are columns"
    return _files_reason(list(named.files))


def local_path(path: str) -> str | None:
    """The path on the local file system; None when it has another scheme.

    >>> local_path("file:///data/events")
    '/data/events'
    """
    scheme = _SCHEME.match(path)
    if scheme is None or os.path.exists(path):
        return path
    if scheme[1] != "file":
        return None
    plain = path[scheme.end() :]
    return plain if os.path.exists(plain) else unquote(plain)


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://[^/]*)?")


def _files_reason(files: list[str]) -> str | None:
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
            if is_nanoseconds(kind) and pa.types.is_nested(field.type):
                return f"column {field.name} has nanoseconds inside"
            if pa.types.is_unsigned_integer(kind):
                return f"column {field.name} is unsigned"
            if pa.types.is_duration(kind):
                return f"column {field.name} is a duration, which Spark reads as a whole number"
    return None
