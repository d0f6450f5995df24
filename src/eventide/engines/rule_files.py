"""Rules as they are written: a folder with a file for each, or one file with all of them.

Spark reads them in a worker beside the driver that may not have this package: the reader travels by value.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from eventide.errors import InputError

# query, options as JSON text or None, `unreadable`: why it could not be read, and `failed`: what went wrong in a run
Written = dict[str, Any]
Rules = dict[str, Written]  # by name
ENDINGS = (".evq", ".query", ".sql")  # of the files that are rules


def make_reader() -> Callable[[str, Rules], Rules]:
    """A function that needs no other of this package: what lies at a path now, and what was there before, to rules.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rise.query").write_text("PATTERN SEQ(A a, B b)")
    >>> _ = (folder / ".half.query").write_text("PATT")
    >>> make_reader()(str(folder), {})
    {'rise': {'query': 'PATTERN SEQ(A a, B b)', 'options': None}}
    """

    endings = ENDINGS

    def read_rules(path: str, before: Rules) -> Rules:
        import json
        import os

        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return dict(sorted(json.load(file).items()))
        try:
            files = sorted(os.listdir(path))
        except OSError:
            # A folder that is not there for a moment must not end every rule.
            return before
        found: Rules = {}
        for file_name in files:
            name, ending = os.path.splitext(file_name)
            if ending not in endings or file_name.startswith((".", "_")):
                continue
            same = [name + other for other in endings if name + other in files]
            if len(same) > 1:
                found[name] = {"query": "", "options": None, "unreadable": f"there are {' and '.join(same)}"}
                continue
            try:
                with open(os.path.join(path, file_name), encoding="utf-8") as file:
                    query = file.read()
                options = None
                if f"{name}.json" in files:
                    with open(os.path.join(path, f"{name}.json"), encoding="utf-8") as file:
                        options = file.read()
            except FileNotFoundError:
                continue  # removed since it was listed
            except (OSError, UnicodeDecodeError) as error:
                found[name] = {"query": "", "options": None, "unreadable": f"{type(error).__name__}: {error}"}
                continue
            if query.strip():
                found[name] = {"query": query, "options": options}
            elif name in before:
                found[name] = before[name]  # being written anew
        return dict(sorted(found.items()))

    return read_rules


def check_endings(path: str) -> None:
    """An error where a folder holds files and none of them could be a rule; it may be empty at first.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rise.txt").write_text("PATTERN SEQ(A a, B b)")
    >>> check_endings(str(folder))
    Traceback (most recent call last):
    ...
    eventide.errors.InputError: no file in '...' is a rule, for example rise.txt is not
    Hint: a rule is a file that ends in .evq, .query or .sql
    """
    try:
        names = sorted(name for name in os.listdir(path) if not name.startswith((".", "_")))
    except OSError as error:
        raise InputError(f"the folder '{path}' cannot be read: {error.strerror}") from None
    if names and not any(os.path.splitext(name)[1] in ENDINGS for name in names):
        hint = f"a rule is a file that ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise InputError(f"no file in '{path}' is a rule, for example {names[0]} is not", hint=hint)


def make_differ() -> Callable[[Rules, Rules], dict[str, Written | None]]:
    """A function of the same kind: what has changed between two sets of rules, None for a rule that is gone.

    >>> make_differ()({"a": {"query": "x"}, "b": {"query": "y"}}, {"b": {"query": "y"}, "c": {"query": "z"}})
    {'a': None, 'c': {'query': 'z'}}
    """

    def changes(before: Rules, after: Rules) -> dict[str, Written | None]:
        names = sorted(before.keys() | after.keys())
        return {name: after.get(name) for name in names if before.get(name) != after.get(name)}

    return changes


def make_marker() -> Callable[[Rules, Rules, list[Written]], Rules]:
    """A function of the same kind: rules, what they were before, and failures in buckets, to rules that say `failed`.

    A rule stays so until it is written anew; of several failures that of the first bucket is told.

    >>> failure = {"bucket": 3, "rule": "a", "query": "x", "options": None, "problem": "too large"}
    >>> make_marker()({"a": {"query": "x", "options": None}}, {}, [failure])
    {'a': {'query': 'x', 'options': None, 'failed': 'too large'}}
    """

    def mark_failed(rules: Rules, before: Rules, failures: list[Written]) -> Rules:
        def is_same(one: Written, other: Written) -> bool:
            return (one["query"], one["options"]) == (other["query"], other["options"])

        marked: Rules = {}
        for name, written in rules.items():
            problems = [before[name]["failed"]] if name in before and "failed" in before[name] else []
            if problems and not is_same(before[name], written):
                problems = []
            mine = [failure for failure in failures if failure["rule"] == name and is_same(failure, written)]
            problems += [failure["problem"] for failure in sorted(mine, key=lambda failure: failure["bucket"])]
            plain = {key: value for key, value in written.items() if key != "failed"}
            marked[name] = plain | ({"failed": problems[0]} if problems else {})
        return marked

    return mark_failed
