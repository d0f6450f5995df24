"""The published Java archives that the Kafka tests need, fetched once with the Ivy among PySpark's jars.

`broker_jars()` is Apache Kafka itself, `connector_jars()` Spark's Kafka connector and Avro support. Both stay under
build/kafka. What cannot be fetched fails with a message that says so.
"""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyspark

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "build" / "kafka"
KAFKA_VERSION = "4.3.1"
SCALA = "2.13"


class FetchError(Exception):
    """The archives are neither in build/kafka nor to be had from the repository."""


@dataclass(frozen=True, slots=True)
class Artifacts:
    """Archives by their coordinates, with what they depend on if `transitive`."""

    coordinates: tuple[str, ...]
    transitive: bool = True


BROKER = Artifacts((f"org.apache.kafka:kafka_{SCALA}:{KAFKA_VERSION}",))
CONNECTOR = Artifacts(
    (
        f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}:{pyspark.__version__}",
        f"org.apache.spark:spark-avro_{SCALA}:{pyspark.__version__}",
    )
)
# The repository gets a new Spark's connector some time after the package index gets PySpark, and mirrors of it do
# not hold every version of every module. Until then these, which run on the same Spark.
EARLIER_CONNECTOR = Artifacts(
    (
        f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}:4.2.0",
        f"org.apache.spark:spark-token-provider-kafka-0-10_{SCALA}:4.1.0-preview1",
        f"org.apache.spark:spark-avro_{SCALA}:4.1.1",
        "org.apache.kafka:kafka-clients:3.9.2",
        "org.apache.commons:commons-pool2:2.13.1",
    ),
    transitive=False,
)


def broker_jars() -> list[Path]:
    return _fetched("broker", BROKER)


def connector_jars() -> list[Path]:
    """For `spark.jars`. Of PySpark's own version where the repository has it, else the newest that it has."""
    return _fetched("connector", CONNECTOR, EARLIER_CONNECTOR)


def _fetched(name: str, *choices: Artifacts) -> list[Path]:
    """The archives of the first choice that can be had; a folder is there only when it is complete."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folders = [FOLDER / f"{name}-{_version(choice)}" for choice in choices]
        if not any(folder.is_dir() for folder in folders):
            _fetch_first(name, list(zip(choices, folders, strict=True)))
        found = next(folder for folder in folders if folder.is_dir())
    if found != folders[0]:
        warnings.warn(f"{folders[0].name} cannot be fetched: {found.name} is used in its place", stacklevel=2)
    return sorted(found.glob("*.jar"))


def _version(artifacts: Artifacts) -> str:
    return artifacts.coordinates[0].rsplit(":", 1)[1]


def _fetch_first(name: str, choices: Sequence[tuple[Artifacts, Path]]) -> None:
    reasons = []
    for artifacts, folder in choices:
        try:
            return _fetch(artifacts, folder)
        except FetchError as error:
            reasons.append(f"  {', '.join(artifacts.coordinates)}:\n    {error}")
    raise FetchError(
        f"the {name}'s Java archives cannot be fetched from the public repository, and are not under "
        f"{FOLDER.relative_to(ROOT)}:\n" + "\n".join(reasons) + "\nHint: try again with a connection to the "
        "internet; once fetched they are kept."
    )


def _fetch(artifacts: Artifacts, folder: Path) -> None:
    (ivy,) = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
    java = shutil.which("java")
    if java is None:
        raise FetchError("Java is not on the path")
    with tempfile.TemporaryDirectory(dir=FOLDER) as work:
        jars, description = Path(work, "jars"), Path(work, "ivy.xml")
        description.write_text(_description(artifacts))
        command = [java, "-jar", str(ivy), "-cache", str(FOLDER / "ivy"), "-ivy", str(description)]
        command += ["-confs", "default", "-retrieve", f"{jars}/[artifact]-[revision].[ext]", "-types", "jar", "bundle"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0 or not jars.is_dir():
            missing = re.findall(r":: (\S+#\S+): (not found|.*)", done.stdout)
            lines = [": ".join(entry) for entry in missing] or done.stdout.strip().splitlines()[-3:] or ["no output"]
            raise FetchError("; ".join(dict.fromkeys(lines)))
        jars.rename(folder)


def _description(artifacts: Artifacts) -> str:
    """An Ivy file with the coordinates as its dependencies."""
    transitive = str(artifacts.transitive).lower()
    lines = []
    for coordinate in artifacts.coordinates:
        organisation, module, version = coordinate.split(":")
        where = f'org="{organisation}" name="{module}" rev="{version}"'
        lines.append(f'<dependency {where} conf="default->default" transitive="{transitive}"/>')
    return (
        '<ivy-module version="2.0"><info organisation="eventide" module="tests"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{''.join(lines)}</dependencies></ivy-module>"
    )
