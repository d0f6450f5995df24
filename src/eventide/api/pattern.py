"""`ev.Pattern`: event patterns step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from eventide.errors import EventideError, QueryError
from eventide.families.builder.syntax import EventPattern, Link, Step, walk_steps
from eventide.families.builder.write import write_pattern
from eventide.families.registry import family_named
from eventide.lang.durations import parse_length
from eventide.plan.arguments import one_of
from eventide.plan.options import Options

if TYPE_CHECKING:
    from eventide.engines.diagnose.result import Diagnosis

_BETWEEN = ("match", "events")
_LENGTHS = "for example within('15 minutes'), within('1.5 hours')"


@dataclass(frozen=True, slots=True)
class Pattern:
    """Steps that take events, one after the other. Every method returns a new pattern.

    A condition is a Spark SQL expression over the event's columns. `a.price` in it reads the last event that step a has
    taken so far; `avg(a.price)` and `count(a.*)` read all of them. Modifiers apply to the step before them.

    >>> import eventide as ev
    >>> fails = ev.Pattern.begin("fail", "not ok").times_or_more(3).consecutive()
    >>> print(fails.next("login", "ok").within("5 minutes"))
    begin('fail', 'not ok').times_or_more(3).consecutive().next('login', 'ok').within('5 minutes')
    """

    tree: EventPattern

    @staticmethod
    def begin(step: str | Pattern, condition: str | None = None) -> Pattern:
        """A pattern of one step: a name with a condition, or a pattern in place of a name, as a group."""
        return Pattern(EventPattern((_made(Link.BEGIN, step, condition, ()),)))

    def next(self, step: str | Pattern, condition: str | None = None) -> Pattern:
        """A step whose event directly follows."""
        return self._add(Link.NEXT, step, condition)

    def followed_by(self, step: str | Pattern, condition: str | None = None) -> Pattern:
        """A step whose event is the first that satisfies it; events in between are passed over."""
        return self._add(Link.FOLLOWED_BY, step, condition)

    def followed_by_any(self, step: str | Pattern, condition: str | None = None) -> Pattern:
        """A step for any later event that satisfies it: each of them is a match of its own."""
        return self._add(Link.FOLLOWED_BY_ANY, step, condition)

    def not_next(self, name: str, condition: str | None = None) -> Pattern:
        """The event that directly follows does not satisfy the condition."""
        return self._add(Link.NOT_NEXT, name, condition)

    def not_followed_by(self, name: str, condition: str | None = None) -> Pattern:
        """No event satisfies the condition before the next step or, as the last step, in the time of `within`."""
        return self._add(Link.NOT_FOLLOWED_BY, name, condition)

    # --- modifiers ------------------------------------------------------------------------------------------

    def times(self, least: int, most: int | None = None) -> Pattern:
        """The step takes `least` events, or any number from `least` to `most`; 0 makes the step optional."""
        most = least if most is None else most
        if not (_is_count(least) and _is_count(most) and 0 <= least <= most and most > 0):
            _refuse(f"times({least}, {most}) is not a range of counts", "write times(3), or times(2, 4)")
        optional = self._last.optional or least == 0
        return self._quantified("times", minimum=max(least, 1), maximum=most, optional=optional)

    def times_or_more(self, least: int) -> Pattern:
        """The step takes at least `least` events."""
        if not _is_count(least) or least < 1:
            _refuse(f"times_or_more({least}) is not a count", "write times_or_more(2)")
        return self._quantified("times_or_more", minimum=least, maximum=None)

    def one_or_more(self) -> Pattern:
        """The step takes at least one event."""
        return self._quantified("one_or_more", minimum=1, maximum=None)

    def optional(self) -> Pattern:
        """The step may be left out."""
        self._check_takes("optional")
        if len(self.tree.steps) > 1 and self.tree.steps[-2].greedy:
            hint = "leave out greedy before an optional step"
            _refuse(f"optional: {self._last.shown} comes after the greedy step {self.tree.steps[-2].shown}", hint)
        return self._with(optional=True)

    def greedy(self) -> Pattern:
        """The repeated step takes all the events that it can before the next step begins."""
        self._check_repeats("greedy")
        if self._last.group:
            _refuse(f"greedy: {self._last.shown} is a group", "make a step of the group greedy")
        if self._last.inner is Link.FOLLOWED_BY_ANY:
            _refuse("greedy and allow_combinations contradict each other", "leave out one of them")
        return self._with(greedy=True)

    def consecutive(self) -> Pattern:
        """The events of the repeated step directly follow one another."""
        return self._inner("consecutive", Link.NEXT)

    def allow_combinations(self) -> Pattern:
        """The repeated step may leave out events that it could take: every choice is a match of its own."""
        if self._last.greedy:
            _refuse("greedy and allow_combinations contradict each other", "leave out one of them")
        return self._inner("allow_combinations", Link.FOLLOWED_BY_ANY)

    def until(self, condition: str) -> Pattern:
        """The first event that satisfies the condition ends the repeated step, and is not taken."""
        self._check_repeats("until")
        if not self._last.is_loop:
            hint = "use it with one_or_more or times_or_more"
            _refuse(f"until: {self._last.shown} takes at most {self._last.maximum} events anyway", hint)
        if self._last.until is not None:
            _refuse(f"until is given twice for {self._last.shown}", "join the conditions by OR")
        return self._with(until=_text(condition, "until"))

    def within(self, length: str | timedelta, *, between: str = "match") -> Pattern:
        """Bounds the time of a whole match; with between="events", the time from each event to the next one.

        The time is exclusive: "5 minutes" is less than five minutes.
        """
        one_of("between", between, _BETWEEN)
        known = self.tree.window_us if between == "match" else self.tree.gap_us
        if known is not None:
            _refuse("within is given twice", "keep the shorter time")
        if between == "match":
            return Pattern(replace(self.tree, window_us=_microseconds(length)))
        return Pattern(replace(self.tree, gap_us=_microseconds(length)))

    # --- what it is -----------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return write_pattern(self.tree)

    def __repr__(self) -> str:
        return f"Pattern.{self}"

    def explain(self) -> str:
        """What the pattern alone tells: its calls, and what a partial match may do with an event in each of its states.

        Warnings of too many matches come with the limits that bound them.

        >>> print(Pattern.begin("a", "x = 1").one_or_more().next("b", "x = 2").explain())
        Query
          begin('a', 'x = 1').one_or_more().next('b', 'x = 2')
        Logical plan
          needs the events' columns: pass the events to explain
        Program
          0  take a if a: go to 1
          1  take a if a: go to 1
             ignore if not a: go to 2
             take b if b: accept
          2  take a if a: go to 1
             ignore if not a: go to 2
        >>> loop = Pattern.begin("a").one_or_more().allow_combinations()
        >>> print(loop.within("1 hour").explain().splitlines()[-3])
          warning     'a' repeats in any combination: n events have up to 2^n matches; within(...) bounds n
        """
        from eventide.plan.explain import outlined

        return outlined(family_named("builder"), checked(self).tree, Options())

    def diagnose(
        self,
        events: Any,
        *,
        partition_by: str | Sequence[str] = (),
        ts: str | None = None,
        sequence: str | None = None,
        ts_unit: str | None = None,
        state_ttl: Any = None,
        partitions: int = 1000,
    ) -> Diagnosis:
        """Why there is no match: for each partition the longest partial match, and what failed after it.

        A partial match is a match of the first steps. Its last step has as few events as it must take, or those that
        the failed condition was tried with. The longest partial match has the most steps; of several, the one that
        begins first is taken. A step that repeats counts for each event that it must take, also inside groups. At most
        `partitions` partitions without a match are examined.

        >>> rise = Pattern.begin("a").next("b", "x > a.x").next("c", "x > b.x + 1")
        >>> print(rise.diagnose([{"ts": ts, "x": x} for ts, x in enumerate([1, 2, 3])], ts_unit="s"))
        There is no match.
        <BLANKLINE>
        no match; at least 1 more event needed
          found    a at 0, b at 1
          failed   c at 2: x > b.x + 1
                   x = 3, b.x = 2
        """
        from eventide.api.detect import detect

        query = detect(self, partition_by=partition_by, ts=ts, sequence=sequence, ts_unit=ts_unit, state_ttl=state_ttl)
        found: Diagnosis = query.diagnose(events, partitions=partitions)
        return found

    @property
    def _last(self) -> Step:
        return self.tree.steps[-1]

    def _add(self, link: Link, step: str | Pattern, condition: str | None) -> Pattern:
        if link.is_negative and self._last.optional:
            hint = "detect two patterns, one with the step and one without"
            _refuse(f"{link.value}: the step before, {self._last.shown}, is optional", hint)
        if link is Link.NOT_NEXT and self._last.link is Link.NOT_FOLLOWED_BY:
            hint = "put not_next before not_followed_by"
            _refuse(
                f"not_next: the step before, {self._last.shown}, takes no event that anything could be next to", hint
            )
        made = _made(link, step, condition, self.tree.steps)
        if link.is_negative and made.group:
            _refuse(f"{link.value} takes a name and a condition, not a group", "give each of its steps a pattern")
        return Pattern(replace(self.tree, steps=(*self.tree.steps, made)))

    def _with(self, **changes: object) -> Pattern:
        change: Callable[..., Step] = replace
        return Pattern(replace(self.tree, steps=(*self.tree.steps[:-1], change(self._last, **changes))))

    def _quantified(self, method: str, **changes: object) -> Pattern:
        self._check_takes(method)
        if self._last.is_quantified:
            _refuse(f"{method}: {self._last.shown} has a count already", "leave out one of them")
        return self._with(is_quantified=True, **changes)

    def _inner(self, method: str, link: Link) -> Pattern:
        self._check_repeats(method)
        if self._last.inner is not None and self._last.inner is not link:
            _refuse("consecutive and allow_combinations contradict each other", "leave out one of them")
        return self._with(inner=link)

    def _check_takes(self, method: str) -> None:
        if self._last.link.is_negative:
            hint = f"{method} belongs behind a step that takes events"
            _refuse(f"{method}: {self._last.shown} must not occur, so it takes no event", hint)

    def _check_repeats(self, method: str) -> None:
        self._check_takes(method)
        if not self._last.is_quantified:
            hint = "add one_or_more, times or times_or_more before it"
            _refuse(f"{method}: {self._last.shown} takes one event only", hint)


def checked(pattern: Pattern, state_ttl: int | None = None) -> Pattern:
    """The pattern, if it can end as it does, in the time that `state_ttl` gives a match besides `within`."""
    if pattern._last.link is Link.NOT_FOLLOWED_BY and not pattern.tree.is_bounded and state_ttl is None:
        hint = "add within('15 minutes'), or a step behind it; state_ttl= says it, too"
        _refuse(f"nothing says how long {pattern._last.shown} must not occur", hint)
    return pattern


def _made(link: Link, step: str | Pattern, condition: str | None, before: tuple[Step, ...]) -> Step:
    if isinstance(step, Pattern):
        if condition is not None:
            _refuse(f"{link.value}: a group has no condition of its own", "give its steps conditions")
        if step.tree.is_bounded:
            _refuse(f"{link.value}: within belongs to the whole pattern, not to a group", "move it to the end")
        if step.tree.steps[-1].link is Link.NOT_FOLLOWED_BY:
            _refuse(f"{link.value}: a group cannot end in not_followed_by", "put it behind the group")
        made = Step(link, group=step.tree.steps)
    else:
        if not isinstance(step, str) or not step:
            _refuse(f"{link.value} takes the name of a step, found {step!r}", f"{link.value}('a', 'price > 10')")
        made = Step(link, step, None if condition is None else _text(condition, link.value))
    names = {known.name.lower() for known in walk_steps(before)}
    for own in walk_steps((made,)):
        if own.name.lower() in names:
            _refuse(f"two steps are called '{own.name}'", "give each step a name of its own")
        names.add(own.name.lower())
    return made


def _text(condition: object, method: str) -> str:
    if not isinstance(condition, str) or not condition.strip():
        _refuse(f"{method} takes a condition as text, found {condition!r}", "for example 'price > 10'")
    return condition


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _microseconds(length: object) -> int:
    amount = 0
    if isinstance(length, timedelta):
        amount = length // timedelta(microseconds=1)
    elif isinstance(length, str):
        try:
            parsed = parse_length(length)
        except QueryError as error:
            # Queries may count events; a builder pattern bounds time only.
            hint = _LENGTHS if error.hint and "EVENTS" in error.hint else error.hint
            raise QueryError(f"within: {error.message}", error.text, error.start, error.end, hint=hint) from None
        if parsed.in_events:
            _refuse(f"within({length!r}) counts events, but a pattern is bounded by a time", _LENGTHS)
        amount = parsed.amount
    if amount <= 0:
        _refuse(f"within({length!r}) is not a duration", _LENGTHS)
    return amount


def _refuse(message: str, hint: str) -> NoReturn:
    raise EventideError(message, hint=hint)
