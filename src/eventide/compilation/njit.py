"""Numba's `njit` with a cache of our own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core import event, typeinfer

from eventide.compilation.cache import CodeCache
from eventide.compilation.notice import Notice

event.register("numba:compile", Notice())


def njit(
    signature: Any = None, *, cache: bool = False, borrows: bool = False, **options: Any
) -> Callable[[Callable[..., Any]], Any]:
    """As `numba.njit`: with a signature the function is compiled at once, and for no other.

    A function that `borrows` makes no arrays and returns none. Its caller keeps the arrays alive, so it counts no
    references to them, which would cost more than a step of a search each time that arrays are passed on in tuples.
    Functions that a function calls inherit the switch unless they say otherwise, so it is always set.

    >>> @njit(cache=True, nogil=True)
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """

    def decorate(function: Callable[..., Any]) -> Any:
        compiled: Any = numba.njit(**options, _nrt=not borrows)(function)
        if compiled is function:  # NUMBA_DISABLE_JIT
            return compiled
        if cache:
            compiled._cache = CodeCache(function)
        if signature is not None:
            with typeinfer.register_dispatcher(compiled):
                compiled.compile(signature)
                compiled.disable_compile()
        return compiled

    return decorate
