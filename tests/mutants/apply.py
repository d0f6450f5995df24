"""Puts a mutant into the running process."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType

import eventide
from tests.mutants.mutant import Mutant

PACKAGE = Path(eventide.__file__).parent


class NotApplied(Exception):
    """The mutant's text is not there, or it changes more than the code of functions."""


def apply(mutant: Mutant) -> None:
    """Give every function of the mutant's file its code after the change, wherever the function is referred to."""
    path = PACKAGE / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        raise NotApplied(f"the text of this mutant stands {text.count(mutant.old)} times in {mutant.file}")
    importlib.import_module(".".join(("eventide", *Path(mutant.file).with_suffix("").parts)))
    old = compile(text, str(path), "exec", dont_inherit=True)
    new = compile(text.replace(mutant.old, mutant.new), str(path), "exec", dont_inherit=True)
    codes = dict(_functions(old, new))
    if all(before == after for before, after in codes.items()):
        raise NotApplied("this mutant changes no function")
    replaced = 0
    for value in gc.get_objects():
        if isinstance(value, FunctionType) and value.__code__ in codes:
            value.__code__ = codes[value.__code__]
            replaced += 1
    print(f"{replaced} functions of {mutant.file} replaced")


def _functions(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The outer functions in two versions of a module or class, in pairs."""
    if _outside(old) != _outside(new):
        raise NotApplied(f"this mutant changes {old.co_qualname} outside its functions")
    for before, after in zip(_inside(old), _inside(new), strict=True):
        if before.co_flags & 1:  # CO_OPTIMIZED: a function, whose own functions are in its code
            yield before, after
        else:
            yield from _functions(before, after)


def _inside(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _outside(code: CodeType) -> tuple[object, ...]:
    """What a module or class does itself; line numbers count as nothing."""
    constants = [None if isinstance(constant, CodeType) else constant for constant in code.co_consts]
    return code.co_code, code.co_names, repr(constants)
