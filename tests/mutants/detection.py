"""Mutants of builder patterns: the automaton, partial matches, skip strategies, time, conditions."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

RULES = ("tests/detection/test_rules.py",)
BOUND = ("tests/detection/test_detect.py::test_conditions_look_at_the_events_so_far",)
ROOM = ("tests/detection/test_detect.py::test_bindings_that_move_keep_the_ones_before_them",)
SUMS = ("tests/detection/test_detect.py::test_aggregates_in_conditions_are_those_of_their_step",)
COLUMNS = ("tests/detection/test_detect.py::test_a_match_has_an_id_its_partition_its_ends_and_the_events_of_each_step",)
KERNEL = "kernels/detection.py"
AUTOMATON = "plan/detection/automaton.py"
CONDITIONS = "plan/detection/conditions.py"

DETECTION = (
    Mutant(
        "builder: the end of the time belongs to it",
        KERNEL,
        "now_us - ts_us[start] >= window_us",
        "now_us - ts_us[start] > window_us",
        RULES,
    ),
    Mutant(
        "builder: the end of the time between events belongs to it",
        KERNEL,
        "now_us - ts_us[bindings[0, node]] >= gap_us",
        "now_us - ts_us[bindings[0, node]] > gap_us",
        RULES,
    ),
    Mutant(
        "builder: the time between events is that of the match",
        KERNEL,
        "now_us - ts_us[bindings[0, node]] >= gap_us",
        "now_us - ts_us[start] >= gap_us",
        RULES,
    ),
    Mutant(
        "builder: time moves at the end only",
        KERNEL,
        "moves = is_end or (is_timed and state[MOVED] == 0)",
        "moves = is_end",
        RULES,
    ),
    Mutant(
        "builder: what only waits times out",
        KERNEL,
        "MATCH if pending[old[0, run]] else TIMEOUT",
        "TIMEOUT",
        RULES,
    ),
    Mutant(
        "builder: a forbidden event ends nothing",
        KERNEL,
        "                        n_new = n_kept\n",
        "                        pass\n",
        RULES,
    ),
    Mutant(
        "builder: past_last begins again with the last event",
        KERNEL,
        "return int(bindings[0, node]) + 1",
        "return int(bindings[0, node])",
        RULES,
    ),
    Mutant(
        "builder: next begins again with the same event",
        KERNEL,
        "found = bindings[0, node] + 1",
        "found = bindings[0, node]",
        RULES,
    ),
    Mutant(
        "builder: to_first and to_last are swapped",
        KERNEL,
        "if skip == SKIP_TO_LAST:",
        "if skip == SKIP_TO_FIRST:",
        RULES,
    ),
    Mutant(
        "builder: a match ends what begins at the event that it skips to",
        KERNEL,
        "if starts[i] >= row:",
        "if starts[i] > row:",
        RULES,
    ),
    Mutant(
        "builder: the last of several matches with one start comes first",
        KERNEL,
        "if complete[1, i] < complete[1, best]:\n                best = i\n        if not is_end",
        "if complete[1, i] <= complete[1, best]:\n                best = i\n        if not is_end",
        RULES,
    ),
    Mutant(
        "builder: a match does not wait for one that began before",
        KERNEL,
        "if runs[2, i] < complete[1, best]:",
        "if runs[2, i] < 0:",
        RULES,
    ),
    Mutant(
        "builder: FIRST with an offset is off by one",
        KERNEL,
        "wanted = n - 1 - offset",
        "wanted = n - 2 - offset",
        BOUND,
    ),
    Mutant(
        "builder: bindings that move lose the one before them",
        KERNEL,
        "bindings[2, kept] = place[before] if before >= 0 else -1",
        "bindings[2, kept] = -1",
        ROOM,
    ),
    Mutant(
        "builder: followed_by passes over what it wants",
        AUTOMATON,
        "return both(negation(self.condition(place.step)), go_on)",
        "return go_on",
        RULES,
    ),
    Mutant(
        "builder: until lets a loop take its event",
        AUTOMATON,
        "taken = both(self.condition(step), negation(self.until(place)))",
        "taken = both(self.condition(step), negation(self.until(place.around)))",
        RULES,
    ),
    Mutant(
        "builder: until of a group does not concern what is inside",
        AUTOMATON,
        "step, around = place.step, self.until(place.around)",
        "step, around = place.step, FALSE",
        RULES,
    ),
    Mutant(
        "builder: until ends a loop that has not begun",
        AUTOMATON,
        "self.until(place if inner else place.around)",
        "self.until(place)",
        RULES,
    ),
    Mutant(
        "builder: a group inside a group directly follows",
        AUTOMATON,
        "if self.step.link is Link.BEGIN and self.around is not None:",
        "if self.step.link is Link.BEGIN and self.around is not None and not self.step.group:",
        RULES,
    ),
    Mutant(
        "builder: iterations of a group follow as the group does",
        AUTOMATON,
        "return self.around.link(inner=not self.first)",
        "return self.around.link(inner=False)",
        RULES,
    ),
    Mutant(
        "builder: a NOT behind the end of a group is not behind what is inside",
        AUTOMATON,
        "            yield from self.around.nots_behind()\n",
        "            return\n",
        RULES,
    ),
    Mutant(
        "builder: a step takes an event less than it must",
        AUTOMATON,
        "for _ in range(step.minimum - 1):",
        "for _ in range(max(step.minimum - 2, 0)):",
        RULES,
    ),
    Mutant(
        "builder: a step takes an event more than it may",
        AUTOMATON,
        "range((step.maximum or step.minimum) - step.minimum)",
        "range((step.maximum or step.minimum) - step.minimum + (step.maximum is not None))",
        RULES,
    ),
    Mutant(
        "builder: an iteration without an event counts",
        AUTOMATON,
        "None if step.optional else sink, inner=False",
        "sink, inner=False",
        RULES,
    ),
    Mutant(
        "builder: greedy is not greedy",
        AUTOMATON,
        "return _Rival(state.taken, state.passed) if step.greedy and isinstance(state, _Wait) else None",
        "return None",
        RULES,
    ),
    Mutant(
        "builder: a greedy step that is over still wants events",
        AUTOMATON,
        "both(formula, negation(rival.passed)) for rivals",
        "FALSE for rivals",
        RULES,
    ),
    Mutant(
        "builder: a greedy step wants no event behind one that was passed over",
        AUTOMATON,
        "{rivals | {rival}: both(formula, rival.passed)",
        "{rivals | {rival}: FALSE",
        RULES,
    ),
    Mutant(
        "builder: what must not follow may come behind the next event",
        AUTOMATON,
        "yield formula, _Here(state, self.forbidden, rivals)",
        "yield formula, _Here(state, FALSE, rivals)",
        RULES,
    ),
    Mutant(
        "builder: a NOT at the end waits although the step behind it is left out",
        AUTOMATON,
        "last = None if way.leaves_out else way.link or self.last",
        "last = way.link or self.last",
        RULES,
    ),
    Mutant(
        "builder: what is optional at the end must come",
        AUTOMATON,
        "_terms(TRUE) if any(completes) else ()",
        "()",
        RULES,
    ),
    Mutant(
        "builder: the last way is preferred",
        AUTOMATON,
        "for way in reversed(ways):",
        "for way in ways:",
        RULES,
    ),
    Mutant(
        "builder: sums of earlier events take those of other steps",
        CONDITIONS,
        'f"    if ({wanted}) and cols[2][{fold.index}, row]:"',
        'f"    if cols[2][{fold.index}, row]:"',
        SUMS,
    ),
    Mutant(
        "builder: a sum begins with its second value",
        CONDITIONS,
        "x{k} = y{k} if n{k} == 0 else ({_combined(fold.function, array, f'x{k}', f'y{k}')})",
        "x{k} = ({_combined(fold.function, array, f'x{k}', f'y{k}')}) if n{k} == 1 else y{k}",
        BOUND,
    ),
    Mutant(
        "builder: the last event of a step is the one before it",
        CONDITIONS,
        "carried[0][{i}, node] = row if step == {step} else {known}",
        "carried[0][{i}, node] = {known} if step == {step} and before >= 0 else row",
        BOUND,
    ),
    Mutant(
        "builder: a match begins with its last event",
        "operators/detection/matches.py",
        "first, last = rows[found.ends - counts], rows[found.ends - 1]",
        "first, last = rows[found.ends - 1], rows[found.ends - 1]",
        COLUMNS,
    ),
)
