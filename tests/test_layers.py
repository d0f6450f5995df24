"""The import layers, and what every file of the tree must keep to.

The rules are those of docs/architecture.md: a folder imports only folders below it.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "eventide"
SOURCES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))

_LAYERS = {
    "errors": set(),
    "compilation": {"compilation"},
    "runtime": {"compilation", "runtime", "errors"},
    "lang": {"lang", "errors"},
    "expressions": {"expressions", "lang", "runtime", "errors"},
    "plan": {"plan", "expressions", "families", "lang", "runtime", "errors"},
    "families": {"families", "plan", "expressions", "lang", "runtime", "compilation", "errors"},
    "engines": {"engines", "families", "plan", "expressions", "lang", "runtime", "errors"},
    "generate": {"generate", "runtime", "errors"},
    "show": {"show", "engines", "lang", "runtime", "errors"},
}
# What everybody may import of `families`; what lies in the folder of one family is its own.
_FRONT = {"base", "registry"}
# Of another family: the program of event patterns, which trends are made of, and what plans and texts share.
_NEIGHBOURS = {
    "allen": {"late.lower", "late.operator"},
    "joins": {"late.lower", "late.operator"},
    "trends": {"events.closing", "events.lower", "events.program", "windows.single_events"},
}
_INSIDE = ("api/",)
_EVERYTHING = {"__init__", "__main__", "api", "cli"}
_OF_SPARK = {"pyspark", "pandas", "polars", "py4j"}
_WITHOUT_DUCKDB = {"runtime", "families", "lang", "expressions", "plan"}
_VAGUE_NAMES = {"utils.py", "helpers.py", "common.py", "core.py"}
# Built from pieces, so that this file keeps to its own rule.
_MACHINE_PATH = re.compile(r"(?<![\w./-])/(?:" + "|".join(("work", "root", "home")) + r")/[\w.-]")


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements; no expression has an import."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield child
            yield from _statements(child)


def imported_modules(source: str, file: str) -> Iterator[str]:
    """The modules that a file imports anywhere, also inside functions; names of `from` imports are appended."""
    here = ["eventide", *file.removesuffix(".py").split("/")[:-1]]
    for node in _statements(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def layer(file: str) -> str:
    return file.split("/")[0].removesuffix(".py")


def test_every_folder_has_a_rule() -> None:
    assert {layer(file) for file in SOURCES} == _LAYERS.keys() | _EVERYTHING


def violations(file: str, source: str) -> Iterator[str]:
    """What a file imports and may not."""
    modules = list(imported_modules(source, file))
    if layer(file) not in _EVERYTHING:
        ours = [module.split(".") for module in modules if module.split(".")[0] == "eventide"]
        # The package itself is the top layer: importing it imports everything.
        wrong = [".".join(parts) for parts in ours if len(parts) == 1 or parts[1] not in _LAYERS[layer(file)]]
        if wrong:
            yield f"{file} may import {sorted(_LAYERS[layer(file)])}, not {wrong}"
    yield from _between_families(file, modules)
    roots = {module.split(".")[0] for module in modules}
    if not file.startswith("engines/spark/") and roots & _OF_SPARK:
        yield f"{file} imports {sorted(roots & _OF_SPARK)}, which only engines/spark may"
    if layer(file) in _WITHOUT_DUCKDB and "duckdb" in roots:
        yield f"{file} imports duckdb"
    if layer(file) != "compilation" and re.search(r"from numba import .*\bn?jit\b|numba\.n?jit\b", source):
        yield f"{file} compiles past our own cache"


def _between_families(file: str, modules: list[str]) -> Iterator[str]:
    """What a file imports from the folder of a family and may not; kernels import kernels alone."""
    folder, _, name = file.partition("/")
    own = name.split("/")[0] if folder == "families" and "/" in name else None
    for module in modules:
        parts = module.split(".")
        if parts[0] != "eventide" or len(parts) < 3:
            continue
        if Path(file).name.startswith("kernel") or file.startswith("runtime/kernels/"):
            is_kernel = parts[1:3] == ["runtime", "kernels"] or (own == parts[2] and parts[3].startswith("kernel"))
            if parts[1] != "compilation" and not is_kernel:
                yield f"{file} is a kernel and imports {module}"
        if parts[1] != "families" or parts[2] in {*_FRONT, own} or file.startswith(_INSIDE):
            continue
        if own is None or ".".join(parts[2:4]) not in _NEIGHBOURS.get(own, set()):
            yield f"{file} imports {module}, which is of another family"


def test_a_file_imports_only_what_its_layer_may() -> None:
    found = [problem for file in SOURCES for problem in violations(file, (PACKAGE / file).read_text())]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("file", "source", "n"),
    [
        ("runtime/kernels/x.py", "from ...compilation import cache", 0),
        ("families/rows/kernel_x.py", "from ...plan.bind import bind", 1),
        ("families/rows/lower.py", "from ..trends.spec import TrendSpec", 1),
        ("families/trends/spec.py", "from ..events.program import PatternProgram", 0),
        ("engines/rules.py", "from ..families.rows.lower import lower_rows", 1),
        ("plan/x.py", "import eventide", 1),
        ("plan/x.py", "def f():\n    import duckdb", 1),
        ("engines/local/x.py", "import pandas", 1),
        ("engines/spark/x.py", "import pandas, pyspark", 0),
        ("runtime/x.py", "from numba import njit", 1),
        ("runtime/x.py", "from eventide.engines import run\nimport polars, duckdb", 3),
        ("api/x.py", "from eventide.engines import run", 0),
    ],
)
def test_every_wrong_import_is_told(file: str, source: str, n: int) -> None:
    assert len(list(violations(file, source))) == n


def test_relative_imports_and_imports_in_functions_are_seen() -> None:
    source = "def f():\n    from ..plan import bind\n    import pyspark.sql\nfrom . import block\nimport eventide"
    assert sorted(imported_modules(source, "runtime/spark/x.py")) == [
        "eventide",
        "eventide.runtime.plan.bind",
        "eventide.runtime.spark.block",
        "pyspark.sql",
    ]


_LOCAL_QUERY = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
import eventide as ev
query = ev.query("PATTERN SEQ(A, B) WHERE A.x < B.x RETURN A.x, B.x AS y", ts_unit="s", type="kind")
rows = query.run([{{"ts": 1, "kind": "A", "x": 1}}, {{"ts": 2, "kind": "B", "x": 2}}]).to_pylist()
assert rows == [{{"A_x": 1, "y": 2, "detected_at": 2}}], rows
query.explain([{{"ts": 1, "kind": "A", "x": 1}}])
print(",".join(name for name in ("pyspark", "py4j", "pandas", "polars") if sys.modules.get(name)))
"""


def run_local_query(*blocked: str) -> list[str]:
    """Run a query in a fresh process where some modules cannot be imported; which others it imported."""
    program = _LOCAL_QUERY.format(blocked=blocked)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [name for name in done.stdout.strip().split(",") if name]


def test_a_local_query_imports_no_other_engine() -> None:
    # PyArrow imports pandas by itself where it is installed, so pandas is shown to be unneeded in the next test.
    assert set(run_local_query()) <= {"pandas"}


def test_a_local_query_runs_where_spark_pandas_and_polars_are_not_installed() -> None:
    assert run_local_query("pyspark", "pandas", "polars") == []


@pytest.fixture(scope="module")
def tree() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("not a clone of the repository")
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def test_no_file_holds_a_path_of_a_machine(tree: list[Path]) -> None:
    found = []
    for path in tree:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match.group()}" for match in _MACHINE_PATH.finditer(text)]
    assert not found


def test_the_machine_path_rule_sees_paths_and_leaves_words_alone() -> None:
    for prefix in ("work", "root", "home"):
        assert _MACHINE_PATH.search(f'open("/{prefix}/someone/x")')
    assert not _MACHINE_PATH.search("work/root and src/home/x and s3://bucket/root/x")


def _too_large(file: str, source: str) -> Iterator[str]:
    """Functions with more than ten arguments that a caller tells by their places, and kernels of over 120 lines.

    Options by name do not count: the caller reads what they mean.
    """
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        decorators = " ".join(map(ast.unparse, node.decorator_list))
        n_arguments, n_lines = len(node.args.posonlyargs + node.args.args), node.end_lineno - node.lineno + 1
        if n_arguments > 10:
            yield f"{file}: {node.name} has {n_arguments} arguments"
        if "njit(" in decorators and n_lines > 120:
            yield f"{file}: {node.name} is a kernel of {n_lines} lines"


def test_functions_have_few_arguments_and_kernels_fit_on_two_screens() -> None:
    assert [found for file in SOURCES for found in _too_large(file, (PACKAGE / file).read_text())] == []


def test_a_function_that_is_too_large_is_told() -> None:
    names = ", ".join("abcdefghijk")
    lines = "\n    ".join(["pass"] * 121)
    assert len(list(_too_large("x.py", f"def f({names}): ..."))) == 1
    assert len(list(_too_large("x.py", f"def f(a, *, {names[3:]}): ..."))) == 0
    assert len(list(_too_large("x.py", f"@njit(cache=True)\ndef f(a):\n    {lines}"))) == 1
    assert len(list(_too_large("x.py", f"def f(a):\n    {lines}"))) == 0


def test_file_names_say_what_is_in_them(tree: list[Path]) -> None:
    assert not [path for path in tree if path.name in _VAGUE_NAMES]


def test_the_lock_file_pins_names_and_versions_only() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    assert lines and not [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+", line)]
