"""Mutants of what need not be read or exchanged."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

FILTERS = ("tests/engines/test_stored_filters.py",)
NEAR = ("tests/engines/test_near.py",)

PRUNING = (
    Mutant(
        "pruning: a stretch has one neighbour",
        "Near.to",
        "np.concatenate([stretches - 1, stretches, stretches + 1])",
        "np.concatenate([stretches, stretches, stretches + 1])",
        NEAR,
    ),
    Mutant(
        "pruning: a row group ends too early for what is near",
        "Near.reaches",
        "self.times_us[start] < last_us + self.width_us",
        "self.times_us[start] < last_us",
        NEAR,
    ),
    Mutant(
        "pruning: a range ends before what is near",
        "Near.ranges_us",
        "self.times_us[np.concatenate([cuts, [self.times_us.size - 1]])] + self.width_us - 1",
        "self.times_us[np.concatenate([cuts, [self.times_us.size - 1]])]",
        NEAR,
    ),
    Mutant(
        "pruning: one branch of an OR is enough for a step to be needed",
        "needed_symbols",
        "frozenset.intersection(*map(needed_symbols, pattern.parts))",
        "frozenset.union(*map(needed_symbols, pattern.parts))",
        NEAR,
    ),
    Mutant(
        "pruning: what may be left out is needed",
        "needed_symbols",
        "needed_symbols(pattern.part) if pattern.minimum else frozenset()",
        "needed_symbols(pattern.part)",
        NEAR,
    ),
    Mutant(
        "pruning: an absence inside an absence reaches one window",
        "lower_pattern",
        "max(spec.kept_us, spec.delay_us + 1)",
        "spec.window_us or 0",
        NEAR,
    ),
    Mutant(
        "pruning: the range of a step is not widened for the others",
        "needed_of",
        "from_us - reach_us + 1 if from_us != MIN_US else MIN_US",
        "from_us",
        FILTERS,
    ),
    Mutant(
        "pruning: an event without a time is not read",
        "_condition",
        "reduce(and_, found) | pc.field(time).is_null()",
        "reduce(and_, found)",
        FILTERS,
    ),
    Mutant(
        "pruning: statistics rule out NaN",
        "_is_told",
        'op in ("lt", "le")',
        'op in ("lt", "le", "gt", "ge", "ne")',
        FILTERS,
    ),
    Mutant(
        "pruning: DuckDB folds conditions by statistics",
        "connect",
        "database.execute(\"SET GLOBAL disabled_optimizers = 'statistics_propagation'\")",
        "pass",
        FILTERS,
    ),
)
