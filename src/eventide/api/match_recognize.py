"""What users call for row patterns: `ev.match_recognize(...)`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from eventide.api.query import Query
from eventide.errors import EventideError
from eventide.lang.rows import parse_clause
from eventide.lang.rows.names import write_column
from eventide.plan.arguments import check_dict, names_of, wrong_argument
from eventide.plan.options import Options


def match_recognize(
    *,
    pattern: str,
    define: Mapping[str, str] | None = None,
    measures: Mapping[str, str] | None = None,
    partition_by: str | Sequence[str] = (),
    order_by: str | Sequence[str] = (),
    rows: str = "one",
    after_match: str | None = None,
    subset: Mapping[str, Sequence[str]] | None = None,
    within: str | None = None,
    ts_unit: str | None = None,
    state_ttl: Any = None,
    allowed_lateness: Any = None,
    match_id: bool = False,
    on_bad_event: str = "error",
    max_steps_per_partition: int | str | None = None,
) -> Query:
    """One MATCH_RECOGNIZE as a function from rows to rows, for `df.transform(...)` or any input of the embedded engine.

    `rows` is "one", "all", or the text of the clause: "ALL ROWS PER MATCH WITH UNMATCHED ROWS". A gap of `state_ttl`
    between two rows ends a partition and begins it anew, and no match is longer: that bounds what a stream keeps.
    `allowed_lateness` is how much later than others a row of a stream may come. With `match_id` every row has the id
    of its match in a last column: a stable hash of the clause, the partition and the rows of the match. If the clause
    measures time, a row without a time is an error; `on_bad_event="drop"` drops and counts such rows.
    A search of more steps in one partition than `max_steps_per_partition` is an error. By default that holds if a
    condition of DEFINE looks at other rows of the match: 200 million, or a million for each row of the partition if
    that is more; "unlimited" lifts the limit.

    >>> import eventide as ev
    >>> falls = ev.match_recognize(order_by="ts", pattern="A B{2,}", define={"B": "price < PREV(price)"},
    ...                            measures={"start": "A.price", "n": "count(B.*)"})
    >>> falls([{"ts": i, "price": price} for i, price in enumerate([10, 8, 6, 7])]).to_pylist()
    [{'start': 10, 'n': 2}]
    """
    text = _clause(
        pattern,
        {} if define is None else define,
        {} if measures is None else measures,
        partition_by,
        order_by,
        rows,
        after_match,
        {} if subset is None else subset,
        within,
    )
    options = Options.of(
        ts_unit=ts_unit,
        state_ttl=state_ttl,
        allowed_lateness=allowed_lateness,
        match_id=match_id,
        on_bad_event=on_bad_event,
        max_steps_per_partition=max_steps_per_partition,
    )
    return Query("rows", text, parse_clause(text), options)


_DIRECTION = re.compile(r"\s+(?:(?:ASC|DESC)(?:\s+NULLS\s+(?:FIRST|LAST))?|NULLS\s+(?:FIRST|LAST))$", re.IGNORECASE)
_ROWS = {"one": "ONE ROW PER MATCH", "all": "ALL ROWS PER MATCH"}
_USAGE = {
    "pattern": 'pattern="A B+"',
    "rows": 'rows="one" or rows="all"',
    "after_match": 'after_match="skip to next row"',
    "within": 'within="5 minutes"',
    "partition_by": 'partition_by=["user"]',
    "order_by": 'order_by=["ts"]',
    "subset": 'subset={"U": ["A", "B"]}',
}


def _clause(
    pattern: str,
    define: Mapping[str, str],
    measures: Mapping[str, str],
    partition_by: str | Sequence[str],
    order_by: str | Sequence[str],
    rows: str,
    after_match: str | None,
    subset: Mapping[str, Sequence[str]],
    within: str | None,
) -> str:
    """The arguments as the text of a clause, a line each: messages about them show the line."""
    check_dict("measures", measures, 'measures={"n": "count(*)"}')
    check_dict("define", define, 'define={"B": "price < PREV(price)"}')
    if not isinstance(subset, Mapping):
        raise wrong_argument("subset", "a dict from names to lists of labels", subset, 'subset={"U": ["A", "B"]}')
    texts = {"pattern": pattern, "rows": rows, "after_match": after_match, "within": within}
    for name, value in texts.items():
        if not isinstance(value, str) and not (value is None and name in ("after_match", "within")):
            raise wrong_argument(name, "text", value, _USAGE[name])
    if not re.match(r"(one|all)(\s|$)", rows.strip(), re.IGNORECASE):
        hint = f"write {_USAGE['rows']}, or what the clause says: rows='ALL ROWS PER MATCH WITH UNMATCHED ROWS'"
        raise EventideError(f"rows={rows!r} is not possible", hint=hint)
    lines = [
        _listed("PARTITION BY", _keys("partition_by", partition_by)),
        _listed("ORDER BY", _keys("order_by", order_by)),
        _listed("MEASURES", [f"{value} AS {write_column(name)}" for name, value in measures.items()]),
        _ROWS.get(rows.lower(), rows),
        f"AFTER MATCH {after_match}" if after_match else "",
        f"PATTERN ({pattern})" + (f" WITHIN {within}" if within else ""),
        _listed(
            "SUBSET",
            [
                f"{name} = ({', '.join(names_of('subset', labels, _USAGE['subset']))})"
                for name, labels in subset.items()
            ],
        ),
        _listed("DEFINE", [f"{name} AS {condition}" for name, condition in define.items()]),
    ]
    return "\n".join(line for line in lines if line)


def _keys(argument: str, given: str | Sequence[str]) -> list[str]:
    """Columns as SQL, in backticks where they need them; those in quotes are SQL already.

    A text may hold several, with commas between them.
    """
    keys = names_of(argument, given, _USAGE[argument])
    if isinstance(given, str) and not re.search(r"[`\"]", given):
        keys = given.split(",")
    return [_key(key.strip(), has_direction=argument == "order_by") for key in keys]


def _key(text: str, *, has_direction: bool) -> str:
    found = _DIRECTION.search(text) if has_direction else None
    name = text[: found.start()] if found else text
    written = name if name[:1] in ("`", '"') else write_column(name)
    return written + (found[0] if found else "")


def _listed(keyword: str, items: Sequence[str]) -> str:
    return f"{keyword} {', '.join(items)}" if items else ""
