"""A family has one name: its room in `src`, its tests, its mutants, its oracle and its page are found by it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "eventide"
FAMILIES = {path.parent.name for path in (PACKAGE / "families").glob("*/family.py")}
# Late events are a part of every family's stream, so their mutants and their page are those of streams. Of a statement,
# DuckDB and Spark say what is right.
WITHOUT_MUTANTS = {"late"}
WITHOUT_ORACLE = {"late", "statement"}
# Readers know two languages by their own names.
PAGES = {"events": "language", "rows": "match-recognize", "statement": "match-recognize", "late": "streams"}
# Subjects that concern several rooms.
ACROSS = {"docs", "examples", "fuzz", "inputs", "kafka", "metrics", "mutants", "oracle", "pins", "rules", "streams"}


def names(folder: Path) -> set[str]:
    """Folders with Python in them, and modules, as one would import them."""
    found = {path.parent.name for path in folder.glob("*/*.py")} | {path.stem for path in folder.glob("*.py")}
    return found - {"__init__", "__main__"}


def test_every_family_has_tests_of_its_name() -> None:
    assert {path.parent.name for path in (ROOT / "tests" / "families").glob("*/test_*.py")} == FAMILIES


def test_every_family_has_mutants_of_its_name() -> None:
    assert FAMILIES - names(ROOT / "tests" / "mutants") == WITHOUT_MUTANTS


def test_every_family_has_an_oracle_of_its_name() -> None:
    assert FAMILIES - names(ROOT / "tests" / "oracle") == WITHOUT_ORACLE


def test_every_family_has_a_page() -> None:
    assert not [name for name in FAMILIES if not (ROOT / "docs" / f"{PAGES.get(name, name)}.md").is_file()]


def test_every_folder_of_tests_has_the_name_of_a_room() -> None:
    folders = {path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").glob("*/**/test_*.py")}
    assert folders - ACROSS - {"benchmarks"} <= names(PACKAGE)
