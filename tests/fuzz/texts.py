"""Altered query texts of every language, run over a few events: a table, or an error in our own words.

The events have a column for every name in the text before it was altered, so many texts still run.
"""

from __future__ import annotations

import re
from functools import cache
from random import Random
from typing import Any
from zlib import crc32

import pyarrow as pa

import eventide as ev
from tests.fuzz.mutations import change_letters, change_text
from tests.lang.corpus import VALID as QUERIES
from tests.lang.rows.corpus import VALID as CLAUSES
from tests.lang.test_fuzz_parse import PIECES

N_EVENTS = 8
RUNNING = [
    "PATTERN SEQ(A a, B b, C c) WHERE c.x > a.x AND [k] SEMANTICS any WITHIN 20 seconds RETURN k, c.x + 1 AS y",
    "PATTERN SEQ(A a, NOT B b, C c+) WHERE c.x = NEXT(c).x SEMANTICS next WITHIN 9 seconds RETURN a.x, c.x",
    "PATTERN SEQ(A a+, C c) SEMANTICS any WITHIN 20 seconds SLIDE 10 seconds RETURN COUNT(*) AS n, SUM(a.x), MAX(c.y)",
    "PATTERN AND(A a, OR(B b, C c)) WHERE a.s LIKE 'q%' WITHIN 5 seconds RETURN a.s, upper(c.s) AS s",
    "DEFINE A AS x % 3 = 1 FOR AT LEAST 1 second, B AS y > 0.5 PATTERN A overlaps|during|before B WITHIN 40 seconds "
    "RETURN start(A) AS a, end(B) AS b, count(A.*) AS n, max(B.x) AS top",
]
ROWS = [
    "PARTITION BY k ORDER BY ts, x MEASURES MATCH_NUMBER() AS m, A.ts AS t, count(B.*) AS n, max(B.x) AS top "
    "PATTERN (A B+ C?) WITHIN INTERVAL '30' SECOND DEFINE A AS kind = 'A', B AS B.x > PREV(x), C AS C.y < FIRST(B.y)",
    "ORDER BY ts MEASURES CLASSIFIER() AS c, RUNNING LAST(x) AS l ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW "
    "PATTERN (PERMUTE(A, B) | C*?) DEFINE A AS s = 'q1', B AS x BETWEEN 1 AND 3",
]
CONDITIONS = [
    "x >= 0 AND kind <> 'B'",
    "y * 2 < 3 OR s IS NULL",
    "coalesce(x, 0) % 2 = 1",
    "s LIKE 'q%' AND x IN (1, 2)",
]
# Without either of them the result has no column.
_CLAUSES = [text for text, _ in CLAUSES if "MEASURES" in text.upper() or "PARTITION BY" in text.upper()]
RELATIONS = ["before", "overlaps|during", "meets", "equals|starts"]


def check(random: Random) -> str:
    """One altered text, from its parser to its rows."""
    return random.choice([_query, _query, _query, _clause, _statement, _builder, _intervals, _allen])(random)


def _query(random: Random) -> str:
    text = random.choice([*RUNNING, *RUNNING, *(query for query, _ in QUERIES)])
    given = ev.query(change_text(text, PIECES, random), ts="ts", ts_unit="s", type="kind")
    return _outcome("query", given.run(_events(text)))


def _clause(random: Random) -> str:
    text = random.choice([*4 * ROWS, *(text for text in _CLAUSES if "MATCH_RECOGNIZE" not in text.upper())])
    changed = change_text(text, PIECES, random)
    return _outcome("clause", ev.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({changed})", t=_events(text), ts_unit="s"))


def _statement(random: Random) -> str:
    statements = [text for text in _CLAUSES if "MATCH_RECOGNIZE" in text.upper()]
    around = f"SELECT m, n * 2 AS twice FROM t MATCH_RECOGNIZE ({ROWS[0]}) AS r WHERE n > 0 ORDER BY m"
    text = random.choice([*10 * [around], *statements])
    names = set(re.findall(r"(?i)\b(?:FROM|JOIN)\s+(\w+)", text))
    tables = {name: _events(text) for name in sorted(names - {"spark"})}
    return _outcome("statement", ev.sql(change_text(text, PIECES, random), **tables, ts_unit="s"))


def _builder(random: Random) -> str:
    texts = [*random.sample(CONDITIONS, 2), "count(b.*) + a.x"]
    place = random.randrange(3)
    texts[place] = change_text(texts[place], PIECES, random)
    first, second, value = texts
    pattern = ev.Pattern.begin("a", first).followed_by("b", second).one_or_more().within("20 seconds")
    found = ev.detect(_events(""), pattern, ts="ts", ts_unit="s", partition_by="k", select={"n": value})
    return _outcome("builder", found.matches)


def _intervals(random: Random) -> str:
    texts = [random.choice(["coalesce(x, 0) >= coalesce(prev(x), 0)", *CONDITIONS[1:]]), "max(x) - count(kind)"]
    place = random.randrange(2)
    texts[place] = change_text(texts[place], PIECES, random)
    condition, value = texts
    given: dict[str, Any] = {"ts": "ts", "ts_unit": "s", "value": {"v": value}}
    return _outcome("intervals", ev.intervals.homogeneous(_events(""), condition, within="8 seconds", **given))


def _allen(random: Random) -> str:
    relations = [change_letters(random.choice(RELATIONS), [*RELATIONS, "after", " ", "|"], random), "during"]
    return _outcome("allen", ev.allen(_spans(), _spans(), relations, within="30 seconds", ts_unit="s"))


def _outcome(language: str, table: Any) -> str:
    assert isinstance(table, pa.Table), type(table)
    table.validate(full=True)
    return f"{language}: {'rows' if table.num_rows else 'no rows'}"


@cache
def _spans() -> pa.Table:
    starts = list(range(0, 3 * N_EVENTS, 3))
    ends = [start + 1 + start % 5 for start in starts]
    return pa.table({"interval_start": starts, "interval_end": ends, "x": starts})


@cache
def _events(text: str) -> pa.Table:
    """A few events with all columns that the text may name; its capitals are their types."""
    words = list(dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text)))
    kinds = [word for word in words if len(word) == 1 and word.isupper()] or ["A", "B", "C"]
    columns: dict[str, list[Any]] = {
        "ts": list(range(N_EVENTS)),
        "kind": [(kinds * N_EVENTS)[i] for i in range(N_EVENTS)],
        "k": [i % 2 for i in range(N_EVENTS)],
        "x": [i % 4 if i % 5 else None for i in range(N_EVENTS)],
        "y": [i / 3 for i in range(N_EVENTS)],
        "s": [f"q{i % 3}" if i else None for i in range(N_EVENTS)],
    }
    taken = {name.lower() for name in columns}
    for word in words:
        if word.lower() not in taken and len(columns) < 30:
            taken.add(word.lower())
            columns[word] = _values(word)
    return pa.table(columns)


def _values(word: str) -> list[Any]:
    """Numbers, doubles or texts, by the name."""
    kind = crc32(word.encode()) % 3
    make = (lambda i: i % 4, lambda i: i / 2, lambda i: f"q{i % 3}")[kind]
    return [make(i) for i in range(N_EVENTS)]
