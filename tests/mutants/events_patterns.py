"""Mutants of event patterns beyond SEQ: the walk, its automata, negations, pairs, scopes."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

RULES = ("tests/families/events/test_patterns.py::test_rules",)
AGAIN = ("tests/families/events/test_patterns.py::test_a_match_is_returned_once_when_more_events_come",)
STAYS = ("tests/families/events/test_patterns.py::test_events_stay_as_long_as_their_window",)
PAUSES = ("tests/families/events/test_patterns.py::test_a_walk_that_pauses_loses_nothing",)
WAITS = ("tests/families/events/test_patterns.py::test_a_trailing_not_is_decided_at_the_end_of_its_window",)
LIMIT = ("tests/families/events/test_patterns.py::test_a_partition_with_more_matches_than_the_limit_is_an_error",)
ONCE = ("tests/families/events/test_patterns.py::test_two_branches_that_find_one_binding_return_it_once",)
IDS = ("tests/families/events/test_patterns.py::test_ids_tell_the_symbols_of_one_event_apart",)
TIES = ("tests/families/events/test_patterns.py::test_tied_events_do_not_complete_one_another",)
LIMITS = (
    "tests/families/events/test_conjunctions.py::test_the_limit_is_one_of_a_partition",
    "tests/families/events/test_conjunctions.py::test_the_limit_counts_every_window_of_a_match",
    "tests/families/events/test_conjunctions.py::test_the_limit_counts_over_batches",
)
AND = ("tests/families/events/test_conjunctions.py::test_matches_of_conjunctions",)
AND_COUNT = ("tests/families/events/test_conjunctions.py::test_an_event_that_two_sides_bind_alike_counts_once",)
BATCHES = ("tests/families/events/test_conjunctions.py::test_a_binding_counts_from_when_it_is_decided_first",)
DECIMALS = (
    "tests/families/events/test_closing.py::test_aggregates_of_decimals_are_exact",
    "tests/families/events/test_closing.py::test_an_average_of_decimals_is_rounded_half_away_from_zero",
)
STRINGS = ("tests/families/events/test_closing.py::test_the_least_and_the_greatest_string",)
GROWTH = ("tests/plan/test_explain.py::test_without_events_the_pattern_alone_warns_of_too_many_matches",)
NEW = ("tests/families/events/test_patterns.py::test_what_only_old_events_complete_is_no_completion",)
WAITS = ("tests/families/events/test_patterns.py::test_a_trailing_not_is_decided_at_the_end_of_its_window",)
INNER = ("tests/families/events/test_patterns.py::test_an_old_sequence_that_not_excludes_still_excludes",)
STEPS = ("tests/families/events/test_growth.py::test_twice_the_events_take_twice_the_steps",)
RARE = ("tests/families/events/test_growth.py::test_what_is_rare_is_found_from_any_row",)
EXCLUDED = ("tests/families/events/test_growth.py::test_what_a_not_excludes_is_not_looked_at",)
AT_END = ("tests/families/events/test_growth.py::test_a_not_at_the_end_excludes_where_nothing_ends_its_gap",)
NOWHERE = ("tests/families/events/test_growth.py::test_an_event_that_leads_nowhere_is_the_next_one_all_the_same",)
NAMES = ("tests/families/events/test_growth.py::test_a_not_that_names_the_next_event_is_asked_of_each",)
BEGINS = ("tests/families/events/test_growth.py::test_a_beginning_may_come_after_what_a_leading_not_excludes",)

EVENTS_PATTERNS = (
    Mutant(
        "patterns: the window's end belongs to the window",
        "take_candidate",
        "events.ts_us[job.first_row] + job.reach",
        "events.ts_us[job.first_row] + job.reach + 1",
        RULES,
    ),
    Mutant(
        "patterns: a leading NOT looks a window back and no less",
        "gap_begin",
        "last_us - job.reach + 1",
        "last_us - job.reach",
        RULES,
    ),
    Mutant(
        "patterns: a trailing NOT looks past the window",
        "gap_end",
        "first_us + job.reach",
        "first_us + job.reach + 1",
        RULES,
    ),
    Mutant(
        "patterns: a trailing NOT begins with the events tied to the last one",
        "end_matches",
        "write_gap(gaps, g, program.negations[i], events.follows[job.last_row], -1)",
        "write_gap(gaps, g, program.negations[i], job.last_row, -1)",
        RULES,
    ),
    Mutant(
        "patterns: a NOT's gap ends with the events tied to the next one",
        "add_paths",
        "ends = events.precedes[job.first_row]",
        "ends = events.follows[job.first_row]",
        RULES,
    ),
    Mutant(
        "patterns: a NOT's gap begins with the event before it",
        "add_paths",
        "begins = edge_of_window(job) if frame.n == job.entry else events.follows[frame.last]",
        "begins = edge_of_window(job) if frame.n == job.entry else frame.last",
        RULES,
    ),
    Mutant(
        "patterns: a NOT does not wait for the symbols that its conjuncts name",
        "is_due",
        "due = due and is_bound(program.link[k], stacks.entries[0], job.n_entries)",
        "due = due and True",
        RULES,
    ),
    Mutant(
        "patterns: one event of a NOT is looked for in the gap but its first event",
        "first_with",
        "row = lo",
        "row = lo + 1",
        RULES,
    ),
    Mutant(
        "patterns: the next row of a symbol is looked for in the group where the range ends",
        "first_with",
        "near >= hi",
        "near > hi",
        RARE,
    ),
    Mutant(
        "patterns: the next row of a group is its last one",
        "index_ahead",
        "missing &= ~found",
        "",
        RARE,
    ),
    Mutant(
        "patterns: an edge stays open though its NOT is violated",
        "leave_candidate",
        "if job.closed:",
        "if False:",
        STEPS,
    ),
    Mutant(
        "patterns: a NOT that names the next event is asked of the first one only",
        "stays_violated",
        "job.is_offer or program.link[k] == job.symbol",
        "False",
        NAMES,
    ),
    Mutant(
        "patterns: a leading NOT excludes the beginnings of a match",
        "edge_of_window",
        "job.reach >= NEVER and job.keep != PARTIAL",
        "job.reach >= NEVER",
        BEGINS,
    ),
    Mutant(
        "patterns: a leading NOT is asked of every pair",
        "edge_of_window",
        "job.scope_lo if job.reach >= NEVER and job.keep != PARTIAL else -1",
        "-1",
        STEPS,
    ),
    Mutant(
        "patterns: a match is thought to go on past what its NOT excludes",
        "index_completions",
        "absent[edge] & present == 0",
        "True",
        EXCLUDED,
    ),
    Mutant(
        "patterns: events with the time of the next one are thought to lie in the gap before it",
        "index_completions",
        "end = fresh[edge_to[edge]]",
        "end = -1 if absent[edge] & present else fresh[edge_to[edge]]",
        EXCLUDED,
    ),
    Mutant(
        "patterns: an event that a trailing NOT excludes anywhere excludes it everywhere",
        "is_clear",
        "absent[i] & later == 0",
        "absent[i] == 0",
        AT_END,
    ),
    Mutant(
        "patterns: a trailing NOT whose window ends looks past it",
        "index_events",
        "whole and keep != PARTIAL",
        "keep != PARTIAL",
        AT_END,
    ),
    Mutant(
        "patterns: an event that leads nowhere is not the next one",
        "_completions",
        'sum(1 << k for k in {*_symbols(program, "next"), *_symbols(program, "contiguous")})',
        "0",
        NOWHERE,
    ),
    Mutant(
        "patterns: next goes on after the earliest event",
        "leave_candidate",
        "strategy != ANY",
        "strategy == CONTIGUOUS",
        RULES,
    ),
    Mutant(
        "patterns: next takes one of several tied earliest events",
        "leave_candidate",
        "frame.end = follows[job.first_row]",
        "frame.end = job.first_row + 1",
        RULES,
    ),
    Mutant(
        "patterns: the first start event is the only one",
        "leave_candidate",
        "frame.n > job.entry",
        "True",
        RULES,
    ),
    Mutant(
        "patterns: contiguous skips an event",
        "leave_candidate",
        "until = np.int64(follows[after])",
        "until = np.int64(job.limit)",
        RULES,
    ),
    Mutant(
        "patterns: NEXT is tested on the last of several tied events only",
        "is_allowed",
        "while holds and i >= job.entry and precedes[rows[i]] == precedes[frame.last]:",
        "while holds and i == n - 1 and i >= job.entry and precedes[rows[i]] == precedes[frame.last]:",
        RULES,
    ),
    Mutant(
        "patterns: an aggregate is not tested when its symbol closes on the way",
        "add_paths",
        "not are_closed(job, close_lo, close_hi, program.closings, stacks, tests, cols)",
        "False",
        RULES,
    ),
    Mutant(
        "patterns: MIN LENGTH wants one event more",
        "end_matches",
        "m < job.min_length",
        "m <= job.min_length",
        RULES,
    ),
    Mutant(
        "patterns: a match that the old watermark decided is returned again",
        "end_matches",
        "best > job.newer_than",
        "best >= job.newer_than",
        AGAIN,
    ),
    Mutant(
        "patterns: a match that the watermark decides is kept back",
        "end_matches",
        "decided > job.up_to",
        "decided >= job.up_to",
        WAITS,
    ),
    Mutant(
        "patterns: a trailing NOT is decided at the window's end, not before",
        "decided_us",
        "return from_us + job.n_windows * job.reach - 1",
        "return from_us + job.n_windows * job.reach",
        WAITS,
    ),
    Mutant(
        "patterns: the limit of matches is one lower",
        "Tally._set",
        "if total > self.limit_of(number):",
        "if total >= self.limit_of(number):",
        LIMIT,
    ),
    Mutant(
        "patterns: the limit of matches forgets those of the batch before",
        "Tally._set",
        "self._counts[number] = total",
        "",
        LIMITS,
    ),
    Mutant(
        "patterns: a limit for one partition counts those of all",
        "Tally._totals",
        "numbers, counts = np.unique(partitions, return_counts=True)",
        "numbers, counts = np.unique(partitions * 0, return_counts=True)",
        LIMITS,
    ),
    Mutant(
        "patterns: a match of SEQ counts once for all windows",
        "SequenceOperator._rows",
        "tally.add_rows(matches[:, 0])",
        "if window_start is None:\n    tally.add_rows(matches[:, 0])",
        LIMITS,
    ),
    Mutant(
        "patterns: a full stack loses a candidate",
        "search",
        "return room if room != DONE else PAUSED",
        "frame.row += 1\nreturn room if room != DONE else PAUSED",
        PAUSES,
    ),
    Mutant(
        "patterns: a match is thought to end where a later one does",
        "index_completions",
        "if reached >= 0 and (end < 0 or reached < end):",
        "if reached >= 0 and (end < 0 or reached > end):",
        RULES,
    ),
    Mutant(
        "patterns: what tied events reach is thought to follow them",
        "index_completions",
        "start = precedes[stop - 1]",
        "start = stop - 1",
        TIES,
    ),
    Mutant(
        "patterns: a match is thought to go on where it may end",
        "index_completions",
        "may_end[position] == ANYWHERE",
        "may_end[position] == ANYWHERE and edge_lo[position] == edge_lo[position + 1]",
        RULES,
    ),
    Mutant(
        "patterns: what old events complete is walked to again",
        "index_completions",
        "(may_end[position] == AT_NEW and is_new[row])",
        "may_end[position] == AT_NEW",
        NEW,
    ),
    Mutant(
        "patterns: matches that NOT decides later need a new last event",
        "_completions",
        "is_last_decisive = not program.waits and not program.may_repeat",
        "is_last_decisive = not program.may_repeat",
        WAITS,
    ),
    Mutant(
        "patterns: what NOT excludes must end with a new event",
        "_completions",
        "AT_NEW if is_last_decisive and i in main else ANYWHERE",
        "AT_NEW if is_last_decisive else ANYWHERE",
        INNER,
    ),
    Mutant(
        "patterns: an id does not tell symbols apart",
        "hash_bindings",
        "np.uint64(symbols[j]) * _GOLDEN",
        "np.uint64(0) * _GOLDEN",
        IDS,
    ),
    Mutant(
        "patterns: a repetition may go on past its bound",
        "_Compiler._repeat",
        "pattern.maximum - pattern.minimum",
        "pattern.maximum - pattern.minimum + 1",
        RULES,
    ),
    Mutant(
        "patterns: a star is a plus",
        "_Compiler._repeat",
        "looped.empties.add(_NOTHING)",
        "",
        RULES,
    ),
    Mutant(
        "patterns: a NOT before an optional part is forgotten",
        "_Compiler._concatenate",
        "skipped | marks",
        "marks",
        RULES,
    ),
    Mutant(
        "patterns: a NOT is matched by the strategy of the query",
        "_Compiler._negation",
        'branches = self._whole(part, "any")',
        'branches = self._whole(part, "next")',
        RULES,
    ),
    Mutant(
        "patterns: a NOT behind a side of an AND is forgotten",
        "write_gaps",
        "write_gap(out, end, gap_negation[i], gap_first[i], gap_end[i])\nend += 1",
        "write_gap(out, end, gap_negation[i], gap_first[i], gap_end[i])",
        RULES,
    ),
    Mutant(
        "patterns: only the first side of an AND leads",
        "next_leader",
        "if leader < 0 or first[following[k]] < first[following[leader]]:",
        "if leader < 0:",
        AND,
    ),
    Mutant(
        "patterns: the last way of a side is left out",
        "next_leader",
        "if following[k] >= side_lo[k * (n_scopes + 1) + state[PAIR_SCOPE] + 1]:",
        "if following[k] + 1 >= side_lo[k * (n_scopes + 1) + state[PAIR_SCOPE] + 1]:",
        AND,
    ),
    Mutant(
        "patterns: an event that two sides bind alike stands twice",
        "write_sorted",
        "if place > at and out[1, place - 1] == rows[i] and out[0, place - 1] == symbols[i]:",
        "if False:",
        AND_COUNT,
    ),
    Mutant(
        "patterns: the third side of an AND begins where the second does",
        "join_sides",
        "cursor[level + 1] = following[behind]",
        "cursor[level + 1] = following[behind] + 1",
        AND,
    ),
    Mutant(
        "patterns: a piece does not see the pairs behind it",
        "needed_starts",
        "wider[i, START_HI] = stop + np.searchsorted(ts_us[stop:hi], behind_us)",
        "",
        AND,
    ),
    Mutant(
        "patterns: pieces leave out the rows between their pairs",
        "_cut",
        "piece[begun[0], places.START_LO] = max(begun[1], int(piece[begun[0], places.START_LO]))",
        "piece[begun[0], places.START_LO] = max(begun[1] + 1, int(piece[begun[0], places.START_LO]))",
        AND,
    ),
    Mutant(
        "patterns: a part of a scope begins with its second row",
        "_parts",
        "yield piece\nstart = end",
        "yield piece\nstart = end + 1",
        AND,
    ),
    Mutant(
        "patterns: a binding found in two ways is returned twice",
        "find_matches",
        "if not program.may_repeat:",
        "if True:",
        ONCE,
    ),
    Mutant(
        "patterns: of equal bindings the one that is decided last counts",
        "compare",
        "return -1 if tag[one] < tag[two] else 1",
        "return -1 if tag[one] > tag[two] else 1",
        BATCHES,
    ),
    Mutant(
        "patterns: an average of decimals is cut off",
        "ClosingWriter._aggregate",
        'f"{whole} + (abs({total}) % {count} * 20000 + {count}) // (2 * {count})"',
        'f"{whole} + (abs({total}) % {count} * 20000) // (2 * {count})"',
        DECIMALS,
    ),
    Mutant(
        "patterns: strings of MIN and MAX are not in order",
        "ClosingTest._compared",
        'return Typed("least", (value, value), typed.dtype)',
        "return value",
        STRINGS,
    ),
    Mutant(
        "patterns: explain does not see that tied events branch",
        "growth_lines",
        "if loops and tied:",
        "if False:",
        GROWTH,
    ),
    Mutant(
        "patterns: explain thinks that defined types exclude one another",
        "_choices",
        "types[one] == types[two] or types[one] in defined or types[two] in defined",
        "types[one] == types[two]",
        GROWTH,
    ),
    Mutant(
        "patterns: a window begins with the event at its start left out",
        "_windows",
        "lo = start + np.searchsorted(ts_us, begins)",
        'lo = start + np.searchsorted(ts_us, begins, side="right")',
        RULES,
    ),
    Mutant(
        "patterns: the buffer forgets too early",
        "PatternSpec.kept_us",
        "(1 + 2 * self.program.n_nested) * self.window_us",
        "(1 + 2 * self.program.n_nested) * self.window_us - 2_000_000",
        STAYS,
    ),
    Mutant(
        "patterns: an absence is detected an instant before the window ends",
        "_detected_us",
        "-(-(found.decided_us + 1) // spec.unit_us)",
        "(found.decided_us // spec.unit_us)",
        WAITS,
    ),
    Mutant(
        "patterns: contiguous does not see events that no step wants",
        "lower_pattern",
        "of_plan(plan)",
        '{**of_plan(plan), "keep_all": False}',
        RULES,
    ),
    Mutant(
        "one match: LAST is the first event",
        "make_rows",
        'offsets[1:] - 1 if returned.end == "last" else offsets[:-1]',
        "offsets[:-1]",
        ("tests/families/events/test_one_match.py::test_the_events_of_a_repeated_symbol_are_described",),
    ),
    Mutant(
        "long conditions: a balanced chain turns its terms round",
        "_joined",
        "operator(this=_joined(operator, terms[:half]), expression=_joined(operator, terms[half:]))",
        "operator(this=_joined(operator, terms[half:]), expression=_joined(operator, terms[:half]))",
        ("tests/lang/test_parse.py::test_a_long_chain_of_or_is_a_tree_of_few_levels_that_writes_the_same_text",),
    ),
    Mutant(
        "long conditions: NULL in a list between events is looked up like a value",
        "_is_number",
        'known = typed.op == "literal" and typed.value is not None and typed.dtype != pa.bool_()',
        'known = typed.op == "literal" and typed.dtype != pa.bool_()',
        ("tests/plan/test_long_conditions.py::test_a_value_that_is_not_in_a_list_with_null_is_unknown",),
    ),
)
