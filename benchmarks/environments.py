"""Virtual environments of peers, apart from ours: `python -m benchmarks.environments` makes them under build/peers.

What cannot be installed leaves its reason behind, which the benchmark shows instead of figures.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.registry import ROOT, UnavailableError

FOLDER = ROOT / "build" / "peers"


@dataclass(frozen=True, slots=True)
class Environment:
    """A peer's packages, the Python versions it has wheels for, and Java archives that go beside its own."""

    name: str
    packages: tuple[str, ...]
    pythons: tuple[str, ...]
    module: str
    jars: tuple[str, ...] = ()
    jar_folder: str = ""

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def log(self) -> Path:
        return FOLDER / f"{self.name}.log"

    @property
    def ready(self) -> Path:
        """Holds what was installed, so that a change installs again."""
        return self.folder / ".ready"

    @property
    def missing(self) -> Path:
        """Holds the reason why the environment could not be made."""
        return FOLDER / f"{self.name}.missing"


FLINK = Environment(
    "flink",
    ("apache-flink==2.3.0",),
    ("3.11", "3.10", "3.12"),
    "pyflink.table",
    # Flink reads Parquet with Hadoop's classes, which neither it nor its Parquet format brings.
    (
        "org.apache.flink:flink-sql-parquet:2.3.0",
        "org.apache.hadoop:hadoop-client-api:3.4.1",
        "org.apache.hadoop:hadoop-client-runtime:3.4.1",
    ),
    "pyflink/lib",
)
CHDB = Environment("chdb", ("chdb",), ("3.11", "3.12", "3.13", "3.10"), "chdb")
ENVIRONMENTS = (FLINK, CHDB)


class _InstallationError(Exception):
    """What went wrong, in a sentence."""


def installed(environment: Environment) -> Path:
    """The environment's Python; an error that says why there is none."""
    if environment.ready.exists():
        return environment.python
    if environment.missing.exists():
        raise UnavailableError(environment.missing.read_text().strip())
    raise UnavailableError(f"{environment.packages[0]} is not installed; `make bench-peers` installs it")


def install(environment: Environment) -> bool:
    """Make the environment, or keep the reason why it cannot be made; whether it is there."""
    wanted = repr(environment)
    if environment.ready.exists() and environment.ready.read_text() == wanted:
        return True
    shutil.rmtree(environment.folder, ignore_errors=True)
    environment.missing.unlink(missing_ok=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        _fill(environment)
    except _InstallationError as error:
        environment.missing.write_text(f"{error}\n")
        return False
    environment.ready.write_text(wanted)
    return True


def _fill(environment: Environment) -> None:
    _call([_python(environment), "-m", "venv", str(environment.folder)], environment, "venv")
    pip = [str(environment.python), "-m", "pip", "install", "--disable-pip-version-check"]
    # Source distributions of old packages still import pkg_resources.
    _call([*pip, "setuptools<81", "wheel"], environment, "pip")
    _call([*pip, *environment.packages], environment, "pip")
    if environment.jars:
        _copy_jars(environment)
    _call([str(environment.python), "-c", f"import {environment.module}"], environment, environment.module)


def _copy_jars(environment: Environment) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise _InstallationError("Maven (mvn) is not installed, which fetches the Java archives")
    (packages,) = environment.folder.glob("lib/python*/site-packages")
    for jar in environment.jars:
        command = [maven, "--batch-mode", "dependency:copy", f"-Dartifact={jar}"]
        _call([*command, f"-DoutputDirectory={packages / environment.jar_folder}"], environment, jar)


def _python(environment: Environment) -> str:
    """An interpreter of a version that the peer has wheels for; ours, if it is one."""
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    if ours in environment.pythons:
        return sys.executable
    for version in environment.pythons:
        found = shutil.which(f"python{version}")
        # Version managers put commands on the path that only say that the version is not chosen.
        if found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
            return found
    versions = ", ".join(environment.pythons)
    raise _InstallationError(f"{environment.packages[0]} needs Python {versions}; ours is {ours}, and no other is here")


def _call(command: Sequence[str], environment: Environment, what: str) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    with environment.log.open("a") as log:
        log.write(done.stdout)
    if done.returncode != 0:
        raise _InstallationError(f"{what}: {reason(done.stdout)}")


def reason(output: str) -> str:
    """The first line that calls itself an error, else the last one, without addresses and paths: results show it.

    >>> reason("Collecting nothing\\nERROR: No matching distribution found for nothing\\n")
    'No matching distribution found for nothing'
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()] or ["no output"]
    errors = [line for line in lines if line.upper().startswith(("ERROR", "[ERROR]"))]
    line = (errors[0] if errors else lines[-1]).removeprefix("[ERROR]").removeprefix("ERROR:")
    return " ".join(re.sub(r"\(?\w+://\S+|(?<!\S)/\S+", "...", line).split())


def main() -> int:
    for environment in ENVIRONMENTS:
        print(f"{environment.name}: {', '.join(environment.packages)} ...", flush=True)
        if not install(environment):
            print(f"  not installed: {environment.missing.read_text().strip()}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
