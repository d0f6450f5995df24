"""Rewrites mutants that name a file and its text into mutants that name a function and its syntax.

`python -m tools.convert_mutants` rewrites, in tests/mutants, every call whose second argument is a file (`x/y.py`); the
others stay. Each rewritten mutant is checked: the changed program is the same syntax tree as before.
"""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.mutants.anchors import Anchors, NotAppliedError
from tests.mutants.mutant import Mutant

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "eventide"
FOLDER = ROOT / "tests" / "mutants"
_BARE = (ast.Name, ast.Constant, ast.Attribute, ast.UnaryOp)
_BODIES = ("body", "orelse", "finalbody")
_HEADS = (ast.If, ast.While, ast.For, ast.With, ast.ExceptHandler)
Pair = tuple[str, str]


def converted(anchors: Anchors, file: str, old: str, new: str) -> tuple[str, str, str]:
    """Where, old and new of a mutant that changes the text `old` of a file."""
    path = PACKAGE / file
    text = path.read_text()
    if text.count(old) != 1:
        raise NotAppliedError(f"{old!r} stands {text.count(old)} times in {file}")
    wanted = text.replace(old, new)
    before, after = ast.parse(text), ast.parse(wanted)
    where, pairs = "", []
    for name, pair in _changes(before, after, text, wanted):
        where = name or where
        pairs.append(pair)
    module = ".".join(Path(file).with_suffix("").parts)
    hints = [".".join(module.split(".")[-n:]) + ":" for n in range(1, module.count(".") + 2)]
    own = (_plain(old), _plain(new))
    for pair in [own, *[pair for pair in reversed(pairs) if pair]]:
        for hint in ["", *hints]:
            try:
                edit = anchors.edit(Mutant("", hint + where, *pair, ()))
            except (NotAppliedError, SyntaxError):
                continue
            try:
                if edit.path == path and ast.dump(ast.parse(edit.changed())) == ast.dump(after):
                    return hint + where, *pair
            except SyntaxError:
                continue
    raise NotAppliedError(f"no anchor for {old!r} in {file}, {where}: {pairs}")


def _plain(text: str) -> str:
    return textwrap.dedent(text).strip()


def _changes(old: ast.AST, new: ast.AST, text: str, wanted: str) -> Iterator[tuple[str, Pair | None]]:
    """From the module down to the smallest change: the qualified name so far, and old and new as an anchor has them."""
    name, inside_function = "", False
    while True:
        if isinstance(old, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{name}.{old.name}".lstrip(".")
            inside_function |= not isinstance(old, ast.ClassDef)
        elif isinstance(old, ast.Assign | ast.AnnAssign) and not inside_function:
            target = old.targets[0] if isinstance(old, ast.Assign) else old.target
            name = f"{name}.{ast.unparse(target)}".lstrip(".")
        yield name, _pair(old, new, text, wanted)
        if isinstance(old, ast.JoinedStr):
            return
        fields = [f for f in old._fields if not _same(getattr(old, f, None), getattr(new, f, None))]
        if type(old) is not type(new) or len(fields) != 1:
            return
        one, other = getattr(old, fields[0]), getattr(new, fields[0])
        if isinstance(one, list) and isinstance(other, list):
            if fields[0] in _BODIES:
                for first, last, cut in _slices(one, other):
                    yield name, _of_statements(one[first:last], other[first : last + cut], text, wanted)
            different = [i for i, (a, b) in enumerate(zip(one, other, strict=False)) if not _same(a, b)]
            if len(one) != len(other) or len(different) != 1 or not isinstance(one[different[0]], ast.AST):
                return
            old, new = one[different[0]], other[different[0]]
        elif isinstance(one, ast.AST) and isinstance(other, ast.AST) and not isinstance(one, ast.operator | ast.boolop):
            old, new = one, other
        else:
            return


def _slices(one: list[ast.AST], other: list[ast.AST]) -> Iterator[tuple[int, int, int]]:
    """Statements that differ, from many around them to few: first, last, by how many the new ones are more."""
    start = 0
    while start < min(len(one), len(other)) and _same(one[start], other[start]):
        start += 1
    end = 0
    while end < min(len(one), len(other)) - start and _same(one[-1 - end], other[-1 - end]):
        end += 1
    last = len(one) - end
    cut = len(other) - len(one)
    for before, after in ((2, 2), (1, 1), (0, 1), (1, 0), (0, 0)):
        first, to = max(start - before, 0), min(last + after, len(one))
        if first < to:
            yield first, to, cut


def _of_statements(one: list[ast.AST], other: list[ast.AST], text: str, wanted: str) -> Pair:
    return "\n".join(_written(n, text) for n in one), "\n".join(_written(n, wanted) for n in other)


def _pair(old: ast.AST, new: ast.AST, text: str, wanted: str) -> Pair | None:
    if isinstance(old, _HEADS) and type(old) is type(new) and _is_head_only(old, new):
        return _head(old), _head(new)
    if isinstance(old, ast.expr) and isinstance(new, ast.expr) and not isinstance(old, _BARE):
        return _written(old, text), _written(new, wanted)
    return None


def _is_head_only(old: ast.AST, new: ast.AST) -> bool:
    return all(_same(getattr(old, f, None), getattr(new, f, None)) for f in (*_BODIES, "handlers"))


def _head(node: ast.AST) -> str:
    return ast.unparse(node).split("\n")[0]


def _written(node: ast.AST, text: str) -> str:
    """As in the file where that is one line; else as Python writes it."""
    segment = ast.get_source_segment(text, node) or ""
    return segment if segment and "\n" not in segment else ast.unparse(node)


def _same(one: object, other: object) -> bool:
    if isinstance(one, ast.AST) and isinstance(other, ast.AST):
        return ast.dump(one) == ast.dump(other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and one == other


def rewritten(path: Path, anchors: Anchors) -> tuple[str, int]:
    """A file of mutants after the change, and how many were changed."""
    text = path.read_text()
    tree = ast.parse(text)
    known = vars(importlib.import_module(f"tests.mutants.{path.stem}"))
    # `_mutant("what", "lanes.py", ...)`: a function of the file puts its folder before the name.
    folders = {
        node.name: ast.unparse(node.body[0].value.args[1]).removeprefix("f'").partition("{")[0]
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and ast.unparse(node.body[-1]).startswith("return Mutant(")
    }
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def at(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    edits: list[tuple[int, int, str]] = []
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 5):
            continue
        if node.func.id != "Mutant" and node.func.id not in folders:
            continue
        given = node.args[1]
        file = known.get(given.id) if isinstance(given, ast.Name) else getattr(given, "value", None)
        if not isinstance(file, str) or not file.endswith(".py"):
            continue
        old, new = (ast.literal_eval(value) for value in node.args[2:4])
        values = converted(anchors, folders.get(node.func.id, "") + file, old, new)
        for value, argument in zip(values, node.args[1:4], strict=True):
            edits.append(
                (
                    at(argument.lineno, argument.col_offset),
                    at(argument.end_lineno, argument.end_col_offset),
                    _literal(value),
                )
            )
    for start, stop, value in sorted(edits, reverse=True):
        text = text[:start] + value + text[stop:]
    return _without_files(text, known), len(edits) // 3


def _literal(value: str) -> str:
    pieces = value.splitlines(keepends=True) or [""]
    if len(value) > 100:
        # Longer than a line: in pieces, each up to a blank.
        pieces = [part for piece in pieces for part in re.findall(r".{1,90}(?:\s|$)|\n", piece, re.DOTALL)]
        assert "".join(pieces) == value
    if len(pieces) > 1 and len(value) > 80:
        return "".join(f"\n{piece!r}" for piece in pieces)
    return repr(value)


def _without_files(text: str, known: Mapping[str, object]) -> str:
    """Without the constants that named files and are used no more."""
    used = {
        node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    for name, value in known.items():
        if isinstance(value, str) and value.endswith(".py") and name not in used:
            text = re.sub(rf'^{name} = .*"\n', "", text, count=1, flags=re.MULTILINE)
    return text


def main() -> int:
    anchors, problems = Anchors(PACKAGE), 0
    for path in sorted(FOLDER.glob("*.py")):
        try:
            text, n = rewritten(path, anchors)
        except NotAppliedError as problem:
            print(f"{path.name}: {problem}")
            problems += 1
            continue
        if n or text != path.read_text():
            path.write_text(text)
            print(f"{path.name}: {n} mutants")
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", str(FOLDER)], check=False)
    return min(problems, 100)


if __name__ == "__main__":
    sys.exit(main())
