"""Nested SEQ and OR of their own kind become flat; what repeats exactly once loses the repetition."""

from __future__ import annotations

from dataclasses import replace

from eventide.lang.tree import And, Not, Or, Pattern, Repeat, Seq, Step
from eventide.plan.logical import Logical, Match


def flatten_pattern(plan: Logical) -> Logical:
    """SEQ(SEQ(A, B), C) is SEQ(A, B, C), A{1} is A, SEQ(A) is A."""
    if not isinstance(plan, Match):
        return plan
    flat = _flatten(plan.pattern)
    return plan if flat == plan.pattern else replace(plan, pattern=flat)


def _flatten(pattern: Pattern) -> Pattern:
    match pattern:
        case Step():
            return pattern
        case Not():
            return replace(pattern, part=_flatten(pattern.part))
        case Repeat():
            part = _flatten(pattern.part)
            return part if (pattern.minimum, pattern.maximum) == (1, 1) else replace(pattern, part=part)
        case Seq() | Or():
            parts: list[Pattern] = []
            for part in map(_flatten, pattern.parts):
                merged = part.parts if isinstance(part, Seq | Or) and _merges(part, pattern) else (part,)
                parts.extend(merged)
            return parts[0] if len(parts) == 1 else replace(pattern, parts=tuple(parts))
        case And():
            # Not flattened: AND pairs the matches of its sides, and a pair of pairs is not a triple.
            return replace(pattern, parts=tuple(map(_flatten, pattern.parts)))


def _merges(part: Pattern, outer: Seq | Or) -> bool:
    """A leading or trailing NOT reaches to the window's edge; moved into the outer SEQ it would not."""
    if isinstance(part, Seq) and isinstance(outer, Seq):
        return not isinstance(part.parts[0], Not) and not isinstance(part.parts[-1], Not)
    return isinstance(part, Or) and isinstance(outer, Or)
