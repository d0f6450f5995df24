"""Doctests in docstrings become code blocks of the API reference: Markdown would take `>>>` for quotations."""

from __future__ import annotations

import re
from typing import Any

import griffe

_DOCTEST = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)  # up to the next blank line


class DoctestBlocks(griffe.Extension):
    """Rewrites the docstring of every object before it is shown."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = _DOCTEST.sub(_block, obj.docstring.value)


def _block(found: re.Match[str]) -> str:
    return f"```pycon\n{found[0].replace('<BLANKLINE>', '')}\n```"
