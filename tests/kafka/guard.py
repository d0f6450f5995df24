"""Runs a command until its own standard input ends, then kills the command.

The input is a pipe from the process that started the guard, so the command dies with that process, however it dies.
"""

from __future__ import annotations

import subprocess
import sys
import threading


def main(command: list[str]) -> int:
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def watch() -> None:
        # One word is asked of the parent: "stop" ends the command in good order, the end of the pipe at once.
        for line in sys.stdin:
            if line.strip() == "stop":
                child.terminate()
        child.kill()

    threading.Thread(target=watch, daemon=True).start()
    return child.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
