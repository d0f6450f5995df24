"""What a query sets in motion: source files that run code, typings of its expressions, tokenizations of its text.

One small query of each family is planned and run in this process, and one line is printed for each: how many files ran
code; how often the same expression at the same place in the text was typed, at most, and how many nodes were typed; how
often the same text was split into tokens, at most; how many parts of it sqlglot was given, and the same part at most.

    python tools/touched.py            all families
    python tools/touched.py SEQ -v     one, with its files
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
from sqlglot.tokens import Tokenizer

import eventide as ev
from eventide.expressions import typecheck
from eventide.lang import tokens

EVENTS = pa.table(
    {
        "ts": pa.array([0, 1, 2, 3], pa.int64()),
        "kind": ["A", "B", "A", "B"],
        "x": pa.array([5, 7, 9, 11], pa.int64()),
        "s": ["p", "q", "r", "s"],
    }
)
SEQ = "PATTERN SEQ(A a, B b) WHERE a.x < b.x AND a.x > 3 WITHIN 5 seconds RETURN a.x + 1 AS y, b.s"
TREND = "PATTERN SEQ(A a+, B b) WHERE a.x < NEXT(a).x AND a.x > 3 WITHIN 5 seconds RETURN COUNT(*), SUM(a.x)"
LOOP = "PATTERN SEQ(A a+, B b) WHERE a.x < NEXT(a).x AND a.x > 3 WITHIN 5 seconds RETURN a.x, b.x + 1 AS y"
SITUATION = "DEFINE Low AS x < 10, Odd AS x = 7 PATTERN Odd during Low RETURN avg(Low.x) + 1 AS mean"
ROWS = """
    SELECT v FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES last(B.x) + 1 AS v PATTERN (A B)
    DEFINE A AS kind = 'A', B AS x > A.x) WHERE v > 3
"""


def _builder() -> object:
    pattern = ev.Pattern.begin("a", "kind = 'A'").next("b", "x > a.x")
    return ev.detect(EVENTS, pattern, ts="ts", ts_unit="s", select={"y": "b.x + 1"}).matches


QUERIES: dict[str, Callable[[], object]] = {
    "SEQ": lambda: ev.query(SEQ, ts_unit="s", type="kind").run(EVENTS),
    "pattern": lambda: ev.query(LOOP, ts_unit="s", type="kind").run(EVENTS),
    "trends": lambda: ev.query(TREND, ts_unit="s", type="kind").run(EVENTS),
    "situations": lambda: ev.query(SITUATION, ts_unit="s").run(EVENTS),
    "MATCH_RECOGNIZE": lambda: ev.sql(ROWS, t=EVENTS),
    "builder": _builder,
    "intervals": lambda: ev.intervals.homogeneous(EVENTS, "x > 4 AND x > prev(x)", ts="ts", ts_unit="s"),
}


@dataclass(slots=True)
class Touched:
    """What was counted: files by their paths, typings by place and kind of node, tokenized texts."""

    files: set[str] = field(default_factory=set)
    typed: Counter[tuple[str, int, int, str]] = field(default_factory=Counter)
    tokenized: Counter[str] = field(default_factory=Counter)
    by_sqlglot: Counter[str] = field(default_factory=Counter)

    def of_text(self, text: str) -> int:
        """How often a text was split into tokens as a whole."""
        return self.tokenized[text]


@contextmanager
def counted() -> Iterator[Touched]:
    """Count typings and tokenizations of what runs inside the block.

    >>> with counted() as touched:
    ...     _ = ev.query(SEQ, ts_unit="s", type="kind").run(EVENTS)
    >>> touched.of_text(SEQ), max(touched.typed.values())
    (1, 1)
    """
    found = Touched()
    split, type_node, split_by_sqlglot = tokens.tokenize, typecheck._Binder._bind, Tokenizer.tokenize

    def tokenize(text: str, *args: Any, **options: Any) -> list[tokens.Token]:
        found.tokenized[text] += 1
        return split(text, *args, **options)

    def typed(self: Any, node: Any) -> Any:
        span = self.source.span_of(node)
        found.typed[self.source.text, span.start, span.end, type(node).__name__] += 1
        return type_node(self, node)

    def by_sqlglot(self: Any, sql: str) -> Any:
        found.by_sqlglot[sql] += 1
        return split_by_sqlglot(self, sql)

    users = [module for module in list(sys.modules.values()) if getattr(module, "tokenize", None) is split]
    for module in users:
        module.tokenize = tokenize  # type: ignore[attr-defined]
    typecheck._Binder._bind, Tokenizer.tokenize = typed, by_sqlglot  # type: ignore[method-assign]
    try:
        yield found
    finally:
        for module in users:
            module.tokenize = split  # type: ignore[attr-defined]
        typecheck._Binder._bind, Tokenizer.tokenize = type_node, split_by_sqlglot  # type: ignore[method-assign]


def measure(run: Callable[[], object]) -> Touched:
    """What one call sets in motion; an earlier call has loaded the modules."""
    run()
    with counted() as found:
        run()
    root = str(Path(ev.__file__).parent)

    def trace(frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if path.startswith(root) and frame.f_code.co_name != "<module>":
            found.files.add(path.removeprefix(root).strip("/\\"))

    threading.settrace(trace)
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
    return found


def main(arguments: list[str]) -> None:
    """Print a line for each family that is named, or for all."""
    chosen = [name for name in arguments if name in QUERIES] or list(QUERIES)
    print(f"{'query':<16} {'files':>5} {'typed':>6} {'nodes':>6} {'tokenized':>9} {'by sqlglot':>10} {'same part':>9}")
    for name in chosen:
        found = measure(QUERIES[name])
        texts, parts = found.tokenized, found.by_sqlglot
        print(
            f"{name:<16} {len(found.files):>5} {max(found.typed.values()):>6} {found.typed.total():>6}"
            f" {max(texts.values()):>9} {parts.total():>10} {max(parts.values()):>9}"
        )
        if "-v" in arguments:
            for path in sorted(found.files):
                print(f"    {path}")
            for key, n in sorted(found.typed.items()):
                print(f"    typed {n}: {key[3]} {key[0][key[1] : key[2]]}")
            for what, each in (("tokenized", texts), ("by sqlglot", parts)):
                for text, n in each.items():
                    print(f"    {what} {n}: {' '.join(text.split())[:80]}")


if __name__ == "__main__":
    main(sys.argv[1:])
