"""Which physical form runs a query over bounded input. The costs that decide are in `runtime/costs.py`.

One more form is one more constant here, one more function that may return a `Choice` of it, and one more branch in the
engine that runs it. What a form needs to know of the input is a method of `Input`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from eventide.families.registry import family_of
from eventide.plan.physical import Physical, Piece
from eventide.runtime.block import TS, numpy_int64, within
from eventide.runtime.costs import cost
from eventide.runtime.partitions import encode_partitions
from eventide.runtime.protocol import Spec
from eventide.runtime.slicing import NEEDS_EVENTS, LookBack, Part, Region, Slicing, Times

if TYPE_CHECKING:
    from eventide.plan.logical import Match

KEYS, SLICES, ONE_TASK = "keys", "slices", "one task"
AUTO, KERNELS, JOINS = PLANS = "auto", "kernels", "joins"

Shares: TypeAlias = tuple[tuple[Piece, ...], ...]
Ranges: TypeAlias = tuple[tuple[int, int], ...]  # first and last instants, both included


@dataclass(frozen=True, slots=True)
class Choice:
    """How the events are shared out, and why.

    "keys": by the values of the partition columns. "one task": not at all. "slices": by time. Tasks read `shares` as
    they lie in the files; without, events are exchanged by `ranges` or `parts`.
    """

    form: str
    reason: str
    then: str = ""  # what is done with what slices leave, where a combiner makes them smaller
    shares: Shares = ()
    shared: tuple[Ranges, ...] = ()  # for each share, the times in which other shares have events, too
    ranges: tuple[Part, ...] = ()  # the slices that are combined
    parts: tuple[Part, ...] = ()  # what is matched apart; with none, matching is by key
    exchanged: str = ""  # what stands for events where tasks exchange them by key

    def describe(self, keys: str) -> str:
        """For `explain`; `keys` are the columns by whose values events may be worked on apart."""
        if self.form == ONE_TASK:
            return f"one task reads the files, because {self.reason}"
        if self.form == SLICES:
            how = f"then {self.then}" if self.then else "each with a window of its neighbours' events"
            return f"slices of time in parallel tasks, {how}: {self.reason}"
        if self.exchanged:
            whither = f"hash of {keys} to buckets, one operator per bucket" if keys else "one task puts them together"
            return f"all tasks read events, blocks of {self.exchanged} exchanged once; {whither}: {self.reason}"
        if not keys:
            return f"one task, because all events belong together and {self.reason}"
        return f"hash of {keys} to buckets, blocks of events exchanged once, one operator per bucket: {self.reason}"


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """What runs an event pattern, and why: its operator ("kernels"), or joins of the SQL engine ("joins")."""

    plan: str
    reason: str


def choose_plan(word: str, mapped: Match | None, engine: str) -> PlanChoice:
    """The plan where `word` is asked for; `mapped` is the query where it has a form as joins.

    Where nothing is matched, the SQL engine alone is faster. Sequences are faster with kernels, so they have joins only
    where nothing else can run them. `plan/relational/explanation.py` has the costs of both.
    """
    from eventide.plan.relational.words import is_filter

    if word != AUTO:
        return PlanChoice(word, "asked for")
    is_free = engine == "spark" and mapped is not None and mapped.options.on_bad_event != "drop"
    if is_free and mapped is not None and is_filter(mapped):
        return PlanChoice(JOINS, "every event that fits is a row, and Spark finds these without a Python worker")
    return PlanChoice(KERNELS, "events have to be matched" if engine == "spark" else "the embedded operator is faster")


class Input:
    """What can be known of bounded input before all of it is read. An answer may cost a job, so it is asked late.

    These answers are for input of which nothing is known.
    """

    sampling_costs_a_job = True
    few_form = KEYS  # what is chosen for few events
    no_times = "there are no events"
    lie = ""  # why events are exchanged, as the beginning of a sentence

    def why_few(self) -> str | None:
        """Why the events are too few to be shared out by time."""
        raise NotImplementedError

    def times(self) -> Times | None:
        """When the events are; None where that is not known, or there are none."""
        raise NotImplementedError

    def sample(self) -> pa.Table:
        """A block of some of the events."""
        raise NotImplementedError

    def read(self, regions: Sequence[Region]) -> Iterable[pa.Table]:
        """The events of each region of time, as blocks."""
        raise NotImplementedError

    def count_slices(self, n_buckets: int) -> int:
        """How many slices the events are cut into."""
        return n_buckets

    def in_order(self, n_slices: int) -> tuple[Shares, tuple[Ranges, ...]] | None:
        """What tasks read if it lies in order of time, and for each share the times that others have events of."""
        return None

    def shares_of(self, parts: Sequence[Part]) -> Shares:
        """What tasks read for these parts; empty if they would read too much of it several times."""
        return ()

    def not_hot(self, is_in_order: bool) -> str:
        """Why the events go by key, where no key is hot and a combiner would stand for few of them."""
        return "no key is hot in a sample of the first events"


_forced: ContextVar[str | None] = ContextVar("forced", default=None)


@contextmanager
def forced(form: str) -> Iterator[None]:
    """Inside, this form is taken wherever it is possible at all, whatever it costs: for tests and benchmarks."""
    token = _forced.set(form)
    try:
        yield
    finally:
        _forced.reset(token)


def choose(physical: Physical, given: Input, n_buckets: int) -> Choice:
    """The form for these events."""
    asked = _forced.get()
    few = _why_few(given) if given.few_form == ONE_TASK else None
    if few is not None:
        return Choice(ONE_TASK, few)
    slicing = family_of(physical.spec).slicing(physical.spec)
    if isinstance(slicing, str):
        combining = family_of(physical.spec).combining(physical.spec)
        return Choice(KEYS, slicing, exchanged="" if combining is None else combining.what)
    few = "asked for" if asked == KEYS else _why_few(given)
    if few is not None:
        return Choice(KEYS, few)
    if not given.sampling_costs_a_job and given.times() is None:
        return Choice(KEYS, given.no_times)
    if physical.intake.layout.distribution and not slicing.combines and given.sampling_costs_a_job and asked is None:
        # Patterns most often have many keys.
        return Choice(KEYS, NEEDS_EVENTS)
    why = _why_by_time(physical, given, n_buckets)
    return (_combined if slicing.combines else _apart)(physical, slicing, given, n_buckets, why)


def _why_few(given: Input) -> str | None:
    """Why the events are not shared out; what is forced is not asked for its costs."""
    asked = _forced.get()
    if asked is None:
        return given.why_few()
    return "asked for" if asked == ONE_TASK else None


def _why_by_time(physical: Physical, given: Input, n_buckets: int) -> str | None:
    """Why keys do not share the events out well; None where they do."""
    if not physical.intake.layout.distribution:
        return "all events belong together"
    if _forced.get() == SLICES:
        return "asked for"
    return hot(top_share(given.sample(), physical.intake.layout.distribution), n_buckets)


def _apart(physical: Physical, slicing: Slicing, given: Input, n_buckets: int, why: str | None) -> Choice:
    """Parts of time that are matched by themselves, if keys share the events out badly."""
    if why is None:
        return Choice(KEYS, "no key is hot")
    times = given.times()
    if times is None:
        return Choice(KEYS, given.no_times)
    bounds = times.bounds(slicing.count(int(times.n_events), given.count_slices(n_buckets), times.length_us))
    if not bounds:
        return Choice(KEYS, f"{why}, and a window is long beside the time of all events")
    parts = tuple(slicing.parts(bounds, given.read))
    if len(parts) < 2:
        return Choice(KEYS, f"{why}, and where matching continues depends on all matches before")
    shares = given.shares_of(parts)
    return Choice(SLICES, _reason(why, given, bool(shares)), shares=shares, parts=parts)


def _combined(physical: Physical, slicing: Slicing, given: Input, n_buckets: int, why: str | None) -> Choice:
    """Slices that are made smaller, if keys share the events out badly, or files lie so that it costs nothing."""
    has_keys, is_hot = bool(physical.intake.layout.distribution), why is not None
    n_slices = given.count_slices(n_buckets)
    laid, frequent = given.in_order(n_slices), 0.0
    if slicing.has_parts if is_hot else laid is not None:
        frequent = slicing.combiner().frequent_share(given.sample())
    if laid is not None and not is_hot and frequent >= cost("least_frequent"):
        why = f"{frequent:.0%} of a sample's events lie where many have one key and pane"
    if why is None:
        return Choice(KEYS, given.not_hot(laid is not None))
    times = given.times()
    if times is None:
        return Choice(KEYS, given.no_times)
    parts: tuple[Part, ...] = ()
    if slicing.has_parts and is_hot:
        n_left = int((1.0 - frequent) * times.n_events)
        bounds = times.bounds(slicing.count(n_left, n_slices, times.length_us))
        parts = tuple(slicing.parts(bounds, given.read)) if bounds else ()
    reason, then = _reason(why, given, laid is not None), slicing.then(len(parts), has_keys)
    if laid is not None:
        return Choice(SLICES, reason, then, *laid, parts=parts)
    return Choice(SLICES, reason, then, ranges=tuple(LookBack(0).parts(times.bounds(n_slices))), parts=parts)


def _reason(why: str, given: Input, is_read_directly: bool) -> str:
    if is_read_directly:
        return f"{why}; the row groups are in order of time, so that no event is exchanged"
    return f"{why}; {given.lie}events are exchanged by time"


def hot(top: float, n_buckets: int) -> str | None:
    """What `explain` says of a key with the share `top` of a sample, if it keeps a core busy when others are done."""
    # There are two buckets a core.
    return f"one key has {top:.0%} of a sample's events" if top > min(2 / n_buckets, 0.5) else None


def top_share(table: pa.Table, columns: Sequence[str]) -> float:
    """The share of the most frequent key."""
    codes, n_codes = encode_partitions(table, columns)
    return float(np.bincount(codes, minlength=1).max() / codes.size) if n_codes else 0.0


def parts_for_threads(spec: Spec, block: pa.Table, n_threads: int) -> Sequence[Part]:
    """Parts of the events of one partition in this process; none if threads would not help."""
    if spec.layout.partition or n_threads < 2 or block.num_rows < max(cost("few_events"), 1):
        return ()
    slicing = family_of(spec).slicing(spec)
    if isinstance(slicing, str) or not slicing.on_threads:
        return ()
    times = Times.of(numpy_int64(block.column(TS)))
    bounds = times.bounds(slicing.count(block.num_rows, n_threads, times.length_us))
    return slicing.parts(bounds, lambda regions: (within(block, *region) for region in regions))
