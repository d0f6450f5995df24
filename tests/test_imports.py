"""What is loaded: by `import eventide`, by the first query, by a command that only prints, by a worker of Spark."""

from __future__ import annotations

import ast
import os
import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev

SOURCE = Path(ev.__file__).read_text()
LARGE = {
    *("duckdb", "llvmlite", "numba", "numpy", "pandas", "polars", "prometheus_client"),
    *("py4j", "pyarrow", "pyspark", "rich", "sqlglot", "typer"),
}
_SHOW = "\nimport sys; print(','.join(sys.modules))"


def loaded_by(program: str, *words: str) -> set[str]:
    """The modules that a fresh process has loaded when the program has run."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program + _SHOW, *words], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split(","))


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.split(".")[0] == "eventide"}


def test_the_package_loads_nothing_of_ours_and_nothing_large() -> None:
    loaded = loaded_by("import eventide")
    assert ours(loaded) == {"eventide"}
    assert not loaded & LARGE


def test_the_first_query_loads_its_own_family_and_engine_alone() -> None:
    loaded = loaded_by(
        "import eventide as ev\n"
        "q = ev.query('PATTERN SEQ(A a, B b) WHERE a.x < b.x RETURN a.x', ts_unit='s', type='kind')\n"
        "events = [{'ts': 1, 'kind': 'A', 'x': 1}, {'ts': 2, 'kind': 'B', 'x': 2}]\n"
        "assert q.run(events).num_rows == 1"
    )
    # PyArrow imports pandas by itself where it is installed.
    assert not loaded & (LARGE - {"duckdb", "llvmlite", "numba", "numpy", "pandas", "pyarrow", "sqlglot"})
    assert operators(loaded) <= {"sequence"}
    for name in (
        "api.sql",
        "api.pattern",
        "api.intervals",
        "api.rules",
        "show",
        "generate",
        "engines.spark",
        "cli",
    ):
        assert f"eventide.{name}" not in loaded
    for name in ("plan.explain", "families.trends.lower", "families.situations.lower", "families.events.lower"):
        assert f"eventide.{name}" not in loaded
    assert "eventide.engines.local.live" not in loaded
    assert "eventide.engines.diagnose.investigation" not in loaded


def operators(modules: set[str]) -> set[str]:
    """The families of which the operator is loaded."""
    start = "eventide.families."
    found = {name.removeprefix(start).removesuffix(".operator") for name in modules if name.endswith(".operator")}
    return found | ({"sequence"} if start + "events.sequence" in modules else set())


@pytest.mark.parametrize("words", ["--version", "--help", "run --help", "stream --help"])
def test_a_command_that_only_prints_loads_no_engine(words: str) -> None:
    program = (
        "import sys\nfrom eventide.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code\nprint()"
    )
    loaded = loaded_by(program, *words.split())
    assert "eventide.cli.app" in loaded
    assert not loaded & (LARGE - {"rich", "typer"})


def test_every_public_name_is_that_of_its_module() -> None:
    assert {*ev._HOMES} <= {*ev.__all__} <= {*dir(ev)}
    for name, home in ev._HOMES.items():
        assert getattr(ev, name) is getattr(import_module(home), name), name
    assert {*ev.__all__} == {*ev._HOMES, *ev._MODULES}
    for name, home in ev._MODULES.items():
        assert getattr(ev, name) is import_module(home), name


def test_type_checkers_see_the_names_from_the_modules_where_they_are_found() -> None:
    block = next(node for node in ast.parse(SOURCE).body if isinstance(node, ast.If))
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    seen = {
        alias.name: f"{node.module}.{alias.name}" if node.module == "eventide.api" else node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen.keys() == {*ev.__all__}
    assert seen == {**ev._HOMES, **ev._MODULES}
    # A module's `__getattr__` would let any misspelt name pass.
    assert not any(isinstance(node, ast.FunctionDef) for node in ast.parse(SOURCE).body)


@pytest.mark.parametrize(
    ("before", "names"),
    [
        ("import eventide.generate.registry", ["generate"]),
        ("from eventide.generate import sample", ["generate"]),
        ("import eventide as ev; ev.generate; import eventide.generate.registry", ["generate"]),
        ("from eventide import *", ["generate"]),
    ],
)
def test_a_function_named_like_its_module_stays_the_function(before: str, names: list[str]) -> None:
    loaded_by(
        f"{before}\nimport sys, eventide as ev\n"
        f"for name in {names}:\n"
        "    found = getattr(ev, name)\n"
        "    assert found is getattr(sys.modules['eventide.' + name], name), found"
    )


def test_a_module_that_is_set_on_the_package_is_the_function_of_its_name() -> None:
    function = ev.generate
    ev.generate = import_module("eventide.generate")  # type: ignore[assignment]  # as the end of an import does
    assert ev.generate is function


def test_other_modules_are_there_when_they_are_named() -> None:
    loaded_by(
        "import eventide as ev\nassert ev.errors.InputError is ev.InputError\nev.intervals.threshold, ev.kafka.read"
    )


def test_a_name_that_is_not_there_is_the_usual_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'eventide' has no attribute 'qurey'$") as caught:
        ev.qurey  # type: ignore[attr-defined]  # noqa: B018
    assert (caught.value.name, caught.value.obj) == ("qurey", ev)
    assert not hasattr(ev, "__wrapped__")
    with pytest.raises(ImportError, match="cannot import name 'qurey' from 'eventide'"):
        exec("from eventide import qurey")


def test_a_library_that_is_missing_is_named() -> None:
    program = "import sys\nsys.modules['sqlglot'] = None\nimport eventide as ev\n"
    program += "try:\n    ev.query\nexcept ModuleNotFoundError as error:\n    assert 'sqlglot' in str(error), error\n"
    loaded_by(program + "else:\n    raise AssertionError")


def test_a_function_that_names_the_package_goes_to_a_worker() -> None:
    from pyspark import cloudpickle

    sent = cloudpickle.dumps(lambda: ev.query)
    assert pickle.loads(sent)() is ev.query
    assert len(sent) < 2000


QUERIES: dict[str, Any] = {
    "sequence": lambda: ev.query("PATTERN SEQ(A a, B b) RETURN a.x", ts_unit="s", type="kind").plan,
    "trends": lambda: ev.query("PATTERN SEQ(A a+, B b) RETURN COUNT(*)", ts_unit="s", type="kind").plan,
}


@pytest.mark.parametrize("family", QUERIES)
def test_a_worker_loads_the_operator_of_its_query_alone(family: str, tmp_path: Path) -> None:
    from pyspark import cloudpickle

    from eventide.engines.spark.batch import matcher, read_blocks
    from eventide.engines.spark.workers import settled

    schema = pa.schema([("ts", pa.int64()), ("kind", pa.string()), ("x", pa.int64())])
    match, _ = matcher(QUERIES[family]()(schema, "spark"))
    task = tmp_path / "task"
    task.write_bytes(cloudpickle.dumps(settled(lambda batches: match(read_blocks(batches)))))
    loaded = loaded_by(f"import pickle\nassert not list(pickle.loads(open({str(task)!r}, 'rb').read())(iter([])))")
    assert operators(loaded) <= {family, "sequence"}
    assert family in operators(loaded)
    assert not loaded & {"duckdb", "sqlglot", "rich", "typer", "eventide.api", "eventide.lang"}
    assert not {name for name in loaded if name.startswith("eventide.families.") and name.endswith(".lower")}
