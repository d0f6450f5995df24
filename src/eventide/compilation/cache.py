"""Numba's cache of one function: compiled overloads in a signed file, by signature and processor.

Numba's own cache unpickles whatever it finds, and a pickle can run any code. This one unpickles only what `SignedFiles`
vouches for. A cache is there to save time: whatever is wrong with it, the function is compiled as if there were none.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import logging
import pickle
import sys
from functools import cache
from typing import Any

import llvmlite
import numba
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from eventide.compilation.private_folder import places, private_folder
from eventide.compilation.signed_files import SignedFiles

_log = logging.getLogger("eventide.compilation")


class CodeCache(_Cache):  # type: ignore[misc]
    """What a dispatcher asks before it compiles a function, and tells afterwards."""

    def __init__(self, function: Any) -> None:
        name = f"{function.__module__}.{function.__qualname__}-{function.__code__.co_firstlineno}.nbc"
        self._name = name.replace("<", "").replace(">", "")

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function; None where there is none that can be used."""
        files = kept_code()
        if files is None:
            return None
        try:
            target_context.refresh()
            held = self._held(files).get((sig, target_context.codegen().magic_tuple()))
            return None if held is None else CompileResult._rebuild(target_context, *pickle.loads(held))
        except Exception as error:
            _log.info("kept code of %s cannot be used: %s: %s", self._name, type(error).__name__, error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function."""
        files = kept_code()
        if files is None or data.lifted or data.library.has_dynamic_globals:
            return
        try:
            # What another process adds meanwhile may be lost, and is compiled once more.
            held = self._held(files) | {(sig, data.codegen.magic_tuple()): dumps(data._reduce())}
            files.write(self._name, dumps(held))
        except Exception as error:
            # Without the name of a file, which differs each time.
            _say_not_written(getattr(error, "strerror", None) or str(error))

    def _held(self, files: SignedFiles) -> dict[Any, bytes]:
        content = files.read(self._name)
        try:
            return {} if content is None else dict(pickle.loads(content))
        except Exception:  # ours, and yet not to be loaded: it names what another version had
            return {}

    @property
    def cache_path(self) -> str | None:
        """For Numba's statistics."""
        return None

    def enable(self) -> None:
        """Numba's switches for a cache; nobody turns them here."""

    disable = flush = enable


def kept_code() -> SignedFiles | None:
    """The files with the code of this version of Eventide, Numba and Python; None where there is no place for them."""
    return _open_first(places())


@cache
def _open_first(candidates: tuple[str, ...]) -> SignedFiles | None:
    """A place that cannot be used is named once."""
    for place in candidates:
        try:
            return SignedFiles(private_folder(place), _version())
        except OSError as error:
            _log.warning("compiled code is not kept in '%s': %s", place, error.strerror or error)
    _log.warning(
        "compiled code is not kept, so every new process compiles again\n"
        "Hint: set EVENTIDE_CACHE_DIR to a folder of your own, made with mkdir -m 700"
    )
    return None


@cache
def _say_not_written(reason: str) -> None:
    _log.warning("compiled code could not be written, so the next process compiles again: %s", reason)


@cache
def _version() -> str:
    """Numba does not see changes in functions that a function imports, so all kernels count for each."""
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__}".encode())
    package = importlib.resources.files("eventide")
    folders = [package / "runtime" / "kernels", *(package / "families").iterdir()]
    for folder in sorted((each for each in folders if each.is_dir()), key=lambda each: each.name):
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if entry.name.endswith(".py") and (folder.name == "kernels" or entry.name.startswith("kernel")):
                digest.update(f"{folder.name}/{entry.name}".encode() + entry.read_bytes())
    return f"{sys.implementation.cache_tag}-{digest.hexdigest()[:16]}"
