"""Boolean situation streams, one report a second; seed 001, Section 6.1 (synthetic data), 6.3 and 6.4.

Each column is true for whole situations of random length with random gaps between them, apart from all other
columns and keys. Lengths, gaps and how often a column's situations occur may differ by column and change by phase.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.errors import InputError
from eventide.generate.columns import BLOCK_EVENTS, Blocks, Floats, Ints, cuts, second_us, streams, timestamps
from eventide.generate.parameters import Checked, check_whole, whole

_DRAWN_CYCLES = 8192  # at a time, of all keys together
_MAX_S = 1_000_000_000

Bounds = tuple[int, int]


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


@dataclass(frozen=True)
class Parameters(Checked):
    """`columns` booleans named a, b, c, ...; `keys` above 0 add a column `key` and make that many reports a second.

    `durations` and `gaps` are bounds in seconds, inclusive, uniform between them: one pair for all columns, or a pair
    for each. `rates` are how often the columns' situations occur, relative to each other: one list of numbers, or one
    for each phase of `phase_s` seconds, the last of which goes on. The column with the largest number has the gaps as
    given; in the others a cycle of situation and gap is longer by the ratio.

    The seed's adaption experiment: `columns=3, rates=[[1, 1, 1], [1, 50, 50], [50, 1, 50]], phase_s=100_000_000`.
    """

    columns: int = whole(4, 1, len(ascii_lowercase))
    keys: int = whole(0, 0, 2**31 - 1)
    durations: Sequence[int] | Sequence[Bounds] = (10, 100)
    gaps: Sequence[int] | Sequence[Bounds] = (10, 50)
    rates: Sequence[float] | Sequence[Sequence[float]] = ()
    phase_s: int = whole(100_000, 1, _MAX_S)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("durations", "gaps"):
            for bounds in self._bounds(name):
                for bound in bounds:
                    check_whole(name, bound, minimum=1, maximum=_MAX_S)
                if bounds[0] > bounds[1]:
                    raise InputError(f"'{name}' must be from the smaller to the larger, found {list(bounds)}")
        self.cycle_ratios()

    @property
    def schema(self) -> pa.Schema:
        """The columns of these parameters."""
        key = [("key", pa.int32())] if self.keys else []
        booleans = [(name, pa.bool_()) for name in ascii_lowercase[: self.columns]]
        return pa.schema([("ts", pa.timestamp("us")), *key, *booleans])

    def bounds(self, column: int) -> tuple[Bounds, Bounds]:
        """The least and greatest duration, and the least and greatest gap."""
        return self._bounds("durations")[column], self._bounds("gaps")[column]

    def cycle_ratios(self) -> Floats:
        """By phase and column: how many times longer a cycle is than as drawn."""
        if not _is_list(self.rates):
            raise InputError(f"'rates' must be a list of numbers, or one for each phase, found {self.rates!r}")
        phases = (
            self.rates if len(self.rates) and all(map(_is_list, self.rates)) else [self.rates or [1] * self.columns]
        )
        for phase in phases:
            if len(phase) != self.columns:  # type: ignore[arg-type]
                raise InputError(f"'rates' has {len(phase)} numbers for {self.columns} columns")  # type: ignore[arg-type]
            for rate in phase:  # type: ignore[union-attr]
                if isinstance(rate, bool) or not isinstance(rate, numbers.Real) or not 1e-6 <= float(rate) <= 1e6:
                    raise InputError(f"'rates' must be numbers from 0.000001 to 1000000, found {rate!r}")
        rates = np.array(phases, dtype=np.float64)
        ratios: Floats = rates.max(axis=1, keepdims=True) / rates
        return ratios

    def _bounds(self, name: str) -> list[Bounds]:
        given = getattr(self, name)
        pairs = given if _is_list(given) and len(given) and all(map(_is_list, given)) else [given] * self.columns
        if not all(_is_list(pair) and len(pair) == 2 for pair in pairs):
            raise InputError(f"'{name}' must be two numbers, or two for each column, found {given!r}")
        if len(pairs) != self.columns:
            raise InputError(f"'{name}' has {len(pairs)} pairs for {self.columns} columns")
        return [(pair[0], pair[1]) for pair in pairs]


SCHEMA = Parameters().schema


def blocks(parameters: Parameters, events: int, seed: int, block_events: int = BLOCK_EVENTS) -> Blocks:
    """The reports in time order, those of one second in the order of their keys, `block_events` at a time.

    >>> block = next(blocks(Parameters(columns=2, durations=(2, 2), gaps=(1, 1)), events=6, seed=1))
    >>> block["a"].to_pylist()
    [False, True, True, False, True, True]
    """
    n_keys = max(parameters.keys, 1)
    random = streams(seed, parameters.columns)
    columns = [_Column(parameters, i, n_keys, random[i]) for i in range(parameters.columns)]
    begin_us = parameters.start_us
    for first, n in cuts(events, block_events):
        from_s, to_s = first // n_keys, (first + n - 1) // n_keys + 1
        cut = slice(first - from_s * n_keys, first - from_s * n_keys + n)
        made = [timestamps(begin_us + second_us(first, n, n_keys))]
        if parameters.keys:
            made.append(pa.array((np.arange(first, first + n) % n_keys).astype(np.int32)))
        made += [pa.array(column.values(from_s, to_s).reshape(-1)[cut]) for column in columns]
        yield pa.record_batch(made, schema=parameters.schema)


class _Column:
    """One column of all keys; cycle i of all keys is drawn together, so that blocks change nothing."""

    def __init__(self, parameters: Parameters, column: int, n_keys: int, random: np.random.Generator) -> None:
        self._durations, self._gaps = parameters.bounds(column)
        self._ratios = parameters.cycle_ratios()[:, column]
        self._phase_s = parameters.phase_s
        self._random = random
        self._n_cycles = max(_DRAWN_CYCLES // n_keys, 1)
        # Alternately the first second of a situation and the first after it, by key; always an even number of rows.
        self._edges_s = np.empty((0, n_keys), dtype=np.int64)
        # The first situation of a key follows a gap that begins with the stream.
        self._reached_s = np.zeros(n_keys, dtype=np.int64)

    def values(self, from_s: int, to_s: int) -> npt.NDArray[np.bool_]:
        """Whether the situation goes on, by second and key; `from_s` never goes back."""
        while self._reached_s.min() < to_s:
            self._draw()
        past = int((self._edges_s < from_s).all(axis=1).sum()) // 2 * 2
        self._edges_s = self._edges_s[past:]
        before = (self._edges_s < from_s).sum(axis=0)
        flips = np.zeros((to_s - from_s, self._edges_s.shape[1]), dtype=np.int64)
        row, key = np.nonzero((self._edges_s >= from_s) & (self._edges_s < to_s))
        flips[self._edges_s[row, key] - from_s, key] = 1
        goes_on: npt.NDArray[np.bool_] = (before + np.cumsum(flips, axis=0)) % 2 == 1
        return goes_on

    def _draw(self) -> None:
        draws = self._random.random((self._n_cycles, 2, self._reached_s.size))
        gap_s = _whole(draws[:, 0], self._gaps)
        duration_s = _whole(draws[:, 1], self._durations)
        ratio = np.broadcast_to(self._ratio_at(self._reached_s), gap_s.shape)
        while True:
            cycle_s = np.maximum(np.rint((gap_s + duration_s) * ratio).astype(np.int64), gap_s + duration_s)
            end_s = self._reached_s + np.cumsum(cycle_s, axis=0)
            # A cycle has the ratio of the phase it begins in: each round is right for one more cycle at least.
            corrected = self._ratio_at(end_s - cycle_s)
            if np.array_equal(ratio, corrected):
                break
            ratio = corrected
        edges_s = np.stack([end_s - duration_s, end_s], axis=1).reshape(2 * self._n_cycles, -1)
        self._edges_s = np.concatenate([self._edges_s, edges_s])
        self._reached_s = end_s[-1]

    def _ratio_at(self, second: Ints) -> Floats:
        return self._ratios[np.minimum(second // self._phase_s, len(self._ratios) - 1)]


def _whole(draws: Floats, bounds: Bounds) -> Ints:
    """Whole numbers from the least to the greatest, both included."""
    least, greatest = bounds
    return least + (draws * (greatest - least + 1)).astype(np.int64)
