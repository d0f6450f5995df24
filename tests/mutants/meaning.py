"""Mutants of rules that hold for all families: the end of the data, ties, a step's own name."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, tests_of

OPEN, LATEST, INSTANT, WHOLE, LIVE, DIAGNOSIS = tests_of(
    "engines",
    "ending::a_trailing_not_whose_window_is_not_over_is_no_match",
    "ending::what_is_over_is_judged_by_the_latest_event_of_all_partitions",
    "ending::the_last_instant_of_a_window_is_the_one_before_its_end",
    "ending::without_a_window_the_end_decides",
    "ending::live_input_that_ends_is_judged_by_its_latest_event",
    "ending::a_diagnosis_tells_that_a_window_is_not_over",
)
RUNS = (
    "tests/families/intervals/test_rules.py::test_a_run_that_is_open_at_the_end_of_bounded_input_is_returned_on_request",
)
TIES = ("tests/plan/test_options.py::test_naming_a_sequence_orders_ties_unless_it_is_said_otherwise",)
OWN = ("tests/families/builder/test_detect.py::test_a_steps_own_name_is_the_event_that_is_tested",)

MEANING = (
    Mutant(
        "explain: sections as a family happens to give them",
        "in_sections",
        "[title for title in TITLES if sections.get(title)]",
        "[title for title in sections if sections.get(title)]",
        ("tests/families/test_one_query.py::test_explain_has_the_same_sections_in_the_same_order",),
    ),
    Mutant(
        "explain: every stream is refused",
        "explained",
        "engine == STREAM and problems",
        "engine == STREAM",
        ("tests/plan/test_explain.py::test_a_stream_says_what_becomes_of_a_hot_key",),
    ),
    Mutant(
        "plan: what a rule breaks is not seen",
        "rewrite",
        "if plan is not before:",
        "if plan is before:",
        ("tests/plan/test_rules.py::test_a_rule_that_breaks_an_invariant_fails_every_query",),
    ),
    Mutant(
        "the end: all time is over",
        "WatermarkOperator.finish",
        "yield from self._advance(self.end_us)",
        "yield from self._advance(MAX_US)",
        OPEN,
    ),
    Mutant(
        "the end: close_at_end closes nothing",
        "lower_pattern",
        "program.waits and query.window is not None and not plan.options.close_at_end",
        "program.waits and query.window is not None",
        OPEN,
    ),
    Mutant(
        "the end: without a window the latest event decides",
        "lower_pattern",
        "program.waits and query.window is not None and not plan.options.close_at_end",
        "program.waits and not plan.options.close_at_end",
        WHOLE,
    ),
    Mutant(
        "the end: the first event says how far time has come",
        "_until_latest",
        'end_us = _extreme_us("max", physical, source)',
        'end_us = _extreme_us("min", physical, source)',
        LATEST,
    ),
    Mutant(
        "the end: builder patterns wait an instant longer",
        "Search.of",
        "min(end_us + 1, MAX_US)",
        "end_us",
        INSTANT,
    ),
    Mutant(
        "the end: live input is judged by the events that a step wants",
        "Live._run",
        "latest = pc.max(microseconds(raw.column(TS), physical.intake))",
        "latest = pc.max(block.column(TS))",
        LIVE,
    ),
    Mutant(
        "the end: a diagnosis counts all time as over",
        "EventBeginnings._set_times",
        "self.physical = with_end(self.physical, last_us)",
        "self.physical = with_end(self.physical, 2**62)",
        DIAGNOSIS,
    ),
    Mutant(
        "the end: an open run is closed",
        "_Lowering.physical",
        "MAX_US if closes or isinstance(form, Spans) else MAX_US - 1",
        "MAX_US",
        RUNS,
    ),
    Mutant(
        "ties: a sequence orders nothing",
        "_made",
        'ties = "strict" if values.get("sequence") is None else "sequence"',
        'ties = "strict"',
        TIES,
    ),
    Mutant(
        "builder: the event before the tested one is two before it",
        "StepRelations._readable",
        "replace(slot, offset=slot.offset - 1)",
        "replace(slot, offset=slot.offset)",
        OWN,
    ),
    Mutant(
        "builder: the first event of a step is never the tested one",
        "_StepWriter._row",
        'return f"{taken} if {taken} >= 0 else row if {is_next} else -1"',
        "return taken",
        OWN,
    ),
    Mutant(
        "builder: an aggregate of the own step leaves out the tested event",
        "_StepWriter._fold",
        "self.line(line)",
        "pass",
        OWN,
    ),
)
