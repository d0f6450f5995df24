"""What a path names: one file, one folder, or what a pattern finds; and how DuckDB and Spark are told a file's name.

A path that is there is what it says, whatever characters it has. Only a path that is not there is a pattern. DuckDB
and Spark take every name for a pattern, so they get names in which nothing is one.
"""

from __future__ import annotations

import difflib
import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from eventide.engines.folder_columns import folder_columns
from eventide.engines.sink_log import logged_files
from eventide.engines.table_folders import SINK, TableFolder, check_apart, refuse_tables, table_at
from eventide.errors import InputError


@dataclass(frozen=True, slots=True)
class Named:
    """What a path names; `files` are empty where the folder is a table with a reader of its own."""

    path: str  # as the user has it
    roots: tuple[str, ...]
    files: tuple[str, ...] = ()
    columns: pa.Table | None = None  # that the names of folders hold, with a row for each file
    table: TableFolder | None = None


def look_up(path: str) -> Named:
    """The files behind a file, folder or pattern; what is hidden or begins with `_` in a folder is left out.

    >>> look_up("no/such/file.parquet")
    Traceback (most recent call last):
    ...
    eventide.errors.InputError: there is no file 'no/such/file.parquet'
    Hint: there is no folder 'no/such'
    """
    try:
        return _look_up(path)
    except OSError as error:
        raise InputError(f"cannot read '{error.filename or path}': {error.strerror}") from error


def _look_up(path: str) -> Named:
    roots = _roots(path)
    if len(roots) == 1:
        table = table_at(roots[0])
        if table is not None and table.kind is not SINK:
            return Named(path, roots, table=table)
        if table is not None:
            return _named(path, roots, logged_files(roots[0]), table)
    for root in roots:
        check_apart(root)
    files = [file for root in roots for file in _files(root)]
    if not files:
        raise InputError(f"the folder '{path}' holds no data files")
    return _named(path, roots, files)


def _named(path: str, roots: tuple[str, ...], files: Sequence[str], table: TableFolder | None = None) -> Named:
    # PyArrow takes a relative name such as 's3:/a.csv' for an address.
    plain = tuple(absolute(file) if ":" in file else file for file in files)
    return Named(path, roots, plain, _columns(path, roots, files), table)


def absolute(path: str) -> str:
    """The whole name of a file or folder."""
    whole = os.path.join(os.getcwd(), path)
    # What is above a link is not what stands before it in the path.
    return os.path.realpath(whole) if ".." in whole.split("/") else whole


def expand_path(path: str) -> list[str]:
    """The data files that a path names, by their whole names, as `duckdb_names` writes them before escapes.

    >>> expand_path("no/such/file.parquet")
    Traceback (most recent call last):
    ...
    eventide.errors.InputError: there is no file 'no/such/file.parquet'
    Hint: there is no folder 'no/such'
    """
    return [absolute(file) for file in look_up(path).files]


def duckdb_name(file: str) -> str:
    """A file for DuckDB's readers, its name standing for itself.

    >>> print(duckdb_name("/data/a[1].parquet"))
    '/data/a[[]1].parquet'
    """
    return "'" + _literal(absolute(file)).replace("'", "''") + "'"


def duckdb_names(files: Iterable[str]) -> str:
    """A list of files for DuckDB's readers.

    >>> print(duckdb_names(["/data/a.csv", "/data/b.csv"]))
    ['/data/a.csv', '/data/b.csv']
    """
    return f"[{', '.join(map(duckdb_name, files))}]"


def _literal(file: str) -> str:
    if glob.has_magic(file) and "\\" in file:
        # DuckDB takes the backslash of a pattern for a separator of folders, and there is no way to write it.
        raise InputError(f"'{file}' cannot be read: its name has a backslash and one of * ? [", hint="rename it")
    return glob.escape(file)


def spark_name(path: str) -> str:
    """A name for Spark's readers that stands for itself.

    >>> print(spark_name("/data/a[1].parquet"))
    /data/a\\[1\\].parquet
    """
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


def is_hidden(name: str) -> bool:
    """Whether a name in a folder is no data, by the rule of Spark's readers.

    >>> [is_hidden(name) for name in ("_SUCCESS", ".a.crc", "_day=1", "a.parquet._COPYING_", "a.parquet")]
    [True, True, False, True, False]
    """
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def _near(path: str) -> str | None:
    """A name in the same folder that is much alike."""
    folder, name = os.path.split(path)
    if folder and not os.path.isdir(folder) and not glob.has_magic(folder):
        return f"there is no folder '{folder}'"
    try:
        found = difflib.get_close_matches(name, os.listdir(folder or "."), n=1, cutoff=0.8)
    except OSError:
        return None
    return f"did you mean '{found[0]}'?" if found else None


def _roots(path: str) -> tuple[str, ...]:
    if os.path.exists(path):
        return (path,)
    found = sorted(glob.glob(path, recursive=True))
    found = [root for root in found if not is_hidden(os.path.basename(os.path.normpath(root)))]
    if not found:
        raise InputError(f"there is no file '{path}'", hint=_near(path))
    # A pattern such as a/** finds a folder and what is in it: what a folder holds is read with the folder.
    folders = {os.path.normpath(root) for root in found if os.path.isdir(root)}
    return tuple(root for root in found if not any(above in folders for above in _parents(os.path.normpath(root))))


def _parents(path: str) -> Iterator[str]:
    while (above := os.path.dirname(path)) != path:
        yield above
        path = above


def _files(root: str) -> list[str]:
    """The data files of a folder in order of their names, or the file itself."""
    return sorted(_walk(root, root, (os.path.realpath(root),))) if os.path.isdir(root) else [root]


def _walk(folder: str, root: str, above: tuple[str, ...]) -> Iterator[str]:
    """`above` are the folders in which this one is, so that a link to one of them ends there."""
    with os.scandir(folder) as found:
        entries = list(found)
    refuse_tables(folder, [entry.name for entry in entries], root)
    for entry in entries:
        if is_hidden(entry.name):
            continue
        if entry.is_symlink():
            check_apart(entry.path)
        if entry.is_file():
            yield entry.path
        elif entry.is_dir() and (place := os.path.realpath(entry.path)) not in above:
            yield from _walk(entry.path, root, (*above, place))


def _columns(path: str, roots: Sequence[str], files: Sequence[str]) -> pa.Table | None:
    """The columns that the names of folders hold below the path, as Spark finds them."""
    found = None
    for root in filter(os.path.isdir, roots):
        found = folder_columns(
            root, {file: absolute(file) for file in files if file.startswith(os.path.join(root, ""))}
        )
        if found is not None and len(roots) > 1:
            raise InputError(
                f"'{path}' finds several folders, and '{root}' has columns in the names of its folders",
                hint="name the folder that holds them all, or a pattern that finds the files themselves",
            )
    return found
