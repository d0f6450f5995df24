"""Rules as they are written: a folder with a file for each, or one file with all of them.

Spark reads them in a worker beside the driver that may not have this package: the reader travels by value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# query, options as JSON text or None, `unreadable`: why it could not be read, and `failed`: what went wrong in a run
Written = dict[str, Any]
Rules = dict[str, Written]  # by name


def make_reader() -> Callable[[str, Rules], Rules]:
    """A function that needs no other of this package: what lies at a path now, and what was there before, to rules.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rise.query").write_text("PATTERN SEQ(A a, B b)")
    >>> _ = (folder / ".half.query").write_text("PATT")
    >>> make_reader()(str(folder), {})
    {'rise': {'query': 'PATTERN SEQ(A a, B b)', 'options': None}}
    """

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
            if ending not in (".query", ".sql") or file_name.startswith((".", "_")):
                continue
            if name in found:
                found[name] = {"query": "", "options": None, "unreadable": f"there are {name}.query and {name}.sql"}
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
