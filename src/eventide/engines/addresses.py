"""Where a stream comes from and goes to, as a user writes it: `kafka://host:9092/topic`, a folder, or `-`."""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path

from eventide.engines.table_folders import SINK, refuse_tables, table_at
from eventide.errors import BrokerAwayError, InputError, did_you_mean, hide_credentials

FOLDER_FORMATS = ("parquet", "json", "csv")
KAFKA_FORMATS = ("json", "avro", "raw")
_SUFFIXES = {".parquet": "parquet", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv"}
_ANSWER_SECONDS = 5.0  # of a broker
_PACKED = (".gz", ".bz2", ".zst", ".snappy", ".lz4")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_BROKER = re.compile(r"(?:[^\s:/@\[\]]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})")
# Not ours to look into: Spark knows these, and says what is wrong.
_REMOTE = ("s3", "s3a", "gs", "abfs", "abfss", "hdfs", "wasbs", "dbfs")


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of Kafka; `servers` as Kafka's own clients take them."""

    servers: str
    topic: str

    def __str__(self) -> str:
        return f"kafka://{self.servers}/{self.topic}"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of files."""

    path: str
    format: str | None = None

    def __str__(self) -> str:
        return hide_credentials(self.path)


@dataclass(frozen=True, slots=True)
class Terminal:
    """Standard output."""

    def __str__(self) -> str:
        return "standard output"


def source_of(text: str, format: str | None = None) -> Topic | Folder:
    """The address after --from.

    >>> source_of("kafka://a:9092,b:9092/orders")
    Topic(servers='a:9092,b:9092', topic='orders')
    """
    address = _address("--from", text)
    if isinstance(address, Topic):
        _check_format("--format", format, KAFKA_FORMATS)
        return address
    _check_format("--format", format, FOLDER_FORMATS)
    if not _is_remote(address.path):
        if not os.path.exists(local(address.path)):
            raise InputError(f"there is no folder '{text}'", hint="--from takes kafka://host:9092/topic or a folder")
        if not os.path.isdir(local(address.path)):
            raise InputError(f"'{text}' is a file", hint="a stream reads a folder: name the folder that it is in")
        table = table_at(local(address.path))
        if table is not None and table.kind is not SINK:
            if format is not None:
                raise InputError(
                    f"--format {format} is for files, and '{text}' is {table.kind.name}", hint="leave it out"
                )
            return Folder(address.path, table.kind.spark_format)
    return Folder(address.path, format or _format_inside(address.path))


def sink_of(text: str, format: str | None = None) -> Topic | Folder | Terminal:
    """The address after --to; a folder's name may end in the format of its files.

    >>> sink_of("alerts.json").format, sink_of("alerts").format, sink_of("-")
    ('json', 'parquet', Terminal())
    """
    if text == "-":
        return Terminal()
    address = _address("--to", text)
    if isinstance(address, Topic):
        if format not in (None, "json"):
            raise InputError(f"--to-format {format} is for folders", hint="rows go to Kafka as JSON")
        return address
    _check_format("--to-format", format, FOLDER_FORMATS)
    if not _is_remote(address.path) and os.path.isfile(local(address.path)):
        raise InputError(f"'{text}' is a file", hint="a stream writes files into a folder: name one, or a new one")
    return Folder(address.path, format or _SUFFIXES.get(Path(address.path).suffix.lower(), "parquet"))


def checkpoint_of(given: str | None, sink: Topic | Folder | Terminal) -> str | None:
    """The folder of the checkpoint: as given, beside the folder that is written, or None for a temporary one.

    >>> checkpoint_of(None, Folder("out/alerts"))
    'out/alerts.checkpoint'
    """
    if given is not None or isinstance(sink, Terminal):
        return given
    if isinstance(sink, Folder):
        return sink.path.rstrip("/") + ".checkpoint"
    raise InputError(
        "rows that go to Kafka need a checkpoint",
        hint="add --checkpoint FOLDER: with it a stopped stream continues where it was",
    )


def check_servers(servers: object) -> str:
    """Addresses of brokers as Kafka's clients take them.

    >>> check_servers("one:9092, two:9092")
    'one:9092,two:9092'
    >>> check_servers("localhost")
    Traceback (most recent call last):
    ...
    eventide.errors.InputError: 'localhost' is not the address of a Kafka broker
    Hint: a host and a port, several with commas: "localhost:9092"
    """
    if isinstance(servers, str) and "@" in servers:
        hint = 'they go into options: {"kafka.security.protocol": "SASL_SSL", "kafka.sasl.jaas.config": ...}'
        raise InputError("addresses of Kafka brokers hold no user and password", hint=hint)
    addresses = [part.strip() for part in servers.split(",")] if isinstance(servers, str) else [repr(servers)]
    for address in addresses:
        found = _BROKER.fullmatch(address)
        if found is None or not 0 < int(found[1]) < 65536:
            hint = 'a host and a port, several with commas: "localhost:9092"'
            raise InputError(f"'{address}' is not the address of a Kafka broker", hint=hint)
    return ",".join(addresses)


def local(path: str) -> str:
    """A path on this machine, without its scheme."""
    return path.removeprefix("file://").removeprefix("file:")


def _address(option: str, text: str) -> Topic | Folder:
    scheme = _SCHEME.match(text)
    if scheme is None or scheme[1] == "file" or scheme[1] in _REMOTE:
        if not text.strip():
            raise InputError(f"{option} is empty", hint=f"{option} kafka://host:9092/topic, or a folder")
        return Folder(text)
    if scheme[1] != "kafka":
        hint = did_you_mean(scheme[1], ("kafka", "file", *_REMOTE))
        raise InputError(f"{option} '{text}': '{scheme[1]}://' is not known", hint=hint)
    # What stands before an @ may hold slashes, as passwords do.
    user, at, rest = text.removeprefix("kafka://").rpartition("@")
    servers, _, topic = rest.partition("/")
    try:
        servers = check_servers(f"{user}{at}{servers}")
    except InputError as error:
        raise InputError(f"{option}: {error.message}", hint=error.hint) from None
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", topic):
        found = f"'{topic}' is not the name of a topic" if topic else "the topic is missing"
        raise InputError(f"{option} '{text}': {found}", hint="kafka://host:9092/topic")
    return Topic(servers, topic)


def _is_remote(path: str) -> bool:
    scheme = _SCHEME.match(path)
    return scheme is not None and scheme[1] != "file"


def _check_format(option: str, format: str | None, known: tuple[str, ...]) -> None:
    if format is not None and format not in known:
        raise InputError(f"{option} {format} is not possible here", hint=f"one of {', '.join(known)}")


def _format_inside(path: str) -> str | None:
    """The format of the files of a folder; None when there are none yet, or only Spark can look."""
    if _is_remote(path):
        return None
    found: dict[str, str] = {}
    for folder, folders, names in os.walk(local(path)):
        if folder != local(path):
            refuse_tables(folder, folders, path)
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        for name in names:
            if not name.startswith((".", "_")):
                format = _format_of(name)
                if format is None:
                    where = os.path.relpath(os.path.join(folder, name), local(path))
                    hint = "a stream reads every file of its folder; --format says what they are"
                    raise InputError(f"cannot tell the format of '{where}' in '{path}'", hint=hint)
                found.setdefault(format, name)
    if len(found) > 1:
        files = " and ".join(f"'{name}'" for name in list(found.values())[:2])
        raise InputError(f"the files in '{path}' have several formats: {files}", hint="a folder for each, or --format")
    return next(iter(found), None)


def _format_of(name: str) -> str | None:
    path = Path(name)
    suffix = path.with_suffix("").suffix if path.suffix.lower() in _PACKED else path.suffix
    return _SUFFIXES.get(suffix.lower())


def check_brokers(servers: str) -> None:
    """Raise unless one of the servers, as Kafka's clients take them, takes a connection.

    Spark's connector would try for many minutes and say nothing.
    """
    for server in servers.split(","):
        host, _, port = server.strip().rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_SECONDS).close()
        except (OSError, UnicodeError):  # the latter: no name of a host
            continue
        return
    raise BrokerAwayError(f"no broker answers at {servers}", hint="is it running, and are host and port right?")
