"""Faults in the generators of data for trends."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

DATA = ("tests/generate/test_trend_data.py",)
BLOCKS = ("tests/generate/test_generate.py", *DATA)

GENERATORS = (
    Mutant(
        "generators: a ring stays at its bank",
        "blocks",
        "step = (first_bank[ring] + second) % circle",
        "step = first_bank[ring] % circle",
        DATA,
    ),
    Mutant(
        "generators: rings share banks",
        "blocks",
        "np.where(uncovered, ring * circle + step, source)",
        "np.where(uncovered, step, source)",
        DATA,
    ),
    Mutant(
        "generators: a share of checks loses a ring to rounding",
        "Parameters.rings",
        "int(self.rate * self.selectivity * (1 + 1e-12))",
        "int(self.rate * self.selectivity)",
        DATA,
    ),
    Mutant(
        "generators: a covered check stays in its bank",
        "blocks",
        "source + 1",
        "source",
        DATA,
    ),
    Mutant(
        "generators: uncovered checks come first in a second",
        "blocks",
        "uncovered = (place + 1) * n_uncovered // rate > before",
        "before = np.minimum(place, n_uncovered)\nuncovered = place < n_uncovered",
        DATA,
    ),
    Mutant(
        "generators: runs start anew in every block",
        "_number",
        "n_before += counts",
        "n_before += 0 * counts",
        BLOCKS,
    ),
    Mutant(
        "generators: CPU does not reach its top",
        "blocks",
        "cpu.random(n) * (_MAX_USE + 1)",
        "cpu.random(n) * _MAX_USE",
        DATA,
    ),
    Mutant(
        "generators: exits drawn in a row all count",
        "_Trips.advance",
        "exits = drawn & ((leg - stays) % 2 == 1)",
        "exits = drawn",
        DATA,
    ),
    Mutant(
        "generators: passengers forget over blocks that they stayed",
        "_Trips.advance",
        "np.where(drawn, self._last_stay, leg)",
        "np.where(drawn, first - 2, leg)",
        BLOCKS,
    ),
    Mutant(
        "generators: a trip starts at another station",
        "_Trips.advance",
        "np.where(enters, 0, steps)",
        "steps",
        DATA,
    ),
    Mutant(
        "generators: stops are not in time order",
        "blocks",
        'np.argsort(second, axis=None, kind="stable")',
        "np.arange(second.size)",
        BLOCKS,
    ),
    Mutant(
        "generators: a session starts with a jump of the heart rate",
        "_rates",
        "before = np.maximum(place - 1, 0)",
        "before = np.maximum(place - 1, place // 18 * 18)",
        DATA,
    ),
    Mutant(
        "generators: active activities surge, too",
        "_Sessions._draw",
        "surges = (activity < len(PASSIVE)) & (u[0] < self._parameters.surges)",
        "surges = u[0] < self._parameters.surges",
        DATA,
    ),
    Mutant(
        "generators: a surge does not come down",
        "_rates",
        "np.minimum(since_s, 2 * SURGE_S - since_s)",
        "np.minimum(since_s, SURGE_S)",
        DATA,
    ),
)
