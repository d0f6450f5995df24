"""Puts a mutant into the running process."""

from __future__ import annotations

import gc
import importlib
import linecache
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, SimpleNamespace

from tests.mutants.anchors import Anchors, Edit, NotAppliedError
from tests.mutants.mutant import Mutant

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "eventide"
Functions = dict[str, list[FunctionType]]
Edits = dict[Mutant, Edit | NotAppliedError]


def find_edits(mutants: list[Mutant]) -> Edits:
    """What each mutant changes in which file; or why it cannot."""
    anchors, found = Anchors(PACKAGE), {}
    for mutant in mutants:
        try:
            found[mutant] = anchors.edit(mutant)
        except NotAppliedError as problem:
            found[mutant] = problem
    return found


def functions_by_file(edits: Edits) -> Functions:
    """The functions of the mutants' files. To look for them takes longer than most tests, so it is done once."""
    for edit in edits.values():
        if isinstance(edit, Edit):
            _module(edit.path)
    found: Functions = defaultdict(list)
    for value in gc.get_objects():
        if isinstance(value, FunctionType) and value.__code__.co_filename.startswith(str(PACKAGE)):
            found[value.__code__.co_filename].append(value)
    return found


def apply(edit: Edit, functions: Functions) -> None:
    """Give every function of the mutant's file its code after the change, wherever the function is referred to."""
    path = edit.path
    text, changed = path.read_text(), edit.changed()
    module = _module(path)
    # Some modules are read as text, too, and become part of generated ones.
    module.__loader__ = SimpleNamespace(get_source=lambda _: changed)
    linecache.cache[str(path)] = len(changed), None, changed.splitlines(keepends=True), str(path)
    old, new = (compile(version, str(path), "exec", dont_inherit=True) for version in (text, changed))
    codes = {(before.co_qualname, before.co_firstlineno): after for before, after in _functions(old, new)}
    for value in functions[str(path)]:
        value.__code__ = codes[value.__code__.co_qualname, value.__code__.co_firstlineno]


def _module(path: Path) -> ModuleType:
    return importlib.import_module(".".join(("eventide", *path.relative_to(PACKAGE).with_suffix("").parts)))


def _functions(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The functions in two versions of a module or class, in pairs."""
    if _outside(old) != _outside(new):
        raise NotAppliedError(f"this mutant changes {old.co_qualname} outside its functions")
    for before, after in zip(_inside(old), _inside(new), strict=True):
        if before.co_flags & 1:  # CO_OPTIMIZED: a function
            yield from _nested(before, after)
        else:
            yield from _functions(before, after)


def _nested(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """A function and those inside it, which may have been made already, as kernels of a factory are."""
    yield before, after
    if len(_inside(before)) == len(_inside(after)):
        for pair in zip(_inside(before), _inside(after), strict=True):
            yield from _nested(*pair)


def _inside(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _outside(code: CodeType) -> tuple[object, ...]:
    """What a module or class does itself; line numbers count as nothing."""
    constants = [None if isinstance(constant, CodeType) else constant for constant in code.co_consts]
    return code.co_code, code.co_names, repr(constants)
