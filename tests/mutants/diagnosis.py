"""Mutants of `diagnose`: how far a partial match comes, and what is said to have failed behind it."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

BUILDER = ("tests/diagnosis/test_builder.py::test_the_first_demand_that_no_event_meets_failed",)
VALUES = ("tests/diagnosis/test_builder.py::test_values_of_earlier_steps_are_shown",)
REASONS = ("tests/diagnosis/test_reasons.py",)
SHOWN = ("tests/diagnosis/test_builder.py::test_values_are_those_of_the_events_that_are_shown",)
FIRST = ("tests/diagnosis/test_builder.py::test_the_first_match_of_a_partition_is_found",)

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
        "_Investigation._find_longest",
        "reversed(range(certain[low] + 1, certain[high] if high < len(certain) else n_ranks))",
        "range(certain[low] + 1, certain[high] if high < len(certain) else n_ranks)",
        BUILDER,
    ),
    Mutant(
        "diagnose: a beginning that is reached is the end of the search",
        "_Investigation._find_longest",
        "waiting.append((middle, high, [code for code in codes if code in reached]))",
        "pass",
        BUILDER,
    ),
    Mutant(
        "diagnose: a trailing NOT names no event",
        "StepBeginnings._present",
        'yield code, Failure(step.name, "absence", text, values, _at(found[code], seen))',
        'yield code, Failure(step.name, "absence", text, values)',
        BUILDER,
    ),
    Mutant(
        "diagnose: the time is not asked for",
        "StepBeginnings._narrowed",
        "in_time = [code for code in left if self._is_in_time(_rows(last[code]))]",
        "in_time = left",
        BUILDER,
    ),
    Mutant(
        "diagnose: how the event follows is not asked for",
        "StepBeginnings._narrowed",
        "Step(step.link if before else Link.BEGIN, name, step.condition)",
        "Step(link, name, step.condition)",
        BUILDER,
    ),
    Mutant(
        "diagnose: what is shown has the event that failed in it",
        "_show",
        "witness.rows, witness.symbols = rows[:-n_failed], names[:-n_failed]",
        "witness.rows, witness.symbols = rows, names",
        SHOWN,
    ),
    Mutant(
        "diagnose: what is shown may be out of time",
        "StepBeginnings._try",
        "found |= untimed | self._run(EventPattern(timed), astray, seen, values)",
        "found |= untimed",
        SHOWN,
    ),
    Mutant(
        "diagnose: events out of time come before those in time",
        "StepBeginnings._try",
        "late = [code for code in codes if code not in found]",
        "late = list(codes)",
        SHOWN,
    ),
    Mutant(
        "diagnose: the event that stopped a NOT is shown as found",
        "StepBeginnings._present",
        "_show(seen.witnesses[code], found[code], steps)",
        "",
        SHOWN,
    ),
    Mutant(
        "diagnose: an aggregate goes over the events of all symbols",
        "_Investigator._aggregates",
        "tried.of(aggregate.symbol)",
        "list(tried.rows)",
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
        "StepBeginnings._narrowed",
        "[read for read, _ in asked[k].reads]",
        "[read for read, _ in asked[max(0, k - 1)].reads]",
        VALUES,
    ),
    Mutant(
        "diagnose: the rank of a branch of OR counts for what is behind it",
        "measure_progress",
        "max(rank[edge.target], rank[position] + 1)",
        "min(rank[edge.target] or 99, rank[position] + 1)",
        REASONS,
    ),
    Mutant(
        "diagnose: only the first of the events of a repetition is found",
        "EventBeginnings.find",
        'bound["first_size"] if rank is None else len(bound["rows"])',
        'bound["first_size"]',
        REASONS,
    ),
    Mutant(
        "diagnose: a partial match must keep what only a whole match decides",
        "search",
        "if mode == MATCHES and job[KEEP] == PARTIAL:\n    g = gap_top",
        "pass",
        REASONS,
    ),
    Mutant(
        "diagnose: a later window replaces the first one that is reached",
        "match_scopes",
        "scopes[job[SCOPE], PARTITION] == scope[PARTITION]",
        "False",
        REASONS,
    ),
    Mutant(
        "diagnose: a beginning ends only where its rank is met exactly",
        "cut",
        "(Ending(),) if own >= least else ()",
        "(Ending(),) if own == least else ()",
        REASONS,
    ),
    Mutant(
        "diagnose: a search that was stopped counts as one that found nothing",
        "_Investigation._reach",
        "witness.stopped and not witness.matched",
        "False",
        REASONS,
    ),
    Mutant(
        "diagnose: a match of too few events is a match",
        "EventBeginnings.find",
        "asked = replace(spec, first=first)",
        "asked = replace(spec, first=first, min_length=1)",
        REASONS,
    ),
    Mutant(
        "diagnose: the window's end belongs to the window",
        "_Investigator._in_window",
        "times[rows] - first_us < reach",
        "times[rows] - first_us <= reach",
        REASONS,
    ),
    Mutant(
        "diagnose: the partial match itself is behind it",
        "_Investigator._in_place",
        "after = rows[rows >= begin]",
        "after = rows[rows >= begin - 1]",
        REASONS,
    ),
)
