"""A variant that runs in another environment: a child process that gets a line for each run and answers with JSON.

`converse` is our side; `answer`, the other side, needs nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.environments import FOLDER, Environment, installed
from benchmarks.registry import ROOT, Outcome, Run


def converse(environment: Environment, module: str, way: str, path: Path) -> Run:
    """Start `python -m module way path` in the environment; a run of it is a run of the variant."""
    python = installed(environment)
    log = FOLDER / f"{environment.name}-{way}.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [str(python), "-m", module, way, str(path)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdin is not None and process.stdout is not None
    requests, answers = process.stdin, process.stdout

    def listen() -> dict[str, Any]:
        line = answers.readline()
        if not line:
            code = process.wait()
            last = "\n".join(log.read_text().splitlines()[-25:])
            raise RuntimeError(f"{module} ended with exit code {code}:\n{last}")
        heard: dict[str, Any] = json.loads(line)
        return heard

    def run() -> Outcome:
        requests.write("run\n")
        requests.flush()
        return Outcome(**listen())

    listen()
    return run


def answer(setup: Callable[[str, str], Callable[[], Mapping[str, Any]]]) -> None:
    """Set up with the program's two arguments, then run for every line that comes in, until there are no more."""
    # Libraries and the JVM print what they like to standard output: it goes where errors go.
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    way, path = sys.argv[1:]
    run = setup(way, path)
    print("{}", file=channel, flush=True)
    for _ in sys.stdin:
        print(json.dumps(run()), file=channel, flush=True)
