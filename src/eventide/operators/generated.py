"""Generated modules: source text in, an imported module out, compiled at most once per machine.

Numba caches only functions that live in a file, so the source is written to a file named after its content; every
process that needs the same query finds the file and the machine code beside it.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import importlib.util
import os
import re
import sys
import tempfile
import textwrap
import threading
from functools import cache
from pathlib import Path
from types import ModuleType

_REGION = re.compile(r"^( *)# <generated: (\w+)>\n(.*?)^ *# </generated>$", re.MULTILINE | re.DOTALL)
_LOCK = threading.RLock()


def load_module(source: str) -> ModuleType:
    """The module with this source; the same object for the same source.

    >>> load_module("def double(x):\\n    return 2 * x\\n").double(21)
    42
    """
    with _LOCK:
        return _load(source)


@cache
def _load(source: str) -> ModuleType:
    # Numba does not see changes in functions that a generated module imports; the file's name does.
    digest = hashlib.sha256((_kernels_fingerprint() + source).encode()).hexdigest()[:32]
    name = f"ev_{digest}"
    path = _write_once(cache_directory() / "generated", name, source)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import the generated module {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_specialized(kernel: ModuleType, replacements: dict[str, str]) -> ModuleType:
    """A kernel's module with the bodies of its generated regions replaced."""
    return load_module(specialize(kernel.__loader__.get_source(kernel.__name__), replacements))  # type: ignore[union-attr]


def specialize(kernel_source: str, replacements: dict[str, str]) -> str:
    """A kernel's source with the bodies of its generated regions replaced; they take a region's indentation.

    >>> text = "x = 1\\n# <generated: holds>\\nold = 1\\n# </generated>\\ny = 2\\n"
    >>> print(specialize(text, {"holds": "new = 1"}))
    x = 1
    # <generated: holds>
    new = 1
    # </generated>
    y = 2
    """
    unused = set(replacements) - {match[2] for match in _REGION.finditer(kernel_source)}
    if unused:
        raise ValueError(f"the kernel has no region named {', '.join(sorted(unused))}")

    def replace(match: re.Match[str]) -> str:
        if match[2] not in replacements:
            return match[0]
        text = f"# <generated: {match[2]}>\n{replacements[match[2]].rstrip()}\n# </generated>"
        return textwrap.indent(text, match[1])

    return _REGION.sub(replace, kernel_source)


def cache_directory() -> Path:
    """Where generated modules live: EVENTIDE_CACHE_DIR, else the user's cache, else a temporary directory."""
    named = os.environ.get("EVENTIDE_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME")
    candidates = [Path(named)] if named else []
    candidates.append(Path(base) / "eventide" if base else Path(os.path.expanduser("~/.cache/eventide")))
    user = str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    candidates.append(Path(tempfile.gettempdir()) / f"eventide-{user}")
    for candidate in candidates:
        if _is_usable(candidate):
            return candidate
    return Path(tempfile.mkdtemp(prefix="eventide-"))


def _is_usable(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Code is imported from here: a directory that belongs to someone else is not ours to trust.
        is_ours = not hasattr(os, "getuid") or directory.stat().st_uid == os.getuid()
    except OSError:
        return False
    return is_ours and os.access(directory, os.W_OK | os.X_OK)


def _write_once(directory: Path, name: str, source: str) -> Path:
    """Write the file unless it is there. It is never replaced: Numba ties its cache to the modification time."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = directory / f"{name}.py"
    if path.exists():
        return path
    handle, temporary = tempfile.mkstemp(dir=directory, prefix=f".{name}-", suffix=".tmp")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(source)
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    except OSError:
        # A file system without hard links: replacing costs at most one compilation more.
        os.replace(temporary, path)
        return path
    os.unlink(temporary)
    return path


@cache
def _kernels_fingerprint() -> str:
    digest = hashlib.sha256()
    for entry in sorted(importlib.resources.files("eventide.kernels").iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".py"):
            digest.update(entry.name.encode() + entry.read_bytes())
    return digest.hexdigest()
