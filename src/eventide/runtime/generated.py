"""Generated modules: source text in, an imported module out, compiled at most once per machine.

The text is never read from a file, so nobody else can have written it. What Numba makes of it is kept by the name of
the module, which follows from the text.
"""

from __future__ import annotations

import hashlib
import linecache
import re
import sys
import textwrap
import threading
from functools import cache
from types import ModuleType

_REGION = re.compile(r"^( *)# <generated: (\w+)>\n(.*?)^ *# </generated>$", re.MULTILINE | re.DOTALL)
_LOCK = threading.RLock()


def load_module(source: str) -> ModuleType:
    """The module with this source; the same object for the same source.

    >>> load_module("def double(x):\\n    return 2 * x\\n").double(21)
    42
    """
    with _LOCK:
        return _load(source)


@cache
def _load(source: str) -> ModuleType:
    name = f"ev_{hashlib.sha256(source.encode()).hexdigest()[:32]}"
    file = f"<generated {name}>"
    module = ModuleType(name)
    code = compile(source, file, "exec", dont_inherit=True)
    # Numba finds a function's module by its name, and messages show the line that they are about.
    sys.modules[name] = module
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    exec(code, module.__dict__)
    return module


def load_specialized(kernel: ModuleType, replacements: dict[str, str]) -> ModuleType:
    """A kernel's module with the bodies of its generated regions replaced."""
    return load_module(specialize(kernel.__loader__.get_source(kernel.__name__), replacements))  # type: ignore[union-attr]


def specialize(kernel_source: str, replacements: dict[str, str]) -> str:
    """A kernel's source with the bodies of its generated regions replaced; they take a region's indentation.

    >>> text = "x = 1\\n# <generated: holds>\\nold = 1\\n# </generated>\\ny = 2\\n"
    >>> print(specialize(text, {"holds": "new = 1"}))
    x = 1
    # <generated: holds>
    new = 1
    # </generated>
    y = 2
    """
    unused = set(replacements) - {match[2] for match in _REGION.finditer(kernel_source)}
    if unused:
        raise ValueError(f"the kernel has no region named {', '.join(sorted(unused))}")

    def replace(match: re.Match[str]) -> str:
        if match[2] not in replacements:
            return match[0]
        text = f"# <generated: {match[2]}>\n{replacements[match[2]].rstrip()}\n# </generated>"
        return textwrap.indent(text, match[1])

    return _REGION.sub(replace, kernel_source)
