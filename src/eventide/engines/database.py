"""Connections to DuckDB: one database a process, since opening one takes 20 ms, a connection to it 10 microseconds.

Two kinds of text reach DuckDB. What Eventide writes itself, from typed expressions, runs on `connect`, which reads the
files that a user names as inputs. What a user wrote, a statement of `ev.sql`, runs on `connect_confined`.

DuckDB loads with the first connection: a worker of Spark that only matches has none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_Key = tuple[int, int | None, bool]
_DATABASES: dict[_Key, duckdb.DuckDBPyConnection] = {}

# Nothing is fetched, and no variable of a Python program is taken for a table.
_CLOSED: dict[str, bool] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
}


def connect(time_zone: str = "UTC", threads: int | None = None) -> duckdb.DuckDBPyConnection:
    """A connection that sees no other's tables and settings; `threads` is a limit for all that ask for it alike.

    >>> one, other = connect(), connect("Asia/Tokyo")
    >>> _ = one.execute("CREATE TEMP TABLE events AS SELECT 1 AS x")
    >>> other.sql("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'events'").fetchall()
    [(0,)]
    >>> [c.sql("SELECT current_setting('TimeZone')").fetchall() for c in (one, other)]
    [[('UTC',)], [('Asia/Tokyo',)]]
    """
    # A fork has none of its parent's threads, which the parent's database would wait for.
    key = os.getpid(), threads, False
    if key not in _DATABASES:
        import duckdb

        config = dict(_CLOSED) if threads is None else {**_CLOSED, "threads": threads}
        database = duckdb.connect(config=config)
        # It takes `x > 5` for false where no statistics of a file reach 5. NaN is greater, and not in statistics.
        database.execute("SET GLOBAL disabled_optimizers = 'statistics_propagation'")
        _DATABASES.setdefault(key, database)
    connection = _DATABASES[key].cursor()
    connection.execute("SET TimeZone = ?", [time_zone])
    return connection


def connect_confined(files: Iterable[str] = ()) -> duckdb.DuckDBPyConnection:
    """A connection for text of users: it reads no file but these, loads nothing, and its settings are locked.

    >>> connect_confined().sql("SELECT content FROM read_text('/etc/hostname')")
    Traceback (most recent call last):
    ...
    _duckdb.PermissionException: Permission Error: Cannot access file "/etc/hostname" - file system operations are \
disabled by configuration
    """
    names = [os.path.abspath(file) for file in files]
    if names:
        # DuckDB has one list of files for a database, which cannot change once access is closed.
        return _confined(names).cursor()
    key = os.getpid(), None, True
    if key not in _DATABASES:
        _DATABASES.setdefault(key, _confined(names))
    return _DATABASES[key].cursor()


def _confined(files: list[str]) -> duckdb.DuckDBPyConnection:
    import duckdb

    database = duckdb.connect(config=dict(_CLOSED))
    database.execute("SET GLOBAL TimeZone = 'UTC'")
    database.execute("SET allowed_paths = ?", [files])
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")
    return database
