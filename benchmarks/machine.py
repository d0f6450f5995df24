"""Facts about the machine that figures depend on; nothing that names it."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("eventide", "pyspark", "pyarrow", "numpy", "numba", "pandas", "duckdb", "polars")


def facts() -> dict[str, str | int]:
    """Cores, memory, processor and versions."""
    found: dict[str, str | int] = {
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "processor": _processor(),
        "system": platform.system(),
        "python": platform.python_version(),
        "java": _java(),
    }
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _java() -> str:
    try:
        text = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError):
        return "not installed"
    found = re.search(r'"([^"]+)"', text)
    return found.group(1) if found else "unknown"
