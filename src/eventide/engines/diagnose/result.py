"""What `diagnose` returns: a table with one row per partition, and the same as text."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from eventide.engines.local.added_names import added_names
from eventide.engines.local.sources import is_local
from eventide.errors import UnsupportedError
from eventide.plan.diagnosis import shown

_SHOWN_EVENTS = 6
_SHOWN_CAUSES = 10


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis:
    """Per partition the longest partial match, and what failed behind it; partitions without a match come first.

    `table` has the partition columns, then `matched`, `length` (how many events the match or the longest partial match
    has), `missing` (how many more it needs at least), `events` (their times), `symbols`, and where there is no match
    `symbol`, `reason`, `predicate`, `values`, `event` (the time of the event that failed) and `hint`. `searched` is
    false where the search was stopped before it had seen all: then a longer partial match may exist. Where a partition
    column has one of these names, the other column is called `diagnosis_symbol`, `diagnosis_event` and so on. `summary`
    counts the partitions by symbol, reason and predicate, the most frequent first. `absent` says which event types no
    event has.

    >>> details = pa.table({"matched": [True], "events": [[1, 2]], "symbols": [["a", "b"]]})
    >>> Diagnosis(pa.table({"user": ["ann"]}), details)
    All 1 partitions have a match.
    <BLANKLINE>
    user = ann: a match
      found    a at 1, b at 2
    """

    partitions: pa.Table  # the partition columns
    details: pa.Table
    n_detailed: int = 0  # partitions without a match that were looked at in detail
    absent: tuple[str, ...] = ()  # what is said of event types that no event has

    @property
    def table(self) -> pa.Table:
        """One row per partition."""
        names = added_names(self.details.column_names, self.partitions.column_names, "diagnosis_")
        columns = zip(self.partitions.column_names, self.partitions.columns, strict=True)
        added = zip(names.values(), self.details.columns, strict=True)
        return pa.table(dict([*columns, *added]))

    @property
    def summary(self) -> pa.Table:
        """How many partitions stop at which symbol and why."""
        counts = self._causes()
        names = ("symbol", "reason", "predicate")
        columns = {name: pa.array([cause[i] for cause in counts], pa.string()) for i, name in enumerate(names)}
        return pa.table(columns | {"partitions": pa.array(list(counts.values()), pa.int64())})

    def text(self, partitions: int = 5, *, names: bool = True) -> str:
        """The summary, and a paragraph for each of the first partitions.

        With `names` it says which attribute has what is left out.
        """
        rows = self.details.slice(0, partitions).to_pylist()
        keys = self.partitions.slice(0, partitions).to_pylist() if self.partitions.num_columns else [{}] * len(rows)
        told = zip(keys, rows, strict=True)
        paragraphs = ["\n".join(self._head(names)), *("\n".join(_paragraph(key, row)) for key, row in told)]
        left = self.details.num_rows - len(rows)
        if left:
            where = " in .table" if names else ""
            paragraphs.append(f"... and {left:,} more partition{'s' if left > 1 else ''}{where}")
        return "\n\n".join(paragraphs)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text()

    def _causes(self) -> dict[tuple[str | None, ...], int]:
        if "reason" not in self.details.column_names:
            return {}
        names = ("matched", "symbol", "reason", "predicate")
        rows = zip(*(self.details.column(name).to_pylist() for name in names), strict=True)
        return dict(Counter(row[1:] for row in rows if not row[0] and row[2]).most_common())

    def _head(self, names: bool) -> list[str]:
        total = self.details.num_rows
        n_matched = sum(self.details.column("matched").to_pylist())
        n_unmatched = total - n_matched
        if not total:
            return ["There are no events."]
        if not self.partitions.num_columns:
            lines = ["There is a match." if n_matched else "There is no match."]
        elif not n_unmatched:
            lines = [f"All {total:,} partitions have a match."]
        else:
            lines = [f"{n_unmatched:,} of {total:,} partitions have no match."]
        causes = list(self._causes().items()) if self.partitions.num_columns else []
        if causes and self.n_detailed < n_unmatched:
            lines.append(f"Of the first {self.n_detailed:,} of them:")
        width = max((len(f"{count:,}") for _, count in causes), default=0)
        for (symbol, reason, predicate), count in causes[:_SHOWN_CAUSES]:
            lines.append(
                f"  {count:>{width},} stop{'s' if count == 1 else ''} at {symbol}: {_named(reason, predicate)}"
            )
        if len(causes) > _SHOWN_CAUSES:
            lines.append(f"  and {len(causes) - _SHOWN_CAUSES:,} more kinds{' in .summary' if names else ''}")
        return [*lines, *(f"  note: {text}" for text in self.absent)]


def _paragraph(key: dict[str, Any], row: dict[str, Any]) -> list[str]:
    """What is said of one partition."""
    name = ", ".join(f"{column} = {shown(value)}" for column, value in key.items())
    prefix = f"{name}: " if name else ""
    if row["matched"]:
        return [f"{prefix}a match", f"  found    {_bound(row) or 'an empty match'}"]
    missing = row["missing"]
    more = f"; at least {missing} more event{'s' if missing > 1 else ''} needed" if missing else ""
    lines = [f"{prefix}no match{more}", f"  found    {_bound(row) or 'nothing'}"]
    if row["reason"]:
        at = "" if row["event"] is None else f" at {shown(row['event'])}"
        lines.append(f"  failed   {row['symbol']}{at}: {_named(row['reason'], row['predicate'])}")
        if row["values"]:
            lines.append(f"           {row['values']}")
    else:
        lines.append(f"  failed   {row['symbol']}")
    if row["hint"]:
        lines.append(f"  hint     {row['hint']}")
    if not row["searched"]:
        lines.append("  note     the search was stopped: a longer partial match, or a match, may exist")
    return lines


_WORDS = {"condition": "{}", "no event": "no event with {}", "window": "outside {}", "length": "shorter than {}"}


def _named(reason: str | None, predicate: str | None) -> str:
    """What failed in a few words."""
    word = str(reason)
    return word if predicate is None else _WORDS.get(word, f"{word}, {{}}").format(predicate)


def _bound(row: dict[str, Any]) -> str:
    """The events in order; of many the first and the last."""
    texts = [f"{symbol} at {shown(time)}" for symbol, time in zip(row["symbols"], row["events"], strict=True)]
    if len(texts) > _SHOWN_EVENTS:
        hidden = len(texts) - _SHOWN_EVENTS + 1
        texts = [*texts[: _SHOWN_EVENTS - 2], f"... {hidden:,} more ...", texts[-1]]
    return ", ".join(texts)


def refuse_spark(*inputs: Any) -> None:
    """An error where events lie in a Spark DataFrame: nothing is collected without being asked for."""
    if not all(map(is_local, inputs)):
        raise UnsupportedError(
            "diagnose reads events in this process, and does not collect a Spark DataFrame by itself",
            hint="pass the part you wonder about: q.diagnose(df.where(\"user = 'ann'\").toArrow())",
        )
