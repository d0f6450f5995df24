"""Finds the place of a mutant by function and syntax: names of files, line breaks and comments play no part."""

from __future__ import annotations

import ast
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutant import Mutant

_NOT_COMPARED = {"ctx", "kind", "type_comment"}
_BODIES = {"body", "orelse", "handlers", "finalbody", "cases"}
# The first is not allowed in parentheses; inside the second, Python 3.11 gives no positions.
_NOT_ALONE = (ast.Slice, ast.Starred)
_WHOLE = ast.JoinedStr
_Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class NotAppliedError(Exception):
    """The mutant's place is not there, or there are several, or it changes more than the code of functions."""


@dataclass(frozen=True)
class Edit:
    """Characters of a file, and what takes their place."""

    path: Path
    start: int
    stop: int
    new: str

    @property
    def line(self) -> int:
        return self.path.read_text().count("\n", 0, self.start) + 1

    def changed(self) -> str:
        text = self.path.read_text()
        return text[: self.start] + self.new + text[self.stop :]


class Anchors:
    """The functions of a package by qualified name."""

    def __init__(self, package: Path) -> None:
        self._package = package
        self._named: dict[str, list[tuple[_Source, ast.AST]]] = defaultdict(list)
        for path in sorted(package.rglob("*.py")):
            source = _Source(path, path.read_text())
            for name, node in _named(ast.parse(source.text), ""):
                self._named[name].append((source, node))

    def edit(self, mutant: Mutant) -> Edit:
        """The one place of the mutant; an error names the candidates."""
        found = list(dict.fromkeys(self._edits(mutant)))
        if len(found) == 1:
            return found[0]
        places = ", ".join(f"{self._relative(edit.path)}:{edit.line}" for edit in found)
        modules = ", ".join(dict.fromkeys(self._relative(source.path) for source, _ in self._functions(mutant.where)))
        here = places or (f"only the function, in {modules}" if modules else "no function of that name")
        raise NotAppliedError(f"{mutant.old!r} stands {len(found)} times in {mutant.where}: {here}")

    def _edits(self, mutant: Mutant) -> Iterator[Edit]:
        old, new = _dedented(mutant.old), _dedented(mutant.new)
        for source, function in self._functions(mutant.where):
            if old.endswith(":"):
                yield from _heads(source, function, old, new)
            elif _is_expression(old) and _is_expression(new):
                yield from _expressions(source, function, old, new)
            else:
                yield from _statements(source, function, old, new)

    def _functions(self, where: str) -> Iterator[tuple[_Source, ast.AST]]:
        module, _, name = where.rpartition(":")
        for source, node in self._named.get(name, ()):
            parts = "." + self._relative(source.path).removesuffix(".py").replace("/", ".")
            if not module or parts.endswith(f".{module}"):
                yield source, node

    def _relative(self, path: Path) -> str:
        return path.relative_to(self._package).as_posix()


def _named(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.AST]]:
    """Functions, classes, and what is assigned outside functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Defined):
            yield prefix + child.name, child
            yield from _named(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.Assign | ast.AnnAssign) and not isinstance(node, ast.FunctionDef):
            targets = child.targets if isinstance(child, ast.Assign) else [child.target]
            yield from ((prefix + target.id, child) for target in targets if isinstance(target, ast.Name))
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _named(child, prefix)


class _Source:
    """A file's text, and where nodes stand in it: Python counts lines and bytes."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self._lines = text.split("\n")

    def start(self, node: ast.AST) -> int:
        return self._at(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def stop(self, node: ast.AST) -> int:
        return self._at(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _at(self, line: int, column: int) -> int:
        before = sum(len(one) + 1 for one in self._lines[: line - 1])
        return before + len(self._lines[line - 1].encode()[:column].decode())


def _expressions(source: _Source, function: ast.AST, old: str, new: str) -> Iterator[Edit]:
    wanted = ast.parse(old, mode="eval").body
    for node in _walk(function):
        if isinstance(node, ast.expr) and not isinstance(node, _NOT_ALONE) and _is_same(node, wanted):
            yield Edit(source.path, source.start(node), source.stop(node), f"({new})")


def _statements(source: _Source, function: ast.AST, old: str, new: str) -> Iterator[Edit]:
    wanted = ast.parse(old).body
    for statements in _bodies(function):
        for first in range(len(statements) - len(wanted) + 1):
            chosen = statements[first : first + len(wanted)]
            if _is_same(chosen, wanted):
                indent = " " * chosen[0].col_offset
                text = textwrap.indent(new or "pass", indent).removeprefix(indent)
                if not new and len(statements) > len(wanted):
                    text = ""
                yield Edit(source.path, source.start(chosen[0]), source.stop(chosen[-1]), text)


def _heads(source: _Source, function: ast.AST, old: str, new: str) -> Iterator[Edit]:
    wanted = _head(old)
    for node in _walk(function):
        if type(node) is type(wanted) and _is_same(node, wanted, without=_BODIES):
            start, inside = source.start(node), [source.start(node)]
            for name, value in ast.iter_fields(node):
                parts = value if isinstance(value, list) else [value]
                if name not in _BODIES:
                    leaves = [leaf for part in parts if isinstance(part, ast.AST) for leaf in ast.walk(part)]
                    inside += [source.stop(leaf) for leaf in leaves if hasattr(leaf, "end_lineno")]
            stop = source.text.index(":", max(inside)) + 1
            el = "el" if source.text.startswith("elif", start) else ""
            yield Edit(source.path, start, stop, el + new.removeprefix("el"))


def _head(text: str) -> ast.AST:
    if text.startswith("except"):
        return ast.parse(f"try: pass\n{text} pass").body[0].handlers[0]  # type: ignore[attr-defined]
    return ast.parse(f"{text.removeprefix('el')} pass").body[0]


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, _WHOLE):
        for child in ast.iter_child_nodes(node):
            yield from _walk(child)


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for inner in _walk(node):
        for name in _BODIES:
            value = getattr(inner, name, None)
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield value


def _is_same(one: object, other: object, *, without: set[str] = frozenset()) -> bool:  # type: ignore[assignment]
    if type(one) is not type(other):
        return False
    if isinstance(one, ast.AST):
        names = [name for name in one._fields if name not in _NOT_COMPARED and name not in without]
        return all(_is_same(getattr(one, name, None), getattr(other, name, None)) for name in names)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_is_same, one, other))  # type: ignore[arg-type]
    return one == other


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


def _dedented(text: str) -> str:
    return textwrap.dedent(text).strip()
