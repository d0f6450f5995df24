"""`diagnose`, for every family that has steps: beginnings of the pattern are run as queries of their own.

First the query itself is run, for all partitions at once. Of partitions without a match the highest rank of a
beginning that has a match is found by bisection: rank by rank the ordinary engine runs over those that may reach it.
Behind that longest partial match the family says what failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.engines.database import connect
from eventide.engines.diagnose.result import Diagnosis
from eventide.engines.intake import microseconds, take_in
from eventide.engines.local import run as local
from eventide.engines.local.absent_types import absent_types
from eventide.engines.local.sources import Source, open_source, reason
from eventide.engines.together import TYPE_COLUMN
from eventide.errors import InputError
from eventide.families.registry import family_named
from eventide.plan.diagnosis import Beginnings, Evidence, Failure
from eventide.plan.physical import Physical
from eventide.runtime.block import numpy_int64
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.quoting import quoted


def diagnose(family: str, tree: Any, options: Any, source: Source, partitions: int) -> Diagnosis:
    """The diagnosis of a query; at most `partitions` partitions without a match are looked at in detail."""
    asked = family_named(family).beginnings(tree, options, source.schema)
    # Where each type is an input of its own, its name was checked.
    absent = absent_types(asked.types, source) if asked.types and options.type != TYPE_COLUMN else ()
    return _Investigation(asked, _read(asked, source)).diagnosis(partitions, source, tuple(absent))


def _read(asked: Beginnings, source: Source) -> pa.Table:
    """The events, as they come."""
    names = source.schema.names if asked.columns is None else asked.columns
    try:
        table = source.connection.sql(f"SELECT {', '.join(map(quoted, names))} FROM {source.sql}").to_arrow_table()
        source.check_unchanged()
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise InputError(f"the events cannot be read: {reason(error)}") from error
    table = pa.table(dict(zip(names, table.columns, strict=True)))
    intake = asked.physical.intake
    if intake.drop_bad_events and intake.ts_column in names:
        table = table.filter(pc.is_valid(table.column(intake.ts_column)))
    return table


class _Investigation(Evidence):
    def __init__(self, asked: Beginnings, table: pa.Table) -> None:
        super().__init__(asked, table)
        self._stopped: set[int] = set()

    def diagnosis(self, partitions: int, source: Source, absent: tuple[str, ...]) -> Diagnosis:
        if self.witnesses:
            self._reach(None, list(self.witnesses))
            self._find_longest()
        for code in self._stopped:
            self.witnesses[code].stopped = True
        places = self.arranged.order if self._asked.by_arrival else np.arange(self.table.num_rows)
        codes = sorted(self._furthest(), key=lambda code: (self.witnesses[code].matched, places[self.first[code]]))
        unmatched = [code for code in codes if not self.witnesses[code].matched]
        needed = {code: self._asked.needed(self.witnesses[code], self) for code in unmatched}
        failures = {code: Failure(symbol, "") for code, (symbol, _) in needed.items()}
        failures |= self._asked.failures(unmatched[:partitions], self)
        missing = [needed[code][1] if code in needed else 0 for code in codes]
        return self._result(codes, missing, failures, source, absent)

    # --- what a family may ask

    def run(self, physical: Physical, table: pa.Table) -> pa.Table:
        return local.run(physical, open_source(table))[0]

    def block(self, physical: Physical, table: pa.Table) -> pa.Table:
        items = ", ".join(f"{column.duckdb} AS {column.name}" for column in physical.select)
        return take_in(self.select(f"SELECT {items} FROM events", table), physical.intake)[0]

    def select(self, text: str, table: pa.Table) -> pa.Table:
        connection = connect()
        try:
            connection.register("events", table)
            return connection.sql(text).to_arrow_table()
        finally:
            connection.close()

    def in_us(self, times: pa.ChunkedArray) -> IntArray:
        return numpy_int64(microseconds(times, self._asked.physical.intake))

    # --- how far it goes

    def _find_longest(self) -> None:
        """Bisection: rank `low` is reached, `high` is not; those that may be left out are tried one by one."""
        certain, n_ranks = self._asked.certain, self._asked.n_ranks
        waiting = [(0, len(certain), [code for code, witness in self.witnesses.items() if not witness.matched])]
        while waiting:
            low, high, codes = waiting.pop()
            if high - low <= 1:
                for rank in reversed(range(certain[low] + 1, certain[high] if high < len(certain) else n_ranks)):
                    reached = self._reach(rank, codes)
                    codes = [code for code in codes if code not in reached]
                continue
            middle = (low + high) // 2
            reached = self._reach(certain[middle], codes)
            waiting.append((middle, high, [code for code in codes if code in reached]))
            waiting.append((low, middle, [code for code in codes if code not in reached]))

    def _reach(self, rank: int | None, codes: Sequence[int]) -> set[int]:
        """The parts that have a match of a beginning, which becomes their witness."""
        found = self._asked.find(rank, codes, self) if codes else {}
        self._stopped |= {code for code, witness in found.items() if witness.stopped and not witness.matched}
        found = {code: witness for code, witness in found.items() if witness.rows or not witness.stopped}
        self.witnesses |= found
        return set(found)

    def _furthest(self) -> list[int]:
        """Of every partition the part with a match, or else with the longest partial match; the first of several."""
        best: dict[int, int] = {}
        for code in self.witnesses:
            partition = int(self.arranged.partitions[code])
            if partition not in best or self._rank(code) > self._rank(best[partition]):
                best[partition] = code
        return list(best.values())

    def _rank(self, code: int) -> int:
        return self._asked.n_ranks if self.witnesses[code].matched else self.witnesses[code].rank

    # --- the result

    def _result(
        self,
        codes: list[int],
        missing: list[int],
        failures: dict[int, Failure],
        source: Source,
        absent: tuple[str, ...],
    ) -> Diagnosis:
        witnesses = [self.witnesses[code] for code in codes]
        at = pa.array([self.first[code] for code in codes], pa.int64())
        partitions: dict[str, pa.Array] = {}
        for name in self._asked.partition:
            values, given = self.table.column(name).take(at), source.given_type(name)
            partitions[name] = values if given is None else values.cast(given)
        bound = pa.array([witness.rows for witness in witnesses], pa.list_(pa.int64()))
        made = [failures.get(code) for code in codes]
        details = {
            "matched": pa.array([witness.matched for witness in witnesses], pa.bool_()),
            "length": pc.list_value_length(bound).cast(pa.int64()),
            "missing": pa.array(missing, pa.int64()),
            "events": pa.ListArray.from_arrays(bound.offsets, self.all_times.take(bound.values)),
            "symbols": pa.array([witness.symbols for witness in witnesses], pa.list_(pa.string())),
        }
        for name in ("symbol", "reason", "predicate", "values", "hint"):
            details[name] = pa.array([(f and getattr(f, name)) or None for f in made], pa.string())
        details["event"] = pa.array([None if f is None else f.event for f in made], self.all_times.type)
        order = ["matched", "length", "missing", "events", "symbols", "symbol", "reason", "predicate", "values"]
        table = pa.table(details).select([*order, "event", "hint"])
        searched = pa.array([code not in self._stopped for code in codes], pa.bool_())
        n_detailed = sum(f is not None and bool(f.reason) for f in made)
        return Diagnosis(pa.table(partitions), table.append_column("searched", searched), n_detailed, absent)
