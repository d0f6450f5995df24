"""Cases of other engines' public test suites, read from where they are shared; never copied here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).resolve().parents[2] / "shared" / "conformance"


def shared_cases(name: str) -> list[dict[str, Any]]:
    """All cases of a file; none where the file is not there."""
    path = _FOLDER / f"{name}.json"
    cases: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cases"] if path.exists() else []
    return cases
