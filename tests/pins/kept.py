"""What is pinned, as JSON under tests/fixtures/pins: `python -m tests.pins` writes it anew, for a change on purpose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "fixtures" / "pins"


def read(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text())


def write(name: str, value: Any) -> None:
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")
