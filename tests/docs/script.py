"""The parts of docs/examples/takeover.py that pages show, as they stand in the script."""

from __future__ import annotations

import importlib.util
import re
import textwrap
from pathlib import Path
from types import ModuleType

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "examples" / "takeover.py"
PARTS = ("query", "batch", "path", "stream")


def example(part: str) -> str:
    """The code between the part's marks, without the indentation that all its lines share."""
    found = re.search(rf"\[start:{part}\]\n(.*?) *# --8<-- \[end:{part}\]", SCRIPT.read_text(), re.DOTALL)
    assert found is not None, part
    return textwrap.dedent(found.group(1))


def load_script(path: Path) -> ModuleType:
    """A script as a module: its names, without running it as a program."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
