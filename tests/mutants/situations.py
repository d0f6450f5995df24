"""Mutants of situations: runs, durations, relations, certainty, windows, aggregates, and the generator."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

RULES = ("tests/situations/test_rules.py",)
NAMES = ("tests/situations/test_relations.py",)
_SAME = "tests/situations/test_same_matches.py::test_"
MICRO_BATCHES = (f"{_SAME}micro_batches_give_the_matches_of_the_oracle",)
CHUNKS = (f"{_SAME}shares_of_threads_and_chunks_of_time_give_the_same_matches",)
BY_HAND = ("tests/situations/test_micro_batches.py",)
DATA = ("tests/generate/test_situations.py",)
_SAID = "tests/situations/test_messages.py::test_"
DEFINED = (f"{_SAID}a_wrong_definition_is_underlined",)
RETURNED = (f"{_SAID}what_cannot_be_returned_is_underlined",)
PATTERNS = (f"{_SAID}a_wrong_pattern_is_underlined",)
AGGREGATES = ("tests/situations/test_aggregates.py",)
ONE_BIT = ("tests/situations/test_aggregates.py::test_bits_that_all_values_have_are_kept",)

_STRETCHES = "tests/situations/test_slices.py::test_"
STRETCHED = (
    f"{_STRETCHES}what_began_before_the_window_of_a_stretch_does_not_begin_in_it",
    f"{_STRETCHES}the_end_of_the_input_closes_in_the_stretch_in_which_it_lies",
)

GAPS = ("tests/situations/test_listing.py::test_a_gap_ends_what_is_listed", *BY_HAND)

RUNS = "kernels/situations.py"
STRETCHES = "operators/situations/stretches.py"
MATCHES = "kernels/situation_matches.py"
MEASURES = "kernels/situation_measures.py"
RELATIONS = "kernels/relations.py"
OPERATOR = "operators/situations/operator.py"
PROGRAM = "operators/situations/program.py"
GENERATOR = "generate/situations.py"
REFUSALS = "plan/situations/refusals.py"

SITUATIONS = (
    # Gaps
    Mutant(
        "situations: a gap includes its bound",
        RUNS,
        "if before >> k & 1 and now - previous > bounds[k, 2]:",
        "if before >> k & 1 and now - previous >= bounds[k, 2]:",
        GAPS,
    ),
    Mutant(
        "situations: a gap ends a situation with its last event",
        RUNS,
        "_close(place[k], previous + bounds[k, 2], now",
        "_close(place[k], previous, now",
        GAPS,
    ),
    Mutant(
        "situations: a gap at the beginning of a block ends nothing",
        RUNS,
        "previous = ts[event - 1] if event > offsets[p] else last_us[p]",
        "previous = ts[event - 1] if event > offsets[p] else now",
        BY_HAND,
    ),
    Mutant(
        "situations: an end that a gap makes is told at that end",
        RUNS,
        "end[i], told[i] = ended, now",
        "end[i], told[i] = ended, ended",
        BY_HAND,
    ),
    Mutant(
        "situations: what began within the window of a silent end is forgotten",
        OPERATOR,
        "if spec.complete and spec.has_gaps:",
        "if False:",
        BY_HAND,
    ),
    Mutant(
        "situations: events between which there is no gap are left out of a slice",
        "operators/situations/combine.py",
        "if self._spec.has_gaps:",
        "if False:",
        (f"{_STRETCHES}what_a_slice_leaves_out_is_no_gap",),
    ),
    Mutant(
        "situations: what does not meet FOR is listed",
        "operators/situations/listing.py",
        "meets = runs.ready[places[0]] != OPEN",
        "meets = runs.ready[places[0]] >= 0",
        ("tests/situations/test_listing.py",),
    ),
    # Runs
    Mutant(
        "situations: a run inside one instant is one",
        RUNS,
        "if lasted == 0 or lasted < bounds[0] or",
        "if lasted < bounds[0] or",
        RULES,
    ),
    Mutant(
        "situations: a longest duration does not include its bound",
        RUNS,
        "lasted > bounds[1]:",
        "lasted >= bounds[1]:",
        RULES,
    ),
    Mutant(
        "situations: a shortest duration does not include its bound",
        RUNS,
        "lasted == 0 or lasted < bounds[0]",
        "lasted == 0 or (lasted <= bounds[0] and bounds[0] > 0)",
        RULES,
    ),
    Mutant(
        "situations: a shortest duration is reached one event later",
        RUNS,
        "if now - start[i] >= bounds[k, 0]:",
        "if now - start[i] > bounds[k, 0]:",
        RULES,
    ),
    Mutant(
        "situations: a situation with a longest duration is certain before its end",
        RUNS,
        "if bounds[k, 1] == OPEN:\n                                if",
        "if bounds[k, 1] > 0:\n                                if",
        RULES,
    ),
    Mutant(
        "situations: a run waits no more for its shortest duration in the next block",
        RUNS,
        "if ready[i] == OPEN and bounds[k, 1] == OPEN:",
        "if False:",
        BY_HAND,
    ),
    Mutant(
        "situations: a run that goes on begins anew with every block",
        RUNS,
        "                before |= 1 << k\n                if ready[i]",
        "                before |= 0\n                if ready[i]",
        MICRO_BATCHES,
    ),
    Mutant(
        "situations: aggregates leave out the events of the instant of detection",
        RUNS,
        'np.searchsorted(ts[lo[i] : hi[i]], at[i], side="right")',
        'np.searchsorted(ts[lo[i] : hi[i]], at[i], side="left")',
        RULES,
    ),
    # Relations
    Mutant(
        "situations: what meets is before",
        RELATIONS,
        "if a_end < b_start:\n        return BEFORE",
        "if a_end <= b_start:\n        return BEFORE",
        NAMES,
    ),
    Mutant(
        "situations: started-by is starts",
        RELATIONS,
        "(STARTS if a_end < b_end else STARTED_BY)",
        "(STARTS if a_end != b_end else STARTED_BY)",
        NAMES,
    ),
    Mutant(
        "situations: the inverse of a relation is the one after it",
        "lang/relations.py",
        "<< _EQUALS + 1 |",
        "<< _EQUALS + 2 |",
        RULES,
    ),
    # Certainty
    Mutant(
        "situations: two situations that go on end together",
        MATCHES,
        "(held & _APART != 0 or min(end[a], end[b]) <= at)",
        "True",
        RULES,
    ),
    Mutant(
        "situations: a relation waits for both ends",
        MATCHES,
        "(held & _APART != 0 or min(end[a], end[b]) <= at)",
        "(held & _APART != 0 or max(end[a], end[b]) <= at)",
        RULES,
    ),
    Mutant(
        "situations: whole groups wait for an end",
        MATCHES,
        "    if held & groups:\n        return True\n",
        "",
        RULES,
    ),
    Mutant(
        "situations: two relations of a group are enough",
        PROGRAM,
        "if mask & group == group)",
        "if (mask & group).bit_count() > 1)",
        RULES,
    ),
    Mutant(
        "situations: a match is returned once for each situation that decides it",
        MATCHES,
        "if triggers[symbol, other_kind] and instant[bound[symbol]] == at:\n                return False",
        "if triggers[symbol, other_kind] and instant[bound[symbol]] == at:\n                break",
        RULES,
    ),
    Mutant(
        "situations: a match is returned again at a later end",
        MATCHES,
        "return bool(_decided(runs, bound, masks, groups, at))",
        "return True",
        RULES,
    ),
    Mutant(
        "situations: a candidate need not have lasted",
        MATCHES,
        "            if ready[c] > at:\n                continue\n",
        "",
        RULES,
    ),
    Mutant(
        "situations: the start of a situation decides nothing",
        PROGRAM,
        "masks[k, j] & begins_last or groups[k, j] & later for j in related",
        "False for j in related",
        RULES,
    ),
    Mutant(
        "situations: complete emission takes what has begun",
        MATCHES,
        "hi = _first_from(told if complete else start, lo, hi, at + 1)",
        "hi = _first_from(start, lo, hi, at + 1)",
        RULES,
    ),
    Mutant(
        "situations: both go on, so nothing is excluded",
        MATCHES,
        "out[i] = OVERLAPS | FINISHED_BY | CONTAINS",
        "out[i] = OVERLAPS | FINISHED_BY | CONTAINS | BEFORE",
        RULES,
    ),
    # Windows, ends, blocks
    Mutant(
        "situations: WITHIN does not include its bound",
        MATCHES,
        "lo = _first_from(start, lo, hi, (end[i] if complete else at) - within)",
        "lo = _first_from(start, lo, hi, (end[i] if complete else at) - within + 1)",
        RULES,
    ),
    Mutant(
        "situations: the situation that decides may be older than the window",
        MATCHES,
        "if (end[i] if complete else at) - start[i] > within:",
        "if (end[i] if complete else at) - start[i] > within + within:",
        RULES,
    ),
    Mutant(
        "situations: an end is told before it is known",
        OPERATOR,
        "is_open = end > at",
        "is_open = end == OPEN",
        RULES,
    ),
    Mutant(
        "situations: what goes on is forgotten when it is older than the window",
        OPERATOR,
        "(runs.end[place] == OPEN) | (runs.start[place] >",
        "(runs.start[place] >",
        BY_HAND,
    ),
    Mutant(
        "situations: a situation is forgotten one instant too early",
        OPERATOR,
        "(runs.start[place] > since[partition] - spec.within_us)",
        "(runs.start[place] > since[partition] - spec.within_us + 1_000_000)",
        BY_HAND,
    ),
    Mutant(
        "situations: matches that find no room are lost",
        MATCHES,
        "resume[0], resume[1], resume[2], resume[3] = p, k, kind, i\n",
        "resume[0], resume[1], resume[2], resume[3] = p, k, kind, i + 1\n",
        CHUNKS,
    ),
    # Aggregates
    Mutant(
        "situations: what earlier blocks have counted is forgotten",
        MEASURES,
        "n = carried[origin[i]] if origin[i] >= 0 else 0",
        "n = 0",
        MICRO_BATCHES,
    ),
    Mutant(
        "situations: of equal keys the first event counts",
        MEASURES,
        "        return latest\n",
        "        return False\n",
        AGGREGATES,
    ),
    Mutant(
        "situations: the last value is a NULL",
        MEASURES,
        "if valid[n_carried + at] and (latest or found < 0):",
        "if latest or (valid[n_carried + at] and found < 0):",
        AGGREGATES,
    ),
    Mutant(
        "situations: all bits are unset before the first value",
        MEASURES,
        "none = -1 if operation == 0 else 0",
        "none = 0",
        ONE_BIT,
    ),
    Mutant(
        "situations: a regression is that of the second argument on the first",
        "operators/situations/moments.py",
        "return xy / xx, xx",
        "return xy / yy, yy",
        AGGREGATES,
    ),
    Mutant(
        "situations: pairs with a NULL count",
        "operators/situations/measures.py",
        "valid = _valid(column) & _valid(other)",
        "valid = _valid(other)",
        AGGREGATES,
    ),
    Mutant(
        "situations: FILTER leaves everything in",
        "plan/situations/functions.py",
        'inner.set("this", _where(condition, exp.Literal.number(1)))',
        'inner.set("this", exp.Literal.number(1))',
        AGGREGATES,
    ),
    Mutant(
        "situations: a word between two situations is a symbol",
        "lang/situations.py",
        "(is_known and (after.text.lower() in defined or",
        "(is_known and (",
        PATTERNS,
    ),
    Mutant(
        "live: blocks are as small as the input is slow, whatever has piled up",
        "engines/local/tuning.py",
        "rate = max(rate, (self._n_events + waiting) / elapsed)",
        "rate = measured",
        ("tests/engines/test_live.py::test_what_waits_is_worked_off_in_larger_blocks",),
    ),
    # The generator
    Mutant(
        "situations: the longest duration is never drawn",
        GENERATOR,
        "(draws * (greatest - least + 1))",
        "(draws * (greatest - least))",
        DATA,
    ),
    Mutant(
        "situations: rates stay those of the first phase",
        GENERATOR,
        "second // self._phase_s",
        "second // self._phase_s * 0",
        DATA,
    ),
    # Messages
    Mutant(
        "situations: the condition of one may name another",
        REFUSALS,
        "known = {*columns, situation.name.text.lower()}",
        "known = {*columns, *(each.name.text.lower() for each in query.define)}",
        DEFINED,
    ),
    Mutant(
        "situations: a function that sqlglot has no place for is underlined without its name",
        REFUSALS,
        "if before is not None and not",
        "if before is None and not",
        RETURNED,
    ),
    Mutant(
        "situations: a call around a refused aggregate is blamed for it",
        REFUSALS,
        "if before is not None and not _CALLED.match(text[start:end]):",
        "if before is not None:",
        RETURNED,
    ),
    Mutant(
        "situations: the hint for a column in an aggregate proposes another aggregate",
        "plan/situations/bind.py",
        'form = "{}.{}" if span in aggregated else "first({}.{})"',
        'form = "first({}.{})"',
        RETURNED,
    ),
    Mutant(
        "situations: a duration without FOR is left to the condition",
        "lang/situations.py",
        'if token.word == "AT" and after.word in ("LEAST", "MOST"):',
        'if token.word == "AT" and after.word in ("LEAST",):',
        DEFINED,
    ),
    # Stretches
    Mutant(
        "situations: what goes on before the window of a stretch seems to begin in it",
        STRETCHES,
        "needed &= ~is_early | (ts == latest[codes])",
        "needed &= ~is_early",
        STRETCHED,
    ),
    Mutant(
        "situations: a stretch does not look back on a window",
        STRETCHES,
        "is_early = ts < self.first_us - spec.within_us",
        "is_early = ts < self.first_us",
        STRETCHED,
    ),
    Mutant(
        "situations: a stretch returns what the end of the input decides later",
        OPERATOR,
        "        self._until_us = until_us\n",
        "",
        STRETCHED,
    ),
    Mutant(
        "situations: a stretch does not know of later events where the end of the input closes",
        STRETCHES,
        "if spec.closes else ts < self.stop_us",
        "if False else ts < self.stop_us",
        STRETCHED,
    ),
)
