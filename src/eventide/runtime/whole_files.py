"""Files that are written whole or not at all: beside their place first, and moved there when they are complete."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from eventide.errors import InputError, OutputError


def file_path(argument: str, given: object) -> Path:
    """The path of a file that is to be written."""
    if not isinstance(given, str | os.PathLike) or not isinstance(os.fspath(given), str):
        raise InputError(f"{argument} is the path of a file, found {type(given).__name__}")
    return Path(given)


def check_place(output: Path, endings: tuple[str, ...]) -> None:
    """Refuse a place at which no file can be written, before the work is done."""
    try:
        if output.is_dir():
            raise InputError(f"'{output}' is a folder", hint=f"name a file that ends in {', '.join(endings)}")
        if output.suffix.lower() not in endings:
            raise InputError(f"cannot write '{output}'", hint="end the name in " + ", ".join(endings))
        if not output.parent.is_dir():
            raise InputError(f"the folder '{output.parent}' does not exist", hint="create it first")
        partial = _partial(output)
        partial.touch()
        partial.unlink()
    except OSError as error:
        raise InputError(f"cannot write '{output}': {_reason(error)}") from error


@contextmanager
def whole_file(output: Path) -> Iterator[Path]:
    """The file to write to; it takes the place of `output` when the block ends well, and is removed otherwise.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder, "rows.csv")) as partial:
    ...         _ = partial.write_text("x")
    ...     [path.name for path in Path(folder).iterdir()]
    ['rows.csv']
    """
    _remove_leftovers(output)
    partial = _partial(output)
    try:
        yield partial
        os.replace(partial, output)
    except OSError as error:
        raise OutputError(f"cannot write '{output}': {_reason(error)}", hint="what was there before is kept") from error
    finally:
        with suppress(OSError):
            partial.unlink()


def _partial(output: Path) -> Path:
    return output.with_name(f".{output.name}.{os.getpid()}.part")


def _remove_leftovers(output: Path) -> None:
    """Remove what a process that was killed has left here."""
    name = re.compile(re.escape(f".{output.name}.") + r"(\d+)\.part")
    for path in output.parent.iterdir():
        found = name.fullmatch(path.name)
        if found and not _is_running(int(found[1])):
            with suppress(OSError):
                path.unlink()


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _reason(error: OSError) -> str:
    """What the system says; Arrow puts it behind words of its own."""
    if error.errno is not None:
        return os.strerror(error.errno)
    detail = re.search(r"\[errno \d+\] ([^.\n]+)", str(error))
    return detail[1] if detail else str(error)
