"""Mutants of `diagnose`: how far a partial match comes, and what is said to have failed behind it."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

BUILDER = ("tests/engines/diagnosis/test_builder.py::test_the_first_demand_that_no_event_meets_failed",)
VALUES = ("tests/engines/diagnosis/test_builder.py::test_values_of_earlier_steps_are_shown",)
REASONS = ("tests/engines/diagnosis/test_reasons.py",)
LONGEST = ("tests/engines/diagnosis/test_longest.py",)
SHOWN = ("tests/engines/diagnosis/test_builder.py::test_values_are_those_of_the_events_that_are_shown",)
FIRST = ("tests/engines/diagnosis/test_builder.py::test_the_first_match_of_a_partition_is_found",)

DIAGNOSIS = (
    Mutant(
        "diagnose: a group is cut in its first iteration only",
        "_iterations",
        "for k in range(step.minimum):",
        "for k in range(1):",
        BUILDER,
    ),
    Mutant(
        "diagnose: a later iteration follows as the group does",
        "_iterations",
        "step.inner_link if k else step.link",
        "step.link",
        BUILDER,
    ),
    Mutant(
        "diagnose: what a repeated step lacks follows as its first event",
        "_more",
        "replace(step, link=step.inner_link, minimum=step.minimum - n, optional=False)",
        "replace(step, minimum=step.minimum - n, optional=False)",
        BUILDER,
    ),
    Mutant(
        "diagnose: a step that may be left out is certain",
        "_cuts",
        "cut.certain and not step.optional",
        "cut.certain",
        BUILDER,
    ),
    Mutant(
        "diagnose: the first of several beginnings is taken for the longest",
        "_PatternDiagnosis._find_longest",
        "for number in reversed(range(certain[low] + 1, end)):",
        "for number in range(certain[low] + 1, end):",
        BUILDER,
    ),
    Mutant(
        "diagnose: a beginning that is reached is the end of the search",
        "_PatternDiagnosis._find_longest",
        "waiting.append((middle, high, [code for code in codes if code in found]))",
        "pass",
        BUILDER,
    ),
    Mutant(
        "diagnose: a trailing NOT names no event",
        "_PatternDiagnosis._present",
        'yield code, Failure(step.name, "absence", text, values, self._at(found[code]))',
        'yield code, Failure(step.name, "absence", text, values)',
        BUILDER,
    ),
    Mutant(
        "diagnose: the time is not asked for",
        "_PatternDiagnosis._narrowed",
        "in_time = [code for code in left if self._is_in_time(_rows(last[code]))]",
        "in_time = left",
        BUILDER,
    ),
    Mutant(
        "diagnose: how the event follows is not asked for",
        "_PatternDiagnosis._narrowed",
        "Step(step.link if before else Link.BEGIN, name, step.condition)",
        "Step(link, name, step.condition)",
        BUILDER,
    ),
    Mutant(
        "diagnose: what is shown has the event that failed in it",
        "_PatternDiagnosis._show",
        "witness.rows, witness.steps = rows[:-n_failed], names[:-n_failed]",
        "witness.rows, witness.steps = rows, names",
        SHOWN,
    ),
    Mutant(
        "diagnose: what is shown may be out of time",
        "_PatternDiagnosis._try",
        "found |= untimed | self._run(EventPattern(timed), astray, values)",
        "found |= untimed",
        SHOWN,
    ),
    Mutant(
        "diagnose: events out of time come before those in time",
        "_PatternDiagnosis._try",
        "late = [code for code in codes if code not in found]",
        "late = list(codes)",
        SHOWN,
    ),
    Mutant(
        "diagnose: the event that stopped a NOT is shown as found",
        "_PatternDiagnosis._present",
        "self._show(code, found[code], steps)",
        "",
        SHOWN,
    ),
    Mutant(
        "diagnose: an aggregate goes over the events of all symbols",
        "Investigator._aggregates",
        "partial.of(aggregate.symbol)",
        "list(partial.rows)",
        REASONS,
    ),
    Mutant(
        "builder: a later match ends the search for the one that begins first",
        "_keep_first",
        "if runs[2, i] >= first:\n    break",
        "if first < NEVER:\n    break",
        FIRST,
    ),
    Mutant(
        "builder: partial matches are alike whatever their conditions look back at",
        "_alike",
        "alike[i] &= not any(literal >> 1 in related for term in terms for literal in term)",
        "pass",
        FIRST,
    ),
    Mutant(
        "builder: partial matches are alike although their time ends",
        "_alike",
        "np.full(len(states), not spec.is_timed, dtype=np.int32)",
        "np.ones(len(states), dtype=np.int32)",
        FIRST,
    ),
    Mutant(
        "diagnose: values are those of the condition before",
        "_PatternDiagnosis._narrowed",
        "asked[k].reads if k < len(asked) else ()",
        "asked[max(0, k - 1)].reads if k < len(asked) else ()",
        VALUES,
    ),
    Mutant(
        "diagnose: the rank of a branch of OR counts for what is behind it",
        "height",
        "return max(map(height, pattern.parts))",
        "return min(map(height, pattern.parts))",
        REASONS,
    ),
    Mutant(
        "diagnose: a walk gives up what could get as far",
        "walk_longest",
        "least = state[RANK] if depth >= state[SINCE] else state[RANK] + 1",
        "least = state[RANK] + 2",
        LONGEST,
    ),
    Mutant(
        "diagnose: a match of too few events is a match",
        "walk_longest",
        "holds = m >= job[MIN_LENGTH]",
        "holds = True",
        REASONS,
    ),
    Mutant(
        "diagnose: the window's end belongs to the window",
        "Investigator._in_window",
        "times[rows] - first_us < reach",
        "times[rows] - first_us <= reach",
        REASONS,
    ),
    Mutant(
        "diagnose: the partial match itself is behind it",
        "Investigator._in_place",
        "after = rows[rows >= begin]",
        "after = rows[rows >= begin - 1]",
        REASONS,
    ),
)
