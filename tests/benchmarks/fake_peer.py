"""A peer that only counts its runs; child processes run this file."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from benchmarks.conversation import answer


def setup(way: str, path: str) -> Callable[[], dict[str, Any]]:
    os.system("echo a library says hello")
    runs: list[str] = []

    def run() -> dict[str, Any]:
        if way == "dies":
            raise SystemExit("this peer gives up")
        print("a library says something")
        runs.append(path)
        return {"count": len(runs), "checksum": len(path)}

    return run


if __name__ == "__main__":
    answer(setup)
