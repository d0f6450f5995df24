"""Two queries, or one under other circumstances: what changed from the one that saved a state to the one that reads it.

In come the canonical texts and the facts of `plan.facts`; out comes a line per clause, call, option or column.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping

from eventide.errors import InputError

COLUMN = "column "
OPTION = "option "
PLACES = "the order of the columns"  # follows from other changes where there are any

_COMMENT = re.compile(r"-- (\S+) ?(.*)")
_SIDES = re.compile(r" (?=(?:LEFT|RIGHT) \(|PARTITION BY |WITHIN )")
_BUILDER = re.compile(r"begin\(")
_ROWS = re.compile(r"(?:ONE ROW|ALL ROWS) PER MATCH")


def check_same(what: str, old: str, new: str, old_facts: Mapping[str, str], new_facts: Mapping[str, str]) -> None:
    """Refuse what an old query left for a new one, with what changed."""
    changed = changes(old, new, old_facts, new_facts)
    if changed:
        raise InputError(
            "\n  ".join([f"{what} belongs to another query:", *changed]),
            hint="go back to the query that the checkpoint belongs to, or start this one with a new checkpoint",
        )


def changes(old: str, new: str, old_facts: Mapping[str, str], new_facts: Mapping[str, str]) -> list[str]:
    """One line for each difference, the old state of it first.

    >>> old, new = "PATTERN A\\nWITHIN 10 seconds", "PATTERN A\\nWITHIN 20 seconds"
    >>> changes(old, new, {"column x": "int"}, {"column x": "double"})
    ['WITHIN 10 seconds became WITHIN 20 seconds', 'column x: int became double']
    """
    found = [*_texts(old, new), *_facts(old_facts, new_facts)]
    if not found:
        # Other columns and other places follow from other clauses and options: they are news where these stayed.
        found += _columns(old_facts, new_facts)
    if not found and old_facts.get(PLACES) != new_facts.get(PLACES):
        found.append(f"{PLACES}: {old_facts.get(PLACES)} became {new_facts.get(PLACES)}")
    return found


def _facts(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    for name in dict.fromkeys([*old, *new]):
        if name == PLACES or old.get(name) == new.get(name):
            continue
        if name in old and name in new:
            yield f"{name}: {old[name]} became {new[name]}"
        elif name.startswith(OPTION):
            yield _came_or_went(name, old, new)


def _columns(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    differing = [name for name in dict.fromkeys([*old, *new]) if (name in old) != (name in new)]
    return [_came_or_went(name, old, new) for name in differing if name.startswith(COLUMN)]


def _came_or_went(name: str, old: Mapping[str, str], new: Mapping[str, str]) -> str:
    return f"{name} ({old[name]}) was removed" if name in old else f"{name} ({new[name]}) was added"


def _texts(old: str, new: str) -> Iterator[str]:
    before, after = _clauses(old), _clauses(new)
    for name in dict.fromkeys([*before, *after]):
        one, other = before.get(name), after.get(name)
        if one == other:
            continue
        if one is None or other is None:
            yield f"{one or other} was {'added' if one is None else 'removed'}"
        elif _BUILDER.match(one) and _BUILDER.match(other):
            yield from _calls_changed(_calls(one), _calls(other))
        else:
            yield f"{one} became {other}"


def _clauses(text: str) -> dict[str, str]:
    """The clauses by their first word; a line that is set in goes on with the one before it."""
    if text.startswith("ALLEN "):
        text = _SIDES.sub("\n", text)
    clauses: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        comment = _COMMENT.fullmatch(line)
        if comment is not None:
            clauses[line.split()[1]] = f"{comment[1]} {comment[2]}".strip()
            continue
        if not line.startswith(" ") or not name:
            name = "ROWS" if _ROWS.match(line) else re.split(r"[\s(]", line.strip(), maxsplit=1)[0]
        clauses[name] = f"{clauses[name]} {line.strip()}" if name in clauses else line.strip()
    return clauses


def _calls(text: str) -> list[str]:
    """The calls of a builder pattern, cut at the dots that stand outside of brackets and quotes."""
    calls, depth, quote, start = [], 0, "", 0
    escaped = False
    for i, char in enumerate(text):
        if quote:
            quote = "" if char == quote and not escaped else quote
            escaped = char == "\\" and not escaped
        elif char in "'\"":
            quote = char
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "." and depth == 0:
            calls.append(text[start:i])
            start = i + 1
    return [*calls, text[start:]]


def _calls_changed(old: list[str], new: list[str]) -> Iterator[str]:
    for tag, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        one, other = ".".join(old[i:j]), ".".join(new[k:m])
        if tag == "replace":
            yield f"{one} became {other}"
        elif tag != "equal":
            yield f"{one or other} was {'added' if tag == 'insert' else 'removed'}"
