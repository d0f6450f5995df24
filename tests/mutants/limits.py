"""Faults in limits: of matches, of memory, of planning, and of what is said of types that no event has."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, tests_of

MATCHES, TALLY, EFFORT = tests_of(
    "runtime",
    "default_limit",
    "default_limit::a_partition_with_many_events_may_have_many_matches",
    "effort::steps_count_in_a_partition_and_its_limit_grows_with_its_events",
)
# An enumeration without a limit has no end.
RULES = ("tests/rules/test_limits.py",)
MEMORY = ("tests/engines/test_result_memory.py",)
TYPES = ("tests/engines/test_absent_types.py",)

LIMITS = (
    Mutant(
        "steps: those on the way to another partition are counted",
        "Pace.go_on",
        "if self._partition == partition:",
        "if self._partition is not None:",
        EFFORT,
    ),
    Mutant(
        "steps: a large partition has no more of them than a small one",
        "Effort.limit_of",
        "return max(STEPS, STEPS_PER_EVENT * n_events)",
        "return STEPS",
        EFFORT,
    ),
    Mutant(
        "steps: a rule loosens the owner's limit",
        "Family.with_steps",
        "tighter(spec.max_steps, max_steps)",
        "spec.max_steps or max_steps",
        RULES,
    ),
    Mutant(
        "steps: a negation that was paused begins anew",
        "is_answered",
        "job.is_asking = is_kept",
        "job.is_asking = False",
        ("tests/runtime/test_effort.py::test_a_negation_goes_on_where_it_was_paused",),
    ),
    Mutant(
        "steps: rows forget what a paused attempt had labelled",
        "_attempt",
        "pc, row, depth = state.pc, state.at_row, state.depth",
        "pc, row, depth = state.pc, state.at_row, 0",
        ("tests/runtime/test_effort.py::test_an_attempt_that_was_paused_knows_what_it_has_labelled",),
    ),
    Mutant(
        "limits: the default counts no run of one partition",
        "Tally.add_run",
        "if first == last and self._most is None:",
        "if first != last and self._most is None:",
        TALLY,
    ),
    Mutant(
        "limits: a large partition has no more matches than a small one",
        "default_most",
        "return max(MATCHES, MATCHES_PER_EVENT * n_events)",
        "return MATCHES",
        MATCHES,
    ),
    Mutant(
        "limits: unlimited is a limit that is asked for",
        "is_exact",
        "return most is not None and most != UNLIMITED",
        "return most is not None",
        MATCHES,
    ),
    Mutant("limits: a rule loosens the owner's", "tighter", "return min(own, most)", "return own", RULES),
    Mutant(
        "limits: a side of AND has none by default",
        "_most_ways",
        "return default_most(min(n_events, ROWS_PER_PIECE))",
        "return MAX_US",
        MATCHES,
    ),
    Mutant(
        "limits: rows of a rule are counted without its state",
        "Limits.check_memory",
        "operator.memory_bytes()",
        "0 * operator.memory_bytes()",
        RULES,
    ),
    Mutant(
        "limits: a slow rule is off in one bucket only",
        "RuleBucket._refuse",
        "self._entries[name].off = problem_of(error)",
        "pass",
        RULES,
    ),
    Mutant(
        "limits: planning looks at no clock",
        "check_deadline",
        "if allowed is not None and time.thread_time() > allowed[1]:",
        "if allowed is not None and time.thread_time() < 0:",
        RULES,
    ),
    Mutant(
        "limits: results are collected one batch too far",
        "collect",
        "if n_bytes > most_bytes:",
        "if n_bytes - batch.nbytes > most_bytes:",
        MEMORY,
    ),
    Mutant(
        "limits: a failed allocation is not told as what it is",
        "collect",
        "except MemoryError:",
        "except ZeroDivisionError:",
        MEMORY,
    ),
    Mutant(
        "limits: an absent type is not looked for where another step has events",
        "warn_of_absent",
        "bits != (1 << n_bits) - 1",
        "bits == 0",
        TYPES,
    ),
    Mutant(
        "limits: an input without events has absent types",
        "absent_types",
        "named.column == column and named.name not in present and present",
        "named.column == column and named.name not in present",
        TYPES,
    ),
)
