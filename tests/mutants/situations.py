"""Mutants of situations: runs, durations, relations, certainty, windows, aggregates, and the generator."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

RULES = ("tests/families/situations/test_rules.py",)
NAMES = ("tests/families/situations/test_relations.py",)
_SAME = "tests/families/situations/test_same_matches.py::test_"
MICRO_BATCHES = (f"{_SAME}micro_batches_give_the_matches_of_the_oracle",)
CHUNKS = (f"{_SAME}shares_of_threads_and_chunks_of_time_give_the_same_matches",)
BY_HAND = ("tests/families/situations/test_micro_batches.py",)
DATA = ("tests/generate/test_situations.py",)
MESSAGES = ("tests/families/situations/test_messages.py::test_the_whole_message",)
AGGREGATES = ("tests/families/situations/test_aggregates.py",)
ONE_BIT = ("tests/families/situations/test_aggregates.py::test_bits_that_all_values_have_are_kept",)

_STRETCHES = "tests/families/situations/test_slices.py::test_"
STRETCHED = (
    f"{_STRETCHES}what_began_before_the_window_of_a_stretch_does_not_begin_in_it",
    f"{_STRETCHES}the_end_of_the_input_closes_in_the_stretch_in_which_it_lies",
)

GAPS = ("tests/families/situations/test_listing.py::test_a_gap_ends_what_is_listed", *BY_HAND)


SITUATIONS = (
    # Gaps
    Mutant(
        "situations: a gap includes its bound",
        "derive",
        "if before >> k & 1 and now - previous > bounds[k, 2]:",
        "if before >> k & 1 and now - previous >= bounds[k, 2]:",
        GAPS,
    ),
    Mutant(
        "situations: a gap ends a situation with its last event",
        "derive",
        "previous + bounds[k, 2]",
        "previous",
        GAPS,
    ),
    Mutant(
        "situations: a gap at the beginning of a block ends nothing",
        "derive",
        "previous = ts[event - 1] if event > offsets[p] else last_us[p]",
        "previous = ts[event - 1] if event > offsets[p] else now",
        BY_HAND,
    ),
    Mutant(
        "situations: an end that a gap makes is told at that end",
        "_close",
        "end[i], told[i] = ended, now",
        "end[i], told[i] = ended, ended",
        BY_HAND,
    ),
    Mutant(
        "situations: what began within the window of a silent end is forgotten",
        "SituationOperator._keep",
        "if spec.complete and spec.has_gaps:",
        "if False:",
        BY_HAND,
    ),
    Mutant(
        "situations: events between which there is no gap are left out of a slice",
        "SituationCombiner._needed",
        "if self._spec.has_gaps:",
        "if False:",
        (f"{_STRETCHES}what_a_slice_leaves_out_is_no_gap",),
    ),
    Mutant(
        "situations: what does not meet FOR is listed",
        "situations_of",
        "meets = runs.ready[places[0]] != OPEN",
        "meets = runs.ready[places[0]] >= 0",
        ("tests/families/situations/test_listing.py",),
    ),
    # Runs
    Mutant(
        "situations: a run inside one instant is one",
        "_close",
        "lasted == 0 or lasted < bounds[0] or lasted > bounds[1]",
        "lasted < bounds[0] or lasted > bounds[1]",
        RULES,
    ),
    Mutant(
        "situations: a longest duration does not include its bound",
        "_close",
        "lasted > bounds[1]",
        "lasted >= bounds[1]",
        RULES,
    ),
    Mutant(
        "situations: a shortest duration does not include its bound",
        "_close",
        "lasted < bounds[0]",
        "lasted <= bounds[0] and bounds[0] > 0",
        RULES,
    ),
    Mutant(
        "situations: a shortest duration is reached one event later",
        "derive",
        "if now - start[i] >= bounds[k, 0]:",
        "if now - start[i] > bounds[k, 0]:",
        RULES,
    ),
    Mutant(
        "situations: a situation with a longest duration is certain before its end",
        "derive",
        "if bounds[k, 1] == OPEN:",
        "if bounds[k, 1] > 0:",
        RULES,
    ),
    Mutant(
        "situations: a run waits no more for its shortest duration in the next block",
        "derive",
        "if ready[i] == OPEN and bounds[k, 1] == OPEN:",
        "if False:",
        BY_HAND,
    ),
    Mutant(
        "situations: a run that goes on begins anew with every block",
        "derive",
        "before |= 1 << k",
        "before |= 0",
        MICRO_BATCHES,
    ),
    Mutant(
        "situations: aggregates leave out the events of the instant of detection",
        "cut_runs",
        'np.searchsorted(ts[lo[i] : hi[i]], at[i], side="right")',
        'np.searchsorted(ts[lo[i] : hi[i]], at[i], side="left")',
        RULES,
    ),
    # Relations
    Mutant(
        "situations: what meets is before",
        "relation",
        "if a_end < b_start:\n        return BEFORE",
        "if a_end <= b_start:\n        return BEFORE",
        NAMES,
    ),
    Mutant(
        "situations: started-by is starts",
        "relation",
        "(STARTS if a_end < b_end else STARTED_BY)",
        "(STARTS if a_end != b_end else STARTED_BY)",
        NAMES,
    ),
    Mutant(
        "situations: the inverse of a relation is the one after it",
        "inverse",
        "(mask & (1 << _EQUALS) - 1) << _EQUALS + 1",
        "(mask & (1 << _EQUALS) - 1) << _EQUALS + 2",
        RULES,
    ),
    # Certainty
    Mutant(
        "situations: two situations that go on end together",
        "_fits",
        "(held & _APART != 0 or min(end[a], end[b]) <= at)",
        "True",
        RULES,
    ),
    Mutant(
        "situations: a relation waits for both ends",
        "_fits",
        "(held & _APART != 0 or min(end[a], end[b]) <= at)",
        "(held & _APART != 0 or max(end[a], end[b]) <= at)",
        RULES,
    ),
    Mutant(
        "situations: whole groups wait for an end",
        "_fits",
        "if held & groups:\n    return True",
        "",
        RULES,
    ),
    Mutant(
        "situations: two relations of a group are enough",
        "whole_groups",
        "mask & group == group",
        "(mask & group).bit_count() > 1",
        RULES,
    ),
    Mutant(
        "situations: a match is returned once for each situation that decides it",
        "_is_first",
        "if triggers[symbol, other_kind] and instant[bound[symbol]] == at:\n                return False",
        "if triggers[symbol, other_kind] and instant[bound[symbol]] == at:\n                break",
        RULES,
    ),
    Mutant(
        "situations: a match is returned again at a later end",
        "_is_first",
        "return bool(_decided(runs, bound, masks, groups, at))",
        "return True",
        RULES,
    ),
    Mutant(
        "situations: a candidate need not have lasted",
        "_around",
        "if ready[c] > at:\n    continue",
        "",
        RULES,
    ),
    Mutant(
        "situations: the start of a situation decides nothing",
        "_triggers",
        "masks[k, j] & begins_last or groups[k, j] & later",
        "False",
        RULES,
    ),
    Mutant(
        "situations: complete emission takes what has begun",
        "_around",
        "hi = first_from(told if complete else start, lo, hi, at + 1)",
        "hi = first_from(start, lo, hi, at + 1)",
        RULES,
    ),
    Mutant(
        "situations: both go on, so nothing is excluded",
        "possible",
        "out[i] = OVERLAPS | FINISHED_BY | CONTAINS",
        "out[i] = OVERLAPS | FINISHED_BY | CONTAINS | BEFORE",
        RULES,
    ),
    # Windows, ends, blocks
    Mutant(
        "situations: WITHIN does not include its bound",
        "_around",
        "lo = first_from(start, lo, hi, (end[i] if complete else at) - within)",
        "lo = first_from(start, lo, hi, (end[i] if complete else at) - within + 1)",
        RULES,
    ),
    Mutant(
        "situations: the situation that decides may be older than the window",
        "match",
        "if (end[i] if complete else at) - start[i] > within:",
        "if (end[i] if complete else at) - start[i] > within + within:",
        RULES,
    ),
    Mutant(
        "situations: an end is told before it is known",
        "SituationOperator._rows",
        "is_open = end > at",
        "is_open = end == OPEN",
        RULES,
    ),
    Mutant(
        "situations: what goes on is forgotten when it is older than the window",
        "SituationOperator._keep",
        "(runs.end[place] == OPEN) | (runs.start[place] > since[partition] - spec.within_us)",
        "runs.start[place] > since[partition] - spec.within_us",
        BY_HAND,
    ),
    Mutant(
        "situations: a situation is forgotten one instant too early",
        "SituationOperator._keep",
        "(runs.start[place] > since[partition] - spec.within_us)",
        "(runs.start[place] > since[partition] - spec.within_us + 1_000_000)",
        BY_HAND,
    ),
    Mutant(
        "situations: matches that find no room are lost",
        "match",
        "resume[0], resume[1], resume[2], resume[3] = p, k, kind, i",
        "resume[0], resume[1], resume[2], resume[3] = p, k, kind, i + 1",
        CHUNKS,
    ),
    # Aggregates
    Mutant(
        "situations: what earlier blocks have counted is forgotten",
        "_over_runs",
        "state = opened(carried[origin[i]]) if origin[i] >= 0 else opened(start)",
        "state = opened(start)",
        MICRO_BATCHES,
    ),
    Mutant(
        "situations: of equal keys the first event counts",
        "_is_better",
        "return latest",
        "return False",
        AGGREGATES,
    ),
    Mutant(
        "situations: the last value is a NULL",
        "find_present",
        "if valid[n_carried + at] and (latest or found < 0):",
        "if latest or (valid[n_carried + at] and found < 0):",
        AGGREGATES,
    ),
    Mutant(
        "situations: all bits are unset before the first value",
        "_folds",
        'np.full(1, -1 if function == "BIT_AND" else 0)',
        "np.full(1, 0)",
        ONE_BIT,
    ),
    Mutant(
        "situations: a regression is that of the second argument on the first",
        "_paired",
        "return xy / xx, xx",
        "return xy / yy, yy",
        AGGREGATES,
    ),
    Mutant(
        "situations: pairs with a NULL count",
        "Measures.fold",
        "valid &= _valid(column)",
        "valid = _valid(column)",
        AGGREGATES,
    ),
    Mutant(
        "situations: FILTER leaves everything in",
        "filtered",
        'inner.set("this", _where(condition, exp.Literal.number(1)))',
        'inner.set("this", exp.Literal.number(1))',
        AGGREGATES,
    ),
    Mutant(
        "situations: a word between two situations is a symbol",
        "is_situations",
        'after.text.lower() in defined or after.text in ("|", "(")',
        'after.text in ("|", "(")',
        MESSAGES,
    ),
    Mutant(
        "live: blocks are as small as the input is slow, whatever has piled up",
        "Tuner.decide",
        "rate = max(rate, (self._n_events + waiting) / elapsed)",
        "rate = measured",
        ("tests/engines/test_live.py::test_what_waits_is_worked_off_in_larger_blocks",),
    ),
    # The generator
    Mutant(
        "situations: the longest duration is never drawn",
        "_whole",
        "(draws * (greatest - least + 1))",
        "(draws * (greatest - least))",
        DATA,
    ),
    Mutant(
        "situations: rates stay those of the first phase",
        "_Column._ratio_at",
        "second // self._phase_s",
        "second // self._phase_s * 0",
        DATA,
    ),
    # Messages
    Mutant(
        "situations: the condition of one may name another",
        "check_conditions",
        "known = {*columns, situation.name.text.lower()}",
        "known = {*columns, *(each.name.text.lower() for each in query.define)}",
        MESSAGES,
    ),
    Mutant(
        "situations: a function that sqlglot has no place for is underlined without its name",
        "call_span",
        "before is not None",
        "before is None",
        MESSAGES,
    ),
    Mutant(
        "situations: a call around a refused aggregate is blamed for it",
        "call_span",
        "if before is not None and not _CALLED.match(text[start:end]):",
        "if before is not None:",
        MESSAGES,
    ),
    Mutant(
        "situations: the hint for a column in an aggregate proposes another aggregate",
        "_bind_item.unqualified",
        'form = "{}.{}" if span in aggregated else "first({}.{})"',
        'form = "first({}.{})"',
        MESSAGES,
    ),
    Mutant(
        "situations: a duration without FOR is left to the condition",
        "_refuse_bare_duration",
        'if token.word == "AT" and after.word in ("LEAST", "MOST"):',
        'if token.word == "AT" and after.word in ("LEAST",):',
        MESSAGES,
    ),
    # Stretches
    Mutant(
        "situations: what goes on before the window of a stretch seems to begin in it",
        "Stretch.cut",
        "needed &= ~is_early | (ts == latest[codes])",
        "needed &= ~is_early",
        STRETCHED,
    ),
    Mutant(
        "situations: a stretch does not look back on a window",
        "Stretch.cut",
        "is_early = ts < self.from_us",
        "is_early = ts < self.first_us",
        STRETCHED,
    ),
    Mutant(
        "situations: a stretch returns what the end of the input decides later",
        "SituationOperator.finish_until",
        "self._until_us = until_us",
        "",
        STRETCHED,
    ),
    Mutant(
        "situations: a stretch does not know of later events where the end of the input closes",
        "Stretch.cut",
        "np.ones(ts.size, dtype=np.bool_) if self.spec.closes else ts < self.stop_us",
        "np.ones(ts.size, dtype=np.bool_) if False else ts < self.stop_us",
        STRETCHED,
    ),
)
