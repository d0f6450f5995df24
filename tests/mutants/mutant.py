"""What a mutant is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One fault: in `file`, `old` (which stands there once) becomes `new`; `tests` must fail."""

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
