"""Limits that any benchmark can use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.registry import Outcome, Run


def scan(paths: Path | Sequence[Path], columns: Sequence[str], dictionaries: Sequence[str] = ()) -> Run:
    """Read the columns of the Parquet files into memory with all cores and do nothing with them."""
    files = [paths] if isinstance(paths, Path) else list(paths)

    def run() -> Outcome:
        for path in files:
            pq.read_table(path, columns=list(columns), read_dictionary=list(dictionaries))
        return Outcome()

    return run
