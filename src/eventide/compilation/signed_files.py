"""Files that are read back only if this user wrote them, whole and under that name: a keyed digest stands before each.

The key is a file that only the user can read. Whoever may write to the folder, or has filled it before, can make files
unusable, but cannot make one that is taken for ours.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import stat
import tempfile
import time
from pathlib import Path

from eventide.compilation.private_folder import is_ours

_MARK = b"eventide code 1\n"
_KEY_FILE = "key"
_KEY_BYTES = 32
_DIGEST_BYTES = 32
_TEMPORARY = ".tmp"
_LEFT_SECONDS = 3600.0  # no file is written for so long: what is older was left by a process that died
_UNUSED_SECONDS = 90 * 86400.0


class SignedFiles:
    """The files of one folder inside `root`; OSError where no key can be kept."""

    def __init__(self, root: Path, folder: str) -> None:
        self._key = _key(root)
        self.root = root
        self._folder = folder
        self._is_clean = False
        with contextlib.suppress(OSError):
            os.utime(root / folder)  # when it was last used, for `_clean`

    def read(self, name: str) -> bytes | None:
        """What was written under this name; None where there is nothing that can be trusted."""
        try:
            held = _read_regular(self._path(name))
        except OSError:
            return None
        head = len(_MARK) + _DIGEST_BYTES
        content = held[head:]
        return content if hmac.compare_digest(held[:head], self._head(name, content)) else None

    def write(self, name: str, content: bytes) -> None:
        """Put the content in place of what is there, at once or not at all; OSError where that fails."""
        if not self._is_clean:
            self._is_clean = True
            self._clean()
        self._path(name).parent.mkdir(exist_ok=True, mode=0o700)
        _replace(self._path(name), self._head(name, content) + content)

    def _path(self, name: str) -> Path:
        return self.root / self._folder / name

    def _head(self, name: str, content: bytes) -> bytes:
        signed = f"{self._folder}/{name}\n".encode() + content
        return _MARK + hmac.digest(self._key, signed, "sha256")

    def _clean(self) -> None:
        """Remove what processes that died have left, and the folders of versions that nobody uses any more."""
        now = time.time()
        for folder in _entries(self.root):
            if not folder.is_dir(follow_symlinks=False):
                continue
            is_unused = now - folder.stat(follow_symlinks=False).st_mtime > _UNUSED_SECONDS
            for entry in _entries(Path(folder.path)):
                with contextlib.suppress(OSError):
                    age = now - entry.stat(follow_symlinks=False).st_mtime
                    if is_unused or (entry.name.endswith(_TEMPORARY) and age > _LEFT_SECONDS):
                        os.unlink(entry.path)
            if is_unused:
                with contextlib.suppress(OSError):
                    os.rmdir(folder.path)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _key(root: Path) -> bytes:
    """The user's key, made where there is none that can be trusted; OSError where it cannot be kept."""
    path = root / _KEY_FILE
    key = _trusted_key(path)
    if key is None:
        _replace(path, secrets.token_bytes(_KEY_BYTES))
        # Two processes may have made one each. What the other one signs before it reads again is only lost.
        key = _trusted_key(path)
    if key is None:
        raise OSError(f"'{path}' cannot be kept private")
    return key


def _trusted_key(path: Path) -> bytes | None:
    try:
        key = _read_regular(path, private=True)
    except OSError:
        return None
    return key if len(key) == _KEY_BYTES else None


def _read_regular(path: Path, *, private: bool = False) -> bytes:
    """The bytes of a file of ours; neither a link nor a pipe is followed."""
    flags = ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK")  # not every system has all of them
    opened = os.open(path, os.O_RDONLY | sum(getattr(os, flag, 0) for flag in flags))
    with os.fdopen(opened, "rb") as file:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode) or not is_ours(found):
            raise OSError(f"'{path}' is not a file of ours")
        if private and os.name == "posix" and found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise OSError(f"'{path}' is open to others")
        return file.read()


def _replace(path: Path, content: bytes) -> None:
    """`mkstemp` makes files that only the user can read."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=_TEMPORARY)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
