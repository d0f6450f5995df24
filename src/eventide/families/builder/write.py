"""A builder pattern as the calls that make it."""

from __future__ import annotations

from eventide.families.builder.syntax import EventPattern, Link, Step
from eventide.lang.durations import write_length
from eventide.lang.tree import Length


def write_pattern(pattern: EventPattern) -> str:
    """The calls, without the class.

    >>> steps = (Step(Link.BEGIN, "a", "x > 0", maximum=None, is_quantified=True), Step(Link.NEXT, "b"))
    >>> write_pattern(EventPattern(steps, window_us=60_000_000))
    "begin('a', 'x > 0').one_or_more().next('b').within('1 minute')"
    """
    parts = [_step(step) for step in pattern.steps]
    if pattern.window_us is not None:
        parts.append(f"within('{write_length(Length(pattern.window_us))}')")
    if pattern.gap_us is not None:
        parts.append(f"within('{write_length(Length(pattern.gap_us))}', between='events')")
    return ".".join(parts)


def _step(step: Step) -> str:
    inside = ".".join(_step(inner) for inner in step.group) or repr(step.name)
    condition = "" if step.condition is None else f", {step.condition!r}"
    text = f"{step.link.value}({inside}{condition})"
    if step.is_quantified:
        text += _count(step)
    text += ".optional()" if step.optional else ""
    if step.inner is not None:
        text += ".consecutive()" if step.inner is Link.NEXT else ".allow_combinations()"
    text += ".greedy()" if step.greedy else ""
    return text + ("" if step.until is None else f".until({step.until!r})")


def _count(step: Step) -> str:
    if step.maximum is None:
        return ".one_or_more()" if step.minimum == 1 else f".times_or_more({step.minimum})"
    most = "" if step.minimum == step.maximum else f", {step.maximum}"
    return f".times({step.minimum}{most})"
